import Foundation
import TestSupport

/// One disturbed migration: the command runs, something goes wrong, what is left is looked at, and the same command runs
/// until it is done.
struct FaultTrial {
    let fixture: FaultFixture
    let plan: FaultPlan

    /// The result of a trial.
    struct Outcome {
        /// The broken promises; empty if all hold.
        var problems: [String] = []
        /// Processes that died.
        var kills = 0
        /// Calls that failed.
        var faults = 0
        /// True if the command ended well although a call failed.
        var isSurvived = false
    }

    /// The line that repeats the trial.
    var name: String { "\(fixture.name) \(plan)" }

    func run() throws -> Outcome {
        let folder = try FaultFolder(copyOf: fixture.template, arguments: fixture.arguments)
        var outcome = Outcome()
        let inputs = try CommandBinary.contents(of: fixture.template.file("in"))
        for number in plan.at.indices {
            let run = try folder.run(number, plan: plan)
            let state = try State(folder, fixture)
            if run.report.fired != nil { if plan.kills { outcome.kills += 1 } else { outcome.faults += 1 } }
            outcome.isSurvived = run.code == 0
            check(run, state, folder, into: &outcome.problems)
            try checkUntouched(folder, inputs, into: &outcome.problems)
            // A run that ended well is not run again, nor one that was killed when nothing was left to do.
            if state.isDone || run.code == 0 { return outcome }
            // A command that does not know of the previous run finds its results in the way.
            if !FaultFolder.resumes, state.isNew || !state.isOld { return outcome }
        }
        let run = try folder.run(plan: FaultPlan(deed: "EIO", kinds: "all", at: [0]))
        let state = try State(folder, fixture)
        // Once the journal is gone, the run is over: the same command finds an existing destination, and clears the rest.
        let isOver = run.code == 73 && state.isDone && run.messages.contains(" exists already")
        if run.code != 0, !isOver { outcome.problems.append("the same command again: \(run.code) \(run.messages)") }
        if !state.isDone {
            outcome.problems.append("after the same command again: \(run.code) \(run.messages) \(state.summary)")
        }
        try checkUntouched(folder, inputs, into: &outcome.problems)
        return outcome
    }

    /// The folder of results after a run.
    private struct State {
        let result: FaultResult
        let isOld: Bool
        let isNew: Bool
        /// The work directory and results without a name.
        let unfinished: [String]
        let differences: [String]
        /// The new store and nothing beside it.
        var isDone: Bool { isNew && unfinished.isEmpty }

        init(_ folder: FaultFolder, _ fixture: FaultFixture) throws {
            let out = folder.path("out")
            do {
                result = try FaultResult(out: out)
            } catch {
                // A store that is half written, say: neither old nor new.
                result = fixture.after
                isOld = false
                isNew = false
                unfinished = []
                differences = ["new.sqlite: \(error)"]
                return
            }
            let files = try FaultResult.files(in: out)
            let hasLog = fixture.before.keys.contains { $0.hasSuffix("-wal") }
            // The contents of a store's own -wal may have been brought into its main file.
            isOld =
                hasLog
                ? result.store == fixture.rowsBefore && result.files.allSatisfy { Self.isLog($0.key) }
                : files == fixture.before
            isNew = result == fixture.after
            differences = isOld || isNew ? [] : fixture.after.differences(result)
            // With what is in them.
            unfinished = try FileManager.default.subpathsOfDirectory(atPath: out).filter {
                FaultResult.isUnfinished(String($0.split(separator: "/").first ?? ""))
            }
            .sorted()
        }

        private static func isLog(_ name: String) -> Bool { name.hasSuffix("-wal") || name.hasSuffix("-shm") }

        var summary: String {
            "\(isNew ? "the new store" : isOld ? "the old store" : "neither store: \(differences)"), unfinished \(unfinished)"
        }
    }

    private func check(_ run: FaultFolder.Run, _ state: State, _ folder: FaultFolder, into problems: inout [String]) {
        let fired = run.report.fired ?? "nothing"
        func problem(_ text: String) { problems.append("\(text) [at \(fired)] \(run.code) \(run.messages)") }
        if run.isHung { return problem("hung") }
        // Between a result's getting its name and the store's a kill leaves the one without the other.
        let isBetween =
            (plan.kills || cannotRemove) && state.result.store == fixture.rowsBefore
            && state.result.files.allSatisfy {
                fixture.after.files[$0.key] == $0.value || fixture.before[$0.key] == $0.value
            }
        if !state.isOld, !state.isNew, !isBetween { problem("neither the old store nor the new: \(state.differences)") }
        if plan.kills {
            if run.code != -9, run.report.fired != nil { problem("not killed") }
            return
        }
        if run.code == 0 {
            if !state.isNew { problem("success without the result") }
            // Files that cannot be removed stay.
            if !state.unfinished.isEmpty, !cannotRemove { problem("success leaves \(state.unfinished)") }
            return
        }
        if plan.isHarmless { problem("an interruption is no failure") }
        if !expectedCodes(fired).contains(run.code) { problem("exit code \(run.code)") }
        checkMessage(run, folder, problem)
    }

    /// True if files stay because they cannot be removed.
    private var cannotRemove: Bool { plan.kinds == "unlink" || plan.kinds == "disk" || plan.kinds == "all" }

    /// Exit codes that a failed call may end in.
    private func expectedCodes(_ fired: String) -> Set<Int32> {
        // Where the first file or folder cannot be made for another reason than space, it cannot be created.
        let makes =
            fired.contains(" mkdir ") || fired.contains(" create ") || fired.contains(" lock ")
            || fired.contains(" open ")
        return makes && plan.deed == "EIO" && fired.contains("/out/") ? [74, 73] : [74]
    }

    /// The error is named: which file, and what the system said.
    private func checkMessage(_ run: FaultFolder.Run, _ folder: FaultFolder, _ problem: (String) -> Void) {
        let number: Int32 =
            switch plan.deed {
            case "ENOSPC": ENOSPC
            case "EDQUOT": EDQUOT
            case "EINTR": EINTR
            default: EIO
            }
        let reason = String(cString: strerror(number))
        let lines = run.messages.split(separator: "\n").filter { $0.hasPrefix("stagecoach: ") }
        guard let line = lines.last else { return problem("no message") }
        if !line.contains(reason) { problem("the message does not say \(reason)") }
        if !line.contains(folder.path("in")) && !line.contains(folder.path("out")) {
            problem("the message names no file")
        }
        if line.contains(".stagecoach/store.sqlite") { problem("the message names the private store") }
        let unfinished = FileManager.default.fileExists(atPath: folder.path("out/.new.sqlite.stagecoach"))
        if unfinished, !cannotRemove,
            !run.messages.contains(folder.path("out/.new.sqlite.stagecoach"))
        {
            problem("the work directory stays unnamed")
        }
    }

    /// Nothing but the results changed.
    private func checkUntouched(
        _ folder: FaultFolder, _ inputs: [String: Data], into problems: inout [String]
    ) throws {
        if try CommandBinary.contents(of: folder.path("in")) != inputs { problems.append("the inputs changed") }
        for name in ["cwd", "tmp"] {
            let found = try FileManager.default.contentsOfDirectory(atPath: folder.path(name))
            if !found.isEmpty { problems.append("\(found) in \(name)") }
        }
    }
}
