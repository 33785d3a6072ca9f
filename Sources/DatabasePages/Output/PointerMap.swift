import Diagnostics

/// The pointer map: the kind and the parent of every page, so that SQLite can move the page.
///
/// A map page is written when all its entries are known. An entry is known when its parent page has a number. Pages high in a
/// tree learn their parents late, so their map pages wait in memory. If too many wait, they are written to the file and read
/// again when they are needed.
///
/// Memory: ``mostWaiting`` pages.
final class PointerMap {
    enum Entry: UInt8 {
        case root = 1
        case free = 2
        /// The first overflow page of a cell; the parent is the cell's page.
        case overflowFirst = 3
        /// A further overflow page; the parent is the overflow page before it.
        case overflowNext = 4
        case tree = 5
    }

    final class Block {
        let bytes: UnsafeMutableRawPointer
        var missing: Int

        init(page: UInt32) {
            bytes = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
            bytes.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
            missing = Int(PageGeometry.entriesPerMap)
            if page < PageGeometry.lockPage, PageGeometry.lockPage <= page + PageGeometry.entriesPerMap { missing -= 1 }
        }

        deinit { bytes.deallocate() }
    }

    /// The most map pages that wait in memory; they cover 200 MB of file.
    private static let mostWaiting = 64

    private let output: PageOutput
    private var blocks: [UInt32: Block] = [:]
    private var last: (page: UInt32, block: Block)?
    /// The number of pages that the file had before. Map pages among them are read when they are needed.
    let existing: UInt32
    /// The last map page that was written before it was complete.
    private var lastWritten: UInt32 = 0

    init(output: PageOutput, existingPages: UInt32) {
        self.output = output
        existing = existingPages
    }

    func set(_ page: UInt32, _ entry: Entry, parent: UInt32) throws(MigrationError) {
        let mapPage = PageGeometry.mapPage(of: page)
        let block = try block(mapPage)
        let place = Int(page - mapPage - 1) * 5
        if block.bytes.load(fromByteOffset: place, as: UInt8.self) == 0 { block.missing -= 1 }
        block.bytes.storeBytes(of: entry.rawValue, toByteOffset: place, as: UInt8.self)
        block.bytes.storeBytes(of: parent.bigEndian, toByteOffset: place + 1, as: UInt32.self)
        if block.missing == 0 {
            try output.overwrite(mapPage, with: block.bytes)
            blocks[mapPage] = nil
            last = nil
        }
    }

    private func block(_ page: UInt32) throws(MigrationError) -> Block {
        if let last, last.page == page { return last.block }
        if let known = blocks[page] {
            last = (page, known)
            return known
        }
        if blocks.count >= Self.mostWaiting { try writeWaiting() }
        let block = Block(page: page)
        if page <= existing || page <= lastWritten {
            try output.read(
                into: UnsafeMutableRawBufferPointer(start: block.bytes, count: PageGeometry.pageSize),
                at: (Int(page) - 1) * PageGeometry.pageSize)
            for entry in 0..<Int(PageGeometry.entriesPerMap)
            where block.bytes.load(fromByteOffset: entry * 5, as: UInt8.self) != 0 {
                block.missing -= 1
            }
        }
        blocks[page] = block
        last = (page, block)
        return block
    }

    /// Writes the waiting map pages, except for those whose place is still in the output's buffer.
    private func writeWaiting() throws(MigrationError) {
        for (page, block) in blocks where output.isFlushed(page) {
            try output.overwrite(page, with: block.bytes)
            blocks[page] = nil
            lastWritten = max(lastWritten, page)
        }
        last = nil
    }

    /// Clears the entries of pages behind a page, in the last map page of a file that was cut off there.
    func forgetEntries(after page: UInt32) throws(MigrationError) {
        let mapPage = PageGeometry.mapPage(of: page)
        let known = page - mapPage
        guard page >= 2, known < PageGeometry.entriesPerMap else { return }
        let block = Block(page: mapPage)
        let bytes = UnsafeMutableRawBufferPointer(start: block.bytes, count: PageGeometry.pageSize)
        try output.read(into: bytes, at: (Int(mapPage) - 1) * PageGeometry.pageSize)
        UnsafeMutableRawBufferPointer(rebasing: bytes[Int(known * 5)..<Int(PageGeometry.entriesPerMap * 5)])
            .initializeMemory(as: UInt8.self, repeating: 0)
        try output.overwrite(mapPage, with: block.bytes)
    }

    /// Writes the map pages that are not complete. All pages must be in the file already.
    func finish() throws(MigrationError) {
        for (page, block) in blocks { try output.overwrite(page, with: block.bytes) }
        blocks = [:]
        last = nil
    }
}
