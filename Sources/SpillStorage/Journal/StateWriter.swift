import Diagnostics

/// Writes the state of a structure as bytes that ``StateReader`` reads again: numbers are little-endian, bytes have their
/// count before them.
///
/// Memory: the bytes written.
package struct StateWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
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
        bytes.reserveCapacity(bytes.count + words.count * 8)
        for word in words { withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) } }
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
