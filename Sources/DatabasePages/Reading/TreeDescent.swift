import Diagnostics

/// A leaf that a scan reads.
struct TreeLeaf {
    var bytes: UnsafeRawPointer
    var page: UInt32 = 0
    var count = 0
    var next = 0
    /// The greatest key that its rows may have, in a table; nil: any key.
    var upper: Int64?
}

/// The descent from a tree's root to its leaves, for the scans of tables and of indexes: interior pages depth first, leaves
/// with bounded read-ahead. The scan decides the order of the children.
///
/// All leaves must be at one depth, at most 20.
///
/// Memory: 64 KiB of leaves, with direct I/O 256 KiB, and a page for each level.
final class TreeDescent {
    private let file: PageFile
    private let root: UInt32
    private let interior: PageKind
    private let leaf: PageKind
    private var levels: [InteriorPage] = []
    private var depth = 0
    /// The number of levels above the leaves; nil until it is known.
    private var leafDepth: Int?
    private let window: PageWindow

    init(file: PageFile, root: UInt32, interior: PageKind, leaf: PageKind) {
        self.file = file
        self.root = root
        self.interior = interior
        self.leaf = leaf
        window = PageWindow(file: file)
    }

    /// The memory that leaves are read into; below, its size in bytes.
    var start: UnsafeRawPointer { window.start }
    var byteCount: Int { window.byteCount }

    /// True if the next leaf is in memory already; otherwise reading it overwrites the leaves in memory.
    var hasNextLeaf: Bool {
        guard let level = lowest, depth == leafDepth, level.next <= level.count,
            let page = try? level.child(level.next)
        else { return false }
        return window.holds(page)
    }

    /// The lowest interior page on the way; nil behind the last leaf.
    var lowest: InteriorPage? { depth > 0 ? levels[depth - 1] : nil }

    /// Returns the next child to visit, as the page that names it and its index there. The page is the lowest one that has a child
    /// not visited yet; pages below it are removed from the path. Nil after the last leaf.
    func nextChild() -> (level: InteriorPage, index: Int)? {
        while let level = lowest {
            if level.next <= level.count {
                defer { level.next += 1 }
                return (level, level.next)
            }
            leave()
        }
        return nil
    }

    /// Leaves the lowest page, once all its children are done.
    func leave() { depth -= 1 }

    /// Reads the root.
    ///
    /// - Returns: the root if it is a leaf, with its bytes, valid as long as this object; otherwise nil.
    func begin() throws(MigrationError) -> TreeLeaf? {
        try file.check(root, namedBy: root)
        let top = level(0)
        try file.read(root, count: 1, into: top.bytes)
        if top.bytes.load(as: UInt8.self) == leaf.rawValue {
            leafDepth = 0
            return try open(UnsafeRawPointer(top.bytes), root)
        }
        try top.open(root, interior, root: root)
        depth = 1
        return nil
    }

    /// Moves to a child of the lowest page.
    ///
    /// - Returns: the child if it is a leaf, with its bytes, valid until the next call; nil if the child is an interior page,
    ///   which is the lowest page now.
    func descend(to index: Int) throws(MigrationError) -> TreeLeaf? {
        let level = levels[depth - 1]
        let page = try level.child(index)
        if depth == leafDepth { return try open(try readAhead(page, index, level), page) }
        guard depth < PageFile.mostLevels else { throw file.damaged(page, "it lies deeper than 20 levels") }
        let below = self.level(depth)
        try file.read(page, count: 1, into: below.bytes)
        if leafDepth == nil, below.bytes.load(as: UInt8.self) == leaf.rawValue {
            leafDepth = depth
            return try open(try readAhead(page, index, level), page)
        }
        try below.open(page, interior, root: root)
        depth += 1
        return nil
    }

    private func open(_ bytes: UnsafeRawPointer, _ page: UInt32) throws(MigrationError) -> TreeLeaf {
        TreeLeaf(bytes: bytes, page: page, count: try file.cells(bytes, page, leaf, root: root))
    }

    private func level(_ index: Int) -> InteriorPage {
        if index == levels.count { levels.append(InteriorPage(file: file)) }
        return levels[index]
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
