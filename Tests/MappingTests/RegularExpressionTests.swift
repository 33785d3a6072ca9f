import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import Mapping

@Suite("Regular expressions") struct RegularExpressionTests {
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
        // Free spacing, for all or for a part.
        ("(?x) a b # the end", "ab", true), ("(?x)a b", "a b", false), ("(?x: a b )c d", "abc d", true),
        ("a (?x) b c", "a bc", true), ("(?x) a (?-x: b)", "a b", true), ("(?xi) A b", "aB", true),
        // Quoting and characters by code or name.
        ("\\Qa.b*\\E+", "a.b**", true), ("\\Qa.b\\E", "axb", false), ("\\Q(", "(", true), ("\\x{1F600}", "😀", true),
        ("\\x41", "A", true), ("\\u0041", "A", true), ("\\U0001F600", "😀", true), ("\\0101", "A", true),
        ("\\cA", "\u{1}", true), ("\\N{LATIN SMALL LETTER A}", "a", true), ("\\N{GREEK SMALL LETTER ALPHA}", "α", true),
        ("\\a\\e\\f\\n\\r\\t", "\u{7}\u{1B}\u{C}\n\r\t", true),
        // Line ends, graphemes, blanks.
        ("a\\Rb", "a\r\nb", true), ("a\\Rb", "a\u{2028}b", true), ("a\\Rb", "a b", false),
        ("\\X", "e\u{301}", true), ("\\X\\X", "🇩🇪!", true), ("\\X", "ab", false),
        ("\\h+", " \t\u{A0}", true), ("\\H", " ", false), ("\\v+", "\n\r\u{2028}", true), ("\\V", "\n", false),
        // Groups by name.
        ("(?<year>\\d{4})-(?<month>\\d\\d)/\\k<year>", "2024-05/2024", true),
        ("(?<a>.)(?<b>.)\\k<b>\\k<a>", "abba", true),
        // Look-behind of bounded length.
        ("ab(?<=a{0,3}b)c", "abc", true), ("\\w+(?<!foo|ba)", "xfo", true), ("\\w+(?<!foo|ba)", "xfoo", false),
        // Possessive and atomic.
        ("\\d{2,4}+5", "12345", true), ("\\d{2,5}+5", "12345", false), ("(?>a|ab)c", "abc", false),
        // Properties.
        ("\\p{Script=Greek}+", "αβγ", true), ("\\p{Greek}\\p{Latin}", "αa", true), ("\\p{Lu}\\p{Ll}*", "Éva", true),
        ("\\P{L}+", "12", true), ("\\p{Block=Cyrillic}", "ж", true), ("\\p{InCyrillic}", "ж", true),
        ("\\p{Alphabetic}\\p{White_Space}\\p{Uppercase}", "a B", true), ("\\p{general_category=Nd}", "٣", true),
        ("\\p{Emoji}", "😀", true), ("[\\p{L}\\p{Nd}]+", "aß9", true),
        ("\\p{IDS}\\p{IDC}*", "x_1", true),
        // Operations on classes.
        ("[a-z&&[^b]]", "b", false), ("[a-z&&[^b]]", "c", true), ("[[a-z]--[b]]", "b", false),
        ("[[a-z]--[b]]", "c", true),
        ("[[a-c][x-z]]+", "axz", true), ("[[:alpha:][:digit:]_]+", "ab_1", true), ("[^[:space:]]+", "a b", false),
        ("[[:^alpha:]]", "1", true), ("[\\w&&[^_\\d]]+", "abc", true), ("[a\\-z]+", "-az", true), ("[-a]+", "a-", true),
        ("[\\]\\[]+", "[]", true), ("[\\u0041-\\u0043]+", "ABC", true), ("[\\x{61}-c]+", "abc", true),
        // Flags.
        ("(?i)straße", "STRASSE", true), ("(?i)é", "É", true), ("a(?i)b(?-i)c", "aBc", true),
        ("a(?i:b)c", "aBC", false),
        ("(?m)^a$\\n^b$", "a\nb", true), ("^a$\\n^b$", "a\nb", false), ("(?s).", "\n", true),
        ("(?w)\\ba'b\\b", "a'b", true),
        ("(?d)a.b", "a\u{2028}b", true), ("(?i)\u{212A}", "k", true), ("(?i)[a-z]+", "\u{212A}", true),
        // Counts.
        (".{0,4096}", String(repeating: "x", count: 4096), true),
        (".{0,4096}", String(repeating: "x", count: 4097), false),
        ("[a-z]{1,100000}", String(repeating: "x", count: 90_000), true),
        ("a{1001}", String(repeating: "a", count: 1001), true),
        ("(?:ab){2000}", String(repeating: "ab", count: 2000), true), (".{100000,}", "x", false),
        // Unicode in what plain classes mean.
        ("\\d+", "٣٤", true), ("\\w+", "größe", true), ("\\w+", "a‐b", false), ("\\s", "\u{85}", true),
        ("[^\\d]", "٣", false),
        ("(?#a comment)a", "a", true),
        ("a|", "", true), ("", "", true), ("", "a", false), ("()", "", true), ("x*", "", true), ("^$", "", true),
        ("a$", "a\n", false),
    ]

    @Test("All of ICU's syntax does what ICU does", arguments: matches)
    func matching(pattern: String, text: String, expected: Bool) throws {
        let compiled = try TextPattern(regularExpression: pattern)
        #expect(try compiled.matches(text) == expected)
        // Foundation's engine agrees; a comment or a quotation at the end goes on to the end of the line or to \\E.
        let tail = pattern.hasPrefix("(?x)") ? "\n)\\z" : pattern == "\\Q(" ? "\\E)\\z" : ")\\z"
        let icu = try NSRegularExpression(pattern: "\\A(?:\(pattern)\(tail)")
        #expect((icu.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil) == expected)
    }

    static let endless = [
        "(a+)+(?=c)c", "(?=(a+)+$)a+b", "(a|a)*(?<=b)c", "((a*)*)*\\1b", "(?!(a+)+b)(a|aa)+\\1{3}c", "(.*)*(?!)",
        "(a?){50}(?=b)a{50}c", "(x+x+)+\\1y", "(?:(?:(?:){99999}){99999}){99999}", "((a?){9999}){9999}b",
        "(?x)(a+)+b", "(?:\\p{L}+)+9", "(?:(?:a{1,9999}){1,9999}){1,9999}b", "(?:.{0,100000}){0,100000}z",
    ]

    @Test("No pattern runs without end: the limit is an error that names it", arguments: endless)
    func limit(pattern: String) throws {
        let compiled = try TextPattern(regularExpression: pattern)
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
        let pattern = try TextPattern(regularExpression: "(?=.*1)[ab1]*")
        #expect(try pattern.matches(text))
    }

    /// Patterns that ICU refuses, with the place up to which it takes them.
    static let mistakes: [(String, Int)] = [
        ("(", 1), ("a(b", 2), ("a)", 2), ("[a", 1), ("a{3,1}", 2), ("*a", 1), ("a**", 3), ("\\p{Nope}", 1),
        ("a[[:nope:]]", 2), ("\\N{NO SUCH NAME}", 1), ("ab\\x{110000}", 3), ("(?<n>a)\\k<m>", 8), ("(?<=a*)b", 1),
        ("a\\", 2), ("\\u12", 1), ("(?y)a", 1), ("[b-a]", 1), ("(?P<n>a)", 1), ("a{", 2), ("\\pN", 1),
    ]

    @Test("A pattern that is no regular expression is refused when it is compiled, with the place", arguments: mistakes)
    func mistake(pattern: String, place: Int) {
        let fault = #expect(throws: ProgramFault.self) { try TextPattern(regularExpression: pattern) }
        #expect(fault?.code == "expression.syntax")
        let rest = ExpressionConstant.quoted(String(pattern.dropFirst(place - 1)))
        #expect(fault?.message.hasSuffix("from \(rest) on, at character \(place)") == true, "\(fault?.message ?? "")")
        #expect((try? NSRegularExpression(pattern: pattern)) == nil)
    }

    @Test("A pattern may have ten thousand characters")
    func length() throws {
        let text = String(repeating: "a", count: 10_000)
        #expect(try TextPattern(regularExpression: text).matches(text))
        for sign in [ComparisonOperator.matches, .like] {
            let fault = #expect(throws: ProgramFault.self) { try TextPattern(text + "a", sign, TextFolding([])) }
            #expect(fault?.code == "expression.unsupported")
        }
    }

    @Test("Case and diacritics are ignored if the comparison says so")
    func folding() throws {
        func matches(_ pattern: String, _ text: String, _ options: ComparisonOptions) throws -> Bool {
            try TextPattern(pattern, .matches, TextFolding(options)).matches(text)
        }
        #expect(try matches("gr.?ss(?=e)E", "GRÖSSE", .caseInsensitive))
        #expect(try matches("cafe\\b", "Café", [.caseInsensitive, .diacriticInsensitive]))
        #expect(try matches("(?x) ca fé", "cafe", .diacriticInsensitive))
        #expect(try !matches("cafe", "café", .caseInsensitive))
    }

    @Test("Random texts are patterns if ICU accepts them, and match the same texts")
    func fuzz() throws {
        let seed = RandomSeeds.first
        var generator = SeededGenerator(seed: seed)
        let parts = [
            "a", "b", "c", ".", "[ab]", "[^a]", "\\d", "\\w", "\\W", "(", ")", "(?:", "|", "*", "+", "?", "{2}",
            "{1,3}",
            "{0,40}", "{,2}", "^", "$", "\\.", "-", "]", "}", "{", "[", "[a-", "\\s", " ", "#", "&", "\\", "(?i)",
            "(?x)", "(?s)",
            "[]", "[a&&b]", "[[a]b]", "[a-c-]", "\\b", "\\Q", "\\E", "\\1", ":", "=", "!", "<", ",", "1", "A", "\n",
            "é", "[é-ü]",
        ]
        var taken = 0
        for run in 0..<20_000 {
            let pattern = (0..<(1 + generator.below(7))).map { _ in parts[generator.below(parts.count)] }.joined()
            let alone = try? NSRegularExpression(pattern: pattern)
            let compiled = try? TextPattern(regularExpression: pattern)
            #expect((alone != nil) == (compiled != nil), "seed \(seed), run \(run): \(pattern)")
            guard let compiled else { continue }
            let tails = [")\\z", "\n)\\z", "\\E)\\z"]
            guard let icu = tails.lazy.compactMap({ try? NSRegularExpression(pattern: "\\A(?:\(pattern)\($0)") }).first
            else { continue }
            taken += 1
            for _ in 0..<4 {
                let letters: [Character] = ["a", "b", "c", "A", "1", " ", "\n", "é", ".", "-", "#", "]"]
                let text = String((0..<generator.below(5)).map { _ in letters[generator.below(letters.count)] })
                let expected = icu.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
                let found = try compiled.matches(text)
                #expect(found == expected, "seed \(seed), run \(run): \(pattern) on \(text.debugDescription)")
            }
        }
        #expect(taken > 4000)
    }
}
