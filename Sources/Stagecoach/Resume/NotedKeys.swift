import Diagnostics
import SpillStorage

/// The keys that a run's loads have noted of source tables which later steps look into: a run that goes on need not read
/// the tables again.
///
/// They are what the source says, so they hold whatever state is gone on from. Nothing waits for their file: where it did not
/// reach the disk it is not sound, and the tables are read. Sets that do not fit ``most`` bytes are left out.
///
/// Memory: the sets' bytes until the file is written, and three times as much while it is.
final class NotedKeys {
    /// The most bytes of all sets together.
    private static let most = 128 << 10

    private let path: String
    /// What ``save(_:ofTable:)`` wrote, by source table.
    private var sets: [Int: [UInt8]] = [:]
    private var slot: RecordSlot?
    private var isWritten = true

    init(_ path: String) { self.path = path }

    /// Takes over what a run has noted.
    ///
    /// - Parameter run: the destination's UUID.
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
            // As if there were none.
            sets = [:]
        }
    }

    /// Gives the keys of a source table to an empty set.
    ///
    /// - Returns: false where none were noted.
    /// - Throws: `journal.damaged`; `spill.…`.
    func restore(_ index: KeyIndex, ofTable table: Int) throws(MigrationError) -> Bool {
        guard let bytes = sets[table] else { return false }
        var reader = StateReader(bytes)
        try index.restore(from: &reader)
        try reader.finish()
        return true
    }

    /// Notes all keys of a source table.
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

    /// Writes the file, where there is something new. Where that fails, a run that goes on reads the tables.
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
