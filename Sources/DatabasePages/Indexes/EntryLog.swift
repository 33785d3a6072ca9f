import Diagnostics
import Glibc
import SpillStorage

/// A copy on disk of the entries that a sort holds in memory. A resumed run reads them from the file, not from their rows
/// again.
///
/// Whole pages are written, with direct I/O if the file system allows it, and never synced. A checksum tells whether the file
/// has what a state says. If it has not (after a failure of the machine, or without the file), the entries are read from the
/// rows. So the only error here is a damaged state. If the file cannot be written, it is given up.
///
/// Memory: a path; the bytes to write are in the sort's memory.
final class EntryLog {
    /// The least number of bytes that are written at once.
    static let piece = 128 << 10

    /// The number of bytes of entries in the file, whole pages.
    private(set) var byteCount = 0
    /// The checksum of these bytes.
    private var sum: UInt64 = 0
    private let path: String
    /// The file's name in its folder.
    private let name: String
    private let directory: WorkDirectory
    private let direct: DirectFile
    private let descriptor: Int32
    /// True if a saved state names the file. Then it is not unlinked with this object.
    private var isNamed = false

    /// Creates an empty file; nil if that fails.
    init?(in directory: WorkDirectory) {
        path = directory.file(named: "entries")
        name = String(path.dropFirst(directory.path.utf8.count + 1))
        self.directory = directory
        guard let opened = Self.open(path, O_RDWR | O_CREAT | O_EXCL, directory.calls) else { return nil }
        descriptor = opened
        direct = DirectFile(path: path, calls: directory.calls)
    }

    /// Reads a saved state and opens its file; nil if the file cannot be opened.
    init?(in directory: WorkDirectory, restoring state: inout StateReader) throws(MigrationError) {
        name = try state.text()
        let size = try state.count(upTo: 1 << 40)
        let known = try state.word()
        guard !name.contains("/"), name.hasSuffix(".spill"), size > 0, size % PageGeometry.pageSize == 0 else {
            throw StateReader.damaged("the file of an index's entries")
        }
        path = directory.path + "/" + name
        self.directory = directory
        guard let opened = Self.open(path, O_RDWR | O_NOFOLLOW, directory.calls) else { return nil }
        descriptor = opened
        direct = DirectFile(path: path, calls: directory.calls)
        (byteCount, sum, isNamed) = (size, known, true)
        directory.claim(name)
        directory.count(written: size)
    }

    deinit {
        _ = directory.calls.close(descriptor)
        if isNamed { directory.release(.file(name)) } else { _ = directory.calls.unlink(path) }
        directory.count(released: byteCount)
    }

    private static func open(_ path: String, _ flags: Int32, _ calls: any FileCalls) -> Int32? {
        let result = calls.openUninterrupted(path, flags: flags | O_CLOEXEC, mode: 0o600)
        return result >= 0 ? Int32(truncatingIfNeeded: result) : nil
    }

    /// Writes the entries that were added since the last call, as far as they fill pages. It waits until they are ``piece``
    /// bytes at least.
    ///
    /// - Parameter entries: all entries; those in the file must be unchanged.
    /// - Returns: false if the file cannot be written; the log is useless then.
    func append(from entries: UnsafeRawBufferPointer) -> Bool {
        guard entries.count - byteCount >= Self.piece else { return true }
        let end = entries.count / PageGeometry.pageSize * PageGeometry.pageSize
        let fresh = UnsafeRawBufferPointer(rebasing: entries[byteCount..<end])
        guard write(fresh) else { return false }
        sum &+= Self.sum(of: fresh, from: byteCount)
        directory.count(written: fresh.count)
        byteCount = end
        return true
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var done = 0
        if let start = bytes.baseAddress, Int(bitPattern: start) % DirectFile.alignment == 0 {
            do throws(MigrationError) { done = try direct.write(bytes, at: byteCount) } catch { return false }
        }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
        return directory.calls.writeWhole(descriptor, from: rest, at: byteCount + done) == 0
    }

    /// The checksum of pages at an offset of a file.
    private static func sum(of bytes: UnsafeRawBufferPointer, from place: Int) -> UInt64 {
        guard let start = bytes.baseAddress else { return 0 }
        var sum: UInt64 = 0
        for offset in stride(from: 0, to: bytes.count, by: PageGeometry.pageSize) {
            let number = UInt32(truncatingIfNeeded: (place + offset) / PageGeometry.pageSize + 1)
            sum &+= WrittenPages.sum(of: start + offset, number: number)
        }
        return sum
    }

    /// Writes the file's name, size and checksum to a state. From now on the file outlives the process.
    func save(to state: inout StateWriter) {
        state.write(name)
        state.write(byteCount)
        state.write(sum)
        isNamed = true
    }

    /// Reads the entries. Returns false if the file does not have the saved ones.
    ///
    /// - Parameter space: room for ``byteCount`` bytes.
    func read(into space: UnsafeMutableRawBufferPointer) -> Bool {
        precondition(space.count == byteCount)
        var done = 0
        if let start = space.baseAddress, Int(bitPattern: start) % DirectFile.alignment == 0,
            let opened = Self.open(path, O_RDONLY | FileFlags.direct, directory.calls)
        {
            done = directory.calls.readWhole(opened, into: space, at: 0)
            _ = directory.calls.close(opened)
        }
        if done < byteCount { done = directory.calls.readWhole(descriptor, into: space, at: 0) }
        return done == byteCount && Self.sum(of: UnsafeRawBufferPointer(space), from: 0) == sum
    }
}
