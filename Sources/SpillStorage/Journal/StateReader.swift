import Diagnostics

/// Reads what ``StateWriter`` wrote, in the same order. Nothing is believed: what does not fit is `journal.damaged`.
package struct StateReader {
    private let bytes: [UInt8]
    private var place = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The error for bytes that are no state.
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
            // The tenth byte holds one bit.
            guard shift < 63 || byte <= 1 else { break }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw Self.damaged("a number of more than 64 bits")
    }

    package mutating func integer() throws(MigrationError) -> Int64 { Int64(bitPattern: try word()) }
    package mutating func flag() throws(MigrationError) -> Bool { try word() != 0 }

    /// A count, not above a bound.
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

    package mutating func optionalInteger() throws(MigrationError) -> Int64? {
        let has = try flag()
        let value = try integer()
        return has ? value : nil
    }

    /// Bytes behind their count.
    package mutating func block() throws(MigrationError) -> [UInt8] {
        let count = try count(upTo: bytes.count - place)
        // The count itself was read meanwhile.
        guard count <= bytes.count - place else { throw Self.damaged("it ends too early") }
        defer { place += count }
        return Array(bytes[place..<place + count])
    }

    /// Numbers behind their count.
    package mutating func words() throws(MigrationError) -> [UInt64] {
        let count = try count(upTo: bytes.count - place)
        var words: [UInt64] = []
        words.reserveCapacity(count)
        for _ in 0..<count { words.append(try word()) }
        return words
    }

    /// Numbers that are offsets or sizes, behind their count.
    package mutating func integers() throws(MigrationError) -> [Int] {
        var integers: [Int] = []
        for word in try words() {
            guard let integer = Int(exactly: word) else { throw Self.damaged("a size of \(word)") }
            integers.append(integer)
        }
        return integers
    }

    /// What may be missing.
    package mutating func optional<Value>(
        _ body: (inout StateReader) throws(MigrationError) -> Value
    ) throws(MigrationError) -> Value? {
        guard try flag() else { return nil }
        return try body(&self)
    }

    /// Whether all was read.
    package var isAtEnd: Bool { place == bytes.count }

    /// Checks that all was read.
    package func finish() throws(MigrationError) {
        guard place == bytes.count else { throw Self.damaged("\(bytes.count - place) bytes too many") }
    }
}
