import Diagnostics

/// Reads a payload from its first byte on: the bytes in its cell, then those in its chain of overflow pages.
///
/// A chain that ends too early is damage. The chain is followed no further than the payload needs, so a loop ends too.
///
/// Memory: one page.
final class OverflowReader {
    private let file: PageFile
    private let space: UnsafeMutableRawPointer
    private var bytes: UnsafeRawPointer
    /// The number of bytes at `bytes` that are not read yet.
    private var room = 0
    /// The page that follows these bytes in the chain.
    private var next: UInt32 = 0
    /// The page that names the next one.
    private var current: UInt32 = 0
    /// The number of payload bytes that are not read yet.
    private(set) var remaining = 0

    init(file: PageFile) {
        self.file = file
        space = .allocate(byteCount: file.pageSize, alignment: 16)
        bytes = UnsafeRawPointer(space)
    }

    deinit { space.deallocate() }

    /// Begins a payload.
    ///
    /// - Parameters:
    ///   - local: the payload's bytes in the cell of a page, which must stay valid.
    ///   - next: the payload's first overflow page.
    func begin(_ local: UnsafeRawBufferPointer, next: UInt32, total: Int, page: UInt32) {
        if let start = local.baseAddress { bytes = start }
        room = local.count
        remaining = total
        self.next = next
        current = page
    }

    /// Copies the next bytes.
    ///
    /// - Precondition: at least `count` bytes remain.
    func copy(_ count: Int, to place: UnsafeMutableRawPointer) throws(MigrationError) {
        precondition(count <= remaining)
        var place = place
        var count = count
        while count > 0 {
            if room == 0 { try takeNextPage() }
            let part = min(room, count)
            place.copyMemory(from: bytes, byteCount: part)
            place += part
            take(part)
            count -= part
        }
    }

    /// Skips the next bytes. Of a page that is skipped as a whole only the number of the next page is read.
    ///
    /// - Precondition: at least `count` bytes remain.
    func skip(_ count: Int) throws(MigrationError) {
        precondition(count <= remaining)
        var count = count
        while count > 0 {
            if room == 0 {
                let capacity = file.usableSize - 4
                if count >= capacity {
                    try file.check(next, namedBy: current)
                    current = next
                    next = try file.readWord(current)
                    remaining -= capacity
                    count -= capacity
                    continue
                }
                try takeNextPage()
            }
            let part = min(room, count)
            take(part)
            count -= part
        }
    }

    private func take(_ count: Int) {
        bytes += count
        room -= count
        remaining -= count
    }

    private func takeNextPage() throws(MigrationError) {
        try file.check(next, namedBy: current)
        current = next
        try file.read(current, count: 1, into: space)
        next = UInt32(bigEndian: space.load(as: UInt32.self))
        bytes = UnsafeRawPointer(space) + 4
        room = min(remaining, file.usableSize - 4)
    }
}
