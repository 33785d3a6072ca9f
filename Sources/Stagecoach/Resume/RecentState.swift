import DatabasePages
import Diagnostics
import Foundation
import Glibc
import PersistentStore
import SpillStorage

/// The state that a run took last, without waiting for the disk.
///
/// States of the journal wait until the store is on the disk, which takes a busy one some hundredths of a second each; a run
/// that is killed in between would do that work again. What was written before it was killed is in the file all the same. So
/// in between there are states that nothing waits for, the last of them in a file of its own, with sums of the pages that were
/// written since the last state of the journal: where the machine failed too, and not all of these pages are there, the
/// journal's holds.
struct RecentState {
    /// The destination's UUID: which run took it.
    var run: String
    /// ``RunRecord/State/ordinal`` of the journal's state that the sums go on from.
    var base: Int
    /// Sums of the pages.
    var written: [UInt8]
    var state: RunRecord.State

    var bytes: [UInt8] {
        var writer = StateWriter(capacity: (state.fill?.count ?? 0) + written.count + 4096)
        writer.write(run)
        writer.write(base)
        writer.write(bytes: written)
        state.write(to: &writer)
        return writer.bytes
    }

    init(run: String, base: Int, written: [UInt8], state: RunRecord.State) {
        (self.run, self.base, self.written, self.state) = (run, base, written, state)
    }

    /// - Throws: `journal.damaged`.
    init(from bytes: [UInt8]) throws(MigrationError) {
        var reader = StateReader(bytes)
        run = try reader.text()
        base = try reader.signed()
        written = try reader.block()
        state = try RunRecord.State(from: &reader)
    }

    /// The state that a run left, where it is later than the journal's and the store's file has all that it tells of.
    ///
    /// - Parameters:
    ///   - found: the journal's state that the store is in.
    /// - Throws: `journal.io`, `store.io` (74).
    static func find(
        _ path: String, after found: RunRecord.State, of run: EarlierRun, store: String
    ) throws(MigrationError) -> RunRecord.State? {
        guard let bytes = try RecordSlot.read(path), let recent = try? RecentState(from: bytes),
            recent.run == run.header.uuid, recent.state.ordinal > found.ordinal, recent.state.stamp == found.stamp,
            run.states.contains(where: { $0.ordinal == recent.base && $0.stamp == found.stamp })
        else { return nil }
        do throws(MigrationError) {
            return try DatabaseFileWriter.isWritten(recent.written, in: store) ? recent.state : nil
        } catch  where error.code == "journal.damaged" { return nil }
    }
}

/// Takes the states of a run that nothing waits for.
///
/// Memory: a record while it is written.
final class RecentStates {
    private let path: String
    /// The least time between two of them; on a longer run they are further apart: a fiftieth of it.
    private let interval: Duration
    private let start = ContinuousClock.now
    private var last = ContinuousClock.now
    private var slot: RecordSlot?
    /// Whether the file cannot be written: the journal's states remain.
    private var hasFailed = false
    private weak var table: PageTableWriter?
    /// States of the journal with whose pages the sums go on: one that stands on the disk, and one on its way there.
    private var base: (ordinal: Int, part: Int)?
    private var pending: (ordinal: Int, part: Int)?
    /// For tests: the state after which the process kills itself.
    private let killAfter: Int?
    private var taken = 0

    init(_ path: String, interval: Duration) {
        self.path = path
        self.interval = interval
        killAfter = RunCheckpoints.setting("STAGECOACH_KILL_AT_RECENT")
    }

    /// Whether the journal's states are left out, so that a test gets to its kill.
    var isAwaited: Bool { killAfter != nil && (base ?? pending) != nil }

    /// A state of a table that is being filled was given to the journal.
    func note(_ ordinal: Int, of writer: PageTableWriter) {
        if table !== writer { forget() }
        guard !hasFailed, let part = writer.beginWritten() else { return forget() }
        table = writer
        pending = (ordinal, part)
    }

    /// The sums say nothing of what comes.
    func forget() { (table, base, pending) = (nil, nil, nil) }

    /// The journal's states up to an ordinal stand on the disk.
    func settle(_ ordinal: Int) {
        guard let known = pending, known.ordinal <= ordinal else { return }
        table?.forgetWritten(before: known.part)
        (base, pending) = (known, nil)
    }

    /// Whether it is time for one: earlier where there can be none for a while.
    func isDue(_ writer: PageTableWriter) -> Bool {
        guard base != nil, table === writer else { return false }
        let now = ContinuousClock.now
        let least = max(interval, interval == .zero ? .zero : start.duration(to: now) / 50)
        return last.duration(to: now) >= (writer.sortsNext ? least / 8 : least)
    }

    /// Writes a state down. Where that fails there are no more of them.
    ///
    /// - Parameter state: as of the writer's checkpoint right before.
    func write(_ state: RunRecord.State, of writer: PageTableWriter, run: String) {
        guard let base else { return }
        do throws(MigrationError) {
            let slot: RecordSlot
            if let known = self.slot { slot = known } else { slot = try RecordSlot(path) }
            self.slot = slot
            try slot.write(
                RecentState(run: run, base: base.ordinal, written: writer.written, state: state).bytes)
            taken += 1
            if taken == killAfter { kill(getpid(), SIGKILL) }
        } catch {
            hasFailed = true
            forget()
        }
        last = .now
    }
}
