import Diagnostics
import Glibc
import SpillStorage

/// The stream of pages, written past the system's page cache: nobody reads them soon, and copying them there costs as much
/// as making them.
///
/// A file system that does not take such writes (EINVAL when the file is opened or first written) gets none.
final class DirectFile {
    private enum State {
        case unopened
        case open(Int32)
        case refused
    }

    /// What the addresses, offsets and sizes of such writes are multiples of.
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

    /// Writes bytes, all of them where the file system does so.
    ///
    /// - Parameters:
    ///   - bytes, place: both aligned.
    /// - Returns: how many were written; the rest has to be written in another way.
    /// - Throws: `store.full`, `store.io` (74).
    func write(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(MigrationError) -> Int {
        guard let descriptor = opened() else { return 0 }
        var done = 0
        // What is left after a write that was cut short may not be aligned any more.
        while done < bytes.count, done % Self.alignment == 0 {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = calls.write(descriptor, from: rest, at: place + done)
            if count == -Int(EINTR) { continue }
            if count == -Int(EINVAL) {
                close()
                return done
            }
            // A write that takes nothing and names no error would be tried for ever.
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
            // Whatever the reason: the file is open in the usual way.
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
