import Diagnostics
import Glibc
import Synchronization

/// A target for text: a file descriptor, or a buffer of a test.
package protocol TextSink: Sendable {
    /// Writes all of the text. An error is recorded, not thrown: a closed pipe must not end a migration.
    func write(_ text: String)
    /// The error number of the first failed write; 0 if none failed.
    var failure: Int32 { get }
}

/// Writes text to a file descriptor, unbuffered.
package final class DescriptorSink: TextSink {
    private let descriptor: Int32
    private let closes: Bool
    private let failed = Atomic<Int32>(0)

    /// - Parameter closes: true to close the descriptor with the sink.
    package init(_ descriptor: Int32, closes: Bool = false) {
        self.descriptor = descriptor
        self.closes = closes
    }

    deinit { if closes { close(descriptor) } }

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
                    // Another program may have left the terminal non-blocking.
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

extension DescriptorSink {
    /// Syncs what was written to the disk. Returns the error number of the first failed call; 0 if none failed.
    func synchronize() -> Int32 {
        guard failure == 0 else { return failure }
        // What cannot be synced, such as a pipe, gives EINVAL or EROFS.
        let isSynced = SystemCall.uninterrupted { fsync(descriptor) } == 0
        return isSynced || errno == EINVAL || errno == EROFS ? 0 : errno
    }
}
