import Foundation
import Synchronization

extension ProgressCounter {
    /// Figures of the run at work, or of the next one, about ten times a second while they change, and once at its end;
    /// then the sequence ends. A slow reader gets the latest.
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

/// Keeps a Foundation `Progress` up with a ``ProgressCounter``, from the thread that migrates.
final class ProgressMirror: Sendable {
    /// Units of a whole run.
    static let units: Int64 = 1000

    let progress: Progress
    private let cancellation: CancellationFlag
    private let isOver = Atomic<Bool>(false)

    /// - Parameter cancellation: set with a `CancellationError` where somebody cancels the `Progress`.
    init(cancellation: CancellationFlag) {
        self.cancellation = cancellation
        // No parent: the caller adds it to a tree of its own where it wants to.
        progress = Progress(parent: nil, userInfo: nil)
        progress.totalUnitCount = ProgressMirror.units
        progress.isPausable = false
        // Foundation calls it some time later, on another thread: it must not end another run.
        progress.cancellationHandler = { [weak self] in
            guard let self, !isOver.load(ordering: .acquiring) else { return }
            cancellation.cancel(CancellationError())
        }
    }

    /// The run begins or goes on; one that was cancelled ends at once.
    func begin() {
        if progress.isCancelled { cancellation.cancel(CancellationError()) }
    }

    /// The run has ended.
    func end() { isOver.store(true, ordering: .releasing) }

    /// Takes over a share of the run, 0 to 1; it never goes back.
    func show(_ fraction: Double) {
        begin()
        let units = Int64(fraction * Double(ProgressMirror.units))
        if units > progress.completedUnitCount { progress.completedUnitCount = units }
    }
}
