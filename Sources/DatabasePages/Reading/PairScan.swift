import Diagnostics
import Rows

/// Reads the entries of an index over one or two integer columns from its pages, in order: the links of a join table, or all
/// entries with their rows' ids.
///
/// Entries ascend strictly, including their rows' ids. So a loop of pages is detected, and the walk ends.
///
/// Memory: 64 KiB of leaves and a page for each level.
/// Complexity: O(pages of the index).
package final class PairScan {
    /// An entry; NULL is less than every number.
    private struct Entry {
        var first: Int64?
        var second: Int64?
        var row: Int64

        @inline(__always)
        func follows(_ other: Entry) -> Bool {
            guard let first, let second, let otherFirst = other.first, let otherSecond = other.second else {
                return followsWithNull(other)
            }
            if first != otherFirst { return first > otherFirst }
            return second == otherSecond ? row > other.row : second > otherSecond
        }

        private func followsWithNull(_ other: Entry) -> Bool {
            if first != other.first { return other.first.map { before in first.map { $0 > before } ?? false } ?? true }
            if second != other.second {
                return other.second.map { before in second.map { $0 > before } ?? false } ?? true
            }
            return row > other.row
        }
    }

    private let file: PageFile
    private let table: String
    private let slots: (first: Int, second: Int)
    private let columns: Int
    /// True if entries with NULL are read too, and the rows' ids.
    private let readsAll: Bool
    private let way: TreeDescent
    private var leaf: TreeLeaf
    private var last: Entry?
    private var isStarted = false
    private var isFinished = false

    /// Makes a scan.
    ///
    /// - Parameters:
    ///   - slots: the slots for the two columns' values.
    ///   - columns: 1 or 2; if 1, the second slot is not set.
    ///   - readsAll: true to read entries with NULL too; the keys of the rows are then those of the table's rows.
    package init(
        file: PageFile, root: UInt32, table: String, slots: (Int, Int), columns: Int = 2, readsAll: Bool = false
    ) {
        precondition(columns == 1 || columns == 2)
        self.columns = columns
        self.readsAll = readsAll
        self.file = file
        self.table = table
        self.slots = (slots.0, slots.1)
        way = TreeDescent(file: file, root: root, interior: .indexInterior, leaf: .indexLeaf)
        leaf = TreeLeaf(bytes: way.start)
    }

    /// Tells whether a page can be the root of an index.
    package static func isIndex(_ file: PageFile, root: UInt32) throws(MigrationError) -> Bool {
        try file.isRoot(root, .indexLeaf, .indexInterior)
    }

    /// Appends rows to a batch until it is full or the entries end. Their keys are 0 unless all entries are read.
    package func fill(_ batch: inout RowBatch) throws(MigrationError) {
        guard !isFinished else { return }
        // An error ends the scan, too.
        isFinished = true
        isFinished = try !fillFurther(&batch)
    }

    /// Returns false at the end.
    private func fillFurther(_ batch: inout RowBatch) throws(MigrationError) -> Bool {
        if !isStarted {
            isStarted = true
            if let root = try way.begin() { leaf = root }
        }
        var leaf = self.leaf
        while !batch.isFull {
            if leaf.next < leaf.count {
                let pointer = PageKind.indexLeaf.headerSize + 2 * leaf.next
                let place = Int(
                    UInt16(bigEndian: leaf.bytes.loadUnaligned(fromByteOffset: pointer, as: UInt16.self)))
                guard place >= PageKind.indexLeaf.headerSize + 2 * leaf.count, place <= file.usableSize - 4 else {
                    throw file.damaged(leaf.page, "cell \(leaf.next) lies outside the page")
                }
                leaf.next += 1
                try add(leaf.bytes, place, leaf.page, &batch)
            } else if try !advance(&leaf, &batch) {
                return false
            }
        }
        self.leaf = leaf
        return true
    }

    @inline(__always)
    private func add(
        _ bytes: UnsafeRawPointer, _ start: Int, _ page: UInt32, _ batch: inout RowBatch
    ) throws(MigrationError) {
        let entry = try entry(bytes, start, page)
        if let last, !entry.follows(last) { throw file.damaged(page, "the index of \(table) is not in order") }
        last = entry
        if readsAll {
            let cells = batch.cells(ofRow: batch.appendRow(key: entry.row))
            cells[slots.first] = entry.first.map { .integer($0) } ?? .null
            if columns == 2 { cells[slots.second] = entry.second.map { .integer($0) } ?? .null }
            return
        }
        guard let first = entry.first, let second = entry.second else { return }
        let cells = batch.cells(ofRow: batch.appendRow(key: 0))
        cells[slots.first] = .integer(first)
        cells[slots.second] = .integer(second)
    }

    @inline(__always)
    private func entry(_ bytes: UnsafeRawPointer, _ start: Int, _ page: UInt32) throws(MigrationError) -> Entry {
        let usable = file.usableSize
        var place = start
        // A record of three integers takes 31 bytes at most.
        let header = columns + 2
        guard let payload = RecordForm.varint(bytes, &place, end: usable), payload >= header else {
            throw file.damaged(page, "an entry lies outside the page")
        }
        guard payload <= 31 else { throw damagedKey() }
        guard Int(payload) <= usable - place else { throw file.damaged(page, "an entry goes beyond the page") }
        let record = bytes + place
        guard record.load(as: UInt8.self) == header else { throw damagedKey() }
        var body = header
        let first = try value(record, 1, &body, Int(payload), page)
        let second = columns == 2 ? try value(record, 2, &body, Int(payload), page) : 0
        guard let row = try value(record, columns + 1, &body, Int(payload), page), body == Int(payload) else {
            throw file.damaged(page, "an entry does not fit its lengths")
        }
        return Entry(first: first, second: second, row: row)
    }

    @inline(__always)
    private func value(
        _ record: UnsafeRawPointer, _ field: Int, _ body: inout Int, _ count: Int, _ page: UInt32
    ) throws(MigrationError) -> Int64? {
        let serial = UInt64(record.load(fromByteOffset: field, as: UInt8.self))
        guard serial < 10, serial != 7, let size = RecordForm.size(ofSerial: serial) else { throw damagedKey() }
        guard size <= count - body else { throw file.damaged(page, "an entry does not fit its lengths") }
        defer { body += size }
        return serial == 0 ? nil : RecordForm.integer(record + body, serial: serial)
    }

    private func damagedKey() -> MigrationError {
        MigrationError(
            "store.damaged", .data, "The join table \(table) holds a key that is no integer",
            remedy: "Run PRAGMA integrity_check on a copy", context: .init(path: file.path))
    }

    // MARK: - The walk

    /// Appends the entry that is between two leaves, or moves to the next leaf. Returns false at the end.
    ///
    /// The steps of a level are numbered: even steps are its children, odd ones the entries between them.
    private func advance(_ leaf: inout TreeLeaf, _ batch: inout RowBatch) throws(MigrationError) -> Bool {
        while let level = way.lowest {
            guard level.next <= 2 * level.count else {
                way.leave()
                continue
            }
            let index = level.next / 2
            level.next += 1
            if level.next % 2 == 0 {
                try add(UnsafeRawPointer(level.bytes), try level.cell(index) + 4, level.page, &batch)
                return true
            }
            if let child = try way.descend(to: index) {
                leaf = child
                return true
            }
        }
        return false
    }
}
