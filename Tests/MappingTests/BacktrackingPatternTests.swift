import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import Mapping

@Suite("Regular expressions that backtrack") struct BacktrackingPatternTests {
    static let matches: [(String, String, Bool)] = [
        ("(?=.*[0-9])[a-z0-9]+", "abc1", true), ("(?=.*[0-9])[a-z0-9]+", "abc", false),
        ("(?!.*x)[a-z]+", "abc", true), ("(?!.*x)[a-z]+", "axc", false),
        ("a(?<=a)b", "ab", true), ("[a-z]+(?<!b)", "ab", false), ("[a-z]+(?<!b)", "ba", true),
        ("(.)\\1", "aa", true), ("(.)\\1", "ab", false), ("(a+)b\\1", "aabaa", true), ("(a+)b\\1", "aaba", false),
        ("(?<x>[ab])c\\k<x>", "bcb", true), ("(?<x>[ab])c\\k<x>", "bca", false),
        ("(?>a+)ab", "aaab", false), ("a++ab", "aaab", false), ("a++b", "aaab", true), ("a*+", "aaa", true),
        ("\\bword\\b.*", "word up", true), ("\\bwor\\b.*", "word up", false), ("w\\Bord", "word", true),
        ("(?i)(A)\\1", "aA", true), ("(?:ab|(?=c)cd)+", "abcdab", true), ("(a|b$)+", "ab", true),
        ("^a(?=b)b$", "ab", true), ("x^a(?=b)b", "xab", false), ("\\Aa(?=b)b\\z", "ab", true),
        ("(a*)*(?=b)b", "aaab", true), ("(?:a{2,3}(?=b|a))+b", "aaaaab", true), ("(a{2}){2}\\1", "aaaaaa", true),
        ("(?=a).+?b", "aab", true), ("()\\1a", "a", true), ("(a)?\\1b", "b", false), ("(?!)", "", false),
        ("(?=(a+))\\1b", "aab", true), ("(?=.{8,})(?=.*[A-Z])(?=.*\\d).*", "Secret123", true),
        ("(?=.{8,})(?=.*[A-Z])(?=.*\\d).*", "secret123", false), ("\\p{Lu}(?=\\p{Ll})\\p{L}+", "Éa", true),
        ("[\\p{L}&&[^a-c]]+(?!.)", "xyz", true), ("[[:alpha:]--[x]]+(?!.)", "xyz", false),
        ("(?s)a.(?=b)b", "a\nb", true), ("a.(?=b)b", "a\nb", false),
    ]

    @Test("Look-around, back references, atomic groups and boundaries do what ICU does", arguments: matches)
    func matching(pattern: String, text: String, expected: Bool) throws {
        let compiled = try TextPattern(regularExpression: pattern, TextFolding([]))
        #expect(try compiled.matches(text) == expected)
        // Foundation's engine agrees.
        let icu = try NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
        #expect((icu.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil) == expected)
    }

    static let endless = [
        "(a+)+(?=c)c", "(?=(a+)+$)a+b", "(a|a)*(?<=b)c", "((a*)*)*\\1b", "(?!(a+)+b)(a|aa)+\\1{3}c", "(.*)*(?!)",
        "(a?){50}(?=b)a{50}c", "(x+x+)+\\1y",
    ]

    @Test("No pattern runs without end: the limit is an error that names it", arguments: endless)
    func limit(pattern: String) throws {
        let compiled = try TextPattern(regularExpression: pattern, TextFolding([]))
        for letter in ["a", "x"] {
            do throws(ProgramFault) {
                #expect(try !compiled.matches(String(repeating: letter, count: 60)))
            } catch {
                #expect(error.code == "expression.patternLimit")
                #expect(error.message.contains(ExpressionConstant.quoted(pattern)))
            }
        }
    }

    @Test("MATCHES with such a pattern ends, in programs and in evaluations")
    func predicate() throws {
        let format = "'\(String(repeating: "a", count: 60))' MATCHES '(?=a)(a+)+\\\\1b'"
        let predicate = try SourcePredicate(format: format)
        let error = #expect(throws: MigrationError.self) { try predicate.evaluate(with: nil) }
        #expect(error?.code == "expression.patternLimit")
        #expect(try SourcePredicate(format: "'abab' MATCHES '(ab)\\\\1'").evaluate(with: nil))
    }

    @Test("Long texts with simple look-ahead are matched", arguments: [1000, 50_000])
    func long(count: Int) throws {
        let text = String(repeating: "ab", count: count / 2) + "1"
        let pattern = try TextPattern(regularExpression: "(?=.*1)[ab1]*", TextFolding([]))
        #expect(try pattern.matches(text))
    }

    @Test("Random patterns give what Foundation's engine gives")
    func random() throws {
        let seed = RandomSeeds.first
        var generator = SeededGenerator(seed: seed)
        func below(_ count: Int) -> Int { generator.below(count) }
        func node(_ depth: Int) -> String {
            guard depth > 0 else { return ["a", "b", "c", ".", "[ab]", "[^c]"][below(6)] }
            switch below(9) {
            case 0: return "(\(node(depth - 1)))"
            case 1: return "(?:\(node(depth - 1))|\(node(depth - 1)))"
            case 2:
                // ICU ends a repetition whose body matches nothing in its own way.
                if below(6) == 0 { return "[ab]\(["++", "*+", "?+"][below(3)])" }
                return "(?:[abc]\(node(depth - 1)))\(["*", "+", "?", "{1,2}", "*?"][below(5)])"
            case 3: return "(?=\(node(depth - 1)))"
            case 4: return "(?!\(node(depth - 1)))"
            case 5: return "(?<=[ab])"
            case 6: return "(?>\(node(depth - 1)))"
            default: return node(depth - 1) + node(depth - 1)
            }
        }
        for run in 0..<3000 {
            let pattern = "(?=)" + node(4)
            let text = String((0..<below(7)).map { _ in ["a", "b", "c"][below(3)] as Character })
            let icu = try NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
            let expected = icu.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
            let compiled = try TextPattern(regularExpression: pattern, TextFolding([]))
            #expect(try compiled.matches(text) == expected, "seed \(seed), run \(run): \(pattern) on \(text)")
        }
    }
}
