import Glibc

/// Calls that are repeated if a signal interrupts them, and continued if they are cut short. Results are like those of the
/// plain calls.
extension FileCalls {
    /// `open`: a descriptor, or the negative error number.
    package func openUninterrupted(_ path: String, flags: Int32, mode: UInt32 = 0) -> Int {
        uninterrupted { open(path, flags: flags, mode: mode) }
    }

    /// `fdatasync`: 0, or the negative error number.
    package func syncUninterrupted(_ descriptor: Int32) -> Int { uninterrupted { sync(descriptor) } }

    private func uninterrupted(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result != -Int(EINTR) { return result }
        }
    }

    /// Reads until the space is full or the file ends: the bytes read, or the negative error number.
    package func readWhole(_ descriptor: Int32, into space: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        var done = 0
        while done < space.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: space[done...])
            let count = uninterrupted { read(descriptor, into: rest, at: offset + done) }
            if count < 0 { return count }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Writes all bytes: 0, or the negative error number.
    ///
    /// A write of 0 bytes without an error number would be repeated forever, so it counts as a full disk.
    package func writeWhole(_ descriptor: Int32, from bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = uninterrupted { write(descriptor, from: rest, at: offset + done) }
            guard count > 0 else { return count == 0 ? -Int(ENOSPC) : count }
            done += count
        }
        return 0
    }
}
