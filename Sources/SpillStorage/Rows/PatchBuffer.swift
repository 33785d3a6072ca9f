import Diagnostics
import Rows

/// Patches and deletions in memory: a chain for each key, the latest first.
///
/// Memory: the patches' bytes and about 48 bytes a key.
struct PatchBuffer {
    private let buffer = RawBuffer()
    private var latest: [Int64: Int] = [:]

    /// The number of bytes held.
    var bytes: Int { buffer.count + latest.count * 48 }
    var isEmpty: Bool { latest.isEmpty }
    /// The keys with patches or deletions, ascending.
    var sortedKeys: [Int64] { latest.keys.sorted() }

    /// Adds a patch. Cells of kind absent leave the row's cells as they are.
    ///
    /// - Throws: `spill.rowTooLarge` (65).
    mutating func append(
        key: Int64, row: Int, of batch: borrowing RowBatch, slots: Int, _ huge: HugeReferences
    ) throws(MigrationError) {
        let offset = buffer.count
        link(key)
        do {
            try RowCodec.append(key: key, row: row, of: batch, slots: slots, to: buffer, huge)
        } catch {
            buffer.count = offset
            throw error
        }
        latest[key] = offset
    }

    /// Adds a deletion.
    mutating func appendDeletion(key: Int64) {
        let offset = buffer.count
        link(key)
        RowCodec.appendDeletion(key: key, to: buffer)
        latest[key] = offset
    }

    /// Passes the patches of a key to a closure, the latest first, until it returns false.
    func forEach(key: Int64, _ body: (RowCodec.Slice) throws(MigrationError) -> Bool) throws(MigrationError) {
        guard !latest.isEmpty, var offset = latest[key] else { return }
        while offset >= 0 {
            let previous = Int(buffer.start.loadUnaligned(fromByteOffset: offset, as: Int64.self))
            guard let row = RowCodec.row(in: buffer.bytes, at: offset + 8), try body(row.slice) else { return }
            offset = previous
        }
    }

    /// Removes all patches.
    mutating func removeAll(keeping limit: Int) {
        buffer.reset(keeping: limit)
        latest.removeAll(keepingCapacity: false)
    }

    private mutating func link(_ key: Int64) {
        buffer.ensure(buffer.count + 8)
        (buffer.start + buffer.count).storeBytes(of: Int64(latest[key] ?? -1), as: Int64.self)
        buffer.count += 8
    }
}
