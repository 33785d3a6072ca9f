import Diagnostics

/// The way from a tree's root to its leaves, which the scans of tables and of indexes go: interior pages in depth, leaves
/// with bounded read-ahead. In which order the children come is the scan's own.
///
/// Leaves all lie in one depth, no deeper than 20.
///
/// Memory: 64 KiB of leaves and a page for each level.
final class TreeDescent {
    private let file: PageFile
    private let root: UInt32
    private let interior: PageKind
    private let leaf: PageKind
    private var levels: [InteriorPage] = []
    /// Levels in use.
    private var depth = 0
    /// How many levels stand above the leaves, once it is known.
    private var leafDepth: Int?
    private let window: PageWindow

    init(file: PageFile, root: UInt32, interior: PageKind, leaf: PageKind) {
        self.file = file
        self.root = root
        self.interior = interior
        self.leaf = leaf
        window = PageWindow(file: file)
    }

    /// Where leaves are read to, and how many bytes are room there.
    var start: UnsafeRawPointer { window.start }
    var byteCount: Int { window.byteCount }

    /// Whether the next leaf is at hand already; else it takes the place of those that are.
    var hasNextLeaf: Bool {
        guard let level = lowest, depth == leafDepth, level.next <= level.count,
            let page = try? level.child(level.next)
        else { return false }
        return window.holds(page)
    }

    /// The lowest interior page on the way; nil behind the last leaf.
    var lowest: InteriorPage? { depth > 0 ? levels[depth - 1] : nil }

    /// The next child of the lowest page that has one left, whose others come later; nil behind the last leaf.
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

    /// Leaves the lowest page, whose children are done.
    func leave() { depth -= 1 }

    /// Reads the root.
    ///
    /// - Returns: its bytes where it is a leaf; they stay.
    /// - Throws: `store.damaged`, `store.io`.
    func begin() throws(MigrationError) -> UnsafeRawPointer? {
        try file.check(root, namedBy: root)
        let top = level(0)
        try file.read(root, count: 1, into: top.bytes)
        if top.bytes.load(as: UInt8.self) == leaf.rawValue {
            leafDepth = 0
            return UnsafeRawPointer(top.bytes)
        }
        try top.open(root, interior, root: root)
        depth = 1
        return nil
    }

    /// Goes to a child of the lowest page.
    ///
    /// - Returns: the child where it is a leaf, whose bytes stay until the next call; nil where it is the lowest page
    ///   now.
    /// - Throws: `store.damaged`, `store.io`.
    func descend(to index: Int) throws(MigrationError) -> (page: UInt32, bytes: UnsafeRawPointer)? {
        let level = levels[depth - 1]
        let page = try level.child(index)
        if depth == leafDepth { return (page, try readAhead(page, index, level)) }
        guard depth < PageFile.mostLevels else { throw file.damaged(page, "it lies deeper than 20 levels") }
        let below = self.level(depth)
        try file.read(page, count: 1, into: below.bytes)
        if leafDepth == nil, below.bytes.load(as: UInt8.self) == leaf.rawValue {
            leafDepth = depth
            return (page, try readAhead(page, index, level))
        }
        try below.open(page, interior, root: root)
        depth += 1
        return nil
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
