/// The affinity of a column, derived from its declared type: the conversion that SQLite applies to a value it stores there.
package enum ColumnAffinity: UInt8, Sendable {
    case blob
    case text
    case numeric
    case integer
    case real

    /// Applies SQLite's rules to a declared type, in their order.
    package init(declaredType: String) {
        // Bytes, not characters, for speed: opening a store asks several times for each column.
        let type = declaredType.utf8.map { $0 >= 0x61 && $0 <= 0x7A ? $0 - 0x20 : $0 }
        func has(_ word: StaticString) -> Bool {
            let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
            return type.count >= word.count
                && (0...type.count - word.count).contains { type[$0..<$0 + word.count].elementsEqual(word) }
        }
        if has("INT") {
            self = .integer
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            self = .text
        } else if has("BLOB") || type.isEmpty {
            self = .blob
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            self = .real
        } else {
            self = .numeric
        }
    }

    var isNumber: Bool { self == .numeric || self == .integer || self == .real }
}
