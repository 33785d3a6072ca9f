import Diagnostics
import Glibc

/// One open spill file: written at its end, read anywhere, gone with its owner.
///
/// Interrupted and short calls are gone on with. The file is unlinked when the value is released.
/// Memory: a path. For use by one thread.
package final class SpillFile {
    /// The file's path.
    package let path: String
    /// Bytes written.
    private(set) var size = 0
    private let directory: WorkDirectory
    private let descriptor: Int32

    /// Makes a new file in the work directory.
    ///
    /// - Throws: `spill.full`, `spill.io` (74), `spill.permission` (77).
    init(directory: WorkDirectory, named name: String) throws(MigrationError) {
        path = directory.file(named: name)
        self.directory = directory
        var result = directory.calls.open(path, flags: O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
        while result == -Int(EINTR) {
            result = directory.calls.open(path, flags: O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
        }
        guard result >= 0 else { throw SpillFailure.system("create", path, number: -result) }
        descriptor = Int32(truncatingIfNeeded: result)
    }

    deinit {
        _ = directory.calls.close(descriptor)
        _ = directory.calls.unlink(path)
        directory.count(released: size)
    }

    /// Writes all bytes at the file's end.
    ///
    /// After an error the file's size is what it was: the next write goes to the same place.
    ///
    /// - Throws: `spill.full`, `spill.io` (74).
    func append(_ bytes: UnsafeRawBufferPointer) throws(MigrationError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = directory.calls.write(descriptor, from: rest, at: size + done)
            if count == -Int(EINTR) { continue }
            // A write that takes nothing and names no error would be tried for ever.
            guard count > 0 else {
                throw SpillFailure.system("write", path, number: count == 0 ? Int(ENOSPC) : -count)
            }
            done += count
        }
        size += bytes.count
        directory.count(written: bytes.count)
    }

    /// Reads until the space is full or the file ends, and returns the bytes read.
    ///
    /// - Throws: `spill.io` (74).
    func read(into space: UnsafeMutableRawBufferPointer, at offset: Int) throws(MigrationError) -> Int {
        var done = 0
        while done < space.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: space[done...])
            let count = directory.calls.read(descriptor, into: rest, at: offset + done)
            if count == -Int(EINTR) { continue }
            guard count >= 0 else { throw SpillFailure.system("read", path, number: -count) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Makes what was written outlive a crash of the machine.
    ///
    /// - Throws: `spill.full`, `spill.io` (74).
    func synchronize() throws(MigrationError) {
        var result = directory.calls.sync(descriptor)
        while result == -Int(EINTR) { result = directory.calls.sync(descriptor) }
        guard result == 0 else { throw SpillFailure.system("write", path, number: -result) }
    }
}
