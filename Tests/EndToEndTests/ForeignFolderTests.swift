import Foundation
import Glibc
import ManagedModel
import TestSupport
import Testing

/// Destinations in a folder that others may write in: what another user put in the place of a folder of the run is refused, and
/// not touched.
@Suite(
    "Folders of other users",
    .enabled(if: OtherUsers.areSeveral, "only root can run commands as two users, by setpriv"))
struct ForeignFolderTests {
    private static let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld")
        .path

    private static let (own, other) = (OtherUsers.ordinary, uid_t(1 << 30 + 2))

    /// Who runs the command, and who came before.
    private static let pairs: [(user: uid_t, before: uid_t)] = [(own, other), (other, own), (0, other), (own, 0)]
    /// Those where neither the one before nor the owner of the folder is root, whom a batch trusts.
    private static let strangers = pairs.filter { $0.before != 0 }

    /// A folder where everybody may make files, with a source, and a folder `theirs` of the one who came before.
    private func shared(_ before: uid_t, mode: mode_t = 0o1777) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try ReferenceStore.make(ModelLocator.load(Self.models + ":Orders").model) { store in
            store.insert("Customer", 1, ["name": .text("Ada"), "email": .text("a@b"), "age": .integer(30)])
        }.write(path: folder.file("old.sqlite"))
        try #require(chmod(folder.file("old.sqlite"), 0o644) == 0 && chmod(folder.path, mode) == 0)
        try make("theirs", in: folder, 0o777, before)
        return folder
    }

    private func make(_ name: String, in folder: TemporaryFolder, _ mode: mode_t, _ owner: uid_t) throws {
        try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        try #require(chmod(folder.file(name), mode) == 0 && chown(folder.file(name), owner, owner) == 0)
    }

    private func link(_ name: String, in folder: TemporaryFolder, _ owner: uid_t) throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.file(name), withDestinationPath: folder.file("theirs"))
        try #require(lchown(folder.file(name), owner, owner) == 0)
    }

    private func run(
        _ more: [String] = [], in folder: TemporaryFolder, as user: uid_t, _ command: String = "migrate"
    ) throws -> CommandBinary.Outcome {
        try CommandBinary.run(
            [command, "old.sqlite", "new.sqlite", "--to", Self.models] + more, in: folder.path,
            through: OtherUsers.through(user))
    }

    /// Expects a refusal that names owner and mode, and that nothing changed.
    private func expectRefusal(
        _ outcome: CommandBinary.Outcome, in folder: TemporaryFolder, _ before: [String: Data], of name: String,
        _ told: String, remedy: String
    ) throws {
        #expect(outcome.code == 77, "\(outcome.messages)")
        #expect(outcome.messages.contains(name) && outcome.messages.contains(told), "\(outcome.messages)")
        #expect(outcome.messages.contains(remedy), "\(outcome.messages)")
        #expect(try CommandBinary.contents(of: folder.path) == before)
    }

    @Test("A work directory that is a link or another user's is refused", arguments: pairs, [true, false])
    func workDirectory(_ pair: (user: uid_t, before: uid_t), isLink: Bool) throws {
        let folder = try shared(pair.before)
        let name = ".new.sqlite.stagecoach"
        if isLink { try link(name, in: folder, pair.before) } else { try make(name, in: folder, 0o777, pair.before) }
        let before = try CommandBinary.contents(of: folder.path)
        try expectRefusal(
            run(in: folder, as: pair.user), in: folder, before, of: name, "owner \(pair.before), mode 0777",
            remedy: "make the destination in a folder that only you can write in")
        // The remedies work.
        try #require(remove(folder.file(name)) == 0)
        let again = try run(in: folder, as: pair.user)
        #expect(again.code == 0, "\(again.messages)")
    }

    @Test("So is the one for spills, which --work-dir can put elsewhere", arguments: pairs, [true, false])
    func spills(_ pair: (user: uid_t, before: uid_t), isLink: Bool) throws {
        let folder = try shared(pair.before)
        for name in ["scratch", "other"] { try make(name, in: folder, 0o1777, 0) }
        let name = "scratch/.new.sqlite.stagecoach"
        if isLink { try link(name, in: folder, pair.before) } else { try make(name, in: folder, 0o777, pair.before) }
        let before = try CommandBinary.contents(of: folder.path)
        try expectRefusal(
            run(["--work-dir", "scratch"], in: folder, as: pair.user), in: folder, before, of: name,
            "owner \(pair.before), mode 0777", remedy: "name another folder with --work-dir")
        let again = try run(["--work-dir", "other"], in: folder, as: pair.user)
        #expect(again.code == 0, "\(again.messages)")
    }

    @Test("What others put into one's own work directory is not used", arguments: [true, false])
    func planted(isPlanted: Bool) throws {
        let folder = try shared(Self.other)
        let name = ".new.sqlite.stagecoach"
        try make(name, in: folder, 0o777, Self.own)
        if isPlanted {
            try Data("x".utf8).write(to: URL(fileURLWithPath: folder.file(name + "/run.journal")))
            try #require(chown(folder.file(name + "/run.journal"), Self.other, Self.other) == 0)
        }
        let before = try CommandBinary.contents(of: folder.path)
        let outcome = try run(in: folder, as: Self.own)
        guard isPlanted else {
            #expect(outcome.code == 0, "\(outcome.messages)")
            return
        }
        try expectRefusal(
            outcome, in: folder, before, of: name + "/run.journal", "owner \(Self.other), mode 0644",
            remedy: "Remove it")
    }

    @Test("Another user's file is not taken for the trace of a run that is done", arguments: pairs)
    func trace(_ pair: (user: uid_t, before: uid_t)) throws {
        let folder = try shared(pair.before)
        let name = folder.file(".new.sqlite.stagecoach-done")
        try Data("SCJOURNL".utf8).write(to: URL(fileURLWithPath: name))
        try #require(chown(name, pair.before, pair.before) == 0)
        let outcome = try run(in: folder, as: pair.user)
        #expect(outcome.code == 0, "\(outcome.messages)")
    }

    @Test("A folder for external data that is another user's is refused", arguments: pairs)
    func externalData(_ pair: (user: uid_t, before: uid_t)) throws {
        let folder = try shared(pair.before)
        try make(".new_SUPPORT", in: folder, 0o777, pair.before)
        try make(".new_SUPPORT/_EXTERNAL_DATA", in: folder, 0o777, pair.before)
        let before = try CommandBinary.contents(of: folder.path)
        try expectRefusal(
            run(in: folder, as: pair.user), in: folder, before, of: ".new_SUPPORT", "owner \(pair.before), mode 0777",
            remedy: "Remove it")
    }

    private func batch(_ arguments: [String], in folder: TemporaryFolder, as user: uid_t) throws
        -> CommandBinary.Outcome
    {
        try CommandBinary.run(
            ["batch", "old.sqlite", "--to", Self.models] + arguments, in: folder.path, through: OtherUsers.through(user)
        )
    }

    @Test("A batch makes its stores in no folder or link of another user", arguments: strangers, [true, false])
    func batch(_ pair: (user: uid_t, before: uid_t), isLink: Bool) throws {
        let folder = try shared(pair.before)
        if isLink { try link("out", in: folder, pair.before) } else { try make("out", in: folder, 0o777, pair.before) }
        let before = try CommandBinary.contents(of: folder.path)
        // Below it, too.
        for into in ["out", "out/new/deep", "\(folder.path)/out/new"] {
            try expectRefusal(
                batch(["--into", into], in: folder, as: pair.user), in: folder, before, of: "out",
                "owner \(pair.before), mode 0777", remedy: "name a folder in one that only you can write in")
        }
        try #require(remove(folder.file("out")) == 0)
        let again = try batch(["--into", "out/new"], in: folder, as: pair.user)
        #expect(again.code == 0, "\(again.messages)")
        // The results of the first run are the user's own.
        #expect(try batch(["--into", "out/new"], in: folder, as: pair.user).code == 0)
    }

    @Test("One's own folder, and one's own link to it, are no fault; neither is a folder where nobody else may write")
    func ownBatch() throws {
        let folder = try shared(Self.other)
        try make("real", in: folder, 0o755, Self.own)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("out"), withDestinationPath: folder.file("real"))
        try #require(lchown(folder.file("out"), Self.own, Self.own) == 0)
        let linked = try batch(["--into", "out"], in: folder, as: Self.own)
        #expect(linked.code == 0, "\(linked.messages)")
        try #require(chmod(folder.path, 0o755) == 0)
        let given = try batch(["--into", "theirs"], in: folder, as: Self.own)
        #expect(given.code == 0, "\(given.messages)")
    }

    @Test("A batch believes and writes no results file of another user", arguments: strangers, [true, false])
    func results(_ pair: (user: uid_t, before: uid_t), isLink: Bool) throws {
        let folder = try shared(pair.before)
        let name = "all.results.jsonl"
        if isLink {
            try link(name, in: folder, pair.before)
        } else {
            try Data().write(to: URL(fileURLWithPath: folder.file(name)))
            try #require(chmod(folder.file(name), 0o777) == 0 && chown(folder.file(name), pair.before, 0) == 0)
        }
        let before = try CommandBinary.contents(of: folder.path)
        try expectRefusal(
            batch(["--into", "out", "--results", name], in: folder, as: pair.user), in: folder, before, of: name,
            "owner \(pair.before), mode 0777", remedy: "name another file with --results")
    }

    @Test("A link in the place of external data is refused, whoever's it is", arguments: strangers, ["old", "new"])
    func linkedExternalData(_ pair: (user: uid_t, before: uid_t), name: String) throws {
        let folder = try shared(pair.before)
        try #require(chown(folder.file("old.sqlite"), pair.user, pair.user) == 0)
        try link(".\(name)_SUPPORT", in: folder, pair.before)
        let before = try CommandBinary.contents(of: folder.path)
        try expectRefusal(
            run(in: folder, as: pair.user), in: folder, before, of: ".\(name)_SUPPORT",
            "owner \(pair.before), mode 0777",
            remedy: "Remove it")
    }

    @Test("The folder of a check is its own in every folder", arguments: [0o1777, 0o777] as [mode_t])
    func check(mode: mode_t) throws {
        let folder = try shared(Self.other, mode: mode)
        try make("stagecoach-check-theirs", in: folder, 0o777, Self.other)
        let before = try CommandBinary.contents(of: folder.path)
        let outcome = try run(["--work-dir", folder.path], in: folder, as: Self.own, "check")
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(try CommandBinary.contents(of: folder.path) == before)
    }
}
