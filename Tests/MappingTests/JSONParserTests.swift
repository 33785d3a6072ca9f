import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import Mapping

@Suite("JSON: the parser")
struct JSONParserTests {
    private func parse(_ text: String) throws(MigrationError) -> JSONNode {
        try JSONParser.parse(Array(text.utf8), path: "m.json")
    }

    /// The tree as text, every value with its place.
    private func outline(_ node: JSONNode) -> String {
        let place = "@\(node.position.line):\(node.position.column)"
        switch node.value {
        case .null: return "null\(place)"
        case .boolean(let flag): return "\(flag)\(place)"
        case .number(let text): return text + place
        case .string(let text): return "'\(text)'\(place)"
        case .array(let elements): return "[\(elements.map(outline).joined(separator: " "))]\(place)"
        case .object(let members):
            let inner = members.map {
                "\($0.key)@\($0.keyPosition.line):\($0.keyPosition.column)=\(outline($0.value))"
            }
            return "{\(inner.joined(separator: " "))}\(place)"
        }
    }

    @Test("Values keep their places, lines ending in LF, CR LF or CR, columns counted in characters")
    func places() throws {
        let text = "\u{FEFF} {\"a\": [1, -2.5e+3 ,\n  true],\r\n\t\"ü😀\": null,\r \"b\" : {} }\n"
        #expect(
            outline(try parse(text))
                == "{a@1:3=[1@1:9 -2.5e+3@1:12 true@2:3]@1:8 ü😀@3:2=null@3:8 b@4:2={}@4:8}@1:2")
    }

    @Test("Escapes are read, surrogate pairs joined")
    func escapes() throws {
        #expect(
            outline(try parse(#""\"\\\/\b\f\n\r\t\u0041\u00e9\uD83D\uDE00""#))
                == "'\"\\/\u{8}\u{C}\n\r\tAé😀'@1:1")
    }

    @Test(
        "What is not JSON is refused at its place",
        arguments: [
            ("", 1, 1), ("  ", 1, 3), ("{", 1, 2), ("{\"a\"", 1, 5), ("{\"a\":", 1, 6), ("{\"a\":1", 1, 7),
            ("{\"a\":1,", 1, 8), ("{\"a\":1,}", 1, 8), ("{a:1}", 1, 2), ("{\"a\" 1}", 1, 6),
            ("{\"a\":1 \"b\":2}", 1, 8),
            ("[", 1, 2), ("[1,]", 1, 4), ("[1 2]", 1, 4), ("[1", 1, 3), ("]", 1, 1), ("1 2", 1, 3), ("01", 1, 1),
            ("-", 1, 2), ("1.", 1, 3), (".5", 1, 1), ("1e", 1, 3), ("+1", 1, 1), ("tru", 1, 1), ("nulL", 1, 1),
            ("True", 1, 1), ("'a'", 1, 1), ("\"abc", 1, 1), ("\n\n \"a\\qb\"", 3, 4), ("\"a\tb\"", 1, 3),
            ("\"a\nb\"", 1, 3),
            ("\"\\u12g4\"", 1, 2), ("\"\\uD800\"", 1, 2), ("\"\\uDC00\"", 1, 2), ("\"\\uD800\\u0041\"", 1, 2),
            ("\"\\uD800\\n\"", 1, 2), ("// c\n{}", 1, 1), ("{} // c", 1, 4), ("NaN", 1, 1), ("{\"a\":\u{A0}1}", 1, 6),
        ])
    func errors(_ text: String, _ line: Int, _ column: Int) {
        do throws(MigrationError) {
            _ = try parse(text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error.code == "mapping.json", "\(text)")
            #expect(error.category == .configuration)
            #expect(error.context == .init(path: "m.json", line: line, column: column), "\(text): \(error)")
        }
    }

    @Test("A key that occurs twice is refused, also when it is escaped or composed differently")
    func duplicates() {
        for (text, column) in [(#"{"a":1,"a":2}"#, 8), (#"{"a":1,"\u0061":2}"#, 8), (#"{"é":1,"e\u0301":2}"#, 8)] {
            do throws(MigrationError) {
                _ = try parse(text)
                Issue.record("\(text) was read")
            } catch {
                #expect(error.code == "mapping.duplicateKey")
                #expect(error.context == .init(path: "m.json", line: 1, column: column))
            }
        }
    }

    @Test("Bytes that are no UTF-8 are refused")
    func encoding() {
        for bytes: [UInt8] in [
            [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0xFF],
        ] {
            do throws(MigrationError) {
                _ = try JSONParser.parse([0x22] + bytes + [0x22], path: "m.json")
                Issue.record("\(bytes) was read")
            } catch {
                #expect(error.context == .init(path: "m.json", line: 1, column: 2), "\(bytes)")
            }
        }
    }

    @Test("Depth and length are bounded")
    func bounds() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try parse(nested(JSONParser.maximumDepth + 1))
        #expect(throws: MigrationError.self) { try parse(nested(JSONParser.maximumDepth + 2)) }
        #expect(throws: MigrationError.self) { try parse(String(repeating: "[", count: 1_000_000)) }
        #expect(throws: MigrationError.self) {
            try JSONParser.parse([UInt8](repeating: 0x20, count: JSONParser.maximumLength + 1), path: "m.json")
        }
    }

    @Test("The parser reads the writer's JSON as the same, and Foundation accepts it")
    func writer() throws {
        let seed = RandomSeeds.first
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let value = Self.randomValue(&random, depth: 0)
            var writer = JSONWriter()
            value.write(to: &writer)
            #expect(UserInfoValue(try parse(writer.text)) == value, "seed \(seed): \(writer.text)")
            // Foundation only has to find it valid: its numbers lose the last digit (24165270918.612972).
            _ = try JSONSerialization.jsonObject(with: Data(writer.text.utf8), options: .fragmentsAllowed)
        }
    }

    private static func randomValue(_ random: inout SeededGenerator, depth: Int) -> UserInfoValue {
        switch random.below(depth < 4 ? 8 : 5) {
        case 0: return .null
        case 1: return .boolean(random.chance(2))
        case 2: return .integer(Int(truncatingIfNeeded: random.next()) >> random.below(60))
        case 3: return .double(Double(Int(random.next() >> 20)) / Double(1 + random.below(1000)) + 0.5)
        case 4, 5:
            let pieces = ["a", "\"", "\\", "/", "\n", "\u{1}", "\u{1F}", "\u{7F}", "é", "😀", "\u{2028}", "$source.x"]
            return .string((0..<random.below(6)).map { _ in pieces[random.below(pieces.count)] }.joined())
        case 6: return .array((0..<random.below(4)).map { _ in randomValue(&random, depth: depth + 1) })
        default:
            let members = (0..<random.below(4)).map { ("k\($0)", randomValue(&random, depth: depth + 1)) }
            return .object(Dictionary(members, uniquingKeysWith: { first, _ in first }))
        }
    }

    @Test("userInfo values of Foundation's types equal Swift's, and what JSON cannot hold is named")
    func userInfoValues() {
        #expect(UserInfoValue(NSNumber(value: 5)) == UserInfoValue(5))
        #expect(UserInfoValue(NSNumber(value: true)) == UserInfoValue(true))
        #expect(UserInfoValue(true) != UserInfoValue(1))
        #expect(UserInfoValue(NSNumber(value: 2.5)) == UserInfoValue(2.5))
        #expect(UserInfoValue(1) != UserInfoValue(1.0))
        #expect(UserInfoValue(Int16(7)) == UserInfoValue(7))
        #expect(UserInfoValue(NSString("x")) == UserInfoValue("x"))
        #expect(UserInfoValue(NSNull()) == .null)
        #expect(
            UserInfoValue(["a": [1, "b"] as [Any]] as [String: Any])
                == .object(["a": .array([.integer(1), .string("b")])]))
        #expect(UserInfoValue(["a": UUID()]).foreignType == "UUID")
        #expect(UserInfoValue([URL(fileURLWithPath: "/x")]).foreignType == "URL")
        #expect(UserInfoValue([1: 2]).foreignType != nil)
        #expect(UserInfoValue(Double.nan).foreignType == "Double")
        #expect(UserInfoValue(UInt64.max).foreignType != nil)
    }
}
