import Diagnostics

/// Writes the state of a structure as bytes that ``StateReader`` reads again. Numbers are written seven bits a byte, the
/// lowest first, the top bit set in all but the last; most are small, and a state of hundreds of tables has a hundred
/// thousand. Bytes have their count before them.
///
/// Memory: the bytes written.
package struct StateWriter {
    package private(set) var bytes: [UInt8] = []

    /// - Parameter capacity: bytes that are expected.
    package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    package mutating func write(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    package mutating func write(_ value: Int) { write(UInt64(bitPattern: Int64(value))) }
    package mutating func write(_ value: Int64) { write(UInt64(bitPattern: value)) }
    package mutating func write(_ value: UInt32) { write(UInt64(value)) }
    package mutating func write(_ value: Bool) { write(UInt64(value ? 1 : 0)) }

    package mutating func write(_ value: Int64?) {
        write(value != nil)
        write(value ?? 0)
    }

    /// Writes numbers behind their count.
    package mutating func write(words: [UInt64]) {
        write(words.count)
        for word in words { write(word) }
    }

    /// Writes what may be missing.
    package mutating func write<Value>(
        optional value: Value?, _ body: (Value, inout StateWriter) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        write(value != nil)
        if let value { try body(value, &self) }
    }

    /// Writes bytes behind their count.
    package mutating func write(bytes other: UnsafeRawBufferPointer) {
        write(other.count)
        bytes.append(contentsOf: other)
    }

    /// The same.
    package mutating func write(bytes other: [UInt8]) { other.withUnsafeBytes { write(bytes: $0) } }
}
