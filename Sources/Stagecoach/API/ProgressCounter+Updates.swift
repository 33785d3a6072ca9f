import Foundation
import Synchronization

extension ProgressCounter {
    /// A sequence of figures of the current run, or of the next one: about ten a second while they change, and one at
    /// the end of the run; then the sequence ends. A slow reader gets the latest.
    public var updates: AsyncStream<Snapshot> {
        let ended = runsEnded
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                var last: Snapshot?
                while !Task.isCancelled {
                    let isLast = runsEnded != ended
                    let now = snapshot
                    if isLast || now != last, runsBegun != ended || isLast { continuation.yield(now) }
                    last = now
                    if isLast { break }
                    try? await Task.sleep(for: .milliseconds(100))
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

/// Updates a Foundation `Progress` from a ``ProgressCounter``, on the thread that migrates.
final class ProgressMirror: Sendable {
    /// The units of a whole run.
    static let units: Int64 = 1000

    let progress: Progress
    private let cancellation: CancellationFlag
    private let isOver = Atomic<Bool>(false)
    // Set before the run begins, called on its thread.
    nonisolated(unsafe) private var changed: ((Float) -> Void)?

    /// Creates a progress that has not begun.
    ///
    /// - Parameter cancellation: set with a `CancellationError` if somebody cancels the `Progress`.
    init(cancellation: CancellationFlag) {
        self.cancellation = cancellation
        // No parent: the caller may add it to a tree of progress objects.
        progress = Progress(parent: nil, userInfo: nil)
        progress.totalUnitCount = ProgressMirror.units
        progress.isPausable = false
        // Foundation calls the handler some time later, on another thread: it must not end another run.
        progress.cancellationHandler = { [weak self] in
            guard let self, !isOver.load(ordering: .acquiring) else { return }
            cancellation.cancel(CancellationError())
        }
    }

    /// Lets a closure follow the run that is about to begin.
    func follow(_ changed: ((Float) -> Void)?) { self.changed = changed }

    /// Begins or resumes the run. A progress that was cancelled ends the run at once.
    func begin() {
        if progress.isCancelled { cancellation.cancel(CancellationError()) }
    }

    /// Notes that the run has ended.
    func end() { isOver.store(true, ordering: .releasing) }

    /// Shows a share of the run, 0 to 1. A lower share than before is ignored.
    func show(_ fraction: Double) {
        begin()
        let units = Int64(fraction * Double(ProgressMirror.units))
        guard units > progress.completedUnitCount else { return }
        progress.completedUnitCount = units
        changed?(Float(fraction))
    }
}
