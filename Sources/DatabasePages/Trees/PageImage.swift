import Diagnostics

/// A b-tree page that is being filled: cell pointers grow up behind the header, contents grow down from the end.
///
/// Memory: one page and a word for each cell with overflow.
struct PageImage: ~Copyable {
    let bytes: UnsafeMutableRawPointer
    let kind: PageKind
    var count = 0
    var contentStart = PageGeometry.pageSize
    /// The first overflow pages of the cells that have any.
    var overflows: [(cell: Int, page: UInt32)] = []

    init(_ kind: PageKind) {
        self.kind = kind
        bytes = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
    }

    deinit { bytes.deallocate() }

    /// Tells whether there is room for a cell of a size; at least four bytes.
    @inline(__always)
    func hasRoom(for cell: Int) -> Bool { contentStart - kind.headerSize - 2 * (count + 1) >= cell }

    /// Makes room for a cell. Returns its memory.
    @inline(__always)
    mutating func addCell(_ size: Int, overflow: UInt32? = nil) -> UnsafeMutableRawPointer {
        let size = max(4, size)
        contentStart -= size
        bytes.storeBytes(
            of: UInt16(truncatingIfNeeded: contentStart).bigEndian, toByteOffset: kind.headerSize + 2 * count,
            as: UInt16.self)
        if let overflow { overflows.append((count, overflow)) }
        count += 1
        return bytes + contentStart
    }

    func cell(_ index: Int) -> UnsafeMutableRawPointer {
        bytes + Int(UInt16(bigEndian: bytes.load(fromByteOffset: kind.headerSize + 2 * index, as: UInt16.self)))
    }

    /// Removes the last cell. Returns its bytes and its first overflow page.
    mutating func removeLastCell() -> (bytes: [UInt8], overflow: UInt32?) {
        let start = cell(count - 1)
        let end = count > 1 ? cell(count - 2) : bytes + PageGeometry.pageSize
        let size = end - start
        let taken = Array(UnsafeRawBufferPointer(start: start, count: size))
        contentStart += size
        count -= 1
        var overflow: UInt32?
        if let last = overflows.last, last.cell == count { overflow = overflows.removeLast().page }
        return (taken, overflow)
    }

    /// True if the cells fill the space from the page's end down to the start of the contents.
    var isConsistent: Bool {
        var end = PageGeometry.pageSize
        for index in 0..<count {
            let start = cell(index) - bytes
            guard start < end, end - start >= 4 else { return false }
            end = start
        }
        return end == contentStart && contentStart >= kind.headerSize + 2 * count
    }

    /// Writes the header, copies the page to its final memory and empties the image.
    ///
    /// - Parameters:
    ///   - number: the page's number, which the pointer map receives as the parent of its overflow pages and children.
    ///   - rightmost: the child of an interior page behind its last cell.
    mutating func put(
        at place: UnsafeMutableRawPointer, number: UInt32, rightmost: UInt32?, map: PointerMap
    ) throws(MigrationError) {
        assert(isConsistent, "cells stand one below the other, apart from their pointers")
        bytes.storeBytes(of: kind.rawValue, as: UInt8.self)
        bytes.storeBytes(of: 0, toByteOffset: 1, as: UInt16.self)
        bytes.storeBytes(of: UInt16(truncatingIfNeeded: count).bigEndian, toByteOffset: 3, as: UInt16.self)
        bytes.storeBytes(of: UInt16(truncatingIfNeeded: contentStart).bigEndian, toByteOffset: 5, as: UInt16.self)
        bytes.storeBytes(of: 0, toByteOffset: 7, as: UInt8.self)
        if let rightmost {
            for index in 0..<count {
                let child = UInt32(bigEndian: cell(index).loadUnaligned(as: UInt32.self))
                try map.set(child, .tree, parent: number)
            }
            try map.set(rightmost, .tree, parent: number)
            bytes.storeBytes(of: rightmost.bigEndian, toByteOffset: 8, as: UInt32.self)
        }
        // Between the pointers and the contents there may be bytes of an earlier page: clear them, so that none gets into the
        // file.
        let pointersEnd = kind.headerSize + 2 * count
        (bytes + pointersEnd).initializeMemory(as: UInt8.self, repeating: 0, count: contentStart - pointersEnd)
        place.copyMemory(from: bytes, byteCount: PageGeometry.pageSize)
        if !overflows.isEmpty {
            for overflow in overflows { try map.set(overflow.page, .overflowFirst, parent: number) }
            overflows.removeAll(keepingCapacity: true)
        }
        count = 0
        contentStart = PageGeometry.pageSize
    }
}
