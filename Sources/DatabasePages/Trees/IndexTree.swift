import Diagnostics

/// The b-tree of an index, built from the leaves up while entries come in ascending order.
///
/// An index holds each entry once: the last cell of a full page moves up as the divider. The page of the highest level goes to
/// the root page that SQLite gave the index.
///
/// Memory: one page a level.
final class IndexTree {
    final class Level {
        var image = PageImage(.indexInterior)
        /// The child behind the last cell, once the page of the level below is closed.
        var right: UInt32 = 0
    }

    let root: UInt32
    private let output: PageOutput
    private let map: PointerMap
    // Only one thread appends. Checks of exclusive access would cost as much as the append itself.
    @exclusivity(unchecked) var leaf = PageImage(.indexLeaf)
    var levels: [Level] = []

    /// Makes an empty tree.
    init(root: UInt32, output: PageOutput, map: PointerMap) {
        self.root = root
        self.output = output
        self.map = map
    }

    /// Appends an entry's record.
    func append(_ payload: UnsafeRawBufferPointer) throws(MigrationError) {
        // The fast path for small entries, such as those of numbers.
        if payload.count < 128, payload.count >= 3, let start = payload.baseAddress,
            leaf.hasRoom(for: payload.count + 1)
        {
            let place = leaf.addCell(payload.count + 1)
            place.storeBytes(of: UInt8(truncatingIfNeeded: payload.count), as: UInt8.self)
            (place + 1).copyMemory(from: start, byteCount: payload.count)
            return
        }
        let local = PageGeometry.localBytes(payload: payload.count, maximum: PageGeometry.indexMaximum)
        let isSpanning = local < payload.count
        let size = max(4, Varint.length(UInt64(payload.count)) + local + (isSpanning ? 4 : 0))
        if !leaf.hasRoom(for: size) {
            let (divider, overflow) = leaf.removeLastCell()
            let (number, space) = try output.add()
            try leaf.put(at: space, number: number, rightmost: nil, map: map)
            try promote(number, divider, overflow, to: 0)
        }
        guard isSpanning else {
            var place = leaf.addCell(size)
            place += Varint.write(UInt64(payload.count), to: place)
            if let start = payload.baseAddress { place.copyMemory(from: start, byteCount: payload.count) }
            return
        }
        let overflow = output.number(after: output.pageCount)
        var place = leaf.addCell(size, overflow: overflow)
        place += Varint.write(UInt64(payload.count), to: place)
        (place + local).storeBytes(of: overflow.bigEndian, as: UInt32.self)
        var writer = PayloadWriter(output: output, map: map, place: place, local: local, total: payload.count)
        try writer.write(payload)
        writer.finish()
    }

    private func promote(
        _ child: UInt32, _ cell: [UInt8], _ overflow: UInt32?, to level: Int
    ) throws(MigrationError) {
        if level == levels.count { levels.append(Level()) }
        let here = levels[level]
        let size = 4 + cell.count
        if !here.image.hasRoom(for: size) {
            let (last, overflow) = here.image.removeLastCell()
            let (number, space) = try output.add()
            try here.image.put(at: space, number: number, rightmost: TableTree.child(of: last), map: map)
            try promote(number, Array(last.dropFirst(4)), overflow, to: level + 1)
        }
        let place = here.image.addCell(size, overflow: overflow)
        place.storeBytes(of: child.bigEndian, as: UInt32.self)
        cell.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress { (place + 4).copyMemory(from: base, byteCount: bytes.count) }
        }
    }

    /// Writes the open pages, the highest one to the root page. Nothing may be appended afterwards.
    func finish() throws(MigrationError) {
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
