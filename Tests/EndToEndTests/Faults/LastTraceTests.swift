import Foundation
import TestSupport
import Testing

/// Kills of the built command when all is done but its words and its last files.
@Suite("Killed at its end")
struct LastTraceTests {
    private static func fixture(_ name: String) throws -> FaultFixture {
        try #require(FaultFixture.makers.first { $0.name == name }, "no fixture \(name)").make()
    }

    /// Two reports are written after the result was printed.
    @Test(
        "A run that is killed while it tells its result tells the rest when it runs again",
        arguments: ["inferred", "append", "chain"])
    func told(name: String) throws {
        let fixture = try Self.fixture(name)
        let reports = ["out/report.json", "out/report.html"]
        func folder() throws -> FaultFolder {
            try FaultFolder(
                copyOf: fixture.template, arguments: fixture.arguments + reports.flatMap { ["--report", "$/" + $0] })
        }
        let undisturbed = FaultPlan(deed: "EIO", kinds: "all", at: [0])
        let whole = try folder().run(plan: undisturbed)
        try #require(whole.code == 0, "\(whole.messages)")
        // The last names that a run gives are its reports'. The last removal is that of its journal.
        let links = try #require(whole.report.counts["link"])
        let removals = try #require(whole.report.counts["unlink"])
        let moments = [
            ("link", links - 1, "report.json"), ("link", links, "report.html"), ("unlink", removals, "-done"),
        ]
        for (written, (kind, number, file)) in moments.enumerated() {
            let trial = try folder()
            let killed = try trial.run(plan: FaultPlan(deed: "kill", kinds: kind, at: [number]))
            #expect(killed.code == -SIGKILL && killed.report.fired?.contains(file) == true)
            let before = reports.map { FileManager.default.contents(atPath: trial.path($0)) }
            #expect(before.compactMap(\.self).count == written, "killed at \(killed.report.fired ?? "nothing")")
            let again = try trial.run(plan: undisturbed)
            #expect(again.code == 0, "\(again.messages)")
            for (report, before) in zip(reports, before) {
                let after = FileManager.default.contents(atPath: trial.path(report))
                #expect(after?.isEmpty == false && (before == nil || before == after))
            }
            #expect(try FaultResult(out: trial.path("out")) == fixture.after)
            let names = try FileManager.default.contentsOfDirectory(atPath: trial.path("out"))
            #expect(names.filter(FaultResult.isUnfinished) == [])
        }
    }

    @Test(
        "Killed at one of its last removals, it leaves nothing once it has run again",
        arguments: ["inferred", "chain", "appendChain", "xml", "binary"])
    func removals(name: String) throws {
        let fixture = try Self.fixture(name)
        let count = try #require(fixture.calls["unlink"])
        for number in max(1, count - 14)...count {
            let outcome = try FaultTrial(fixture: fixture, plan: FaultPlan(deed: "kill", kinds: "unlink", at: [number]))
                .run()
            #expect(outcome.problems == [], "unlink \(number) of \(count)")
            #expect(outcome.kills == 1)
        }
    }
}
