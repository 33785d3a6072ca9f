import Diagnostics

/// The b-tree of an index. It holds each entry once: the last cell of a full leaf moves up as the divider.
final class IndexTree: PageTree {
    init(root: UInt32, output: PageOutput, map: PointerMap) {
        super.init(root: root, output: output, map: map, leaf: .indexLeaf, interior: .indexInterior)
    }

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
            try closeLeaf(divider, overflow: overflow)
        }
        var place = leaf.addCell(size, overflow: isSpanning ? output.number(after: output.pageCount) : nil)
        place += Varint.write(UInt64(payload.count), to: place)
        guard isSpanning else {
            if let start = payload.baseAddress { place.copyMemory(from: start, byteCount: payload.count) }
            return
        }
        (place + local).storeBytes(of: output.number(after: output.pageCount).bigEndian, as: UInt32.self)
        var writer = PayloadWriter(output: output, map: map, place: place, local: local, total: payload.count)
        try writer.write(payload)
        writer.finish()
    }
}
