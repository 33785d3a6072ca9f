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
        let pointers = try state.block()
        let contents = try state.block()
        guard pointers.count == 2 * count, contents.count == PageGeometry.pageSize - contentStart,
            kind.headerSize + pointers.count <= contentStart
        else { throw StateReader.damaged("a page of other sizes") }
        pointers.withUnsafeBytes { from in
            if let start = from.baseAddress { (bytes + kind.headerSize).copyMemory(from: start, byteCount: from.count) }
        }
        contents.withUnsafeBytes { from in
            if let start = from.baseAddress { (bytes + contentStart).copyMemory(from: start, byteCount: from.count) }
        }
        overflows.removeAll()
        for _ in 0..<(try state.count(upTo: count)) {
            let cell = try state.count(upTo: count - 1)
            overflows.append((cell, try state.page()))
        }
        guard isConsistent else { throw StateReader.damaged("a page whose cells do not follow each other") }
    }
}
