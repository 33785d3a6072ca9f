import Dispatch

/// Work that is repeated at intervals, in a thread of its own. Where the system makes no thread, it is not done at all: only
/// what people can do without is repeated.
package final class RepeatedWork {
    // Waiting for a semaphore needs no queue, and so no thread that Dispatch would have to make.
    private let ended = DispatchSemaphore(value: 0)
    private let thread: BackgroundThread?

    /// Begins.
    ///
    /// - Parameters:
    ///   - first: the time until the work is done first; nil: one interval.
    ///   - interval: the time between the end of one call and the next one.
    package init(
        after first: DispatchTimeInterval? = nil, every interval: DispatchTimeInterval,
        _ work: @escaping @Sendable () -> Void
    ) {
        thread = BackgroundThread { [ended] in
            var due = DispatchTime.now() + (first ?? interval)
            while ended.wait(timeout: due) == .timedOut {
                work()
                due = .now() + interval
            }
        }
    }

    /// Ends it. A call under way is waited for, and no other follows.
    package func end() {
        ended.signal()
        thread?.join()
    }
}
