import Glibc
import Synchronization

/// Where text goes: a file descriptor, or a test's buffer.
package protocol TextSink: Sendable {
    /// Writes all of the text. What goes wrong is remembered, not thrown: a closed pipe must not end a migration.
    func write(_ text: String)
    /// The error number of the first write that failed; 0 where none did.
    var failure: Int32 { get }
}

/// Text to a file descriptor, unbuffered.
package final class DescriptorSink: TextSink {
    private let descriptor: Int32
    private let failed = Atomic<Int32>(0)

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    package var failure: Int32 { failed.load(ordering: .relaxed) }

    package func write(_ text: String) {
        guard failure == 0 else { return }
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let base = rest.baseAddress, !rest.isEmpty {
                let count = Glibc.write(descriptor, base, rest.count)
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno == EAGAIN {
                    // A terminal that another program left non-blocking.
                    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&waiting, 1, 1000)
                } else if errno != EINTR {
                    failed.store(errno, ordering: .relaxed)
                    return
                }
            }
        }
    }
}

/// Text kept in memory, for tests.
package final class TextBuffer: TextSink {
    private let content = Mutex("")

    package init() {}

    package var failure: Int32 { 0 }
    package var text: String { content.withLock { $0 } }
    package func write(_ text: String) { content.withLock { $0 += text } }
}
