import Diagnostics
import Testing

@testable import StagecoachCommand

@Suite("Argument parser")
struct ArgumentParserTests {
    private static let parser = ArgumentParser(commands: [
        CommandSpecification(
            name: "copy", summary: "", discussion: "", operands: ["FROM", "INTO"],
            options: [
                .init("to", .text("MODEL"), ""), .init("output", letter: "o", .text("FILE"), ""),
                .init("limit", .size, ""), .init("count", .count(least: 1), ""),
                .init("keys", .choice(["auto", "kept"]), ""), .init("quick", .flag, ""),
                .init("report", .file(endings: [".json"]), ""),
            ], examples: []),
        CommandSpecification(
            name: "need", summary: "", discussion: "", operands: [],
            options: [.init("to", .text("MODEL"), isRequired: true, "")], examples: []),
    ])

    private func arguments(_ line: [String]) throws -> ParsedArguments? {
        guard case .command(_, let arguments) = try Self.parser.parse(line) else { return nil }
        return arguments
    }

    @Test("reads values after a space, after an equals sign, and joined to a letter, among the operands")
    func values() throws {
        let parsed = try #require(
            try arguments(["copy", "a", "--to", "m", "--output=x=y", "b", "--limit", "64M", "--count=3", "--quick"]))
        #expect(parsed.operands == ["a", "b"])
        #expect(parsed[option: "to"] == "m")
        #expect(parsed[option: "output"] == "x=y")
        #expect(parsed.number("limit") == 64 << 20)
        #expect(parsed.number("count") == 3)
        #expect(parsed.has("quick"))
        #expect(parsed[option: "keys"] == nil)
        for line in [["-o", "f"], ["-of"], ["-o=f"]] {
            #expect(try arguments(["copy", "a", "b"] + line)?[option: "output"] == "f")
        }
    }

    @Test("takes everything after two dashes, and a single dash, as operands")
    func dashes() throws {
        #expect(try arguments(["copy", "--", "--to", "-x"])?.operands == ["--to", "-x"])
        #expect(try arguments(["copy", "-", "--", "b"])?.operands == ["-", "b"])
        #expect(try arguments(["copy", "a", "b", "--to=-x"])?[option: "to"] == "-x")
        #expect(try arguments(["copy", "a", "b", "--to", "-"])?[option: "to"] == "-")
    }

    @Test("gives help and version if they are asked for, and not after two dashes")
    func help() throws {
        for line in [["--help"], ["-h"]] {
            guard case .help(nil, _) = try Self.parser.parse(line) else {
                Issue.record("\(line)")
                continue
            }
        }
        for line in [["--version"], ["-v"], ["-V"], ["copy", "--version"], ["copy", "a", "--version"]] {
            guard case .version = try Self.parser.parse(line) else {
                Issue.record("no version")
                return
            }
        }
        for line in [["copy", "-h"], ["copy", "a", "--help", "--nonsense"]] {
            guard case .help(let command?, let isBrief) = try Self.parser.parse(line) else {
                Issue.record("\(line)")
                continue
            }
            #expect(command.name == "copy" && isBrief == line.contains("-h"))
        }
        #expect(try arguments(["copy", "--", "-h", "b"])?.operands == ["-h", "b"])
    }

    @Test(
        "refuses what it does not understand",
        arguments: [
            ([], .missingCommand), (["cpoy"], .unknownCommand("cpoy", nearest: "copy")),
            (["xylophone"], .unknownCommand("xylophone", nearest: nil)), ([""], .unknownCommand("", nearest: nil)),
            (["--verson"], .unknownOption("--verson", nearest: "--version")),
            (["copy", "--qick"], .unknownOption("--qick", nearest: "--quick")),
            (["copy", "--rep=x"], .unknownOption("--rep", nearest: "--report")),
            (["copy", "--zebra"], .unknownOption("--zebra", nearest: nil)),
            (["need", "--quick"], .unknownOption("--quick", nearest: nil, others: ["copy"])),
            (["--to", "m", "copy"], .unknownOption("--to", nearest: nil, others: ["copy", "need"])),
            (["copy", "-to", "m"], .unknownOption("-to", nearest: "--to")),
            (["copy", "-z"], .unknownOption("-z", nearest: nil)),
            (["copy", "a"], .missingOperand("INTO")), (["copy"], .missingOperand("FROM")),
            (["copy", "a", "b", "c"], .surplusOperand("c")), (["copy", "a", ""], .emptyOperand("INTO")),
            (["copy", "a", "b", "--to"], .missingValue(option: "--to", valueName: "MODEL")),
            (["copy", "a", "b", "--to", "--quick"], .missingValue(option: "--to", valueName: "MODEL")),
            (["copy", "a", "b", "--to="], .missingValue(option: "--to", valueName: "MODEL")),
            (["copy", "a", "b", "--quick=yes"], .unexpectedValue(option: "--quick")),
            (["copy", "--to", "m", "--to=n"], .repeatedOption("--to")),
            (["copy", "--quick", "--quick"], .repeatedOption("--quick")),
            (["copy", "-o", "a", "--output", "b"], .repeatedOption("--output")),
            (["copy", "--count", "0"], .notACount(option: "--count", value: "0", least: 1)),
            (["copy", "--count=-3"], .notACount(option: "--count", value: "-3", least: 1)),
            (["copy", "--count", "-3"], .notACount(option: "--count", value: "-3", least: 1)),
            (["copy", "--count", "2x"], .notACount(option: "--count", value: "2x", least: 1)),
            (
                ["copy", "--count", "99999999999999999999"],
                .notACount(option: "--count", value: "99999999999999999999", least: 1)
            ),
            (["copy", "--limit", "lots"], .notASize(option: "--limit", value: "lots")),
            (["copy", "--limit", "9999999999T"], .notASize(option: "--limit", value: "9999999999T")),
            (
                ["copy", "--keys", "kpet"],
                .notAChoice(option: "--keys", value: "kpet", choices: ["auto", "kept"], nearest: "kept")
            ),
            (["copy", "--report", "r.txt"], .wrongEnding(option: "--report", value: "r.txt", endings: [".json"])),
            (["need"], .missingOption("--to")),
        ] as [([String], UsageError)])
    func refusals(line: [String], expected: UsageError) {
        #expect(throws: expected) { try Self.parser.parse(line) }
    }

    @Test("counts inserted, deleted, replaced and swapped letters")
    func distances() {
        #expect(EditDistance.between("", "abc") == 3)
        #expect(EditDistance.between("kitten", "sitting") == 3)
        #expect(EditDistance.between("migrtae", "migrate") == 1)
        #expect(EditDistance.nearest(to: "Shop2", among: ["Shop", "Shop 2", "Shop 3"]) == "Shop 2")
        #expect(EditDistance.nearest(to: "page-count", among: ["pageCount", "pages"]) == "pageCount")
        #expect(EditDistance.nearest(to: "--", among: ["++", "a"]) == nil)
        #expect(EditDistance.nearest(to: "filter", among: ["sourceFilter", "name"]) == "sourceFilter")
        #expect(EditDistance.nearest(to: "entity", among: ["sourceEntity", "destinationEntity"]) == nil)
        #expect(EditDistance.nearest(to: String(repeating: "x", count: 100_000), among: ["x"]) == nil)
    }
}
