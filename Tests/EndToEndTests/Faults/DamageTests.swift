import Foundation
import TestSupport
import Testing

/// The built command is killed, and what it left is damaged by somebody else: it is never refused, and what it ends with is the
/// result of an unbroken run.
///
/// `STAGECOACH_DAMAGES=200` tries so many for each fixture, `STAGECOACH_SEED` others, `STAGECOACH_FAULT_SCENES=append,chain`
/// those migrations only. `STAGECOACH_DAMAGE='append 846 17'` repeats one trial alone: its migration, call and damage,
/// and the end of a file's name if only that file was damaged.
@Suite("Faults: a killed run's work, damaged by a third hand")
struct DamageTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let asked = environment["STAGECOACH_DAMAGES"].flatMap(Int.init)
    private static let repeated = environment["STAGECOACH_DAMAGE"]?.split(separator: " ").map(String.init)
    private static let names: [String] = {
        if let name = repeated?.first { return [name] }
        if let scenes = environment["STAGECOACH_FAULT_SCENES"] { return scenes.split(separator: ",").map(String.init) }
        let all = FaultFixture.makers.map(\.name)
        // Policies are compiled for the tests' own command.
        let hasPolicies = environment["STAGECOACH_COMMAND"] == nil || environment["STAGECOACH_POLICIES"] != nil
        return hasPolicies ? all : all.filter { $0 != "policy" }
    }()

    @Test(
        "Any byte of a journal, any end of a file: never refused, never another result", .timeLimit(.minutes(600)),
        arguments: names)
    func trials(name: String) throws {
        let maker = try #require(FaultFixture.makers.first { $0.name == name }, "no fixture \(name)")
        let fixture = try maker.make()
        let number = FaultFixture.makers.firstIndex { $0.name == name } ?? 0
        var generator = SeededGenerator(seed: RandomSeeds.first &* 37 &+ UInt64(number))
        let all = fixture.calls["all"] ?? 1
        var (damaged, anew) = (0, 0)
        func attempt(at call: Int, file: String? = nil, damage seed: UInt64? = nil) throws {
            let kill = FaultPlan(deed: "kill", kinds: "all", at: [call])
            let trial = DamageTrial(fixture: fixture, kill: kill, seed: seed ?? generator.next(), file: file)
            let outcome: DamageTrial.Outcome
            do {
                outcome = try trial.run()
            } catch {
                Issue.record("\(trial.name): \(error)")
                return
            }
            damaged += outcome.files.count
            anew += outcome.isAnew ? 1 : 0
            for problem in outcome.problems { Issue.record("\(trial.name): \(problem)") }
        }
        if let words = Self.repeated {
            try #require(words.count == 3 || words.count == 4, "a migration, a call, a damage, a file")
            let (call, damage) = (try #require(Int(words[1])), try #require(UInt64(words[2])))
            return try attempt(at: call, file: words.count == 4 ? words[3] : nil, damage: damage)
        }
        for _ in 0..<(Self.asked ?? 5) {
            // At the beginning there is nothing to damage.
            let at = generator.chance(4) ? all - generator.below(min(all, 100)) : all / 8 + generator.below(all * 7 / 8)
            try attempt(at: max(1, at))
        }
        // While results get their names, one after the other, the second copy of the record tells which are the run's own.
        for at in stride(from: all - 2, to: name == "mapping" ? all - 60 : all, by: -4) {
            try attempt(at: at, file: "run.journal")
        }
        // The journal outlives its folder. A damaged one tells nothing, and is removed.
        for at in all - 6...all { try attempt(at: at, file: "-done") }
        print("damage, \(name), seed \(RandomSeeds.first): \(damaged) files damaged, \(anew) runs begun anew")
    }
}
