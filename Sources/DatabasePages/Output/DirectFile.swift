import Diagnostics
import Glibc
import SpillStorage

/// Writes the stream of pages with direct I/O, past the page cache. Nobody reads the pages soon, and to copy them to the cache
/// costs as much as to make them.
///
/// If the file system refuses direct I/O (EINVAL when the file is opened or first written), nothing is written here.
final class DirectFile {
    private enum State {
        case unopened
        case open(Int32)
        case refused
    }

    /// The alignment of addresses, offsets and sizes for direct I/O.
    static let alignment = 4096

    private let path: String
    private let calls: any FileCalls
    private var state = State.unopened

    init(path: String, calls: any FileCalls) {
        self.path = path
        self.calls = calls
    }

    deinit { close() }

    private func close() {
        if case .open(let descriptor) = state { _ = calls.close(descriptor) }
        state = .refused
    }

    /// Writes bytes, all of them if the file system allows it.
    ///
    /// - Parameters:
    ///   - bytes, place: both aligned.
    /// - Returns: the number of bytes written; the caller must write the rest in another way.
    func write(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(MigrationError) -> Int {
        guard let descriptor = opened() else { return 0 }
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

    private func opened() -> Int32? {
        switch state {
        case .open(let descriptor): return descriptor
        case .refused: return nil
        case .unopened:
            let flags = O_RDWR | O_CLOEXEC | FileFlags.direct
            let result = calls.openUninterrupted(path, flags: flags)
            // Never an error here: the file is also open in the usual way.
            guard result >= 0 else {
                state = .refused
                return nil
            }
            let descriptor = Int32(truncatingIfNeeded: result)
            state = .open(descriptor)
            return descriptor
        }
    }
}
