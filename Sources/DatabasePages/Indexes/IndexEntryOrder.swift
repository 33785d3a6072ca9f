import Glibc
import SpillStorage

/// Orders an index's entries (complete records that end with the row's id) as SQLite does: NULL, then numbers (integers and
/// reals compared exactly), then texts, then blobs, both byte by byte (BINARY).
///
/// The records come from the encoder, so their headers are not checked.
final class IndexEntryOrder: EntryOrder {
    private let isAscending: [Bool]

    /// Makes the order of an index.
    ///
    /// - Parameter isAscending: a flag for each of the index's columns, without the row's id.
    init(isAscending: [Bool]) { self.isAscending = isAscending }

    /// The storage class of the first value in two bits, then its first bytes or the number's nearest real.
    func prefix(of entry: UnsafeRawBufferPointer) -> UInt64 {
        guard let start = entry.baseAddress else { return 0 }
        var reader = RecordReader(start)
        let value = reader.next()
        let word: UInt64
        switch value.rank {
        case .null: word = 0
        case .number: word = 1 << 62 | SortKey.encode(value.nearestReal) >> 2
        case .text, .blob:
            var bytes: UInt64 = 0
            if value.count >= 8 {
                bytes = UInt64(bigEndian: value.start.loadUnaligned(as: UInt64.self))
            } else {
                for index in 0..<value.count {
                    bytes |= UInt64(value.start.load(fromByteOffset: index, as: UInt8.self)) << UInt64(56 - 8 * index)
                }
            }
            word = (value.rank == .text ? 2 : 3) << 62 | bytes >> 2
        }
        return isAscending[0] ? word : ~word
    }

    func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        guard let leftStart = left.baseAddress, let rightStart = right.baseAddress else { return 0 }
        var (one, other) = (RecordReader(leftStart), RecordReader(rightStart))
        for ascends in isAscending {
            let order = one.next().compare(to: other.next())
            if order != 0 { return ascends ? order : -order }
        }
        return one.next().compare(to: other.next())
    }

    /// Tells whether two entries have the same values and no NULL: such rows violate a unique index.
    func isDuplicate(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard let leftStart = left.baseAddress, let rightStart = right.baseAddress else { return false }
        var (one, other) = (RecordReader(leftStart), RecordReader(rightStart))
        for _ in isAscending {
            let value = one.next()
            if value.rank == .null || value.compare(to: other.next()) != 0 { return false }
        }
        return true
    }
}

/// Reads the values of a record one after the other.
private struct RecordReader {
    private let start: UnsafeRawPointer
    /// The offsets of the next serial type and the next value.
    private var (header, body) = (0, 0)

    init(_ start: UnsafeRawPointer) {
        self.start = start
        body = Int(truncatingIfNeeded: varint())
    }

    @inline(__always)
    private mutating func varint() -> UInt64 { RecordForm.varint(start, &header, end: .max) ?? 0 }

    @inline(__always)
    mutating func next() -> RecordValue {
        let serial = varint()
        let value = RecordValue(serial: serial, start: start + body, count: RecordForm.size(ofSerial: serial) ?? 0)
        body += value.count
        return value
    }
}

private struct RecordValue {
    /// Storage classes in the order in which SQLite sorts them.
    enum Rank: UInt8 {
        case null, number, text, blob
    }

    let serial: UInt64
    let start: UnsafeRawPointer
    let count: Int

    @inline(__always)
    var rank: Rank {
        if serial == 0 { return .null }
        if serial < 12 { return .number }
        return serial & 1 == 1 ? .text : .blob
    }

    private var integer: Int64 { RecordForm.integer(start, serial: serial) }

    private var real: Double { Double(bitPattern: UInt64(bigEndian: start.loadUnaligned(as: UInt64.self))) }

    /// The real nearest to the number, as an integer of the same order.
    var nearestReal: Int64 {
        let nearest = serial == 7 ? real : Double(integer)
        return Int64(bitPattern: nearest.orderedBits ^ (1 << 63))
    }

    @inline(__always)
    func compare(to other: RecordValue) -> Int {
        let rank = rank
        if rank != other.rank { return rank.rawValue < other.rank.rawValue ? -1 : 1 }
        switch rank {
        case .null: return 0
        case .text, .blob:
            let order = Int(memcmp(start, other.start, min(count, other.count)))
            return order != 0 ? order : count - other.count
        case .number:
            switch (serial == 7, other.serial == 7) {
            case (false, false): return Self.order(integer, other.integer)
            case (true, true): return Self.order(real, other.real)
            case (false, true): return Self.compare(integer, other.real)
            case (true, false): return -Self.compare(other.integer, real)
            }
        }
    }

    private static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
        left < right ? -1 : (left == right ? 0 : 1)
    }

    /// Compares an integer with a real, exactly: first with the integer part of the real, then by its fraction.
    private static func compare(_ integer: Int64, _ real: Double) -> Int {
        if real < -0x1p63 { return 1 }
        if real >= 0x1p63 { return -1 }
        let whole = Int64(real)
        if integer != whole { return integer < whole ? -1 : 1 }
        return order(Double(whole), real)
    }
}
