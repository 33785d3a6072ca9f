import Diagnostics
import Glibc
import SpillStorage

/// The end of a database file, where pages are appended: one ascending stream for the pages of all trees.
///
/// A page gets its number when it is complete. Pages of the pointer map and the lock page are reserved: an empty page takes
/// their place, and ``PointerMap`` fills those of the map later.
///
/// Full buffers are written with direct I/O if the file system allows it (``DirectFile``). A file smaller than the first buffer
/// is written in the usual way. From 128 MiB on a full buffer is written while the next one is filled (``StreamWriter``).
///
/// Memory: 128 pages; 512 pages instead once they were full. The next output takes over the buffers.
final class PageOutput {
    /// The sizes of the first buffer and of the two that follow it, in pages. Each write costs as much as some pages, and the
    /// two later buffers make up one huge page.
    private static let firstPages: UInt32 = 128
    private static let laterPages = UInt32(LargeMemory.hugePage / PageGeometry.pageSize / 2)

    /// The spare first buffer of an output that has ended.
    private static let firstBuffers = SpareMemory(byteCount: Int(firstPages) * PageGeometry.pageSize)

    let path: String
    private let calls: any FileCalls
    private let sparePage: SpareMemory
    private let descriptor: Int32
    private let stream: StreamWriter
    private var buffer: UnsafeMutableRawPointer
    private var bufferedPages = PageOutput.firstPages
    /// The first buffer, until it is written; and the memory of the later two.
    private var first: UnsafeMutableRawPointer?
    private var later: UnsafeMutableRawPointer?
    /// The number of the page at the buffer's start.
    private var firstBuffered: UInt32
    /// The number of the last page of the file, written or buffered.
    private(set) var pageCount: UInt32

    /// Opens the file.
    ///
    /// - Parameters:
    ///   - streamsFrom: the offset in the file from which on full buffers are written in another thread.
    ///   - sparePage: the store of spare buffers that this output takes its buffer from and leaves it to.
    init(path: String, calls: any FileCalls, streamsFrom: Int, sparePage: SpareMemory) throws(MigrationError) {
        self.path = path
        self.sparePage = sparePage
        self.calls = calls
        let result = calls.openUninterrupted(path, flags: O_RDWR | O_CLOEXEC)
        guard result >= 0 else { throw PageFailure.system("Opening", path, number: -result) }
        let descriptor = Int32(truncatingIfNeeded: result)
        self.descriptor = descriptor
        let direct = DirectFile(path: path, calls: calls)
        stream = StreamWriter(from: streamsFrom) { bytes, place throws(MigrationError) in
            let done = try direct.write(bytes, at: place)
            guard done < bytes.count else { return }
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            try Self.write(rest, at: place + done, descriptor, path, calls)
        }
        if let left = sparePage.takeLeft() {
            later = left
            buffer = left
            bufferedPages = Self.laterPages
        } else {
            let made = Self.firstBuffers.take()
            first = made
            buffer = made
        }
        pageCount = 0
        firstBuffered = 1
    }

    deinit {
        // Errors are of no interest here: a caller that needs them has waited before.
        try? stream.wait()
        _ = calls.close(descriptor)
        leaveFirst()
        if let later { sparePage.leave(later) }
    }

    /// Leaves the first buffer to the next output.
    private func leaveFirst() {
        if let first { Self.firstBuffers.leave(first) }
        first = nil
    }

    /// Sets the number of pages that the file has. The next page comes behind them.
    func start(afterPage page: UInt32) {
        pageCount = page
        firstBuffered = page + 1
    }

    /// The number of the next page behind a page.
    @inline(__always)
    func number(after page: UInt32) -> UInt32 {
        var next = page + 1
        while PageGeometry.isReserved(next) { next += 1 }
        return next
    }

