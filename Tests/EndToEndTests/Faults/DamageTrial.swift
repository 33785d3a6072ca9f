import Foundation
import Glibc
import TestSupport

/// One migration that is killed and whose files are then damaged. The same command resumes or begins anew, and ends with the
/// result of an undisturbed run.
struct DamageTrial {
    /// A way to damage a file.
    enum Deed: String, CaseIterable {
        /// A bit is another one.
        case flip
        /// The end is gone.
        case cut
        /// Bytes in the middle are others.
        case garbage
        /// The file is gone.
        case remove
    }

    let fixture: FaultFixture
    let kill: FaultPlan
    /// Says which file is damaged, where and in which way.
    let seed: UInt64
    /// The end of the name of the only file that is damaged; nil: one or two files, as the seed says.
    var file: String?

    /// The result of a trial.
    struct Outcome {
        var problems: [String] = []
        /// Files that were damaged.
        var files: [String] = []
        /// True if the run began anew.
        var isAnew = false
    }

    var name: String { "\(fixture.name) \(kill), damage \(seed)" }

    func run() throws -> Outcome {
        let folder = try FaultFolder(copyOf: fixture.template, arguments: fixture.arguments)
        var outcome = Outcome()
        let inputs = try CommandBinary.contents(of: fixture.template.file("in"))
        let killed = try folder.run(0, plan: kill)
        if killed.code == 0 { return outcome }
        var generator = SeededGenerator(seed: seed)
        var damaged: Set<String> = []
        let out = folder.path("out")
        let before = try FaultResult(out: out)
        let left = try Self.work(in: out)
        guard !left.isEmpty else { return outcome }
        if let file {
            for name in left where name.hasSuffix(file) {
                try Self.damage(out + "/" + name, .garbage, &generator)
                damaged.insert(name)
                outcome.files.append("garbage \(name)")
            }
        }
        for _ in 0..<(file == nil ? 1 + generator.below(2) : 0) {
            let file = left[generator.below(left.count)]
            let deeds: [Deed] = Self.isJournal(file) ? Deed.allCases : [.cut, .remove]
            let deed = deeds[generator.below(deeds.count)]
            try Self.damage(out + "/" + file, deed, &generator)
            damaged.insert(file)
            outcome.files.append("\(deed) \(file)")
        }
        // Without any sound record of the run that publishes, a published append cannot be told from one that is to come, nor the
        // result files of a run that had not published its store from others.
        let (ofChain, records) = left.filter(Self.isJournal).divided { $0.contains(".stagecoach-chain") }
        if !records.isEmpty, damaged.isSuperset(of: records),
            fixture.arguments.contains("--append") && before == fixture.after
                || before.store != fixture.after.store && !before.files.keys.allSatisfy(fixture.before.keys.contains)
        {
            return outcome
        }
        // A chain whose last record is damaged too cannot be told from one that is under way while somebody else made a file
        // at its destination: its work is kept.
        if damaged.isSuperset(of: records), !damaged.isDisjoint(with: ofChain), before == fixture.after {
            return outcome
        }
        // Without its private store, a run that was publishing cannot be told from one that had published, and whose store was
        // moved away since: the files of its external data stay.
        if outcome.files.contains(where: { $0.hasPrefix("remove ") && $0.hasSuffix("/store.sqlite") }),
            left.contains(where: { $0.hasSuffix("/external.journal") })
        {
            return outcome
        }
        // Without the list of the files that it had placed, a run that has to begin anew cannot tell them from others.
        if damaged.count > 1, damaged.contains(where: { $0.hasSuffix("/external.journal") }) { return outcome }
        let run = try folder.run(plan: FaultPlan(deed: "EIO", kinds: "all", at: [0]))
        let result = try FaultResult(out: out)
        let isOver = run.code == 73 && before == fixture.after && run.messages.contains(" exists already")
        let what = "after \(outcome.files), killed at \(killed.report.fired ?? "nothing")"
        if run.code != 0, !isOver { outcome.problems.append("\(run.code) \(run.messages) \(what)") }
        if result != fixture.after {
            outcome.problems.append("not the unbroken run's result: \(fixture.after.differences(result)) \(what)")
        }
        let unfinished = try FileManager.default.subpathsOfDirectory(atPath: out).filter(FaultResult.isUnfinished)
        if !unfinished.isEmpty { outcome.problems.append("left: \(unfinished) \(what)") }
        if run.messages.contains("--restart") { outcome.problems.append("a hint to do it by hand: \(run.messages)") }
        if try CommandBinary.contents(of: folder.path("in")) != inputs { outcome.problems.append("the inputs changed") }
        outcome.isAnew = run.output.contains("began anew")
        return outcome
    }

    /// Files of a killed run's work directories that have bytes, but for SQLite's rollback journal. What is gone from that is
    /// gone from the database, as with every program that uses SQLite: nothing beside it tells that it was there.
    private static func work(in out: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: out).filter { name in
            var status = stat()
            return FaultResult.isUnfinished(name) && lstat(out + "/" + name, &status) == 0
                && status.st_mode & S_IFMT == S_IFREG && status.st_size > 0 && !name.hasSuffix(".sqlite-journal")
        }.sorted()
    }

    /// Tells whether a file holds records of the run. Their bytes have checksums; those of other files were synced before a record
    /// named them, so that a kill or a power failure cannot change them.
    private static func isJournal(_ name: String) -> Bool {
        ["run.journal", "run.publication", "chain.journal", "-done"].contains(where: name.hasSuffix)
    }

    private static func damage(_ path: String, _ deed: Deed, _ generator: inout SeededGenerator) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        if deed == .remove {
            try FileManager.default.removeItem(atPath: path)
            return
        }
        // Another name of the same file, as that of the source's external data, keeps its bytes.
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        guard !bytes.isEmpty else { return }
        let place = bytes.startIndex + generator.below(bytes.count)
        switch deed {
        case .flip: bytes[place] ^= UInt8(1 << generator.below(8))
        case .cut: bytes = bytes[..<place]
        default:
            for at in place..<min(bytes.endIndex, place + 64) {
                bytes[at] = UInt8(truncatingIfNeeded: generator.next())
            }
        }
        try FileManager.default.removeItem(atPath: path)
        try bytes.write(to: URL(fileURLWithPath: path))
    }
}

extension Array {
    /// Returns the elements that satisfy a condition, and the others.
    fileprivate func divided(_ isFirst: (Element) -> Bool) -> (Self, Self) {
        (filter(isFirst), filter { !isFirst($0) })
    }
}
