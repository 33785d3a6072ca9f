import Diagnostics
import Foundation
import FoundationXML
import TestSupport
import Testing

@testable import Stagecoach
@testable import StagecoachCommand

@Suite("Pages of reports")
struct ReportPageTests {
    private let hostile = ReportPartTests.hostile

    private func account(_ outcome: RunOutcome) -> RunAccount {
        RunAccount(
            outcome: outcome, source: hostile, destination: hostile, names: names, command: ["stagecoach", hostile],
            folder: hostile, started: Date(timeIntervalSinceReferenceDate: 0))
    }

    private var names: MigrationNames {
        MigrationNames(sourceVersion: hostile, destinationVersion: hostile, mapping: hostile)
    }

    /// A run of a store in which every name is hostile, and everything that may be told is there to tell.
    private func whole() -> RunAccount {
        var counts = MigrationCounts()
        counts.mappings = (0..<40).map { index in
            var line = MigrationCounts.Mapping(name: hostile + "\(index)", sourceEntity: hostile)
            line.destinationEntity = index % 10 == 9 ? nil : hostile + "\(index)"
            line.sourceObjects = 100
            if line.destinationEntity != nil {
                (line.migrated, line.filtered, line.droppedByPolicy, line.rejected) = (60, 30, 7, 3)
                (line.created, line.createdByPolicy) = (65, 5)
            }
            return line
        }
        counts.withoutMapping = [hostile: 12]
        counts.strays = 2
        counts.warnings = [hostile: 5]
        counts.created = [hostile: 5]
        var rejects = RejectReport()
        rejects.objects = 5000
        rejects.byRule = ["minimum": 5000]
        rejects.sample = (0..<100).map { index in
            RejectedObject(
                entity: hostile, id: "\(hostile)/p\(index)", sourceID: nil, property: hostile, rule: .minimum,
                value: hostile, mapping: hostile)
        }
        rejects.file = hostile
        var account = account(.migrated)
        account.result = MigrationResult(
            report: MigrationReport(
                source: hostile, destination: hostile, mappingModels: 2, isAppended: false, counts: counts,
                rejects: rejects, passes: 14, isStaged: true, keys: [hostile: "kept"], seconds: 12,
                processorSeconds: 11,
                peakMemory: 60 << 20, memoryLimit: 64 << 20, spilledBytes: 5 << 20, destinationBytes: 7 << 20,
                isDryRun: false, notes: [hostile]),
            names: names)
        account.plans = [
            MigrationPlan(
                inputs: .init(
                    source: .init(
                        uuid: "", size: 0, changeCounter: 0, schemaCookie: 0, logSize: nil, logFrame: 0, logHash: ""),
                    destination: nil, sourceModel: [:],
                    destinationModel: [:], mappingModels: [], options: [:]),
                models: [ReportPartTests.model(mappings: 40) { hostile + "\($0)" }],
                memory: .init(limit: 64 << 20, least: 0), disk: .init(destination: 0, work: 0, least: 0))
        ]
        account.spans = (0..<120).map {
            StageSpan(
                stage: "load", subject: hostile + "\($0)", pass: 1, step: 1, begin: Double($0), end: Double($0 + 1))
        }
        account.samples = (0..<600).map {
            RunSample(elapsed: Double($0) / 50, rows: $0 * $0, memory: 30 << 20 + $0, spilledBytes: $0 << 10)
        }
        account.seconds = 12
        account.memoryLimit = 64 << 20
        account.peakMemory = 60 << 20
        return account
    }

    private func parse(_ text: String) throws -> XMLElement {
        try #require(try XMLDocument(data: Data(text.utf8)).rootElement())
    }

    private func find(_ id: String, in root: XMLElement) throws -> XMLElement {
        try #require(try root.nodes(forXPath: "//*[@id='\(id)']").first as? XMLElement, "\(id)")
    }

    @Test("A page with hostile names is well-formed, has no script, and reaches for nothing")
    func hostileNames() throws {
        let text = ReportPage(whole()).text
        let root = try parse(text)
        #expect(text.utf8.count < 1 << 20)
        for name in ["script", "iframe", "object", "img", "form", "a", "base"] {
            #expect(try root.nodes(forXPath: "//*[local-name()='\(name)']").isEmpty, "\(name)")
        }
        let attributes = try root.nodes(forXPath: "//@*")
        #expect(!attributes.contains { ($0.name ?? "").hasPrefix("on") })
        for attribute in attributes where ["href", "src", "action"].contains(attribute.name ?? "") {
            #expect(attribute.stringValue == "data:,")
        }
        #expect(!text.contains("url(") && !text.contains("@import"))
        #expect(!text.contains("<script") && !text.contains("\u{202E}"))
        for id in ["counts", "left", "objects", "rejects", "rejects-by-rule", "warnings", "stages", "memory", "spill"] {
            _ = try find(id, in: root)
        }
        #expect(try root.nodes(forXPath: "//*[@id='rejects']//*[local-name()='tbody']/*").count == 10)
        #expect(text.contains("And 4,990 more."))
    }

