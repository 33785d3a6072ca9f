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
    /// Bytes at the beginning that were given back to the disk.
    private(set) var discarded = 0
    private var mayDiscard = true
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
        directory.count(released: size - discarded)
    }

    /// Gives the disk back what stands before an offset, which is not read any more.
    ///
    /// It goes by whole mebibytes. On a file system that cannot do that the bytes stay until the file is gone.
    func discard(before offset: Int) {
        let end = min(offset, size) & ~(Self.discardedAtATime - 1)
        guard mayDiscard, end > discarded else { return }
        let result = directory.calls.discard(descriptor, at: discarded, count: end - discarded)
        guard result == 0 else {
            mayDiscard = result == -Int(EINTR)
            return
        }
        directory.count(released: end - discarded)
        discarded = end
    }

    private static let discardedAtATime = 1 << 20

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
