import Diagnostics

/// Reads the bytes that ``StateWriter`` wrote, in the same order. Nothing is trusted: bytes that do not fit are reported as
/// `journal.damaged`.
package struct StateReader {
    private let bytes: [UInt8]
    private var place = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The error for bytes that are not a saved state.
    package static func damaged(_ what: String) -> MigrationError {
        MigrationError(
            "journal.damaged", .io, "what a killed run left is damaged: \(what)", remedy: "Run the command again")
    }

    package mutating func word() throws(MigrationError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard place < bytes.count else { throw Self.damaged("it ends too early") }
            let byte = bytes[place]
            place += 1
            // The tenth byte holds only the highest of 64 bits.
            guard shift < 63 || byte <= 1 else { break }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw Self.damaged("a number of more than 64 bits")
    }

    package mutating func integer() throws(MigrationError) -> Int64 { Int64(bitPattern: try word()) }
    package mutating func flag() throws(MigrationError) -> Bool { try word() != 0 }

    /// Reads a count, which must not exceed a bound.
    package mutating func count(upTo limit: Int) throws(MigrationError) -> Int {
        let value = try word()
        guard value <= UInt64(max(0, limit)) else { throw Self.damaged("a count of \(value), above \(limit)") }
        return Int(value)
    }

    package mutating func page() throws(MigrationError) -> UInt32 {
        let value = try word()
        guard let page = UInt32(exactly: value) else { throw Self.damaged("page \(value)") }
        return page
    }

    /// Reads bytes behind their count.
    package mutating func block() throws(MigrationError) -> [UInt8] {
        let count = try count(upTo: bytes.count - place)
        // The count itself took bytes, so fewer may be left now.
        guard count <= bytes.count - place else { throw Self.damaged("it ends too early") }
        defer { place += count }
        return Array(bytes[place..<place + count])
    }

    /// Reads a string.
    package mutating func text() throws(MigrationError) -> String { String(decoding: try block(), as: UTF8.self) }

    /// Checks that all bytes were read.
    package func finish() throws(MigrationError) {
        guard place == bytes.count else { throw Self.damaged("\(bytes.count - place) bytes too many") }
    }
}
