import Diagnostics
import Dispatch
import Foundation
import Glibc
import SpillStorage
import Synchronization

/// Writes a run's journal: what a record describes is brought to the disk first, in a thread of its own where the run need
/// not wait for it.
///
/// Memory: the state on its way.
final class JournalWriter: @unchecked Sendable {
    // The journal and the records belong to the queue; all else is atomic or never changes.
    private let queue = DispatchQueue(label: "checkpoint")
    private let journal: RunJournal
    /// Where the header and the last two states stand in it.
    private var headerPlace: Int
    private var latest: [Int] = []
    private let storePath: String
    /// Where the files lie that states name.
    private let spills: WorkDirectory
    private let busy = Atomic<Bool>(false)
    private let lastSettled = Atomic<Int>(0)
    private let failure = Mutex<MigrationError?>(nil)
    /// For tests: the record after which the process kills itself.
    private let killAfter: Int?
    /// For tests: the record from which on none can be written.
    private let failAfter: Int?
    private var appended = 0

    /// - Parameters:
    ///   - path: the journal; written anew where there is no earlier run to go on from.
    ///   - storePath: the store that the records describe.
    ///   - spills: where the files lie that states name.
    /// - Throws: `journal.full`, `journal.io` (74).
    init(
        _ path: String, header: RunRecord.Header, earlier: EarlierRun?, storePath: String, spills: WorkDirectory,
        failure: Int? = nil
    ) throws {
        failAfter = failure
        self.storePath = storePath
        self.spills = spills
        killAfter = RunCheckpoints.setting("STAGECOACH_KILL_AT_RECORD")
        if let earlier {
            journal = try RunJournal(goingOn: path, after: earlier.journal)
            headerPlace = earlier.journal.places.first ?? 0
            latest = earlier.statePlaces
        } else {
            journal = try RunJournal(creating: path)
            headerPlace = try journal.append(RunRecord.record(header))
            try journal.synchronizeFolder()
            countAppended()
        }
    }

    /// Whether a record is on its way.
    var isBusy: Bool { busy.load(ordering: .acquiring) }

    /// ``RunRecord/State/ordinal`` of the last state that was appended while the run went on, and stands on the disk.
    var settled: Int { lastSettled.load(ordering: .acquiring) }

    /// Appends a state once the store is on the disk, while the run goes on.
    ///
    /// - Parameters:
    ///   - ordinal: the state's.
    ///   - everything: whether other files were written too since the last state.
    ///   - trims: whether gaps in memory are given back: a state of stages is encoded in many small pieces, and what a stage
    ///     takes next is other ones. What the state of a row path's load leaves is used again at once: to touch it anew would
    ///     cost more than the state.
    /// - Throws: what an earlier one failed with.
    func append(
        _ state: RunJournal.Record, ordinal: Int, everything: Bool, trims: Bool
    ) throws(MigrationError) {
        try rethrow()
        busy.store(true, ordering: .releasing)
        let files = spills.saveState()
        queue.async { [self] in
            do throws(MigrationError) {
                try files.synchronize()
                try write(state, synchronizes: true, everything: everything)
                files.settle()
                lastSettled.store(ordinal, ordering: .releasing)
            } catch {
                failure.withLock { $0 = error }
            }
            if trims { ProcessMemory.trim() }
            busy.store(false, ordering: .releasing)
        }
    }

    /// Appends a record and waits until it is on the disk.
    ///
    /// - Parameter synchronizes: whether the store is to be there before it.
    func appendNow(
        _ record: RunJournal.Record, synchronizes: Bool, everything: Bool = false
    ) throws(MigrationError) {
        try drain()
        var result: MigrationError?
        let files = record.kind == RunRecord.stateKind ? spills.saveState() : nil
        WaitBoard.during(.disk) {
            queue.sync {
                do throws(MigrationError) {
                    try files?.synchronize()
                    try write(record, synchronizes: synchronizes, everything: everything)
                    files?.settle()
                } catch { result = error }
            }
        }
        if let result { throw result }
    }

    /// Waits for the record on its way.
    func drain() throws(MigrationError) {
        WaitBoard.during(.disk) { queue.sync {} }
        try rethrow()
    }

    /// The last state, as it was written; nil before the first.
    ///
    /// - Throws: `journal.io` (74), and what an earlier record failed with.
    func lastState() throws(MigrationError) -> RunRecord.State? {
        try drain()
        var result: Result<RunRecord.State?, MigrationError> = .success(nil)
        queue.sync {
            do throws(MigrationError) {
                guard let place = latest.last, let record = try journal.record(at: place) else { return }
                result = .success(RunRecord.state(record))
            } catch { result = .failure(error) }
        }
        return try result.get()
    }

    private func rethrow() throws(MigrationError) {
        if let error = failure.withLock({ $0 }) { throw error }
    }

    private func write(
        _ record: RunJournal.Record, synchronizes: Bool, everything: Bool
    ) throws(MigrationError) {
        if synchronizes || everything { try synchronize(everything: everything) }
        if let failAfter, appended >= failAfter {
            throw .writing("Writing the journal", path: storePath, otherwise: "journal.io", number: EIO)
        }
        if record.kind == RunRecord.stateKind {
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
        countAppended()
    }

    private func countAppended() {
        appended += 1
        if appended == killAfter { kill(getpid(), SIGKILL) }
    }

    private func synchronize(everything: Bool) throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(storePath, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw failed("Opening") }
        defer { close(descriptor) }
        if everything, !FileSystem.synchronize(descriptor) { throw failed("Syncing") }
        guard SystemCall.uninterrupted({ fdatasync(descriptor) }) == 0, FileSums.synchronize(of: storePath) else {
            throw failed("Syncing")
        }
    }

    private func failed(_ doing: String) -> MigrationError {
        .writing("\(doing) the store", path: storePath, otherwise: "store.io")
    }
}
