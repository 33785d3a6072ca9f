import Foundation
import Glibc
import TestSupport
import Testing

/// Files that a run makes can be read only by users who may read its source: destinations, external data, work files, rejects,
/// id maps, reports.
@Suite("Permissions: private stays private")
struct PermissionTests {
    private static let names = FaultFixture.makers.map(\.name).filter { $0 != "policy" }
    /// Runs the command with the usual umask, whatever the tests have.
    private static let masked = ["/bin/sh", "-c", "umask 022; exec \"$0\" \"$@\""]

    private static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    /// Paths below a folder that can be used in a way which a mode does not give: a folder may be entered by who may read.
    private static func beyond(_ mode: mode_t, in folder: String, except: Set<String> = []) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder).filter { name in
            guard !except.contains(name) else { return false }
            var status = stat()
            // A link's own permissions mean nothing.
            guard lstat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT != S_IFLNK else { return false }
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            let allowed = isFolder ? mode | mode >> 2 & 0o111 : mode
            return status.st_mode & 0o777 & ~allowed != 0
        }.sorted()
    }

    private static func folder(_ fixture: FaultFixture, _ mode: mode_t, _ more: [String]) throws -> FaultFolder {
        let folder = try FaultFolder(copyOf: fixture.template, arguments: fixture.arguments + more)
        try #require(chmod(folder.path("in/old.sqlite"), mode) == 0)
        return folder
    }

    @Test(
        "A destination has its source's permissions less the umask's, and nothing beside it has more",
        arguments: names, [0o600, 0o640, 0o666] as [mode_t])
    func results(name: String, mode: mode_t) throws {
        let fixture = try #require(try FaultFixture.makers.first { $0.name == name }?.make())
        let reports = ["html", "json", "csv"].flatMap { ["--report", "$/out/report-\(mode).\($0)"] }
        for writer in mode == 0o600 ? ["pages", "sqlite"] : ["pages"] {
            let folder = try Self.folder(fixture, mode, reports + ["--writer", writer])
            let out = folder.path("out")
            let stood = Set(fixture.before.keys)
            if fixture.rowsBefore != nil { try #require(chmod(out + "/new.sqlite", 0o660) == 0) }
            let run = try folder.run(plan: FaultPlan(deed: "EIO", kinds: "all", at: [0]), through: Self.masked)
            #expect(run.code == 0, "\(run.messages)")
            // A store that is appended to keeps its own.
            #expect(Self.mode(out + "/new.sqlite") == (fixture.rowsBefore == nil ? mode & ~0o022 : 0o660), "\(writer)")
            let known = stood.union(fixture.rowsBefore == nil ? [] : ["new.sqlite"])
            #expect(try Self.beyond(mode & ~0o022, in: out, except: known) == [], "\(writer)")
            #expect(FileManager.default.fileExists(atPath: out + "/report-\(mode).html"))
        }
    }

    @Test("Work files of a killed run, and the results of the resumed one", arguments: names)
    func work(name: String) throws {
        let fixture = try #require(try FaultFixture.makers.first { $0.name == name }?.make())
        let all = try #require(fixture.calls["all"])
        var kills = 0
        for part in [4, 7, 9] {
            let folder = try Self.folder(fixture, 0o600, [])
            let out = folder.path("out")
            // SQLite gives the wal-index of a store that is appended to that store's own mode; it holds no values.
            let stood = Set(fixture.before.keys).union(
                fixture.rowsBefore == nil ? [] : ["new.sqlite-shm", "new.sqlite-wal"])
            let plan = FaultPlan(deed: "kill", kinds: "all", at: [all * part / 10])
            let first = try folder.run(0, plan: plan, through: Self.masked)
            #expect(try Self.beyond(0o600, in: out, except: stood) == [])
            // Checkpoints go by the clock: on a busy machine a run may end with fewer calls than the one that counted them.
            // A fresh store that was published, and whose run was killed after its last trace was gone, is done too.
            let traces = try FileManager.default.contentsOfDirectory(atPath: out).filter {
                $0.hasPrefix(".new.sqlite.stagecoach")
            }
            let isDone =
                fixture.rowsBefore == nil && traces.isEmpty
                && FileManager.default.fileExists(atPath: out + "/new.sqlite")
            guard first.code != 0, !isDone else { continue }
            kills += 1
            let run = try folder.run(plan: FaultPlan(deed: "EIO", kinds: "all", at: [0]), through: Self.masked)
            #expect(run.code == 0, "\(run.messages)")
            #expect(try Self.beyond(0o600, in: out, except: stood) == [])
        }
        #expect(kills > 1)
    }

    @Test("A batch: each destination as its source, results and reports as all of them allow")
    func batch() throws {
        let fixture = try #require(try FaultFixture.makers.first { $0.name == "inferred" }?.make())
        let folder = try Self.folder(fixture, 0o640, [])
        let input = folder.path("in")
        try FileManager.default.copyItem(atPath: input + "/old.sqlite", toPath: input + "/open.sqlite")
        try #require(chmod(input + "/open.sqlite", 0o644) == 0)
        let outcome = try CommandBinary.run(
            [
                "batch", input + "/old.sqlite", input + "/open.sqlite", "--into", folder.path("out"), "--to",
                input + "/Library.xcdatamodeld", "--report", folder.path("out/batch.html"),
            ], through: Self.masked)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let out = folder.path("out")
        #expect(Self.mode(out + "/old.sqlite") == 0o640 && Self.mode(out + "/open.sqlite") == 0o644)
        #expect(try Self.beyond(0o640, in: out, except: ["open.sqlite"]) == [])
    }

    @Test("A check's report, and lines of progress")
    func check() throws {
        let fixture = try #require(try FaultFixture.makers.first { $0.name == "inferred" }?.make())
        let folder = try Self.folder(fixture, 0o600, [])
        let outcome = try CommandBinary.run(
            [
                "check", folder.path("in/old.sqlite"), folder.path("out/new.sqlite"), "--to",
                folder.path("in/Library.xcdatamodeld"), "--report", folder.path("out/check.json"), "--progress",
                "json", "--progress-file", folder.path("out/events"),
            ], through: Self.masked)
        #expect(outcome.code == 0 || outcome.code == 65, "\(outcome.messages)")
        #expect(try Self.beyond(0o600, in: folder.path("out")) == [])
        #expect(Self.mode(folder.path("out/check.json")) == 0o600 && Self.mode(folder.path("out/events")) == 0o600)
    }
}
