import Diagnostics
import Glibc

/// The pages of a database file that is only read: those of the main file, overlaid with the committed frames of its `-wal`.
///
/// The opener of the descriptors owns them. It holds the lock that SQLite's readers hold, and calls ``close()`` before it
/// closes them. Nothing in a page is trusted: damage is an error that names the page.
///
/// Memory: that of ``CommittedFrames``.
package final class PageFile {
    package let path: String
    /// The size of a page in bytes.
    package let pageSize: Int
    /// The bytes of a page that trees may use: all but those reserved at its end.
    @exclusivity(unchecked) private(set) var usableSize: Int
    /// The number of pages of the database.
    package let pageCount: UInt32
    private let descriptor: Int32
    private let frames: CommittedFrames?
    /// The main file, opened for direct I/O; nil if it is not, or if the file system refuses.
    private var direct: Int32?
    private var isOpen = true

    /// Opens the pages of a database.
    ///
    /// - Parameters:
    ///   - direct: the main file, opened for direct I/O; for files that are read once and are not in the page cache.
    ///   - frames: the frames of the `-wal`; nil if the database has none.
    ///   - pageCount: the number of pages that SQLite sees.
    /// - Returns: nil if the file is of a kind that is not read here: text in UTF-16, or a header that does not fit.
    package static func open(
        path: String, descriptor: Int32, direct: Int32? = nil, pageSize: Int, frames: CommittedFrames?,
        pageCount: Int64
    ) throws(MigrationError) -> PageFile? {
        guard pageSize >= 512, pageSize <= 65536, pageSize & (pageSize - 1) == 0,
            let pages = UInt32(exactly: pageCount), pages > 0, pages < PageGeometry.pageLimit
        else { return nil }
        if let frames, frames.pageCount > 0, frames.pageCount != pages { return nil }
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 8)
        defer { space.deallocate() }
        guard let start = space.baseAddress else { return nil }
        let file = PageFile(
            path: path, descriptor: descriptor, pageSize: pageSize, pageCount: pages, frames: frames)
        // Without the direct descriptor, because the space is not aligned for it.
        try file.read(1, count: 1, into: start)
        let stored = Int(UInt16(bigEndian: start.loadUnaligned(fromByteOffset: 16, as: UInt16.self)))
        file.usableSize = pageSize - Int(space[20])
        let encoding = UInt32(bigEndian: start.loadUnaligned(fromByteOffset: 56, as: UInt32.self))
        // The fractions of a page that a payload may take are constants of the format.
        guard stored == pageSize & 0xFFFF || (stored == 1 && pageSize == 65536), file.usableSize >= 480, encoding == 1,
            space[21] == 64, space[22] == 32, space[23] == 32
        else { return nil }
        if pageSize % DirectFile.alignment == 0 { file.direct = direct }
        return file
    }

    private init(
        path: String, descriptor: Int32, pageSize: Int, pageCount: UInt32, frames: CommittedFrames?
    ) {
        self.path = path
        self.descriptor = descriptor
        self.pageSize = pageSize
        usableSize = pageSize
        self.pageCount = pageCount
        self.frames = frames
    }

    /// Notes that the descriptors are about to be closed. Nothing may be read afterwards.
    package func close() { isOpen = false }

    /// True if pages are read with direct I/O, which pays only for many pages at once.
    var isDirect: Bool { direct != nil }

    var isLogged: Bool { frames != nil }

    /// Tells whether a page comes from the `-wal`.
    func isLogged(_ page: UInt32) -> Bool { frames?.place(of: page) != nil }

    /// Throws if a page number cannot be that of a tree page.
    ///
    /// - Parameter parent: the page that names it.
    @inline(__always)
    func check(_ page: UInt32, namedBy parent: UInt32) throws(MigrationError) {
        guard page >= 2, page <= pageCount, (Int(page) - 1) * pageSize != 1 << 30 else {
            throw damaged(parent, "it names page \(page), and the file has \(pageCount)")
        }
    }

    /// Reads neighbouring pages.
    ///
    /// - Parameter count: 1; or more, if none of the pages is in the `-wal`.
    /// - Throws: `store.io`, `store.damaged` if the file ends before.
    func read(_ first: UInt32, count: Int, into space: UnsafeMutableRawPointer) throws(MigrationError) {
        if count == 1, let frames, let place = frames.place(of: first) {
            try read(frames.descriptor, at: place, pageSize, into: space, page: first)
            return
        }
        let place = (Int(first) - 1) * pageSize
        if let direct, isOpen, UInt(bitPattern: space) % UInt(DirectFile.alignment) == 0 {
            let got = PosixFile.read(direct, into: space, count: count * pageSize, at: Int64(place))
            if got == count * pageSize { return }
            // The read below reports the error, if there is any.
            self.direct = nil
        }
        try read(descriptor, at: place, count * pageSize, into: space, page: first)
    }

    /// Reads the first four bytes of a page.
    func readWord(_ page: UInt32) throws(MigrationError) -> UInt32 {
        var word: UInt32 = 0
        if let frames, let place = frames.place(of: page) {
            try read(frames.descriptor, at: place, 4, into: &word, page: page)
        } else {
            try read(descriptor, at: (Int(page) - 1) * pageSize, 4, into: &word, page: page)
        }
        return UInt32(bigEndian: word)
    }

    private func read(
        _ descriptor: Int32, at place: Int, _ count: Int, into space: UnsafeMutableRawPointer, page: UInt32
    ) throws(MigrationError) {
        guard isOpen else {
            throw MigrationError(
                "store.busy", .internal, "The source is read after it was closed", context: .init(path: path))
        }
        let got = PosixFile.read(descriptor, into: space, count: count, at: Int64(place))
        guard got >= 0 else {
            throw MigrationError(
                "store.io", .io, "Reading page \(page) failed: \(String(cString: strerror(errno)))",
                context: .init(path: path))
        }
        guard got == count else { throw damaged(page + UInt32(got / pageSize), "the file ends before its end") }
    }

    /// The error for a page that is not as it should be.
    func damaged(_ page: UInt32, _ what: String) -> MigrationError {
        MigrationError(
            "store.damaged", .data, "Page \(page) of the source is damaged: \(what)",
            remedy: "Run PRAGMA integrity_check on a copy", context: .init(path: path))
    }
}
