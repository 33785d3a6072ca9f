/// Compares and searches texts with case or diacritics ignored, by bytes as compiled programs do.
enum TextSearch {
    /// Returns -1, 0 or 1, by the order of the code points.
    static func order(_ left: String, _ right: String, _ folding: TextFolding) -> Int {
        folding.isExact
            ? order(left.utf8, right.utf8) : order(folding.folded(left.utf8), folding.folded(right.utf8))
    }

    private static func order(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Int {
        left.elementsEqual(right) ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    /// Tells whether a text begins with, ends with or contains another.
    static func finds(_ text: String, _ comparison: ComparisonOperator, _ part: String, _ folding: TextFolding) -> Bool
    {
        let (text, part) = (folding.folded(text.utf8), folding.folded(part.utf8))
        guard part.count <= text.count else { return false }
        switch comparison {
        case .beginsWith: return text.starts(with: part)
        case .endsWith: return text.suffix(part.count).elementsEqual(part)
        default: return text.withUnsafeBytes { text in part.withUnsafeBytes { contains(text, $0) } }
        }
    }

    /// Tells whether a text contains another. Uses Knuth-Morris-Pratt, so that no text makes the search quadratic; a single
    /// byte is searched directly.
    static func contains(_ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer) -> Bool {
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
