import Diagnostics
import SpillStorage

/// The keys of source tables that later steps look up, noted during a run's loads. A resumed run need not read those tables
/// again.
///
/// The keys depend on the source alone, so they are valid for any state that the run resumes from. The file is not synced: if
/// it did not reach the disk, it is damaged, and the tables are read again. Sets are left out once all of them exceed ``most``
/// bytes.
///
/// Memory: the bytes of the sets until the file is written, and three times as much while it is written.
final class NotedKeys {
    /// The maximum size of all sets together, in bytes.
    private static let most = 128 << 10

    private let path: String
    /// The encoded sets, by source table.
    private var sets: [Int: [UInt8]] = [:]
    private var slot: RecordSlot?
    private var isWritten = true

    init(_ path: String) { self.path = path }

    /// Reads the keys that an interrupted run has noted.
    ///
    /// - Parameter run: the UUID of the destination, which identifies the run.
    func find(of run: String) {
        guard let bytes = try? RecordSlot.read(path) else { return }
        var reader = StateReader(bytes)
        do throws(MigrationError) {
            guard try reader.text() == run else { return }
            var found: [Int: [UInt8]] = [:]
            for _ in 0..<(try reader.count(upTo: 1 << 16)) { found[try reader.signed()] = try reader.block() }
            try reader.finish()
            sets = found
        } catch {
            // A damaged file counts as missing.
            sets = [:]
        }
    }

    /// Fills an empty set with the noted keys of a source table.
    ///
    /// - Returns: false if no keys were noted.
    /// - Throws: `journal.damaged`; `spill.…`.
    func restore(_ index: KeyIndex, ofTable table: Int) throws(MigrationError) -> Bool {
        guard let bytes = sets[table] else { return false }
        var reader = StateReader(bytes)
        try index.restore(from: &reader)
        try reader.finish()
        return true
    }

    /// Notes all keys of a source table, unless they are already noted, spilled or too large.
    ///
    /// - Throws: `spill.…`.
    func note(_ index: KeyIndex, ofTable table: Int) throws(MigrationError) {
        let taken = sets.values.reduce(0) { $0 + $1.count }
        guard sets[table] == nil, !index.isSpilled, index.bytesInMemory <= Self.most - taken else { return }
        var writer = StateWriter(capacity: index.bytesInMemory + 1024)
        try index.save(to: &writer, upTo: Self.most)
        sets[table] = writer.bytes
        isWritten = false
    }

    /// Writes the file if keys were noted since the last call. If writing fails, a resumed run reads the tables instead.
    func write(run: String) {
        guard !isWritten else { return }
        isWritten = true
        var writer = StateWriter()
        writer.write(run)
        writer.write(sets.count)
        for (table, bytes) in sets.sorted(by: { $0.key < $1.key }) {
            writer.write(table)
            writer.write(bytes: bytes)
        }
        do throws(MigrationError) {
            let slot: RecordSlot
            if let known = self.slot { slot = known } else { slot = try RecordSlot(path) }
            self.slot = slot
            try slot.write(writer.bytes)
        } catch {
            slot = nil
        }
    }
}
