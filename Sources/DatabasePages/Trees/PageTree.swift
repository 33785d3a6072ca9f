import Diagnostics

/// A b-tree that is built from the leaves up while cells come in ascending order.
///
/// One page is open on each level. A full page gets its number, and its divider moves up. A full interior page gives its last
/// cell up as the divider, so that no page is left without a cell. The page of the highest level goes to the root page that
/// SQLite gave the tree.
///
/// Memory: one page a level.
class PageTree {
    final class Level {
        var image: PageImage
        /// The child behind the last cell, once the page of the level below is closed.
        var right: UInt32 = 0

        init(_ kind: PageKind) { image = PageImage(kind) }
    }

    let root: UInt32
    let output: PageOutput
    let map: PointerMap
    // Only one thread appends. Checks of exclusive access would cost as much as the append itself.
    @exclusivity(unchecked) final var leaf: PageImage
    final var levels: [Level] = []
    final let interior: PageKind

    init(root: UInt32, output: PageOutput, map: PointerMap, leaf: PageKind, interior: PageKind) {
        self.root = root
        self.output = output
        self.map = map
        self.leaf = PageImage(leaf)
        self.interior = interior
    }

    /// Closes the leaf; the divider between it and the next one moves up.
    ///
    /// - Parameters:
    ///   - divider: the bytes of an interior cell behind the number of its child.
    ///   - overflow: the first overflow page of the divider.
    final func closeLeaf(_ divider: [UInt8], overflow: UInt32? = nil) throws(MigrationError) {
        let (number, space) = try output.add()
        try leaf.put(at: space, number: number, rightmost: nil, map: map)
        try promote(number, divider, overflow, to: 0)
    }

    private func promote(
        _ child: UInt32, _ divider: [UInt8], _ overflow: UInt32?, to level: Int
    ) throws(MigrationError) {
        if level == levels.count { levels.append(Level(interior)) }
        let here = levels[level]
        let size = 4 + divider.count
        if !here.image.hasRoom(for: size) {
            let (last, overflow) = here.image.removeLastCell()
            let (number, space) = try output.add()
            let rightmost = last.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            try here.image.put(at: space, number: number, rightmost: rightmost, map: map)
            try promote(number, Array(last.dropFirst(4)), overflow, to: level + 1)
        }
        let place = here.image.addCell(size, overflow: overflow)
        place.storeBytes(of: child.bigEndian, as: UInt32.self)
        UnsafeMutableRawBufferPointer(start: place + 4, count: divider.count).copyBytes(from: divider)
    }

    /// Writes the open pages, the highest one to the root page. Nothing may be appended afterwards.
    final func finish() throws(MigrationError) {
        guard leaf.count > 0 else { return }
        let space = UnsafeMutableRawPointer.allocate(byteCount: PageGeometry.pageSize, alignment: 16)
        defer { space.deallocate() }
        if levels.isEmpty {
            try leaf.put(at: space, number: root, rightmost: nil, map: map)
        } else {
            let (number, page) = try output.add()
            try leaf.put(at: page, number: number, rightmost: nil, map: map)
            levels[0].right = number
            for level in levels.indices {
                let here = levels[level]
                if level == levels.count - 1 {
                    try here.image.put(at: space, number: root, rightmost: here.right, map: map)
                } else {
                    let (number, page) = try output.add()
                    try here.image.put(at: page, number: number, rightmost: here.right, map: map)
                    levels[level + 1].right = number
                }
            }
        }
        try output.overwrite(root, with: space)
    }
}
