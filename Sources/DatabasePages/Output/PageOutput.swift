import Diagnostics
import Glibc
import SpillStorage

/// The end of a database file, to which pages are added: one ascending stream, whatever tree a page belongs to.
///
/// A page gets its number when it is complete. Pointer-map pages and the lock page are passed over: where one of them
/// comes, an empty page is put, and ``PointerMap`` fills it.
///
/// What fills the buffer goes to the disk past the page cache where the file system lets it (``DirectFile``); a file that is
/// smaller than the buffer is written as any other.
///
/// Memory: 128 pages.
final class PageOutput {
    private static let bufferedPages: UInt32 = 128

    let path: String
    private let calls: any FileCalls
    private let descriptor: Int32
    private let direct: DirectFile
    private let buffer: UnsafeMutableRawPointer
    /// Number of the page at the buffer's start.
    private var firstBuffered: UInt32
    /// Number of the last page of the file, written or buffered.
    private(set) var pageCount: UInt32

    /// - Parameter pageCount: pages that the file has.
    /// - Throws: `store.io` (74).
    init(path: String, calls: any FileCalls) throws(MigrationError) {
        self.path = path
        self.calls = calls
        var result = calls.open(path, flags: O_RDWR | O_CLOEXEC, mode: 0)
        while result == -Int(EINTR) { result = calls.open(path, flags: O_RDWR | O_CLOEXEC, mode: 0) }
        guard result >= 0 else { throw PageFailure.system("Opening", path, number: -result) }
        descriptor = Int32(truncatingIfNeeded: result)
        direct = DirectFile(path: path, calls: calls)
        buffer = .allocate(byteCount: Int(Self.bufferedPages) * PageGeometry.pageSize, alignment: 4096)
        pageCount = 0
        firstBuffered = 1
    }

    deinit {
        _ = calls.close(descriptor)
        buffer.deallocate()
    }

    /// Says how many pages the file has; the next one comes behind them.
    func start(afterPage page: UInt32) {
        pageCount = page
        firstBuffered = page + 1
    }

    /// The number that the page after a page will have.
    @inline(__always)
    func number(after page: UInt32) -> UInt32 {
        var next = page + 1
        while PageGeometry.isReserved(next) { next += 1 }
        return next
    }

    /// Adds a page. Its space is the caller's to fill, all of it, before the next page is added.
    ///
    /// - Throws: `store.full`, `store.io` (74), `store.tooLarge` (65) where SQLite allows no more pages.
    func add() throws(MigrationError) -> (number: UInt32, space: UnsafeMutableRawPointer) {
        let number = number(after: pageCount)
        guard number < PageGeometry.pageLimit else {
            throw MigrationError(
                "store.tooLarge", .data, "The destination would have more pages than SQLite allows",
                remedy: "Split the store", context: .init(path: path))
        }
        while pageCount + 1 < number {
            try next().initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
        }
        return (number, try next())
    }

    private func next() throws(MigrationError) -> UnsafeMutableRawPointer {
        if pageCount + 1 - firstBuffered == Self.bufferedPages { try flushFull() }
        pageCount += 1
        return buffer + Int(pageCount - firstBuffered) * PageGeometry.pageSize
    }

    /// Cuts the file off behind a page and goes on from there.
    ///
    /// - Throws: `store.io` (74), `journal.damaged` (74) where the file is shorter.
    func goBack(toPage page: UInt32) throws(MigrationError) {
        guard PosixFile.size(descriptor) >= Int64(page) * Int64(PageGeometry.pageSize) else {
            throw StateReader.damaged("the file has fewer pages than it says")
        }
        guard ftruncate(descriptor, off_t(Int(page) * PageGeometry.pageSize)) == 0 else {
            throw PageFailure.system("Cutting", path, number: Int(errno))
        }
        start(afterPage: page)
    }

    /// Writes what is buffered.
    func flush() throws(MigrationError) {
        let count = Int(pageCount + 1 - firstBuffered) * PageGeometry.pageSize
        guard count > 0 else { return }
        try write(UnsafeRawBufferPointer(start: buffer, count: count), at: offset(of: firstBuffered))
        firstBuffered = pageCount + 1
    }

    private func flushFull() throws(MigrationError) {
        let bytes = UnsafeRawBufferPointer(start: buffer, count: Int(Self.bufferedPages) * PageGeometry.pageSize)
        let place = offset(of: firstBuffered)
        let done = try direct.write(bytes, at: place)
        if done < bytes.count { try write(UnsafeRawBufferPointer(rebasing: bytes[done...]), at: place + done) }
        firstBuffered = pageCount + 1
    }

    /// Whether a page has left the buffer.
    func isFlushed(_ page: UInt32) -> Bool { page < firstBuffered }

    /// Overwrites a page that was flushed before.
    func overwrite(_ page: UInt32, with bytes: UnsafeRawPointer) throws(MigrationError) {
        precondition(page < firstBuffered, "the page is still in the buffer")
        try write(UnsafeRawBufferPointer(start: bytes, count: PageGeometry.pageSize), at: offset(of: page))
    }

    /// Overwrites bytes of the file's header.
    func overwriteHeader(_ bytes: [UInt8], at place: Int) throws(MigrationError) {
        do {
            try bytes.withUnsafeBytes { try write($0, at: place) }
        } catch let error as MigrationError {
            throw error
        } catch {
            throw PageFailure.system("Writing", path, number: Int(EIO))
        }
    }

    /// Reads bytes of pages that were flushed before.
    ///
    /// - Throws: `store.io`, `store.damaged` where the file is shorter.
    func read(into space: UnsafeMutableRawBufferPointer, at place: Int) throws(MigrationError) {
        var done = 0
        while done < space.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: space[done...])
            let count = calls.read(descriptor, into: rest, at: place + done)
            if count == -Int(EINTR) { continue }
            guard count >= 0 else { throw PageFailure.system("Reading", path, number: -count) }
            guard count > 0 else { throw PageFailure.damaged("The file ends at byte \(place + done)", path) }
            done += count
        }
    }

    private func offset(of page: UInt32) -> Int { (Int(page) - 1) * PageGeometry.pageSize }

    private func write(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(MigrationError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = calls.write(descriptor, from: rest, at: place + done)
            if count == -Int(EINTR) { continue }
            // A write that takes nothing and names no error would be tried for ever.
            guard count > 0 else {
                throw PageFailure.system("Writing", path, number: count == 0 ? Int(ENOSPC) : -count)
            }
            done += count
        }
    }
}
