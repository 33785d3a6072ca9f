import Diagnostics
import Glibc
import SpillStorage

/// Reads and writes whole ranges at an offset, across interruptions and partial transfers.
package enum PosixFile {
    /// Reads up to `count` bytes at an offset; fewer only at the file's end.
    ///
    /// - Returns: the bytes read, or -1 with `errno` set.
    package static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64
    ) -> Int {
        let space = UnsafeMutableRawBufferPointer(start: buffer, count: count)
        let got = SystemFileCalls().readWhole(descriptor, into: space, at: Int(offset))
        if got < 0 { errno = Int32(truncatingIfNeeded: -got) }
        return max(-1, got)
    }

    /// Writes all of `count` bytes at an offset.
    ///
    /// - Returns: false with `errno` set if not all could be written.
    package static func write(
        _ descriptor: Int32, from buffer: UnsafeRawPointer, count: Int, at offset: Int64
    ) -> Bool {
        let bytes = UnsafeRawBufferPointer(start: buffer, count: count)
        let result = SystemFileCalls().writeWhole(descriptor, from: bytes, at: Int(offset))
        if result < 0 { errno = Int32(truncatingIfNeeded: -result) }
        return result == 0
    }

    /// The size of an open file in bytes, or -1.
    package static func size(_ descriptor: Int32) -> Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : -1
    }

    /// Opens a file read-only. Returns -1 with `errno` set if that fails.
    package static func openReadOnly(_ path: UnsafePointer<CChar>) -> Int32 {
        SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
    }
}
