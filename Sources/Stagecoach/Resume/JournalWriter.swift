import Diagnostics
import Foundation
import Glibc
import SpillStorage
import Synchronization

/// A writer of a run's journal. It brings the data that a record describes to the disk before it appends the record, on a
/// thread of its own if the run need not wait and the system makes one.
///
/// Only one thread at a time may call it.
///
/// Memory: one state, until it is written.
final class JournalWriter: @unchecked Sendable {
    // The thread of a state uses the journal and the places while it writes, else the caller. All other properties are atomic or
    // constant.
    private let work = BackgroundWork()
    private let journal: RunJournal
    /// The places of the header and of the last two states in the journal.
    private var headerPlace: Int
    private var latest: [Int] = []
    private let storePath: String
    /// The directory of the spill files that states name.
    private let spills: WorkDirectory
    private let busy = Atomic<Bool>(false)
    private let failure = Mutex<MigrationError?>(nil)

    /// - Parameters:
    ///   - path: the path of the journal.
    ///   - interrupted: the run whose journal is continued; nil: a new journal is created.
    ///   - storePath: the path of the store that the records describe.
    ///   - spills: the directory of the spill files that states name.
    /// - Throws: `journal.full`, `journal.io` (74).
    init(
        _ path: String, header: JournalRecord.Header, continuing interrupted: InterruptedRun?, storePath: String,
        spills: WorkDirectory
    ) throws {
        self.storePath = storePath
        self.spills = spills
        if let interrupted {
            journal = try RunJournal(continuing: path, after: interrupted.journal, calls: spills.calls)
            headerPlace = interrupted.journal.places.first ?? 0
            latest = interrupted.statePlaces
        } else {
            journal = try RunJournal(creating: path, calls: spills.calls)
            headerPlace = try journal.append(JournalRecord.record(header))
            try journal.synchronizeFolder()
        }
    }

    /// True while a record is being written.
    var isBusy: Bool { busy.load(ordering: .acquiring) }

    /// Appends a state in the background, after syncing the store.
    ///
    /// - Parameters:
    ///   - everything: true if files beside the store were written too since the last state.
    ///   - trims: true to give free heap memory back to the system. A state of the stages is encoded in many small pieces,
    ///     which the next stage does not reuse. The memory of a state of a row-path load is reused at once, and touching it
    ///     anew would cost more than the state.
    /// - Throws: the error of an earlier record.
    func append(_ state: RunJournal.Record, everything: Bool, trims: Bool) throws(MigrationError) {
        try rethrow()
        busy.store(true, ordering: .releasing)
        let files = spills.saveState()
        work.begin { [self] in
            do throws(MigrationError) {
                try files.synchronize()
                try write(state, synchronizes: true, everything: everything)
                files.removeUnneeded()
            } catch {
                failure.withLock { $0 = error }
            }
            if trims { ProcessMemory.trim() }
            busy.store(false, ordering: .releasing)
        }
    }

    /// Appends a record and waits until it is on the disk.
    ///
    /// - Parameter synchronizes: true to sync the store first.
    func appendNow(
        _ record: RunJournal.Record, synchronizes: Bool, everything: Bool = false
    ) throws(MigrationError) {
        try drain()
        let files = record.kind == JournalRecord.stateKind ? spills.saveState() : nil
        try WaitBoard.during(.disk) { () throws(MigrationError) in
            try files?.synchronize()
            try write(record, synchronizes: synchronizes, everything: everything)
            files?.removeUnneeded()
        }
    }

    /// Waits for the record that is being written, and throws its error.
    func drain() throws(MigrationError) {
        WaitBoard.during(.disk) { work.wait() }
        try rethrow()
    }

    /// Reads back the last state that was written. Returns nil if there is none.
    ///
    /// - Throws: `journal.io` (74), and the error of an earlier record.
    func lastState() throws(MigrationError) -> JournalRecord.State? {
        try drain()
        guard let place = latest.last, let record = try journal.record(at: place) else { return nil }
        return JournalRecord.state(record)
    }

    private func rethrow() throws(MigrationError) {
        if let error = failure.withLock({ $0 }) { throw error }
    }

    private func write(
        _ record: RunJournal.Record, synchronizes: Bool, everything: Bool
    ) throws(MigrationError) {
        if synchronizes || everything { try synchronize(everything: everything) }
        if record.kind == JournalRecord.stateKind {
            let before = latest.suffix(1)
            if journal.isLong {
                let places = try journal.replace(keeping: [headerPlace] + before, appending: record)
                headerPlace = places[0]
                latest = Array(places[1...])
            } else {
                latest = before + [try journal.append(record)]
            }
        } else {
            try journal.append(record)
        }
    }

    private func synchronize(everything: Bool) throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(storePath, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw failed("Opening") }
        defer { close(descriptor) }
        if everything, !FileSystem.synchronize(descriptor) { throw failed("Syncing") }
        guard SystemCall.uninterrupted({ fdatasync(descriptor) }) == 0 else { throw failed("Syncing") }
    }

    private func failed(_ doing: String) -> MigrationError {
        .writing("\(doing) the store", path: storePath, otherwise: "store.io")
    }
}
