import CoreDataStore
import DatabasePages
import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// A state that was written without syncing, between two states of the journal.
///
/// A state of the journal waits until the store is on the disk, which takes a busy disk some hundredths of a second. A run
/// killed between two of them would repeat that work, although everything written before the kill is in the file. So there are
/// additional states that are not synced. The last of them has a file of its own, with checksums of the pages written since the
/// last state of the journal. If the machine failed too and some of these pages are missing, the journal's state is used.
struct RecentState {
    /// The UUID of the destination, which identifies the run.
    var run: String
    /// The ``JournalRecord/State/ordinal`` of the journal's state on which the checksums are based.
    var base: Int
    /// Checksums of the pages written since that state.
    var written: [UInt8]
    var state: JournalRecord.State

    var bytes: [UInt8] {
        var writer = StateWriter(capacity: (state.fill?.count ?? 0) + written.count + 4096)
        writer.write(run)
        writer.write(base)
        writer.write(bytes: written)
        state.write(to: &writer)
        return writer.bytes
    }

    init(run: String, base: Int, written: [UInt8], state: JournalRecord.State) {
        (self.run, self.base, self.written, self.state) = (run, base, written, state)
    }

    /// - Throws: `journal.damaged`.
    init(from bytes: [UInt8]) throws(MigrationError) {
        var reader = StateReader(bytes)
        run = try reader.text()
        base = try reader.signed()
        written = try reader.block()
        state = try JournalRecord.State(from: &reader)
    }

    /// Reads the recent state of an interrupted run. Returns nil if it is not later than the journal's state, or if the store's
    /// file lacks pages that it describes.
    ///
    /// - Parameters:
    ///   - found: the journal's state that matches the store.
    /// - Throws: `journal.io`, `store.io` (74).
    static func find(
        _ path: String, after found: JournalRecord.State, of run: InterruptedRun, store: String
    ) throws(MigrationError) -> JournalRecord.State? {
        guard let bytes = try RecordSlot.read(path), let recent = try? RecentState(from: bytes),
            recent.run == run.header.uuid, recent.state.ordinal > found.ordinal, recent.state.stamp == found.stamp,
            run.states.contains(where: { $0.ordinal == recent.base && $0.stamp == found.stamp })
        else { return nil }
        do throws(MigrationError) {
            return try DatabaseFileWriter.isWritten(recent.written, in: store) ? recent.state : nil
        } catch  where error.code == "journal.damaged" { return nil }
    }
}

/// The writer of a run's recent states.
///
/// Memory: one record, while it is written.
final class RecentStates {
    private let path: String
    /// Returns the least time between two states, given the time that the run has taken.
    private let interval: @Sendable (Duration) -> Duration
    /// The beginning of the run. Time in which the machine sleeps does not count.
    private let start = SuspendingClock.now
    private var last = ContinuousClock.now
    private var slot: RecordSlot?
    /// True if the file cannot be written. Then only the journal's states remain.
    private var hasFailed = false
    private weak var table: PageTableWriter?
    /// The journal's states on which checksums are based: one that is on the disk, and one that is being written.
    private var base: (ordinal: Int, part: Int)?
    private var pending: (ordinal: Int, part: Int)?
    init(_ path: String, interval: @escaping @Sendable (Duration) -> Duration) {
        self.path = path
        self.interval = interval
    }

    /// Records that a state of a table that is being filled was given to the journal. New checksums begin at it.
    func note(_ ordinal: Int, of writer: PageTableWriter) {
        if table !== writer { forget() }
        guard !hasFailed, let part = writer.beginWritten() else { return forget() }
        table = writer
        pending = (ordinal, part)
    }

    /// Forgets the checksums, because they do not cover the changes that follow.
    func forget() { (table, base, pending) = (nil, nil, nil) }

    /// Records that the journal's states up to an ordinal are on the disk.
    func confirm(_ ordinal: Int) {
        guard let known = pending, known.ordinal <= ordinal else { return }
        table?.forgetWritten(before: known.part)
        (base, pending) = (known, nil)
    }

    /// Tells whether a state is due. It is due earlier if the writer is about to sort, because no state can be taken then.
    func isDue(_ writer: PageTableWriter) -> Bool {
        guard base != nil, table === writer else { return false }
        let least = interval(start.duration(to: .now))
        return last.duration(to: .now) >= (writer.sortsNext ? least / 8 : least)
    }

    /// Writes a state. If writing fails, no further recent states are written.
    ///
    /// - Parameter state: the state as of the writer's checkpoint immediately before this call.
    func write(_ state: JournalRecord.State, of writer: PageTableWriter, run: String) {
        guard let base else { return }
        do throws(MigrationError) {
            let slot: RecordSlot
            if let known = self.slot { slot = known } else { slot = try RecordSlot(path) }
            self.slot = slot
            try slot.write(
                RecentState(run: run, base: base.ordinal, written: writer.written, state: state).bytes)
        } catch {
            hasFailed = true
            forget()
        }
        last = .now
    }
}