    /// Appends a page. The caller must fill all of its space before it appends the next page.
    ///
    /// - Throws: `store.full`, `store.io` (74), `store.tooLarge` (65) if SQLite allows no more pages.
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
        if pageCount + 1 - firstBuffered == bufferedPages { try flushFull() }
        pageCount += 1
        return buffer + Int(pageCount - firstBuffered) * PageGeometry.pageSize
    }

    /// Cuts the file off behind a page; the next page comes there.
    ///
    /// - Throws: `store.io` (74), `journal.damaged` (74) if the file is shorter.
    func goBack(toPage page: UInt32) throws(MigrationError) {
        try stream.wait()
        guard PosixFile.size(descriptor) >= Int64(page) * Int64(PageGeometry.pageSize) else {
            throw StateReader.damaged("the file has fewer pages than it says")
        }
        let size = off_t(Int(page) * PageGeometry.pageSize)
        guard SystemCall.uninterrupted({ ftruncate(descriptor, size) }) == 0 else {
            throw PageFailure.system("Cutting", path, number: Int(errno))
        }
        start(afterPage: page)
    }

    /// Writes the buffered pages, and waits until everything is written.
    func flush() throws(MigrationError) {
        try stream.wait()
        let count = Int(pageCount + 1 - firstBuffered) * PageGeometry.pageSize
        guard count > 0 else { return }
        let bytes = UnsafeRawBufferPointer(start: buffer, count: count)
        try write(bytes, at: offset(of: firstBuffered))
        firstBuffered = pageCount + 1
    }

    private func flushFull() throws(MigrationError) {
        let bytes = UnsafeRawBufferPointer(start: buffer, count: Int(bufferedPages) * PageGeometry.pageSize)
        try stream.begin(bytes, at: offset(of: firstBuffered))
        // The write before has ended, so its buffer is free.
        let half = LargeMemory.hugePage / 2
        if let later {
            leaveFirst()
            buffer = buffer == later ? later + half : later
        } else {
            let made = sparePage.take()
            later = made
            buffer = made
            bufferedPages = Self.laterPages
        }
        firstBuffered = pageCount + 1
    }

    /// Waits if bytes that are about to be read or overwritten are still being written.
    private func waitForWrites(at place: Int, count: Int) throws(MigrationError) {
        if stream.underWay.overlaps(place..<place + count) { try stream.wait() }
    }

    /// Tells whether a page has left the buffer.
    func isFlushed(_ page: UInt32) -> Bool { page < firstBuffered }

    /// Overwrites a page that is in the file already.
    func overwrite(_ page: UInt32, with bytes: UnsafeRawPointer) throws(MigrationError) {
        precondition(page < firstBuffered, "the page is still in the buffer")
        try waitForWrites(at: offset(of: page), count: PageGeometry.pageSize)
        try write(UnsafeRawBufferPointer(start: bytes, count: PageGeometry.pageSize), at: offset(of: page))
    }

    /// Overwrites parts of the file's header.
    func overwriteHeader(_ parts: [(place: Int, bytes: [UInt8])]) throws(MigrationError) {
        try waitForWrites(at: 0, count: PageGeometry.pageSize)
        for part in parts {
            let result = part.bytes.withUnsafeBytes { calls.writeWhole(descriptor, from: $0, at: part.place) }
            guard result == 0 else { throw PageFailure.system("Writing", path, number: -result) }
        }
    }

    /// Reads bytes of pages that are in the file already.
    ///
    /// - Throws: `store.io`, `store.damaged` if the file is shorter.
    func read(into space: UnsafeMutableRawBufferPointer, at place: Int) throws(MigrationError) {
        try waitForWrites(at: place, count: space.count)
        let count = calls.readWhole(descriptor, into: space, at: place)
        guard count >= 0 else { throw PageFailure.system("Reading", path, number: -count) }
        guard count == space.count else { throw PageFailure.damaged("The file ends at byte \(place + count)", path) }
    }

    private func offset(of page: UInt32) -> Int { (Int(page) - 1) * PageGeometry.pageSize }

    private func write(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(MigrationError) {
        try Self.write(bytes, at: place, descriptor, path, calls)
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, at place: Int, _ descriptor: Int32, _ path: String, _ calls: any FileCalls
    ) throws(MigrationError) {
        let result = calls.writeWhole(descriptor, from: bytes, at: place)
        guard result == 0 else { throw PageFailure.system("Writing", path, number: -result) }
    }
}
