import Diagnostics

/// Writes the state of a structure as bytes, which ``StateReader`` reads again.
///
/// A number takes seven bits a byte, the lowest first, with the top bit set in all bytes but the last. Most numbers are small,
/// and the state of a run with hundreds of tables has a hundred thousand of them. Byte strings have their count before them.
///
/// Memory: the bytes written.
package struct StateWriter {
    package private(set) var bytes: [UInt8] = []

    /// Makes an empty writer.
    ///
    /// - Parameter capacity: the expected number of bytes.
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

    /// Writes bytes behind their count.
    package mutating func write(bytes other: UnsafeRawBufferPointer) {
        write(other.count)
        bytes.append(contentsOf: other)
    }

    /// Writes bytes behind their count.
    package mutating func write(bytes other: [UInt8]) { other.withUnsafeBytes { write(bytes: $0) } }

    /// Writes a string as its UTF-8 bytes, behind their count.
    package mutating func write(_ text: String) { write(bytes: Array(text.utf8)) }
}
