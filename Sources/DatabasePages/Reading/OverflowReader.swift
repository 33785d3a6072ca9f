import Diagnostics

/// Reads a payload from its first byte on: the bytes in its cell, then those in its chain of overflow pages.
///
/// A chain that ends too early is damage; it cannot be longer than the payload, so a loop ends too.
///
/// Memory: one page.
final class OverflowReader {
    private let file: PageFile
    private let space: UnsafeMutableRawPointer
    private var bytes: UnsafeRawPointer
    /// Bytes at `bytes` that are not read yet.
    private var room = 0
    /// The page behind those.
    private var next: UInt32 = 0
    /// The page that names it.
    private var current: UInt32 = 0
    /// Bytes of the payload that are not read yet.
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
    ///   - local: its bytes in the cell of a page, which stay where they are.
    ///   - next: its first overflow page.
    ///   - total: its bytes.
    func begin(_ local: UnsafeRawBufferPointer, next: UInt32, total: Int, page: UInt32) {
        if let start = local.baseAddress { bytes = start }
        room = local.count
        remaining = total
        self.next = next
        current = page
    }

    /// Copies the next bytes.
    ///
    /// - Precondition: so many remain.
    func copy(_ count: Int, to place: UnsafeMutableRawPointer) throws(MigrationError) {
        precondition(count <= remaining)
        var place = place
        var count = count
        while count > 0 {
            if room == 0 { try turn() }
            let part = min(room, count)
            place.copyMemory(from: bytes, byteCount: part)
            place += part
            take(part)
            count -= part
        }
    }

    /// Passes over the next bytes; of pages that are passed over as a whole only the chain is read.
    ///
    /// - Precondition: so many remain.
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
                try turn()
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

    private func turn() throws(MigrationError) {
        try file.check(next, namedBy: current)
        current = next
        try file.read(current, count: 1, into: space)
        next = UInt32(bigEndian: space.load(as: UInt32.self))
        bytes = UnsafeRawPointer(space) + 4
        room = min(remaining, file.usableSize - 4)
    }
}
