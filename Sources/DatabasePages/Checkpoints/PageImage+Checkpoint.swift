import Diagnostics
import SpillStorage

extension PageImage {
    /// Writes the page's state: pointers, contents, and the cells' overflow pages.
    func save(to state: inout StateWriter) {
        state.write(count)
        state.write(contentStart)
        let pointers = UnsafeRawBufferPointer(start: bytes + kind.headerSize, count: 2 * count)
        state.write(bytes: pointers)
        state.write(
            bytes: UnsafeRawBufferPointer(start: bytes + contentStart, count: PageGeometry.pageSize - contentStart))
        state.write(overflows.count)
        for overflow in overflows {
            state.write(overflow.cell)
            state.write(overflow.page)
        }
    }

    /// Restores a saved page.
    ///
    /// - Throws: `journal.damaged` (74) if the state is no page.
    mutating func restore(from state: inout StateReader) throws(MigrationError) {
        count = try state.count(upTo: PageGeometry.pageSize / 6)
        contentStart = try state.count(upTo: PageGeometry.pageSize)
        guard kind.headerSize + 2 * count <= contentStart else { throw StateReader.damaged("a page of other sizes") }
        try state.block(of: 2 * count, into: bytes + kind.headerSize)
        try state.block(of: PageGeometry.pageSize - contentStart, into: bytes + contentStart)
        overflows.removeAll()
        for _ in 0..<(try state.count(upTo: count)) {
            let cell = try state.count(upTo: count - 1)
            overflows.append((cell, try state.page()))
        }
        guard isConsistent else { throw StateReader.damaged("a page whose cells do not follow each other") }
    }
}

extension StateReader {
    /// Reads bytes behind their count, which must be the one expected.
    mutating func block(of count: Int, into space: UnsafeMutableRawPointer) throws(MigrationError) {
        let bytes = try block()
        guard bytes.count == count else { throw StateReader.damaged("\(bytes.count) bytes of a page") }
        UnsafeMutableRawBufferPointer(start: space, count: count).copyBytes(from: bytes)
    }
}
