import Foundation

/// Compares and searches texts by their bytes, with case or diacritics ignored.
enum TextSearch {
    /// Returns -1, 0 or 1, by the bytes, which for UTF-8 is the order of the code points.
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        if let first = left.baseAddress, let second = right.baseAddress {
            let order = memcmp(first, second, min(left.count, right.count))
            if order != 0 { return order < 0 ? -1 : 1 }
        }
        return left.count < right.count ? -1 : left.count == right.count ? 0 : 1
    }

    static func order(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, _ folding: TextFolding
    ) -> Int {
        if folding.isExact { return order(left, right) }
        return folding.folded(left).withUnsafeBytes { left in
            folding.folded(right).withUnsafeBytes { order(left, $0) }
        }
    }

    static func order(_ left: String, _ right: String, _ folding: TextFolding) -> Int {
        withBytes(left, right) { order($0, $1, folding) }
    }

    /// Tells whether a text begins with, ends with or contains another.
    static func finds(
        _ text: UnsafeRawBufferPointer, _ comparison: ComparisonOperator, _ part: UnsafeRawBufferPointer,
        _ folding: TextFolding
    ) -> Bool {
        guard folding.isExact else {
            return folding.folded(text).withUnsafeBytes { text in
                folding.folded(part).withUnsafeBytes { finds(text, comparison, $0, TextFolding([])) }
            }
        }
        guard part.count <= text.count else { return false }
        switch comparison {
        case .beginsWith: return order(UnsafeRawBufferPointer(rebasing: text.prefix(part.count)), part) == 0
        case .endsWith: return order(UnsafeRawBufferPointer(rebasing: text.suffix(part.count)), part) == 0
        default: return contains(text, part)
        }
    }

    static func finds(_ text: String, _ comparison: ComparisonOperator, _ part: String, _ folding: TextFolding) -> Bool
    {
        withBytes(text, part) { finds($0, comparison, $1, folding) }
    }

    private static func withBytes<Result>(
        _ left: String, _ right: String, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { body(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer($0)) }
        }
    }

    /// Tells whether a text contains another. Uses Knuth-Morris-Pratt, so that no text makes the search quadratic; a single
    /// byte is searched directly.
    private static func contains(_ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer) -> Bool {
        if part.count <= 1 { return part.isEmpty || text.contains(part[0]) }
        return withUnsafeTemporaryAllocation(of: Int.self, capacity: part.count) { borders in
            borders[0] = 0
            var length = 0
            for index in 1..<part.count {
                while length > 0, part[index] != part[length] { length = borders[length - 1] }
                if part[index] == part[length] { length += 1 }
                borders[index] = length
            }
            length = 0
            for byte in text {
                while length > 0, byte != part[length] { length = borders[length - 1] }
                if byte == part[length] { length += 1 }
                if length == part.count { return true }
            }
            return false
        }
    }
}
