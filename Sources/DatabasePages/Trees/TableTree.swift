import Diagnostics

/// The b-tree of a table. The last key of a full leaf moves up as the divider.
final class TableTree: PageTree {
    @exclusivity(unchecked) var lastKey: Int64?

    init(root: UInt32, output: PageOutput, map: PointerMap) {
        super.init(root: root, output: output, map: map, leaf: .tableLeaf, interior: .tableInterior)
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
        let local = PageGeometry.localBytes(payload: payload, maximum: PageGeometry.tableLeafMaximum)
        guard local < payload else { return try append(key: key, local: payload, body: fitting) }
        let place = try addCell(key: key, payload: payload, local: local)
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
        body(try addCell(key: key, payload: payload, local: payload))
    }

    /// Makes room for a row's cell, and writes its lengths and key. Returns the place behind them.
    @inline(__always)
    private func addCell(key: Int64, payload: Int, local: Int) throws(MigrationError) -> UnsafeMutableRawPointer {
        if let lastKey, key <= lastKey { throw disorder(key, after: lastKey) }
        let size =
            Varint.length(UInt64(payload)) + Varint.length(UInt64(bitPattern: key)) + local + (local < payload ? 4 : 0)
        if !leaf.hasRoom(for: max(4, size)) { try flushLeaf() }
        lastKey = key
        var place = leaf.addCell(size, overflow: local < payload ? output.number(after: output.pageCount) : nil)
        place += Varint.write(UInt64(payload), to: place)
        place += Varint.write(UInt64(bitPattern: key), to: place)
        return place
    }

    private func disorder(_ key: Int64, after last: Int64) -> MigrationError {
        MigrationError(
            "store.keyOrder", .internal, "Row \(key) came after row \(last)", context: .init(path: output.path))
    }

    private func flushLeaf() throws(MigrationError) {
        let key = UInt64(bitPattern: lastKey ?? 0)
        try closeLeaf(
            [UInt8](unsafeUninitializedCapacity: 9) { bytes, count in
                if let start = bytes.baseAddress { count = Varint.write(key, to: start) }
            })
    }
}
