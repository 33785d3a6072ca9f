import Diagnostics
import Glibc

/// An open spill file: appended at its end, read at any offset, removed with its owner.
///
/// Interrupted and short calls are continued. The file is unlinked when the object is released, unless a saved state names it.
/// Its descriptor may be closed for another file's sake while it is not in use: see ``SpillDescriptor``.
///
/// Memory: a path. For use by one thread.
package final class SpillFile {
    /// The file's path.
    package let path: String
    private(set) var size = 0
    /// Bytes at the beginning that were given back to the file system.
    private(set) var discarded = 0
    private var mayDiscard = true
    private let directory: WorkDirectory
    private let descriptor: SpillDescriptor
    /// The file's name in the work directory.
    private let name: String
    /// True if a saved state names the file. A resumed run may then need it, so this object does not unlink it.
    private var isSaved = false
    /// The file's size in the last saved state; bytes up to there are synced with that state.
    private var savedSize = 0

    init(directory: WorkDirectory, named name: String) throws(MigrationError) {
        path = directory.file(named: name)
        self.name = String(path.dropFirst(directory.inside.utf8.count + 1))
        self.directory = directory
        let opened = SpillDescriptor(path, directory.calls)
        let result = opened.open(flags: O_CREAT | O_EXCL)
        guard result >= 0 else { throw SpillFailure.system("create", path, number: -result) }
        // Last: an object that is whole is taken back by `deinit`, which removes the file.
        descriptor = opened
    }

    /// Opens a file that a saved state names. What was written after that state is cut off.
    ///
    /// - Throws: `journal.damaged` (74) if the file is missing or too short, `spill.io` (74), `spill.permission` (77).
    init(directory: WorkDirectory, restoring coder: inout StateCoder) throws(MigrationError) {
        name = try coder.reader.text()
        size = try coder.reader.count(upTo: .max)
        discarded = try coder.reader.count(upTo: size)
        savedSize = size
        isSaved = true
        self.directory = directory
        path = directory.inside + "/" + name
        guard !name.contains("/"), name.hasSuffix(".spill") else { throw StateReader.damaged("a file's name") }
        let opened = SpillDescriptor(path, directory.calls)
        let result = opened.open(flags: 0)
        guard result != -Int(ENOENT) else { throw StateReader.damaged("\(name) is not there") }
        guard result >= 0 else { throw SpillFailure.system("open", path, number: -result) }
        do throws(MigrationError) {
            try Self.cut(opened, name, path, to: size)
        } catch {
            opened.close()
            throw error
        }
        descriptor = opened
        // Only now: a size in a damaged state may be too large to count.
        directory.count(written: size - discarded)
        directory.claim(name)
    }

    private static func cut(
        _ descriptor: SpillDescriptor, _ name: String, _ path: String, to size: Int
    ) throws(MigrationError) {
        let found = descriptor.use { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 ? Int(status.st_size) : -Int(errno)
        }
        guard found >= size else { throw StateReader.damaged("\(name) is too short") }
        let result = descriptor.use { descriptor in
            SystemCall.uninterrupted({ ftruncate(descriptor, off_t(size)) }) == 0 ? 0 : -Int(errno)
        }
        guard result == 0 else { throw SpillFailure.system("write", path, number: -result) }
    }

    /// Writes the file's name and sizes to a state. From now on the file outlives the process.
    func save(to coder: inout StateCoder) {
        coder.writer.write(name)
        coder.writer.write(size)
        coder.writer.write(discarded)
        if !isSaved || savedSize != size { directory.noteSaved(name) }
        isSaved = true
        savedSize = size
    }

    deinit {
        descriptor.close()
        if isSaved { directory.release(.file(name)) } else { _ = directory.calls.unlink(path) }
        directory.count(released: size - discarded)
    }

    /// Gives the disk space before an offset back. These bytes must not be read any more.
    ///
    /// Space is given back in whole mebibytes. If the file system cannot do that, the bytes stay until the file is removed.
    func discard(before offset: Int) {
        let end = min(offset, size) & ~(Self.discardedAtATime - 1)
        guard mayDiscard, end > discarded else { return }
        if isSaved {
            directory.release(.bytes(name, from: discarded, count: end - discarded))
        } else {
            let result = descriptor.use { directory.calls.discard($0, at: discarded, count: end - discarded) }
            guard result == 0 else {
                mayDiscard = result == -Int(EINTR)
                return
            }
        }
        directory.count(released: end - discarded)
        discarded = end
    }

    private static let discardedAtATime = 1 << 20

    /// Writes all bytes at the file's end.
    ///
    /// After an error the file's size is unchanged: the next write goes to the same place.
    func append(_ bytes: UnsafeRawBufferPointer) throws(MigrationError) {
        let result = descriptor.use { directory.calls.writeWhole($0, from: bytes, at: size) }
        guard result == 0 else { throw SpillFailure.system("write", path, number: -result) }
        size += bytes.count
        directory.count(written: bytes.count)
    }

    /// Reads until the space is full or the file ends. Returns the number of bytes read.
    func read(into space: UnsafeMutableRawBufferPointer, at offset: Int) throws(MigrationError) -> Int {
        let count = descriptor.use { directory.calls.readWhole($0, into: space, at: offset) }
        guard count >= 0 else { throw SpillFailure.system("read", path, number: -count) }
        return count
    }
}
