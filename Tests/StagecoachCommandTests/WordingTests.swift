import Diagnostics
import Foundation
import Stagecoach
import Testing

@testable import StagecoachCommand

@Suite("Wording")
struct WordingTests {
    @Test("a usage error is one line, and a second one that names the help")
    func usage() {
        #expect(
            UsageError.unknownOption("--too", nearest: "--to").text(command: "migrate")
                == "stagecoach: unknown option '--too'; did you mean '--to'?\nTry 'stagecoach migrate --help'.\n")
        #expect(
            UsageError.missingCommand.text(command: nil)
                == "stagecoach: a command is missing\nTry 'stagecoach --help'.\n")
        #expect(
            UsageError.notACount(option: "--passes", value: "no\u{1b}[2J", least: 1).sentence.printable
                == "option '--passes' needs a whole number of at least 1, not 'no [2J'")
    }

    @Test("an error is a line with place and problem, and a line with the remedy")
    func errors() {
        let error = MigrationError(
            "store.notFound", .noInput, "There is no such\nfile", remedy: "Look again",
            context: .init(path: "a\u{7}b.sqlite", entity: "Author"))
        #expect(
            ErrorWording.text(error) == "stagecoach: a b.sqlite: There is no such file (entity Author)\nLook again.\n")
        #expect(ErrorWording.exitCode(error) == 66)
        struct Foreign: Error {}
        #expect(ErrorWording.exitCode(Foreign()) == 70)
        #expect(ErrorWording.text(Foreign()) == "stagecoach: Foreign()\n")
    }

    @Test("numbers look the same everywhere")
    func figures() {
        #expect(
            [0, 7, 999, 1_000, 1_234_567, -12_345].map { Figures.count($0) }
                == ["0", "7", "999", "1,000", "1,234,567", "-12,345"])
        #expect(Figures.count(Int.min) == "-9,223,372,036,854,775,808")
        #expect(Figures.count(1, "row") == "1 row" && Figures.count(2, "row") == "2 rows")
        #expect(
            [0, 1 << 20, 67_108_864, 10_737_418_240].map(Figures.size)
                == ["0.00 MiB", "1.00 MiB", "64.0 MiB", "10,240.0 MiB"])
        #expect(
            [0.004, 9.994, 59.94, 61, 3_600, 7_265].map(Figures.duration)
                == ["0.00 s", "9.99 s", "59.9 s", "1 min 1 s", "1 h 0 min", "2 h 1 min"])
        #expect(Figures.duration(.infinity) == "?" && Figures.decimal(.nan, places: 2) == "?")
        #expect(Figures.decimal(-0.001, places: 2) == "0.00" && Figures.decimal(-1.5, places: 1) == "-1.5")
    }

    @Test("tables align, and end without spaces")
    func tables() {
        let table = [["a", "1", "x"], ["long", "1,000", ""], ["ü"]]
        #expect(table.lines(right: [1]) == ["  a         1  x", "  long  1,000", "  ü"])
    }

    @Test("help fits into 80 columns, but for examples that cannot be broken")
    func helpWidth() {
        for command in CommandCatalog.all {
            let text = HelpText().command(command).split(separator: "\n").prefix { !$0.hasPrefix("Example") }
            for line in text { #expect(line.count <= 80, "\(line)") }
            #expect(command.exampleLines.allSatisfy { $0.line.hasPrefix("stagecoach \(command.name)") })
        }
    }

    @Test("a check says why a migration would fail")
    func checkVerdict() throws {
        let line = #"{"entity": "A", "property": "x", "rule": "required", "count": 3, "samples": []}"#
        func verdict(rejects: Bool, hasInvalidExistingObjects: Bool = false) throws -> String {
            let text = """
                {"source": "old.sqlite", "violations": [\(line)], "warnings": [], "danglingReferences": [], "objects": 9,
                "rejectedObjects": 2, "hasInvalidExistingObjects": \(hasInvalidExistingObjects), "ranPolicies": false}
                """
            let report = try JSONDecoder().decode(CheckReport.self, from: Data(text.utf8))
            return CheckWording.verdict(
                CheckOutline(
                    report: report, fails: true, rejects: rejects, maximumRejects: 1, names: .init(), notes: []))
        }
        #expect(try verdict(rejects: false) == "A migration would fail: rules are broken 3 times")
        let many = try verdict(rejects: true)
        #expect(many == "A migration would fail: 2 objects would be rejected, and 1 is allowed")
        let earlier = try verdict(rejects: true, hasInvalidExistingObjects: true)
        #expect(earlier == "A migration would fail: objects that the destination has already would break rules")
    }
}
