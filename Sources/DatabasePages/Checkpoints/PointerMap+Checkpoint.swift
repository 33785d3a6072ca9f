import Diagnostics
import Glibc
import SpillStorage

extension PointerMap {
    /// Writes the state of the map pages that wait.
    func save(to state: inout StateWriter) {
        state.write(existing)
        state.write(lastWritten)
        state.write(blocks.count)
        for (page, block) in blocks.sorted(by: { $0.key < $1.key }) {
            state.write(page)
            state.write(block.missing)
            state.write(bytes: UnsafeRawBufferPointer(start: block.bytes, count: PageGeometry.pageSize))
        }
    }

    /// Restores the map pages that waited.
    func restore(from state: inout StateReader) throws(MigrationError) {
        guard try state.page() == existing else { throw StateReader.damaged("another file's pages") }
        lastWritten = try state.page()
        for _ in 0..<(try state.count(upTo: 1 << 16)) {
            let page = try state.page()
            guard page >= 2, PageGeometry.mapPage(of: page) == page else { throw StateReader.damaged("a map page") }
            let block = Block(page: page)
            block.missing = try state.count(upTo: Int(PageGeometry.entriesPerMap))
            try state.block(of: PageGeometry.pageSize, into: block.bytes)
            blocks[page] = block
        }
    }
}
