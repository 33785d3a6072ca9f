import Diagnostics
import Foundation
import Glibc
import Stagecoach
import Synchronization

/// A running batch. Its entries are migrated in turn, in this process or in workers, and each is reported once.
final class BatchRun: Sendable {
    /// The parameters of a batch.
    struct Work: Sendable {
        var entries: [BatchEntry]
        /// The indices of this share's entries.
        var places: [Int]
        var arguments: ParsedArguments
        /// The command line without the program's name, for workers.
        var commandLine: [String]
        var shard: BatchShard
        /// The number of stores migrated at a time.
        var jobs: Int
        /// The memory for each of them, in bytes.
        var memory: Int
        /// True if each store is migrated in a process of its own: policies may crash, and keep state in their library.
        var isolates: Bool

        /// Returns the request for an entry.
        ///
        /// - Throws: `manifest.entry` (65).
        func request(_ entry: BatchEntry) throws(MigrationError) -> MigrationRequest {
            do throws(UsageError) {
                var request = try MigrationRequest(arguments, entry)
                request.options.memoryLimit = memory
                return request
            } catch {
                throw MigrationError("manifest.entry", .data, error.sentence, context: entry.place ?? .init())
            }
        }
    }

    private struct State {
        var next = 0
        /// The indices of entries for which no process could be started while others were at work.
        var returned: [Int] = []
        var workers: [pid_t] = []
        var summary = BatchSummary()
        var failure: (any Error)?
    }

    let work: Work
    /// The outcome so far.
    var summary: BatchSummary { state.withLock { $0.summary } }
    /// The indices of this share's entries, in order; those that crashed before come last.
    private let places: [Int]
    private let log: BatchLog
    private let configuration: BatchConfiguration
    private let cancellation: CancellationFlag
    private let state = Mutex(State())
    private let starting = Mutex(())
    /// Receives each store's result when it is known.
    private let tell: @Sendable (BatchResult, BatchSummary) -> Void

    init(
        _ work: Work, log: BatchLog, configuration: BatchConfiguration, cancellation: CancellationFlag,
        tell: @escaping @Sendable (BatchResult, BatchSummary) -> Void
    ) {
        self.work = work
        let hasCrashed = work.places.map { log.hasCrashed(at: work.entries[$0].destination) }
        places = [false, true].flatMap { late in zip(work.places, hasCrashed).filter { $1 == late }.map(\.0) }
        self.log = log
        self.configuration = configuration
        self.cancellation = cancellation
        self.tell = tell
    }

    /// Migrates all entries of the share.
    ///
    /// - Returns: the outcome; entries left by an interruption are not in it.
    /// - Throws: `batch.results` (74) if results cannot be written; later stores are then not started.
    func run() throws -> BatchSummary {
        let clock = RunClock()
        if work.jobs == 1, !work.isolates {
            while let place = take() {
                attempt(place) { entry, request, wasBegun in
                    StoreMigration(
                        entry: entry, request: request, cancellation: cancellation, commandLine: work.commandLine,
                        wasBegun: wasBegun
                    ).run()
                }
            }
        } else {
            let group = DispatchGroup()
            for _ in 0..<min(work.jobs, work.places.count) {
                group.enter()
                let thread = BackgroundThread {
                    self.serve()
                    group.leave()
                }
                guard thread == nil else { continue }
                group.leave()
                break
            }
            // Workers do not share this process's cancellation, so it is passed on as the signal that caused it.
            var hasPassedOn = false
            while group.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
                guard !hasPassedOn, cancellation.error != nil else { continue }
                hasPassedOn = true
                for worker in state.withLock({ $0.workers }) { kill(worker, SIGTERM) }
            }
            // What is left where the system made no thread, or fewer processes than were asked for.
            serve()
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        var summary = summary
        summary.wallSeconds = (clock.seconds * 1e3).rounded() / 1e3
        return summary
    }

    /// Returns the index of the next entry; nil at the end and once the batch is cancelled.
    private func take() -> Int? {
        guard cancellation.error == nil else { return nil }
        return state.withLock { state in
            guard state.failure == nil else { return nil }
            if let place = state.returned.popLast() { return place }
            guard state.next < places.count else { return nil }
            defer { state.next += 1 }
            return places[state.next]
        }
    }

    /// Starts a worker, and notes it before another thread finds out that no process is left for it.
    ///
    /// - Returns: nil with `errno` set if the system cannot start a process.
    private func start() -> BatchWorker? {
        var worker: BatchWorker?
        starting.withLock { _ in
            worker = BatchWorker(arguments: work.commandLine, memory: work.memory)
            let reason = errno
            if let worker {
                state.withLock { $0.workers.append(worker.process) }
                // SIGTERM went to the workers that were known then; this one may have come later.
                if cancellation.error != nil { kill(worker.process, SIGTERM) }
            }
            errno = reason
        }
        return worker
    }

