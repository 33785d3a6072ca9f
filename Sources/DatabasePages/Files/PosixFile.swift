import Glibc

/// Reads and writes whole ranges at an offset, across interruptions and partial transfers.
package enum PosixFile {
    /// Reads up to `count` bytes at an offset; fewer only at the file's end.
    ///
    /// - Returns: the bytes read, or -1 with `errno` set.
    package static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64)
        -> Int
    {
        var done = 0
        while done < count {
            let got = pread(descriptor, buffer + done, count - done, off_t(offset) + off_t(done))
            if got < 0 {
                if errno == EINTR { continue }
                return -1
            }
            if got == 0 { break }
            done += got
        }
        return done
    }

    /// Writes all of `count` bytes at an offset.
    ///
    /// - Returns: false with `errno` set if not all could be written.
    package static func write(_ descriptor: Int32, from buffer: UnsafeRawPointer, count: Int, at offset: Int64) -> Bool
    {
        var done = 0
        while done < count {
            let put = pwrite(descriptor, buffer + done, count - done, off_t(offset) + off_t(done))
            if put < 0 {
                if errno == EINTR { continue }
                return false
            }
            // A write of 0 bytes without an error would be repeated forever, so it counts as a full disk.
            if put == 0 {
                errno = ENOSPC
                return false
            }
            done += put
        }
        return true
    }

    /// The size of an open file in bytes, or -1.
    package static func size(_ descriptor: Int32) -> Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : -1
    }

    /// Opens a file read-only. Returns -1 with `errno` set if that fails.
    package static func openReadOnly(_ path: UnsafePointer<CChar>) -> Int32 {
        while true {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            if descriptor >= 0 || errno != EINTR { return descriptor }
        }
    }
}
