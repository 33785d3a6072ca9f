import CSQLite
import CoreDataStore
import Diagnostics
import Glibc
import Rows

/// A sum over keys and values that is independent of their order, and their number.
struct VerificationChecksum: Equatable {
    private(set) var count = 0
    private(set) var sum: UInt64 = 0

    /// Adds a value of an object.
    mutating func add(key: Int64, _ value: UInt64) { add(Self.mix(value ^ Self.mix(UInt64(bitPattern: key)))) }

    mutating func add(link: (first: Int64, second: Int64)) { add(key: link.first, Self.hash(link.second)) }

    /// Adds the mixed bits of one object's key and value, or a sum over those of several.
    mutating func add(_ mixed: UInt64, count: Int = 1) {
        sum &+= mixed
        self.count += count
    }

    var text: String {
        let digits = String(sum, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Mixes the bits of a value: the finaliser of SplitMix64.
    static func mix(_ value: UInt64) -> UInt64 {
        var z = value &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    static func hash(_ number: Int64) -> UInt64 { mix(UInt64(bitPattern: number) ^ 0x11) }

    static func hash(_ bytes: UnsafeRawBufferPointer, isText: Bool) -> UInt64 {
        var hash: UInt64 = isText ? 0x33 : 0x44
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = mix(hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var rest = UInt64(bytes.count) << 56
        for index in offset..<bytes.count { rest |= UInt64(bytes[index]) << (8 * UInt64(index - offset)) }
        return mix(hash ^ rest)
    }
}

/// A value of a row in a form for comparison: equal numbers are equal, whether stored as an integer or as a real.
enum VerifiedCell {
    case null
    case integer(Int64)
    case real(Double)
    /// Text; valid until its statement or batch moves on.
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)

    init(_ statement: Statement, _ column: Int32) {
        let handle = statement.handle
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: self.init(real: sqlite3_column_double(handle, column))
        case SQLITE_TEXT:
            let bytes = sqlite3_column_text(handle, column)
            self = .text(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
        case SQLITE_BLOB:
            let bytes = sqlite3_column_blob(handle, column)
            let count = bytes == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
            self = .blob(UnsafeRawBufferPointer(start: bytes, count: count))
        default: self = .null
        }
    }

    /// Reads a cell of a batch, which must not change during the lifetime of the value.
    init(_ cell: Cell, _ batch: borrowing RowBatch) {
        switch cell.kind {
        case .integer, .reference: self = .integer(cell.integerValue)
        case .real: self.init(real: cell.realValue)
        case .text: self = .text(batch.bytes(cell))
        case .blob: self = .blob(batch.bytes(cell))
        case .null, .absent, .huge, .rawRecord: self = .null
        }
    }

    private init(real: Double) {
        // The column's affinity decides in which of the two forms a whole number is stored.
        if let whole = Int64(exactly: real) { self = .integer(whole) } else { self = .real(real) }
    }

    var isNull: Bool { if case .null = self { true } else { false } }

    /// A number as a real; nil for anything else.
    var realValue: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .real(let number): number
        case .null, .text, .blob: nil
        }
    }

    static func areEqual(_ one: VerifiedCell, _ other: VerifiedCell) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.integer(let a), .integer(let b)): a == b
        case (.real(let a), .real(let b)): a == b || a.isNaN && b.isNaN
        case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): same(a, b)
        default: false
        }
    }

    private static func same(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count else { return false }
        guard let first = one.baseAddress, let second = other.baseAddress, one.count > 0 else { return true }
        return memcmp(first, second, one.count) == 0
    }

    var hash: UInt64 {
        switch self {
        case .null: 0x55
        case .integer(let number): VerificationChecksum.hash(number)
        case .real(let number): VerificationChecksum.mix(number.bitPattern ^ 0x22)
        case .text(let bytes): VerificationChecksum.hash(bytes, isText: true)
        case .blob(let bytes): VerificationChecksum.hash(bytes, isText: false)
        }
    }

    /// The value for people: text cut after 60 characters, data as its length and a hash; nil for NULL.
    var shown: String? {
        switch self {
        case .null: return nil
        case .integer(let number): return String(number)
        case .real(let number): return "\(number)"
        case .text(let bytes):
            let text = String(decoding: UnsafeRawBufferPointer(rebasing: bytes.prefix(240)), as: UTF8.self)
            return text.count > 60 || bytes.count > 240
                ? "\"\(text.prefix(60))…\" (\(bytes.count.counted("byte")))" : "\"\(text)\""
        case .blob(let bytes):
            return "\(bytes.count.counted("byte")), hash "
                + String(VerificationChecksum.hash(bytes, isText: false), radix: 16)
        }
    }
}

extension VerifiedCell {
    /// The number as a cell, for comparison with the model's bounds.
    var number: Cell {
        switch self {
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .null, .text, .blob: .null
        }
    }
}
