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

    /// Writes bytes behind their count.
    package mutating func write(bytes other: UnsafeRawBufferPointer) {
        write(other.count)
        bytes.append(contentsOf: other)
    }

    /// The same.
    package mutating func write(bytes other: [UInt8]) { other.withUnsafeBytes { write(bytes: $0) } }
}
