import Diagnostics
import Glibc
import SpillStorage

/// Writes the stream of pages with direct I/O, past the page cache. Nobody reads the pages soon, and to copy them to the cache
/// costs as much as to make them.
///
/// If the file system refuses direct I/O (EINVAL when the file is opened or first written), nothing is written here.
final class DirectFile {
    /// The alignment of addresses, offsets and sizes for direct I/O.
    static let alignment = 4096

    private let path: String
    private let calls: any FileCalls
    /// The descriptor; nil before the first write, negative if the file system refuses.
    private var descriptor: Int32?

    init(path: String, calls: any FileCalls) {
        self.path = path
        self.calls = calls
    }

    deinit { close() }

    private func close() {
        if let descriptor, descriptor >= 0 { _ = calls.close(descriptor) }
        descriptor = -1
    }

    /// Writes bytes, all of them if the file system allows it.
    ///
    /// - Parameters:
    ///   - bytes, place: both aligned.
    /// - Returns: the number of bytes written; the caller must write the rest in another way.
    func write(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(MigrationError) -> Int {
        let descriptor = opened()
        guard descriptor >= 0 else { return 0 }
        var done = 0
        // After a write that was cut short the rest may be unaligned.
        while done < bytes.count, done % Self.alignment == 0 {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = calls.write(descriptor, from: rest, at: place + done)
            if count == -Int(EINTR) { continue }
            if count == -Int(EINVAL) {
                close()
                return done
            }
            // A write of 0 bytes without an error would be repeated forever, so it counts as a full disk.
            guard count > 0 else {
                throw PageFailure.system("Writing", path, number: count == 0 ? Int(ENOSPC) : -count)
            }
            done += count
        }
        return done
    }

    private func opened() -> Int32 {
        if let descriptor { return descriptor }
        // Never an error here: the file is also open in the usual way.
        let opened = calls.openUninterrupted(path, flags: O_RDWR | O_CLOEXEC | FileFlags.direct)
        descriptor = Int32(truncatingIfNeeded: opened)
        return Int32(truncatingIfNeeded: opened)
    }
}
