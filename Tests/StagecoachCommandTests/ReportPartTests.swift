import Diagnostics
import Foundation
import FoundationXML
import TestSupport
import Testing

@testable import Stagecoach
@testable import StagecoachCommand

@Suite("Parts of reports")
struct ReportPartTests {
    /// Names that would break a page that trusts them.
    static let hostile = "<b>\"A & 'B'</b>]]>\u{0}\u{1B}[31m\u{202E}\u{FFFE}--><script>alert(1)</script>😀"

    @Test("However many samples are given, at most 600 are kept: the last of each group, with the most memory of it")
    func samples() {
        var random = SystemRandomNumberGenerator()
        for count in [0, 1, 599, 600, 601, 1200, 1201, 5000, 77_777] {
            var series = SampleSeries()
            var given: [RunSample] = []
            for index in 0..<count {
                let sample = RunSample(
                    elapsed: Double(index), rows: index * 10, memory: Int.random(in: 0...1_000_000, using: &random),
                    spilledBytes: index)
                given.append(sample)
                series.add(sample)
            }
            let kept = series.samples
            #expect(kept.count <= SampleSeries.limit)
            #expect(count < 600 || kept.count > SampleSeries.limit / 2)
            #expect(kept.last?.rows == given.last?.rows)
            #expect(kept.map(\.memory).max() == given.map(\.memory).max())
            for (index, sample) in kept.enumerated() {
                let group = given[(index * series.stride)..<min(count, (index + 1) * series.stride)]
                #expect(sample.elapsed == group.last?.elapsed && sample.memory == group.map(\.memory).max())
            }
        }
    }

