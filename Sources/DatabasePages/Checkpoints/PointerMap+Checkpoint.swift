import Diagnostics
import SpillStorage

extension PointerMap {
    /// Writes or reads the state of the map pages that wait.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        var own = existing
        try coder.code(&own)
        guard own == existing else { throw StateReader.damaged("another file's pages") }
        try coder.code(&lastWritten)
        var pages = blocks.keys.sorted()
        try coder.code(&pages)
        for page in pages {
            guard page >= 2, PageGeometry.mapPage(of: page) == page else { throw StateReader.damaged("a map page") }
            let block = blocks[page] ?? Block(page: page)
            try coder.code(&block.missing, upTo: Int(PageGeometry.entriesPerMap))
            try coder.code(
                space: UnsafeMutableRawBufferPointer(start: block.bytes, count: PageGeometry.pageSize))
            blocks[page] = block
        }
    }
}