    @Test("The table's lines and its last one add up")
    func sums() throws {
        let root = try parse(ReportPage(whole()).text)
        let rows = try root.nodes(forXPath: "//*[@id='counts']//*[local-name()='tr']")
        #expect(rows.count == 42)
        var sum = Array(repeating: 0, count: 7)
        for (index, row) in rows.dropFirst().enumerated() {
            let cells = (row.children ?? []).compactMap { $0 as? XMLElement }.map { $0.stringValue ?? "" }
            let figures = (cells[2...7] + [cells[1]]).map { Int($0.filter(\.isNumber)) ?? -1 }
            #expect(figures[0] == figures[1...5].reduce(0, +))
            if index < 40 { sum = zip(sum, figures).map(+) } else { #expect(figures == sum) }
        }
        let table = try CommaSeparatedValues.rows(ReportTable.text(whole()))
        #expect(table.count == 41 && table.allSatisfy { $0.fields.count == ReportTable.columns.count })
    }

    @Test("Each table begins with its key and its figures; longer words come last")
    func columns() throws {
        let checked = """
            {"source": "old.sqlite", "violations": [{"entity": "A", "property": "x", "rule": "required", "count": 3,
            "samples": []}], "warnings": [], "danglingReferences": [{"entity": "A", "property": "b", "count": 1,
            "samples": ["A/p1"]}], "objects": 9, "rejectedObjects": 2, "hasInvalidExistingObjects": false,
            "ranPolicies": false}
            """
        let check = CheckOutline(
            report: try JSONDecoder().decode(CheckReport.self, from: Data(checked.utf8)), fails: true, rejects: false,
            maximumRejects: nil, names: names, notes: [])
        let stores = [BatchResult.Status.done, .failed].map { BatchResult(status: $0, source: "a", destination: "b") }
        let batch = BatchPage(summary: BatchSummary(), results: stores, command: ["stagecoach"])
        for text in [ReportPage(whole()).text, CheckPage(check).page(), try batch.text(.html)] {
            let lines = try parse(text).nodes(forXPath: "//*[local-name()='thead']/*")
            #expect(lines.count > 1)
            // On a phone the last column of these would be a few letters wide.
            let long = Set(["first", "first objects", "to keep it", "why", "destination"])
            for table in try parse(text).nodes(forXPath: "//*[local-name()='table']") {
                let last = try table.nodes(forXPath: "*[local-name()='thead']/*/*[last()]").first?.stringValue ?? ""
                let kind = try table.nodes(forXPath: "@class").first?.stringValue
                #expect((kind == "stacked") == long.contains(last), "\(last)")
            }
            for line in lines {
                let classes = try line.nodes(forXPath: "*/@class").compactMap(\.stringValue)
                let figures = classes.dropFirst().prefix { $0 == "n" }
                #expect(classes.first == "word" && !classes.dropFirst(1 + figures.count).contains("n"))
            }
        }
    }

    @Test("A stage under 1 % is folded, if it is the only one too")
    func folds() throws {
        var account = account(.failed)
        account.spans = [
            StageSpan(stage: "load", subject: "A", pass: 1, step: 1, begin: 0, end: 9.95),
            StageSpan(stage: "publish", subject: "", pass: 1, step: 1, begin: 9.95, end: 10),
        ]
        let details = try parse(ReportPage(account).text).nodes(forXPath: "//*[local-name()='details']")
        #expect(details.count == 1 && details[0].stringValue?.contains("1 stage under 1 %") == true)
        #expect(details.first?.stringValue?.contains("publish") == true)
    }

    @Test("A run that failed tells why, in each form, and its report may be replaced")
    func failure() throws {
        for outcome in [RunOutcome.failed, .interrupted] {
            var account = account(outcome)
            let error = MigrationError(
                "row.invalid", outcome == .failed ? .data : .temporary, "A value \(hostile) is wrong",
                remedy: "Change \(hostile)", context: .init(entity: hostile))
            account.error = error
            account.spans = [StageSpan(stage: "load", subject: hostile, pass: 1, step: 1, begin: 0, end: 1)]
            let text = ReportPage(account).text
            let words = try find("failure", in: try parse(text)).stringValue ?? ""
            #expect(words.contains("Exit code \(outcome == .failed ? 65 : 75), row.invalid"))
            #expect(words.contains("it was at: load"))
            let json = try JSONText.text(UnfinishedRun(account, error))
            let table = ReportTable.text(account)
            for form in [text, json, table] { #expect(form.contains(ReportFile.unfinishedMark)) }
            #expect(try CommaSeparatedValues.rows(table).last?.fields.count == ReportTable.columns.count)
        }
    }
}
