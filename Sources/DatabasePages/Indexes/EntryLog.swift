import Diagnostics
import Glibc
import SpillStorage

/// The entries that a sort holds in memory, as they came, in a file too: who goes on from a killed run reads them from there
/// and not from their rows again.
///
/// Whole pieces are written, past the page cache where the file system takes that; nothing waits for the disk. A sum tells
/// whether a file has what a state says of it: where it has not, after a failure of the machine or without the file, there
/// are the rows. So there is no error here but that of a damaged state: a file that cannot be written is not written any more.
/// Memory: a path; what is written lies in the sort's memory.
final class EntryLog {
    /// Bytes that are written at once, at least.
    static let piece = 128 << 10

    /// Bytes of entries that stand in the file, whole pages.
    private(set) var byteCount = 0
    /// The sum of them.
    private var sum: UInt64 = 0
    private let path: String
    /// The file's name in its folder.
    private let name: String
    private let directory: WorkDirectory
    private let direct: DirectFile
    private let descriptor: Int32
    /// Whether a state names the file: the process alone does not remove it then.
    private var isNamed = false

    /// Makes an empty file; nil where it cannot be made.
    init?(in directory: WorkDirectory) {
        path = directory.file(named: "entries")
        name = String(path.dropFirst(directory.path.utf8.count + 1))
        self.directory = directory
        guard let opened = Self.open(path, O_RDWR | O_CREAT | O_EXCL, directory.calls) else { return nil }
        descriptor = opened
        direct = DirectFile(path: path, calls: directory.calls)
    }

    /// Reads what a state says of a file and opens it; nil where it is not there.
    ///
    /// - Throws: `journal.damaged` (74).
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

    /// Writes what has come to a sort's entries since the last time, as far as it fills pages, where it is a piece at least.
    ///
    /// - Parameter entries: all of them; those that stand in the file are what they were.
    /// - Returns: false where the file cannot be written: it is of no use any more.
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

    /// Pages that stand at a place of a file.
    private static func sum(of bytes: UnsafeRawBufferPointer, from place: Int) -> UInt64 {
        guard let start = bytes.baseAddress else { return 0 }
        var sum: UInt64 = 0
        for offset in stride(from: 0, to: bytes.count, by: PageGeometry.pageSize) {
            let number = UInt32(truncatingIfNeeded: (place + offset) / PageGeometry.pageSize + 1)
            sum &+= WrittenPages.sum(of: start + offset, number: number)
        }
        return sum
    }

    /// Writes which file it is, and what stands in it: from now on it outlives the process.
    func save(to state: inout StateWriter) {
        state.write(name)
        state.write(byteCount)
        state.write(sum)
        isNamed = true
    }

    /// Reads the entries; false where the file has others than it should.
    ///
    /// - Parameter space: ``byteCount`` bytes.
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
