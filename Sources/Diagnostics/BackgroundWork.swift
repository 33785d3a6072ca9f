/// Work that goes on beside the caller, one piece at a time. Where the system makes no thread, the caller does it.
///
/// Only one thread at a time may call it. A piece has a thread of its own, which costs some 20 microseconds.
package final class BackgroundWork {
    private var thread: BackgroundThread?

    package init() {}

    /// Begins a piece of work when the one before has ended. Without a thread, the work is done when this returns.
    package func begin(_ work: @escaping @Sendable () -> Void) {
        wait()
        thread = BackgroundThread(work)
        if thread == nil { work() }
    }

    /// Waits for the end of the work.
    package func wait() {
        thread?.join()
        thread = nil
    }
}
