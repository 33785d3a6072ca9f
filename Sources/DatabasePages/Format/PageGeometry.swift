/// The geometry of the database files that are written here: pages of 4096 bytes without reserved bytes, with pointer maps
/// (auto-vacuum), as SQLite makes them for a fresh Core Data store.
///
/// The rules are those of SQLite's published file format, versions 3.0 and later.
enum PageGeometry {
    static let pageSize = 4096
    /// The number of entries in a pointer-map page, five bytes each.
    static let entriesPerMap: UInt32 = 819
    /// The page with the bytes that SQLite locks, at 1 GiB. It is never used.
    static let lockPage: UInt32 = 0x4000_0000 / 4096 + 1
    /// The first page number that SQLite does not allow.
    static let pageLimit: UInt32 = 0xFFFF_FFFE

    /// The most payload bytes that a cell keeps in its page, for a leaf of a table.
    static let tableLeafMaximum = pageSize - 35
    /// The most payload bytes that a cell keeps in its page, for every page of an index.
    static let indexMaximum = (pageSize - 12) * 64 / 255 - 23
    /// The fewest payload bytes that stay in the page if the rest goes to overflow pages.
    static let overflowMinimum = (pageSize - 12) * 32 / 255 - 23
    /// The payload bytes of an overflow page; four more bytes hold the number of the next one.
    static let overflowCapacity = pageSize - 4

    /// The pointer-map page that has the entry of a page.
    static func mapPage(of page: UInt32) -> UInt32 { (page - 2) / (entriesPerMap + 1) * (entriesPerMap + 1) + 2 }

    /// Tells whether no tree may use a page.
    static func isReserved(_ page: UInt32) -> Bool { page == lockPage || (page >= 2 && mapPage(of: page) == page) }

    /// The number of payload bytes that stay in the page.
    ///
    /// - Parameter maximum: ``tableLeafMaximum`` or ``indexMaximum``.
    static func localBytes(payload: Int, maximum: Int) -> Int {
        if payload <= maximum { return payload }
        let local = overflowMinimum + (payload - overflowMinimum) % overflowCapacity
        return local <= maximum ? local : overflowMinimum
    }
}

/// The first byte of a b-tree page.
enum PageKind: UInt8 {
    case indexInterior = 2
    case tableInterior = 5
    case indexLeaf = 10
    case tableLeaf = 13

    var headerSize: Int {
        switch self {
        case .indexInterior, .tableInterior: 12
        case .indexLeaf, .tableLeaf: 8
        }
    }
}

/// SQLite's variable-length integers: big-endian, seven bits a byte, the ninth byte has eight.
enum Varint {
    /// The number of bytes that a value takes, 1 to 9.
    @inline(__always)
    static func length(_ value: UInt64) -> Int {
        if value < 1 << 7 { return 1 }
        if value < 1 << 14 { return 2 }
        if value >= 1 << 56 { return 9 }
        return (UInt64.bitWidth - value.leadingZeroBitCount + 6) / 7
    }

    /// Writes a value. Returns the number of bytes written.
    @inline(__always)
    @discardableResult
    static func write(_ value: UInt64, to place: UnsafeMutableRawPointer) -> Int {
        if value < 1 << 7 {
            place.storeBytes(of: UInt8(truncatingIfNeeded: value), as: UInt8.self)
            return 1
        }
        if value < 1 << 14 {
            place.storeBytes(of: UInt8(truncatingIfNeeded: value >> 7) | 0x80, as: UInt8.self)
            place.storeBytes(of: UInt8(truncatingIfNeeded: value) & 0x7F, toByteOffset: 1, as: UInt8.self)
            return 2
        }
        return writeLong(value, to: place)
    }

    private static func writeLong(_ value: UInt64, to place: UnsafeMutableRawPointer) -> Int {
        let count = length(value)
        var rest = value
        var index = count - 1
        if count == 9 {
            place.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: 8, as: UInt8.self)
            rest >>= 8
            index = 7
        }
        var flag: UInt8 = count == 9 ? 0x80 : 0
        while index >= 0 {
            place.storeBytes(of: UInt8(truncatingIfNeeded: rest) & 0x7F | flag, toByteOffset: index, as: UInt8.self)
            flag = 0x80
            rest >>= 7
            index -= 1
        }
        return count
    }
}
