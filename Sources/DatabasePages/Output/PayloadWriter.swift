import Diagnostics

/// Writes one payload: its first bytes into a cell of a page, the rest into a chain of overflow pages.
///
/// The bytes may come in parts of any size, so a value of a gigabyte is never in memory as a whole.
struct PayloadWriter {
    private let output: PageOutput
    private let map: PointerMap
    private var place: UnsafeMutableRawPointer
    private var room: Int
    /// The number of payload bytes behind the pages begun so far.
    private var remaining: Int
    /// The page that `place` is in; 0 for the cell.
    private var page: UInt32 = 0

    /// Begins a payload.
    ///
    /// - Parameters:
    ///   - place: room for the local bytes.
    ///   - local: the number of payload bytes that stay in the cell.
    init(output: PageOutput, map: PointerMap, place: UnsafeMutableRawPointer, local: Int, total: Int) {
        self.output = output
        self.map = map
        self.place = place
        room = local
        remaining = total - local
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(MigrationError) {
        guard var from = bytes.baseAddress else { return }
        var count = bytes.count
        while count > 0 {
            if room == 0 { try beginPage() }
            let part = min(room, count)
            place.copyMemory(from: from, byteCount: part)
            place += part
            from += part
            room -= part
            count -= part
        }
    }

    /// Checks that the payload is complete, and clears the rest of its last page.
    mutating func finish() {
        precondition(remaining == 0, "the payload is shorter than was said")
        if page != 0, room > 0 { place.initializeMemory(as: UInt8.self, repeating: 0, count: room) }
        precondition(page != 0 || room == 0, "the payload is shorter than was said")
    }

    private mutating func beginPage() throws(MigrationError) {
        precondition(remaining > 0, "the payload is longer than was said")
        let (number, space) = try output.add()
        // The first overflow page's parent is the page of the cell, which has no number yet.
        if page != 0 { try map.set(number, .overflowNext, parent: page) }
        let part = min(remaining, PageGeometry.overflowCapacity)
        remaining -= part
        let next = remaining > 0 ? output.number(after: number) : 0
        space.storeBytes(of: next.bigEndian, as: UInt32.self)
        page = number
        place = space + 4
        room = PageGeometry.overflowCapacity
    }
}