    /// Gives an entry back for which no process can be started, if others are at work, whose processes can take it.
    private func leaves(_ place: Int) -> Bool {
        state.withLock { state in
            guard !state.workers.isEmpty else { return false }
            state.returned.append(place)
            return true
        }
    }

    /// Takes entries one after the other and migrates each in a worker process, which is started when the first needs it. Returns
    /// when no entry is left, the batch is cancelled, or no process can be started.
    private func serve() {
        var worker: BatchWorker?
        var isRefused = false
        @discardableResult
        func dismiss() -> BatchWorker.End? {
            guard let old = worker else { return nil }
            worker = nil
            state.withLock { $0.workers.removeAll { $0 == old.process } }
            return old.end()
        }
        while !isRefused, let place = take() {
            attempt(place) { entry, _, wasBegun in
                if worker == nil {
                    worker = start()
                    let reason = errno
                    if worker == nil, leaves(place) {
                        isRefused = true
                        return nil
                    }
                    errno = reason
                }
                if let result = worker?.migrate(place, wasBegun: wasBegun) {
                    if work.isolates { dismiss() }
                    return result
                }
                var result = BatchResult(status: .failed, source: entry.source, destination: entry.destination)
                result.exitCode = MigrationError.Category.internal.rawValue
                result.error = "batch.worker"
                if worker == nil {
                    result.exitCode = MigrationError.Category.io.rawValue
                    result.message =
                        "No process could be started for the store: \(String(cString: strerror(errno))). "
                        + "Raise the limit of processes (ulimit -u), and run the same command again"
                } else {
                    let line = worker?.crashLine
                    let end = dismiss()
                    if line == nil, end?.isTermination == true, cancellation.error != nil {
                        // It was told to end before it could listen, or has no thread to listen with.
                        result.error = "interrupted"
                        result.postpone("The batch was interrupted before it was done")
                        return result
                    }
                    if end?.isSignal == true || line != nil { result.status = .crashed }
                    result.message =
                        "\(entry.source): " + (line ?? "The process that migrated it \(end?.text ?? "ended")")
                }
                return result
            }
        }
        dismiss()
    }

    /// Skips an entry that is done, or migrates it between two lines of the results file.
    ///
    /// - Parameter migrate: migrates the store; nil if another thread does that.
    private func attempt(_ place: Int, _ migrate: (BatchEntry, MigrationRequest, _ wasBegun: Bool) -> BatchResult?) {
        let entry = work.entries[place]
        var begun = BatchResult(status: .started, source: entry.source, destination: entry.destination)
        begun.shard = work.shard.count > 1 ? "\(work.shard.index)/\(work.shard.count)" : nil
        begun.fingerprint = try? BatchConfiguration.source(entry.source)
        do {
            let request = try work.request(entry)
            begun.configuration = configuration.digest(request)
            if let previous = done(entry, like: begun) { return try skip(previous) }
            let stands = BatchConfiguration.result(entry.destination) != nil
            let previous = log.last(of: entry.destination)
            let wasBegun = stands && previous?.status == .started && begun.isAlike(previous)
            if !stands { try log.add(begun) }
            guard var result = migrate(entry, request, wasBegun) else { return }
            if result.error == "destination.exists", !wasBegun {
                // Another run, of another share or with another results file, may have migrated it meanwhile.
                try log.read()
                if let previous = done(entry, like: begun) { return try skip(previous) }
                result.message = BatchWording.outdated(result, begun, previous: log.last(of: entry.destination))
            }
            result.shard = begun.shard
            result.fingerprint = begun.fingerprint
            result.configuration = begun.configuration
            try log.add(result)
            note(result)
        } catch {
            state.withLock { if $0.failure == nil { $0.failure = error } }
        }
    }

    /// Returns the result of an previous run for an entry, with status `skipped`, if nothing is left to do; else nil.
    private func done(_ entry: BatchEntry, like now: BatchResult) -> BatchResult? {
        guard var previous = log.last(of: entry.destination), previous.status == .done, now.isAlike(previous),
            let result = previous.result, result == BatchConfiguration.result(entry.destination)
        else { return nil }
        previous.status = .skipped
        return previous
    }

    /// Notes a store that a run before has done. The results file says so again if its last line for the store says
    /// something else: for whoever reads it, the last line counts.
    private func skip(_ previous: BatchResult) throws {
        if !log.saysDone(previous.destination) {
            var line = previous
            line.status = .done
            line.isDoneBefore = true
            try log.add(line)
        }
        note(previous)
    }

    private func note(_ result: BatchResult) {
        let summary = state.withLock { state -> BatchSummary in
            state.summary.add(result)
            return state.summary
        }
        tell(result, summary)
    }
}
