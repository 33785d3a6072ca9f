import Diagnostics

/// The b-tree of a table, built from the leaves up while rows come in ascending key order.
///
/// One page is open on each level. A full leaf gets its number, and its last key moves up as the divider. A full interior page
/// gives its own last divider up, so that no page is left without a cell. The page of the highest level goes to the root page
/// that SQLite gave the table.
///
/// Memory: one page a level.
final class TableTree {
    final class Level {
        var image = PageImage(.tableInterior)
        /// The key of the image's last cell.
        var lastKey: Int64 = 0
        /// The child behind the last cell, and the child's greatest key.
        var right: (page: UInt32, key: Int64)?
    }

    let root: UInt32
    private let output: PageOutput
    private let map: PointerMap
    // Only one thread appends. Checks of exclusive access would cost as much as the append itself.
    @exclusivity(unchecked) var leaf = PageImage(.tableLeaf)
    var levels: [Level] = []
    @exclusivity(unchecked) var lastKey: Int64?

    /// Makes an empty tree.
    init(root: UInt32, output: PageOutput, map: PointerMap) {
        self.root = root
        self.output = output
        self.map = map
    }

    /// Appends a row's cell.
    ///
    /// - Parameters:
    ///   - fitting: writes the whole record into memory, if it fits the leaf.
    ///   - spanning: writes the record through a writer otherwise.
    /// - Throws: `store.keyOrder` if the key is not greater than the last one.
    @inline(__always)
    func append(
        key: Int64, payload: Int, fitting: (UnsafeMutableRawPointer) -> Void,
        spanning: (inout PayloadWriter) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        if let lastKey, key <= lastKey { throw disorder(key, after: lastKey) }
        let prefix = Varint.length(UInt64(payload)) + Varint.length(UInt64(bitPattern: key))
        let local = PageGeometry.localBytes(payload: payload, maximum: PageGeometry.tableLeafMaximum)
        let size = prefix + local + (local < payload ? 4 : 0)
        if !leaf.hasRoom(for: max(4, size)) { try flushLeaf() }
        lastKey = key
        guard local < payload else {
            var place = leaf.addCell(size)
            place += Varint.write(UInt64(payload), to: place)
            place += Varint.write(UInt64(bitPattern: key), to: place)
            fitting(place)
            return
        }
        var place = leaf.addCell(size, overflow: output.number(after: output.pageCount))
        place += Varint.write(UInt64(payload), to: place)
        place += Varint.write(UInt64(bitPattern: key), to: place)
        (place + local).storeBytes(of: output.number(after: output.pageCount).bigEndian, as: UInt32.self)
        var writer = PayloadWriter(output: output, map: map, place: place, local: local, total: payload)
        try spanning(&writer)
        writer.finish()
    }

    /// Appends a row's cell whose record stays in the leaf.
    ///
    /// - Parameters:
    ///   - payload: the size of the record in bytes, at most what a leaf takes.
    /// - Throws: `store.keyOrder` if the key is not greater than the last one.
    @inline(__always)
    func append(key: Int64, local payload: Int, body: (UnsafeMutableRawPointer) -> Void) throws(MigrationError) {
        if let lastKey, key <= lastKey { throw disorder(key, after: lastKey) }
        let size = Varint.length(UInt64(payload)) + Varint.length(UInt64(bitPattern: key)) + payload
        if !leaf.hasRoom(for: max(4, size)) { try flushLeaf() }
        lastKey = key
        var place = leaf.addCell(size)
        place += Varint.write(UInt64(payload), to: place)
        place += Varint.write(UInt64(bitPattern: key), to: place)
        body(place)
    }

    private func disorder(_ key: Int64, after last: Int64) -> MigrationError {
        MigrationError(
            "store.keyOrder", .internal, "Row \(key) came after row \(last)", context: .init(path: output.path))
    }

    private func flushLeaf() throws(MigrationError) {
        let (number, space) = try output.add()
        try leaf.put(at: space, number: number, rightmost: nil, map: map)
        try promote(number, lastKey ?? 0, to: 0)
    }

    private func promote(_ child: UInt32, _ key: Int64, to level: Int) throws(MigrationError) {
        if level == levels.count { levels.append(Level()) }
        let here = levels[level]
        if let right = here.right {
            assert(key > right.key, "children ascend")
            let size = 4 + Varint.length(UInt64(bitPattern: right.key))
            if !here.image.hasRoom(for: size) {
                let divider = here.lastKey
                let (last, _) = here.image.removeLastCell()
                let (number, space) = try output.add()
                try here.image.put(at: space, number: number, rightmost: Self.child(of: last), map: map)
                try promote(number, divider, to: level + 1)
            }
            let place = here.image.addCell(size)
            place.storeBytes(of: right.page.bigEndian, as: UInt32.self)
            Varint.write(UInt64(bitPattern: right.key), to: place + 4)
            here.lastKey = right.key
        }
        here.right = (child, key)
    }

    /// Returns the child that an interior page's cell begins with.
    static func child(of cell: [UInt8]) -> UInt32 { cell.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }

    /// Writes the open pages, the highest one to the root page. Nothing may be appended afterwards.
    func finish() throws(MigrationError) {
        guard lastKey != nil else { return }
        let space = UnsafeMutableRawPointer.allocate(byteCount: PageGeometry.pageSize, alignment: 16)
        defer { space.deallocate() }
        if levels.isEmpty {
            try leaf.put(at: space, number: root, rightmost: nil, map: map)
        } else {
            try flushLeaf()
            var level = 0
            while level < levels.count {
                let here = levels[level]
                guard let right = here.right else { preconditionFailure("a level without a child") }
                if level == levels.count - 1 {
                    try here.image.put(at: space, number: root, rightmost: right.page, map: map)
                } else {
                    let (number, page) = try output.add()
                    try here.image.put(at: page, number: number, rightmost: right.page, map: map)
                    try promote(number, right.key, to: level + 1)
                }
                level += 1
            }
        }
        try output.overwrite(root, with: space)
    }
}
