import Diagnostics

/// Reads leaves of a tree, each together with the leaves that follow it closely in the file.
///
/// Memory: 64 KiB, at least a page; four times as much with direct I/O.
final class PageWindow {
    private static let bytes = 64 << 10
    /// The largest distance of two wanted pages that are read together; the pages between them are read too.
    private static let mostGap: UInt32 = 8

    private let file: PageFile
    private let space: UnsafeMutableRawPointer
    private let capacity: Int
    private var first: UInt32 = 0
    private var count = 0

    init(file: PageFile) {
        self.file = file
        capacity = max(1, (file.isDirect ? 4 * Self.bytes : Self.bytes) / file.pageSize)
        // Numbers are loaded as whole words, so keep a few bytes behind the last page.
        space = .allocate(byteCount: capacity * file.pageSize + 8, alignment: 4096)
    }

    deinit { space.deallocate() }

    var start: UnsafeRawPointer { UnsafeRawPointer(space) }
    /// The size of this memory in bytes.
    var byteCount: Int { capacity * file.pageSize }

    /// Tells whether a page was read with the one that was asked for last.
    func holds(_ page: UInt32) -> Bool { page >= first && Int(page - first) < count }

    /// The bytes of a page, valid until the next call.
    ///
    /// - Parameter following: returns the pages that will be asked for next, one by one; nil at the end.
    func bytes(
        of page: UInt32, following: () throws(MigrationError) -> UInt32?
    ) throws(MigrationError) -> UnsafeRawPointer {
        // Pages within a window may be outdated, because the -wal has newer ones.
        if holds(page), count == 1 || !file.isLogged(page) {
            return UnsafeRawPointer(space) + Int(page - first) * file.pageSize
        }
        var last = page
        if !file.isLogged(page) {
            while let next = try following(), next > last, next - last <= Self.mostGap, Int(next - page) < capacity,
                !file.isLogged(next)
            {
                last = next
            }
        }
        count = 0
        try file.read(page, count: Int(last - page) + 1, into: space)
        (first, count) = (page, Int(last - page) + 1)
        return UnsafeRawPointer(space)
    }
}

/// An interior page on the way from a tree's root to the current leaf.
final class InteriorPage {
    let bytes: UnsafeMutableRawPointer
    private let file: PageFile
    private(set) var page: UInt32 = 0
    /// The number of cells; the child with this number is the rightmost one.
    private(set) var count = 0
    /// The next step of the walk; its meaning is the walk's own.
    var next = 0
    /// The greatest key that may be below this page; nil: any key.
    var upper: Int64?

    init(file: PageFile) {
        self.file = file
        bytes = .allocate(byteCount: file.pageSize + 8, alignment: file.isDirect ? DirectFile.alignment : 16)
    }

    deinit { bytes.deallocate() }

    /// Begins with a page that was read into ``bytes``.
    func open(_ page: UInt32, _ kind: PageKind, root: UInt32) throws(MigrationError) {
        count = try file.cells(UnsafeRawPointer(bytes), page, kind, root: root)
        self.page = page
        next = 0
        upper = nil
    }

    /// The offset of a cell in the page: at least five bytes before the end.
    func cell(_ index: Int) throws(MigrationError) -> Int {
        let pointer = PageKind.tableInterior.headerSize + 2 * index
        let place = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: pointer, as: UInt16.self)))
        guard place >= PageKind.tableInterior.headerSize + 2 * count, place <= file.usableSize - 5 else {
            throw file.damaged(page, "cell \(index) lies outside the page")
        }
        return place
    }

    func child(_ index: Int) throws(MigrationError) -> UInt32 {
        let place = index < count ? try cell(index) : 8
        let child = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
        try file.check(child, namedBy: page)
        return child
    }
}

extension PageFile {
    static let mostLevels = 20

    /// Tells whether a page exists and is of one of two kinds, so that it can be the root of a tree.
    func isRoot(_ page: UInt32, _ leaf: PageKind, _ interior: PageKind) throws(MigrationError) -> Bool {
        guard page >= 2, page <= pageCount else { return false }
        let kind = UInt8(truncatingIfNeeded: try readWord(page) >> 24)
        return kind == leaf.rawValue || kind == interior.rawValue
    }

    /// Checks a page's header. Returns the number of its cells.
    func cells(
        _ bytes: UnsafeRawPointer, _ page: UInt32, _ kind: PageKind, root: UInt32
    ) throws(MigrationError) -> Int {
        guard bytes.load(as: UInt8.self) == kind.rawValue else {
            throw damaged(page, "it is no page of the tree that starts at page \(root)")
        }
        let count = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 3, as: UInt16.self)))
        let mayBeEmpty = page == root && kind.headerSize == 8
        guard kind.headerSize + 2 * count <= usableSize, count > 0 || mayBeEmpty else {
            throw damaged(page, "it says that it has \(count) cells")
        }
        return count
    }
}
