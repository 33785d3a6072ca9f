import Diagnostics
import Rows

/// Reads a table's rows from its pages in ascending key order: interior pages depth first, leaves with bounded read-ahead.
///
/// All leaves must be at one depth, at most 20; no page but the root may be empty; keys must ascend and stay within the bounds
/// that the interior pages give. So a loop of pages is detected, and the walk ends.
///
/// Memory: 64 KiB of leaves, a page for each level, and a page for overflow.
/// Complexity: O(pages of the key range).
package final class TableScan {
    let file: PageFile
    private let root: UInt32
    let after: Int64?
    let through: Int64?
    private let decoder: RecordDecoder
    /// Counts values of the rows that the scan passes; nil if nobody needs them.
    let tally: ValueTally?
    private let way: TreeDescent
    @exclusivity(unchecked) var leaf: TreeLeaf
    @exclusivity(unchecked) var lastKey: Int64?
    @exclusivity(unchecked) private var isStarted = false
    @exclusivity(unchecked) private(set) var isFinished = false

    /// Makes a scan.
    ///
    /// - Precondition: the request's fields and slots fit the batches to fill.
    package init(file: PageFile, root: UInt32, request: ScanRequest) {
        self.file = file
        self.root = root
        after = request.after
        through = request.through
        decoder = RecordDecoder(file: file, request: request)
        tally = request.tally
        way = TreeDescent(file: file, root: root, interior: .tableInterior, leaf: .tableLeaf)
        leaf = TreeLeaf(bytes: way.start)
    }

    /// Tells whether a page can be the root of a table with row ids. SQLite must read other tables (WITHOUT ROWID).
    package static func isTable(_ file: PageFile, root: UInt32) throws(MigrationError) -> Bool {
        try file.isRoot(root, .tableLeaf, .tableInterior)
    }

    /// Appends rows to a batch until it is full or the rows end.
    ///
    /// - Throws: `store.damaged`, naming the page; `store.io`; the request's error for values that are too large.
    package func fill(_ batch: inout RowBatch) throws(MigrationError) {
        guard !isFinished else { return }
        // An error ends the scan, too.
        isFinished = true
        isFinished = try !fillFurther(&batch)
    }

    /// Returns false at the end.
    private func fillFurther(_ batch: inout RowBatch) throws(MigrationError) -> Bool {
        if !isStarted { try start() }
        var hasMore = true
        var leaf = self.leaf
        var lastKey = self.lastKey ?? .min
        var isFirst = self.lastKey == nil
        let (file, decoder, tally, after, through) = (file, decoder, tally, after ?? .min, through ?? .max)
        let isWhole = self.after == nil
        let usable = file.usableSize
        let largestLocal = usable - 35
        let lends = batch.borrowsPages && !file.isLogged
        if lends, leaf.next < leaf.count { lend(leaf, to: &batch) }
        while !batch.isFull {
            if leaf.next == leaf.count {
                // The next leaf would overwrite the pages that the batch's rows refer to.
                if lends, !batch.isEmpty, !way.hasNextLeaf { break }
                hasMore = try nextLeaf(&leaf)
                if !hasMore { break }
                if lends { lend(leaf, to: &batch) }
            }
            let (key, place, total) = try cell(leaf)
            leaf.next += 1
            guard key > lastKey || isFirst else {
                throw file.damaged(leaf.page, "row \(key) comes after row \(lastKey)")
            }
            if let upper = leaf.upper, key > upper {
                throw file.damaged(leaf.page, "row \(key) comes before a divider of \(upper)")
            }
            isFirst = false
            let previous = max(lastKey, after)
            lastKey = key
            // Skip the rows before the range in its first leaf.
            if key <= after, !isWhole { continue }
            if key > through {
                hasMore = false
                break
            }
            if total <= largestLocal {
                guard total <= usable - place else {
                    throw file.damaged(leaf.page, "the record of row \(key) goes beyond the page")
                }
                tally?.pass(key, after: previous, leaf.bytes + place, available: total)
                try decoder.decode(leaf.bytes + place, total, key: key, page: leaf.page, into: &batch)
            } else {
                try decodeSpanning(leaf, place, total, key, after: previous, &batch)
            }
        }
        self.leaf = leaf
        if !isFirst { self.lastKey = lastKey }
        return hasMore
    }

    /// Lets a batch's cells refer to the current pages.
    private func lend(_ leaf: TreeLeaf, to batch: inout RowBatch) {
        if leaf.page == root {
            batch.lend(pages: leaf.bytes, count: file.pageSize)
        } else {
            batch.lend(pages: way.start, count: way.byteCount)
        }
    }

    private func decodeSpanning(
        _ leaf: TreeLeaf, _ place: Int, _ total: Int, _ key: Int64, after previous: Int64, _ batch: inout RowBatch
    ) throws(MigrationError) {
        let local = localSize(total)
        guard local + 4 <= file.usableSize - place else {
            throw file.damaged(leaf.page, "the record of row \(key) goes beyond the page")
        }
        tally?.pass(key, after: previous, leaf.bytes + place, available: local)
        let next = UInt32(bigEndian: leaf.bytes.loadUnaligned(fromByteOffset: place + local, as: UInt32.self))
        try decoder.decode(
            UnsafeRawBufferPointer(start: leaf.bytes + place, count: local), next: next, total: total, key: key,
            page: leaf.page, into: &batch)
    }

    /// The next row's key, the offset of its record in the page, and the record's size; part of the record may be in overflow
    /// pages.
    @inline(__always)
    func cell(_ leaf: TreeLeaf) throws(MigrationError) -> (key: Int64, place: Int, total: Int) {
        let usable = file.usableSize
        let pointer = PageKind.tableLeaf.headerSize + 2 * leaf.next
        var place = Int(UInt16(bigEndian: leaf.bytes.loadUnaligned(fromByteOffset: pointer, as: UInt16.self)))
        guard place >= PageKind.tableLeaf.headerSize + 2 * leaf.count, place <= usable - 4,
            let payload = RecordForm.keyVarint(leaf.bytes, &place, end: usable), payload <= 0x7FFF_FFFF,
            let word = RecordForm.keyVarint(leaf.bytes, &place, end: usable)
        else { throw file.damaged(leaf.page, "cell \(leaf.next) lies outside the page") }
        return (Int64(bitPattern: word), place, Int(payload))
    }

    /// The number of bytes of a record that are in its cell.
    func localSize(_ total: Int) -> Int {
        let usable = file.usableSize
        if total <= usable - 35 { return total }
        let least = (usable - 12) * 32 / 255 - 23
        let local = least + (total - least) % (usable - 4)
        return local > usable - 35 ? least : local
    }

    // MARK: - The walk

    /// Moves to a leaf with a row that is not read yet. Returns false if there is none.
    func stand(at leaf: inout TreeLeaf) throws(MigrationError) -> Bool {
        if !isStarted {
            try start()
            leaf = self.leaf
        }
        if leaf.next < leaf.count { return true }
        isFinished = try !nextLeaf(&leaf)
        return !isFinished
    }

    private func start() throws(MigrationError) {
        isStarted = true
        if let root = try way.begin() { leaf = root }
    }

    /// Moves to the next leaf. Returns false behind the last one.
    private func nextLeaf(_ leaf: inout TreeLeaf) throws(MigrationError) -> Bool {
        while let (level, index) = way.nextChild() {
            let upper = index < level.count ? try divider(level, index) : level.upper
            // All keys of this child are before the range.
            if let after, let upper, upper <= after { continue }
            if let child = try way.descend(to: index) {
                leaf = child
                leaf.upper = upper
                return true
            }
            way.lowest?.upper = upper
        }
        return false
    }

    /// The greatest key that the child of a cell may have.
    private func divider(_ level: InteriorPage, _ index: Int) throws(MigrationError) -> Int64 {
        var place = try level.cell(index) + 4
        guard let word = RecordForm.varint(UnsafeRawPointer(level.bytes), &place, end: file.usableSize) else {
            throw file.damaged(level.page, "cell \(index) lies outside the page")
        }
        return Int64(bitPattern: word)
    }
}
