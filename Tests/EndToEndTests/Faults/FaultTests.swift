import Foundation
import TestSupport
import Testing

/// The built command is killed, starved and cut off from its disk, and all promises of Guarantees.md must hold:
/// the destination is the old one or the whole new one, the source is untouched, the error is named, nothing is left but
/// the work directory, and the same command then succeeds.
///
/// A usual run tries a few of everything. The long one, with the command built for release:
///
///     swift build -c release --product stagecoach
///     STAGECOACH_COMMAND=.build/release/stagecoach STAGECOACH_FAULTS=1000 \
///         swift test --disable-xctest -Xswiftc -O -Xswiftc -gnone --filter FaultTests
///
/// makes 1,000 kills, 500 power failures and 1,000 failed calls. `STAGECOACH_SEED` tries others,
/// `STAGECOACH_FAULT_SCENES=append,chain` those migrations only, `STAGECOACH_FAULT_ROWS=5000` with larger stores (60),
/// `STAGECOACH_FAULT_CLOCK=0` with states as usual instead of after each batch, and
/// `STAGECOACH_FAULT='append kill all 120'` repeats the one that a failure names. Scenes with policies need
/// `STAGECOACH_POLICIES`, the example's library in the command's configuration, where the command is another one.
@Suite("Faults: nothing is lost, whatever goes wrong")
struct FaultTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// Trials of all scenes together; a usual run has two of each sort for each fixture.
    private static let asked = environment["STAGECOACH_FAULTS"].flatMap(Int.init)
    private static let names =
        environment["STAGECOACH_FAULT_SCENES"]?.split(separator: ",").map(String.init)
        ?? FaultFixture.makers.map(\.name).filter {
            $0 != "policy" || environment["STAGECOACH_COMMAND"] == nil || environment["STAGECOACH_POLICIES"] != nil
        }

    /// The trials of a fixture: so many that die, lose power, and fail.
    private static func plans(_ fixture: FaultFixture) -> [FaultPlan] {
        // Each fixture has its own, whichever others run.
        let number = FaultFixture.makers.firstIndex { $0.name == fixture.name } ?? 0
        var generator = SeededGenerator(seed: RandomSeeds.first &* 31 &+ UInt64(number))
        let share = asked.map { ($0 + names.count - 1) / names.count }
        var plans: [FaultPlan] = []
        var kills = 0
        while kills < share ?? 2 {
            let plan = FaultPlan.kill(fixture.calls, &generator)
            kills += plan.at.count
            plans.append(plan)
        }
        for _ in 0..<(share.map { $0 / 2 } ?? 1) { plans.append(.power(fixture.calls, &generator)) }
        for _ in 0..<(share ?? 3) { plans.append(.error(fixture.calls, &generator)) }
        return plans
    }

    @Test(
        "Killed, without power, or with failing calls: old or new, never between, and then done",
        .timeLimit(.minutes(600)), .enabled(if: environment["STAGECOACH_FAULT"] == nil), arguments: names)
    func trials(name: String) throws {
        let maker = try #require(FaultFixture.makers.first { $0.name == name }, "no fixture \(name)")
        let fixture = try maker.make()
        var total = FaultTrial.Outcome()
        var survived = 0
        let start = Date()
        let plans = Self.plans(fixture)
        for plan in plans {
            let trial = FaultTrial(fixture: fixture, plan: plan)
            let outcome = try trial.run()
            total.kills += outcome.kills
            total.faults += outcome.faults
            survived += outcome.isSurvived && outcome.faults > 0 ? 1 : 0
            for problem in outcome.problems {
                Issue.record("STAGECOACH_FAULT='\(trial.name)': \(problem)")
            }
        }
        print(
            "faults, \(name), seed \(RandomSeeds.first): \(plans.count) trials, \(total.kills) kills, \(total.faults) failed "
                + "calls, of which \(survived) were got over; \(fixture.calls["all"] ?? 0) calls in an unbroken run; "
                + "\(Int(Date().timeIntervalSince(start))) s")
    }

    /// An append is published before the run cleans up. If the run is killed there, it must not be appended again.
    @Test(
        "An append that dies at any of its last calls is appended once",
        .enabled(if: environment["STAGECOACH_FAULT"] == nil && asked == nil), arguments: ["kill", "power"])
    func lastCalls(deed: String) throws {
        let maker = try #require(FaultFixture.makers.first { $0.name == "appendWAL" })
        let fixture = try maker.make()
        let all = try #require(fixture.calls["all"])
        for back in 0..<24 {
            let trial = FaultTrial(fixture: fixture, plan: FaultPlan(deed: deed, kinds: "all", at: [all - back]))
            for problem in try trial.run().problems { Issue.record("STAGECOACH_FAULT='\(trial.name)': \(problem)") }
        }
    }

    /// Files that were made in the destination's folder before the journal named them used to stay there.
    @Test(
        "A journal of external data that cannot be written leaves nothing beside the destination",
        .enabled(if: environment["STAGECOACH_FAULT"] == nil && asked == nil), arguments: ["EIO", "ENOSPC"])
    func externalJournal(deed: String) throws {
        let fixture = try #require(try FaultFixture.makers.first { $0.name == "external" }?.make())
        let all = try #require(fixture.calls["write"])
        for back in 0..<8 {
            let trial = FaultTrial(fixture: fixture, plan: FaultPlan(deed: deed, kinds: "write", at: [all - back]))
            for problem in try trial.run().problems { Issue.record("STAGECOACH_FAULT='\(trial.name)': \(problem)") }
        }
    }

    /// Published external data could not be taken back if it was unknown which name it had.
    @Test(
        "External data is taken back where nothing can be looked up any more",
        .enabled(if: environment["STAGECOACH_FAULT"] == nil && asked == nil))
    func externalLookups() throws {
        let fixture = try #require(try FaultFixture.makers.first { $0.name == "external" }?.make())
        let all = try #require(fixture.calls["stat"])
        for back in stride(from: 0, to: 60, by: 4) {
            let trial = FaultTrial(
                fixture: fixture, plan: FaultPlan(deed: "EIO", kinds: "stat", at: [all - back], lasts: true))
            for problem in try trial.run().problems { Issue.record("STAGECOACH_FAULT='\(trial.name)': \(problem)") }
        }
    }

    /// Published external data stayed if its journal could not be opened again, and an append whose folder could not be synced
    /// lost the store from which it was to be resumed.
    @Test(
        "What was published is taken back where no file can be opened, or no folder synced, any more",
        .enabled(if: environment["STAGECOACH_FAULT"] == nil && asked == nil),
        arguments: ["external", "appendExternal", "append"])
    func lastOpens(name: String) throws {
        let fixture = try #require(try FaultFixture.makers.first { $0.name == name }?.make())
        let opens = try #require(fixture.calls["open"])
        let syncs = try #require(fixture.calls["sync"])
        let plans = (0..<12).flatMap { back in
            [
                FaultPlan(deed: "EIO", kinds: "open", at: [opens - back], lasts: true),
                FaultPlan(deed: "EIO", kinds: "sync", at: [syncs - back]),
                FaultPlan(deed: "EDQUOT", kinds: "sync", at: [syncs - back], lasts: true),
            ]
        }
        for plan in plans {
            let trial = FaultTrial(fixture: fixture, plan: plan)
            for problem in try trial.run().problems { Issue.record("STAGECOACH_FAULT='\(trial.name)': \(problem)") }
        }
    }

    @Test("The trial that STAGECOACH_FAULT names", .enabled(if: environment["STAGECOACH_FAULT"] != nil))
    func replay() throws {
        let words = (Self.environment["STAGECOACH_FAULT"] ?? "").split(separator: " ")
        let maker = try #require(FaultFixture.makers.first { $0.name == words.first ?? "" }, "no such fixture")
        let plan = try #require(FaultPlan(Array(words.dropFirst())), "no such trial")
        let trial = FaultTrial(fixture: try maker.make(), plan: plan)
        let outcome = try trial.run()
        print("\(trial.name): \(outcome.kills) kills, \(outcome.faults) failed calls")
        for problem in outcome.problems { Issue.record("\(problem)") }
    }
}
