import Diagnostics
import Rows

/// Patches and deletions in memory: one for each key. A later patch of the same key takes over what it leaves as it is.
///
/// Memory: the patches' bytes, replaced ones of another size included, and about 48 bytes a key.
struct PatchBuffer {
    private let buffer = RawBuffer()
    private var places: [Int64: Range<Int>] = [:]

    var bytes: Int { buffer.count + places.count * 48 }
    var isEmpty: Bool { places.isEmpty }
    /// The keys with patches or deletions, ascending.
    var sortedKeys: [Int64] { places.keys.sorted() }

    /// Adds a patch. Cells of kind absent leave the row's cells as they are. A patch of a deleted row has no effect.
    ///
    /// - Throws: `spill.rowTooLarge` (65).
    mutating func append(
        key: Int64, row: Int, of batch: borrowing RowBatch, slots: Int, _ huge: HugeReferences
    ) throws(MigrationError) {
        guard places[key] != nil else { return try write(key, row, batch, slots, huge) }
        guard let before = slice(key), !before.isDeleted else { return }
        var both = RowBatch(slots: slots, rowCapacity: 1, byteTarget: 4096)
        let target = both.appendRow(key: key)
        for slot in 0..<slots { both.copy(batch[row, slot], from: batch, row: target, slot: slot) }
        guard RowCodec.fill(before, slots: slots, into: &both, row: target, huge) else {
            throw MigrationError("spill.patch", .internal, "a patch in memory does not decode")
        }
        try write(key, target, both, slots, huge)
    }

    private mutating func write(
        _ key: Int64, _ row: Int, _ batch: borrowing RowBatch, _ slots: Int, _ huge: HugeReferences
    ) throws(MigrationError) {
        let offset = buffer.count
        do throws(MigrationError) {
            try RowCodec.append(key: key, row: row, of: batch, slots: slots, to: buffer, huge)
        } catch {
            buffer.count = offset
            throw error
        }
        note(key, from: offset)
    }

    mutating func appendDeletion(key: Int64) {
        let offset = buffer.count
        RowCodec.appendDeletion(key: key, to: buffer)
        note(key, from: offset)
    }

    /// Notes the place of what was appended. If it is as long as what the key had before, it takes its place.
    private mutating func note(_ key: Int64, from offset: Int) {
        let length = buffer.count - offset
        if let place = places[key], place.count == length {
            (buffer.start + place.lowerBound).copyMemory(from: buffer.start + offset, byteCount: length)
            buffer.count = offset
        } else {
            places[key] = offset..<buffer.count
        }
    }

    /// Returns the patch or deletion of a key, valid until the next change; nil if there is none.
    func slice(_ key: Int64) -> RowCodec.Slice? {
        guard let place = places[key] else { return nil }
        return RowCodec.row(in: buffer.bytes, at: place.lowerBound)?.slice
    }

    mutating func removeAll(keeping limit: Int) {
        buffer.reset(keeping: limit)
        places.removeAll(keepingCapacity: false)
    }
}