    @Test("A shell reads the words of a quoted command line as they were")
    func quoting() throws {
        let words = [
            "stagecoach", "migrate", "a b", "", "it's", "$HOME", "`id`", "a\"b", "\\", "*?[x]", "~", "!x", "new\nline",
            "tab\tand 'quote'\u{7}", "ü→", "-", "#x", "a=b", "{1,2}", "x;y&z|w>v<u(t)", "%s",
        ]
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", "printf '%s\\0' \(ShellCommand.text(words))"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let read = String(decoding: data, as: UTF8.self).split(separator: "\0", omittingEmptySubsequences: false)
        #expect(read.dropLast().map { String($0) } == words)
        #expect(
            ShellCommand.text(["stagecoach", "--to", "Lib.xcdatamodeld:Lib"]) == "stagecoach --to Lib.xcdatamodeld:Lib")
    }

    @Test("No text breaks the markup or becomes a part of it")
    func escaping() throws {
        var markup = Markup()
        markup.element("p", ["title": Self.hostile], Self.hostile)
        let document = try XMLDocument(data: Data(markup.text.utf8))
        let root = try #require(document.rootElement())
        #expect(root.childCount == 1)
        #expect(root.stringValue?.contains("<script>alert(1)</script>😀") == true)
        #expect(root.attribute(forName: "title")?.stringValue == root.stringValue)
        #expect(!markup.text.unicodeScalars.contains { $0.value == 0x202E || $0.value == 0x1B })
        for value in UInt32(0)...0x30FF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var markup = Markup()
            markup.element("p", String(scalar))
            _ = try XMLDocument(data: Data(markup.text.utf8))
        }
    }

    /// A plan of so many entity mappings in passes of three tables, each with relationships to others.
    static func model(mappings count: Int, name: (Int) -> String = { "Entity\($0)" }) -> MigrationPlan.Model {
        let names = (0..<count).map(name)
        let mappings = names.map { name in
            MigrationPlan.EntityMapping(
                name: "\(name)To\(name)", sourceEntity: name, destinationEntity: name, path: .rows,
                reason: "attributes only", sourceRows: 1_234_567, isFiltered: false)
        }
        let tables = names.map { name in
            MigrationPlan.Table(
                rootEntity: name, entityMappings: ["\(name)To\(name)"], keys: .kept, reason: nil, sourceRows: 1_234_567)
        }
        var relationships: [MigrationPlan.Relationship] = []
        for (index, name) in names.enumerated() {
            let next = names[(index + 1) % count]
            relationships.append(
                MigrationPlan.Relationship(
                    entity: name, name: "next", destinationEntity: next, rootEntity: name, destinationRootEntity: next,
                    inverse: nil, isToMany: false, carrier: nil, resolution: index % 2 == 0 ? .row : .table, pass: 1,
                    isDeferred: index % 5 == 0))
            relationships.append(
                MigrationPlan.Relationship(
                    entity: name, name: "tags", destinationEntity: names[0], rootEntity: name,
                    destinationRootEntity: names[0], inverse: nil, isToMany: true, carrier: "Z_1TAGS",
                    resolution: .join,
                    pass: 1, isDeferred: false))
        }
        var passes: [MigrationPlan.Pass] = []
        for first in stride(from: 0, to: count, by: 3) {
            let steps = names[first..<min(count, first + 3)].map { name in
                MigrationPlan.Step(
                    rootEntity: name, entityMappings: ["\(name)To\(name)"], afterKey: nil, throughKey: nil,
                    sourceRows: 1_234_567, closes: true)
            }
            passes.append(
                MigrationPlan.Pass(
                    steps: steps, joinTables: ["Z_1TAGS"], resolves: [], destinationBytes: 0, workBytes: 0,
                    memoryBytes: 0))
        }
        return MigrationPlan.Model(
            isStaged: false, reasons: [], entityMappings: mappings, tables: tables, relationships: relationships,
            groups: [], passes: passes, resume: nil)
    }

    /// An attribute's value. `attribute(forName:)` finds none in an element with a default namespace.
    private static func value(_ name: String, of element: XMLElement) -> String? {
        element.attributes?.first { $0.name == name }?.stringValue
    }

    @Test("The plan is drawn as one well-formed picture, nothing outside of it", arguments: [1, 3, 40, 200])
    func picture(count: Int) throws {
        for name in [{ "Entity\($0)" }, { String(repeating: "W", count: 200) + "\($0)" }, { Self.hostile + "\($0)" }]
            as [(Int) -> String]
        {
            var markup = Markup()
            PlanPicture(Self.model(mappings: count, name: name)).write(&markup)
            let document = try XMLDocument(data: Data(markup.text.utf8))
            let svg = try #require(document.rootElement())
            let width = try #require(Int(Self.value("width", of: svg) ?? ""))
            let height = try #require(Int(Self.value("height", of: svg) ?? ""))
            #expect(width < 1000 && height < 60 + count * 140)
            let elements = (svg.children ?? []).compactMap { $0 as? XMLElement }
            #expect(elements.filter { $0.name == "rect" }.count == count + (count + 2) / 3)
            for element in elements {
                for (key, limit) in [("x", width), ("x1", width), ("x2", width), ("y", height), ("y1", height)] {
                    guard let value = Self.value(key, of: element) else { continue }
                    #expect((Int(value) ?? -1) >= 0 && (Int(value) ?? .max) <= limit)
                }
            }
        }
    }

    @Test("The time line keeps forty lines, and no second is lost")
    func timeLine() {
        let spans: [StageSpan] = (0..<500).map { (index: Int) -> StageSpan in
            let stage = index % 3 == 0 ? "load" : "indexes"
            let (begin, end) = (Double(index * index), Double((index + 1) * (index + 1)))
            return StageSpan(stage: stage, subject: "M\(index)", pass: 1, step: 1, begin: begin, end: end)
        }
        let lines = TimelineSection.lines(spans, steps: [])
        #expect(lines.count <= TimelineSection.lines)
        #expect(lines.reduce(0) { $0 + $1.seconds } == 250_000)
        #expect(lines.contains { $0.subject.hasSuffix(" others") })
        #expect(TimelineSection.lines(Array(spans.prefix(30)), steps: []).count == 30)
    }

    @Test("Stages of a chain have the names of its versions")
    func namedStages() {
        let spans = (1...3).map { StageSpan(stage: "load", subject: "M", pass: 1, step: $0, begin: 0, end: 1) }
        let names = TimelineSection.lines(spans, steps: ["A → B", "B → C"]).map(\.name)
        #expect(names == ["load M, A → B", "load M, B → C", "load M, migration 3"])
    }

    @Test("A report never takes another file's place, but that of an unfinished run's report")
    func files() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("r.html")
        try ReportFile.write(path, "one \(ReportFile.unfinishedMark)")
        try ReportFile.check(path)
        try ReportFile.write(path, "two")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "two")
        for attempt in [{ try ReportFile.check(path) }, { try ReportFile.write(path, "three") }] as [() throws -> Void]
        {
            let error = #expect(throws: MigrationError.self) { try attempt() }
            #expect(error?.code == "output.exists")
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "two")
        let missing = #expect(throws: MigrationError.self) { try ReportFile.write(folder.file("no/r.html"), "x") }
        #expect(missing?.category == .cannotCreate)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["r.html"])
    }

    @Test("Values with separators are quoted as RFC 4180 says")
    func separated() throws {
        let values = ["a", "a,b", "say \"x\"", "two\nlines", ""]
        let rows = try CommaSeparatedValues.rows(values.map(\.asCommaSeparated).joined(separator: ",") + "\r\n")
        #expect(rows.map(\.fields) == [values])
    }

    @Test("A run waits for what it has been waiting for a while")
    func waits() {
        let board = WaitBoard()
        #expect(board.reason == nil)
        WaitBoard.$current.withValue(board) {
            WaitBoard.during(.disk) {
                #expect(board.reason == nil, "a wait that has just begun is not worth a word")
                usleep(250_000)
                #expect(board.reason == .disk)
            }
        }
        #expect(board.reason == nil)
    }
}
