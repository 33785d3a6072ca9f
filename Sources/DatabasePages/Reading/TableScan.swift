import Diagnostics
import Rows

/// Reads a table's rows from its pages, in ascending key order: interior pages by a walk in depth, leaves with bounded
/// read-ahead.
///
/// Leaves all lie in one depth, no deeper than 20; no page but the root is empty; keys ascend and stay within the bounds
/// that the interior pages give them. So a loop of pages is found, and a walk ends.
///
/// Memory: 64 KiB of leaves, a page for each level, and a page for overflow.
/// Complexity: O(pages of the key range).
package final class TableScan {
    /// The leaf at hand.
    private struct Leaf {
        var bytes: UnsafeRawPointer
        var page: UInt32 = 0
        var count = 0
        var next = 0
        var upper: Int64?
    }

    private let file: PageFile
    private let root: UInt32
    private let after: Int64?
    private let through: Int64?
    private let decoder: RecordDecoder
    private var levels: [InteriorPage] = []
    /// Levels in use.
    private var depth = 0
    /// How many levels stand above the leaves, once it is known.
    private var leafDepth: Int?
    private let window: PageWindow
    private var leaf: Leaf
    private var lastKey: Int64?
    private var isStarted = false
    private var isFinished = false

    /// - Parameter root: the table's root page.
    /// - Precondition: fields and slots are those of the batches that are filled.
    package init(file: PageFile, root: UInt32, request: ScanRequest) {
        self.file = file
        self.root = root
        after = request.after
        through = request.through
        decoder = RecordDecoder(file: file, request: request)
        window = PageWindow(file: file)
        leaf = Leaf(bytes: window.start)
    }

    /// Whether a root page is that of a table whose rows have keys of their own; else SQLite has to read it.
    package static func isTable(_ file: PageFile, root: UInt32) throws(MigrationError) -> Bool {
        guard root >= 2, root <= file.pageCount else { return false }
        let kind = UInt8(truncatingIfNeeded: try file.readWord(root) >> 24)
        return kind == PageKind.tableLeaf.rawValue || kind == PageKind.tableInterior.rawValue
    }

    /// Adds rows to a batch until it is full or they end.
    ///
    /// - Throws: `store.damaged`, naming the page; `store.io`; what the request makes of values that are too large.
    package func fill(_ batch: inout RowBatch) throws(MigrationError) {
        guard !isFinished else { return }
        do throws(MigrationError) {
            try fillUnlessFinished(&batch)
        } catch {
            isFinished = true
            throw error
        }
    }

    private func fillUnlessFinished(_ batch: inout RowBatch) throws(MigrationError) {
        if !isStarted { try start() }
        var leaf = self.leaf
        var lastKey = self.lastKey ?? .min
        var isFirst = self.lastKey == nil
        let (file, decoder, after, through) = (file, decoder, after ?? .min, through ?? .max)
        let isWhole = self.after == nil
        let usable = file.usableSize
        let largestLocal = usable - 35
        while !batch.isFull {
            if leaf.next == leaf.count {
                guard try nextLeaf(&leaf) else {
                    isFinished = true
                    break
                }
            }
            let pointer = PageKind.tableLeaf.headerSize + 2 * leaf.next
            var place = Int(UInt16(bigEndian: leaf.bytes.loadUnaligned(fromByteOffset: pointer, as: UInt16.self)))
            guard place >= PageKind.tableLeaf.headerSize + 2 * leaf.count, place <= usable - 4,
                let payload = RecordForm.varint(leaf.bytes, &place, end: usable), payload <= 0x7FFF_FFFF,
                let word = RecordForm.varint(leaf.bytes, &place, end: usable)
            else { throw file.damaged(leaf.page, "cell \(leaf.next) lies outside the page") }
            leaf.next += 1
            let key = Int64(bitPattern: word)
            guard key > lastKey || isFirst else {
                throw file.damaged(leaf.page, "row \(key) stands behind row \(lastKey)")
            }
            if let upper = leaf.upper, key > upper {
                throw file.damaged(leaf.page, "row \(key) stands before a divider of \(upper)")
            }
            isFirst = false
            lastKey = key
            // Rows before the range, in its first leaf.
            if key <= after, !isWhole { continue }
            if key > through {
                isFinished = true
                break
            }
            let total = Int(payload)
            if total <= largestLocal {
                guard total <= usable - place else {
                    throw file.damaged(leaf.page, "the record of row \(key) goes beyond the page")
                }
                try decoder.decode(leaf.bytes + place, total, key: key, page: leaf.page, into: &batch)
            } else {
                try decodeSpanning(leaf, place, total, key, &batch)
            }
        }
        self.leaf = leaf
        if !isFirst { self.lastKey = lastKey }
    }

    private func decodeSpanning(
        _ leaf: Leaf, _ place: Int, _ total: Int, _ key: Int64, _ batch: inout RowBatch
    ) throws(MigrationError) {
        let usable = file.usableSize
        let least = (usable - 12) * 32 / 255 - 23
        var local = least + (total - least) % (usable - 4)
        if local > usable - 35 { local = least }
        guard local + 4 <= usable - place else {
            throw file.damaged(leaf.page, "the record of row \(key) goes beyond the page")
        }
        let next = UInt32(bigEndian: leaf.bytes.loadUnaligned(fromByteOffset: place + local, as: UInt32.self))
        try decoder.decode(
            UnsafeRawBufferPointer(start: leaf.bytes + place, count: local), next: next, total: total, key: key,
            page: leaf.page, into: &batch)
    }

    // MARK: - The walk

    private func start() throws(MigrationError) {
        isStarted = true
        try file.check(root, namedBy: root)
        let top = level(0)
        try file.read(root, count: 1, into: top.bytes)
        if top.bytes.load(as: UInt8.self) == PageKind.tableLeaf.rawValue {
            leafDepth = 0
            leaf = try openLeaf(UnsafeRawPointer(top.bytes), root, upper: nil)
        } else {
            try top.open(root, .tableInterior, root: root)
            depth = 1
        }
    }

    private func level(_ index: Int) -> InteriorPage {
        if index == levels.count { levels.append(InteriorPage(file: file)) }
        return levels[index]
    }

    /// Goes to the next leaf; false behind the last one.
    private func nextLeaf(_ leaf: inout Leaf) throws(MigrationError) -> Bool {
        while depth > 0 {
            let level = levels[depth - 1]
            guard level.next <= level.count else {
                depth -= 1
                continue
            }
            let index = level.next
            level.next += 1
            let upper = index < level.count ? try divider(level, index) : level.upper
            // All keys of the child lie before the range.
            if let after, let upper, upper <= after { continue }
            let page = try level.child(index)
            if depth == leafDepth {
                leaf = try openLeaf(try readAhead(page, index, level), page, upper: upper)
                return true
            }
            guard depth < PageFile.mostLevels else { throw file.damaged(page, "it lies deeper than 20 levels") }
            let below = self.level(depth)
            try file.read(page, count: 1, into: below.bytes)
            if leafDepth == nil, below.bytes.load(as: UInt8.self) == PageKind.tableLeaf.rawValue {
                leafDepth = depth
                leaf = try openLeaf(try readAhead(page, index, level), page, upper: upper)
                return true
            }
            try below.open(page, .tableInterior, root: root)
            below.upper = upper
            depth += 1
        }
        return false
    }

    private func openLeaf(
        _ bytes: UnsafeRawPointer, _ page: UInt32, upper: Int64?
    ) throws(MigrationError) -> Leaf {
        let count = try file.cells(bytes, page, .tableLeaf, root: root)
        return Leaf(bytes: bytes, page: page, count: count, next: 0, upper: upper)
    }

    /// The greatest key that the child of a cell may have.
    private func divider(_ level: InteriorPage, _ index: Int) throws(MigrationError) -> Int64 {
        var place = try level.cell(index) + 4
        guard let word = RecordForm.varint(UnsafeRawPointer(level.bytes), &place, end: file.usableSize) else {
            throw file.damaged(level.page, "cell \(index) lies outside the page")
        }
        return Int64(bitPattern: word)
    }

    private func readAhead(
        _ page: UInt32, _ index: Int, _ level: InteriorPage
    ) throws(MigrationError) -> UnsafeRawPointer {
        var further = index
        return try window.bytes(of: page) { () throws(MigrationError) in
            further += 1
            return further <= level.count ? try level.child(further) : nil
        }
    }
}
