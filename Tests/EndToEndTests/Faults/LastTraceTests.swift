import Foundation
import TestSupport
import Testing

/// Kills of the built command when all is done but its words and its last files.
@Suite("Killed at its end")
struct LastTraceTests {
    private static func fixture(_ name: String) throws -> FaultFixture {
        try #require(FaultFixture.makers.first { $0.name == name }, "no fixture \(name)").make()
    }

    /// The report is written after the result was printed.
    @Test("A run that is killed while it tells its result tells it again", arguments: ["inferred", "append", "chain"])
    func told(name: String) throws {
        let fixture = try Self.fixture(name)
        func folder() throws -> FaultFolder {
            try FaultFolder(
                copyOf: fixture.template, arguments: fixture.arguments + ["--report", "$/out/report.json"])
        }
        let whole = try folder().run(plan: FaultPlan(deed: "EIO", kinds: "all", at: [0]))
        try #require(whole.code == 0, "\(whole.messages)")
        let trial = try folder()
        // The last name that a run gives is its report's.
        let links = try #require(whole.report.counts["link"])
        let killed = try trial.run(plan: FaultPlan(deed: "kill", kinds: "link", at: [links]))
        #expect(killed.code == -SIGKILL && killed.report.fired?.contains("report.json") == true)
        let again = try trial.run(plan: FaultPlan(deed: "EIO", kinds: "all", at: [0]))
        #expect(again.code == 0, "\(again.messages)")
        #expect(FileManager.default.fileExists(atPath: trial.path("out/report.json")))
        #expect(try FaultResult(out: trial.path("out")) == fixture.after)
        let names = try FileManager.default.contentsOfDirectory(atPath: trial.path("out"))
        #expect(names.filter(FaultResult.isUnfinished) == [])
    }

    @Test(
        "Killed at one of its last removals, it leaves nothing once it has run again", arguments: ["inferred", "chain"])
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
