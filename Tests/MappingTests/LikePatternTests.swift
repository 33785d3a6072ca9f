import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import Mapping

@Suite("Patterns of LIKE") struct LikePatternTests {
    /// Tells by the definition whether a pattern matches a text: a `*` takes nothing, or a character and perhaps more.
    private static func matches(_ pattern: ArraySlice<Unicode.Scalar>, _ text: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        let rest = pattern.dropFirst()
        switch first {
        case "*": return matches(rest, text) || !text.isEmpty && matches(pattern, text.dropFirst())
        case "?": return !text.isEmpty && matches(rest, text.dropFirst())
        case "\\":
            let literal = rest.first ?? "\\"
            return text.first == literal && matches(rest.dropFirst(), text.dropFirst())
        default: return text.first == first && matches(rest, text.dropFirst())
        }
    }

    @Test("Random patterns match what they match by definition", arguments: RandomSeeds.seeds(4))
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func scalars(_ letters: [Unicode.Scalar], _ most: Int) -> [Unicode.Scalar] {
            (0..<generator.below(most)).map { _ in letters[generator.below(letters.count)] }
        }
        var matched = 0
        for _ in 0..<10_000 {
            let (pattern, text) = (scalars(["a", "b", "é", "*", "*", "?", "\\"], 8), scalars(["a", "b", "é", "*"], 9))
            let expected = Self.matches(pattern[...], text[...])
            if expected { matched += 1 }
            var (format, value) = (String.UnicodeScalarView(), String.UnicodeScalarView())
            format.append(contentsOf: pattern)
            value.append(contentsOf: text)
            let found = try TextPattern(String(format), .like, TextFolding([])).matches(String(value))
            #expect(found == expected, "seed \(seed): \(String(format)) on \(String(value))")
        }
        #expect(matched > 300)
    }

    @Test("Case and diacritics are ignored if the comparison says so, character by character")
    func folding() throws {
        let both: ComparisonOptions = [.caseInsensitive, .diacriticInsensitive]
        let cases: [(pattern: String, text: String, options: ComparisonOptions, expected: Bool)] = [
            ("gr?sse*", "GRÖSSE!", .caseInsensitive, true), ("caf?", "Café", .diacriticInsensitive, false),
            ("Caf?", "Café", .diacriticInsensitive, true), ("CAFE", "café", both, true),
            ("stra?e", "straße", .caseInsensitive, true), ("strasse", "straße", .caseInsensitive, false),
            ("É*", "elan", both, true), ("É*", "elan", .caseInsensitive, false),
        ]
        for (pattern, text, options, expected) in cases {
            let found = try TextPattern(pattern, .like, TextFolding(options)).matches(text)
            #expect(found == expected, "\(pattern) on \(text)")
        }
    }
}
