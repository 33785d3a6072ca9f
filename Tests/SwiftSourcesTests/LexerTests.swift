import SwiftSources
import SwiftTokens
import Testing

/// Tokens that other readers rely on: strings, patterns, comments, and sources that are hostile.
@Suite("Tokens of Swift sources")
struct LexerTests {
    private func texts(_ source: String) -> [String] { SwiftLexer.tokens(of: source).map(\.text) }

    @Test("A regular expression is one token, and a division is not")
    func patterns() {
        #expect(texts("let a = /[{\"]+/ + b") == ["let", "a", "=", "/[{\"]+/", "+", "b"])
        #expect(texts("f(#/\"{/#, x)") == ["f", "(", "#/\"{/#", ",", "x", ")"])
        #expect(texts("a = b / c / d") == ["a", "=", "b", "/", "c", "/", "d"])
        #expect(texts("x(a, / b)").count == 7)
        #expect(texts("return /}/") == ["return", "/}/"])
    }

    @Test("A number is one token with its fraction and its exponent, and the place in a tuple is not a fraction")
    func numbers() {
        #expect(texts("-1_0.5e-3 + 0x1Fp+2-0xe-1") == ["-", "1_0.5e-3", "+", "0x1Fp+2", "-", "0xe", "-", "1"])
        #expect(
            texts("2.0.rounded() 1.max pair.0.1") == [
                "2.0", ".", "rounded", "(", ")", "1", ".", "max", "pair", ".", "0", ".", "1",
            ])
        #expect(texts("0...5.5 1e 1e+") == ["0", ".", ".", ".", "5.5", "1e", "1e", "+"])
    }

    @Test("Columns count characters, also behind strings with interpolations and in the lines after them")
    func columns() {
        let tokens = SwiftLexer.tokens(of: "é = \"\\(a + b)\" + c\n  d")
        #expect(tokens.map(\.text) == ["é", "=", "\"\\(a + b)\"", "(", "a", "+", "b", ")", "+", "c", "d"])
        #expect(tokens.map(\.column) == [1, 3, 5, 7, 8, 10, 12, 13, 16, 18, 3])
        #expect(tokens.map(\.line).last == 2)
    }

    @Test("Interpolations nested without end, and a line without end, need neither depth nor time")
    func hostile() {
        let deep = String(repeating: "\"\\(", count: 50_000)
        #expect(SwiftLexer.tokens(of: deep).count < 1_000_000)
        #expect(SwiftLexer.tokens(of: String(repeating: "a.", count: 100_000)).count == 200_000)
        let open = String(repeating: "(", count: 50_000) + String(repeating: "}", count: 50_000)
        #expect(throws: (any Error).self) { try SwiftSourceModels([("a", open)], name: "a").versions() }
        let classes = String(repeating: "class A { var x: [", count: 20_000)
        #expect(throws: (any Error).self) { try SwiftSourceModels([("a", classes)], name: "a").versions() }
    }

    @Test("Lists that name each other without end need no time")
    func lists() throws {
        let lists = (0..<40).map { "static let l\($0): [any PersistentModel.Type] = [l\($0 + 1), l\($0 + 1)]" }
        let text = """
            enum V: VersionedSchema { static let models = l0; static let l40: [any PersistentModel.Type] = []; \(lists.joined(separator: "; ")) }
            @Model final class A { var a: Int }
            """
        #expect(try SwiftSourceModels([("a", text)], name: "a").versions().versions.count == 1)
        let calls = String(repeating: "Schema([A.self, ", count: 10_000)
        let model = "@Model final class A { var a: Int }\n"
        #expect(try SwiftSourceModels([("a", model + calls)], name: "a").versions().versions.count == 1)
    }
}
