import Glibc

/// A thread of this process, which the system may refuse to make: under a limit of processes (`ulimit -u`, a cgroup's
/// `pids.max`) or of addresses (`ulimit -v`).
///
/// All threads of Stagecoach are made here. Foundation's `Thread` does not tell that it never began, and a queue of Dispatch
/// waits for its thread for ever.
///
/// Memory: its stack, as far as it is used.
package final class BackgroundThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private let thread: pthread_t
    private var isJoined = false

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - stack: the size of its stack in bytes.
    ///   - body: what it does; the thread ends with it.
    /// - Returns: nil if the system makes no thread. The body is then not called.
    package init?(stack: Int = 1 << 20, _ body: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return nil }
        defer { pthread_attr_destroy(&attributes) }
        guard pthread_attr_setstacksize(&attributes, stack) == 0 else { return nil }
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                argument.map { Unmanaged<Work>.fromOpaque($0).takeRetainedValue().body() }
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            return nil
        }
        self.thread = thread
    }

    deinit { if !isJoined { pthread_detach(thread) } }

    /// Waits for the end of the thread. Later calls return at once.
    package func join() {
        guard !isJoined else { return }
        isJoined = true
        pthread_join(thread, nil)
    }
}
