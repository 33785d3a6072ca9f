import Diagnostics
import SpillStorage

extension PageImage {
    /// Writes or reads the page's state: pointers, contents, and the cells' overflow pages.
    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&count, upTo: PageGeometry.pageSize / 6)
        try coder.code(&contentStart, upTo: PageGeometry.pageSize)
        guard kind.headerSize + 2 * count <= contentStart else { throw StateReader.damaged("a page of other sizes") }
        try coder.code(space: UnsafeMutableRawBufferPointer(start: bytes + kind.headerSize, count: 2 * count))
        let size = PageGeometry.pageSize - contentStart
        try coder.code(space: UnsafeMutableRawBufferPointer(start: bytes + contentStart, count: size))
        let last = count - 1
        try coder.code(list: &overflows, empty: (0, 0)) { coder, overflow throws(MigrationError) in
            try coder.code(&overflow.cell, upTo: last)
            try coder.code(&overflow.page)
        }
        guard isConsistent else { throw StateReader.damaged("a page whose cells do not follow each other") }
    }
}
