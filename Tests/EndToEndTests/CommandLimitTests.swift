import Foundation
import Glibc
import Stagecoach
import TestSupport
import Testing

/// The limits that batch systems set: processes, file sizes, addresses. The command ends by itself, with a sentence, and the
/// same command goes on without the limit.
@Suite(
    "Limits of the process",
    .enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "prlimit is missing"),
    .enabled(if: !Instrumentation.isSanitized, "a sanitizer has threads and addresses of its own"))
struct CommandLimitTests {
    /// Ends a command that hangs.
    private static let guarded = ["/usr/bin/timeout", "--foreground", "-s", "KILL", "60"]
    private static let prlimit = "/usr/bin/prlimit"

    private static func migrate(_ source: String, _ more: [String] = []) -> [String] {
        ["migrate", source, "new.sqlite", "--to", CommandBinary.models] + more
    }

    /// Runs a command with so many processes and threads of its user. For root there is no such limit, so another user, who has
    /// no process, runs it.
    private static func limited(processes: Int, in folder: TemporaryFolder) throws -> [String] {
        try user(of: folder) + [prlimit, "--nproc=\(processes)"]
    }

    /// Gives a folder to a user who has no process, and runs a command as that user; as this one if it is not root.
    private static func user(of folder: TemporaryFolder) throws -> [String] {
        guard geteuid() == 0 else { return [] }
        // A user for each folder: tests run beside each other, and a user's processes count together.
        let user = folder.path.utf8.reduce(1 << 30) { 1 << 30 | ($0 &* 31 &+ Int($1)) & (1 << 30 - 1) }
        try OtherUsers.give(folder.path, to: uid_t(user))
        return OtherUsers.through(uid_t(user))
    }

    private static func files(_ folder: TemporaryFolder) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
    }

    @Test("A migration needs no thread but its own", arguments: [1, 2, 3])
    func threads(count: Int) throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            Self.migrate(
                source,
                ["--progress", "json", "--metrics", "metrics.txt", "--report", "report.json", "--batch-size", "10"]),
            in: folder.path, through: Self.guarded + Self.limited(processes: count, in: folder))
        #expect(outcome.code == 0, "\(outcome.messages)")
        let events = outcome.messages.split(separator: "\n").map(String.init)
        #expect(events.first?.contains("\"event\":\"started\"") == true, "\(outcome.messages)")
        #expect(events.last?.contains("\"event\":\"finished\"") == true, "\(outcome.messages)")
        let metrics = try String(contentsOfFile: folder.file("metrics.txt"), encoding: .utf8)
        #expect(metrics.contains(/stagecoach_exit_code\{.*\} 0\n/), "\(metrics)")
        #expect(try Self.files(folder) == ["new.sqlite", "metrics.txt", "report.json"])
    }

    @Test("A migration with policies needs no thread but its own", arguments: [1, 2])
    func policies(count: Int) throws {
        let folder = try TemporaryFolder()
        let library = folder.file("libPolicies.so")
        try FileManager.default.copyItem(atPath: PolicyLibrary.exampleLibrary(), toPath: library)
        // The library looks for Stagecoach beside it.
        try FileManager.default.createSymbolicLink(
            atPath: folder.file(PolicyLibrary.stagecoach),
            withDestinationPath: CommandBinary.products + "/" + PolicyLibrary.stagecoach)
        let models = PolicyLibrary.example.appendingPathComponent("Contacts.xcdatamodeld").path
        try ReferenceStore.make(ModelLocator.load(models + ":Contacts").model) { store in
            store.insert("Contact", 1, ["fullName": .text("Ada King Lovelace")])
        }.write(path: folder.file("old.sqlite"))
        let outcome = try CommandBinary.run(
            [
                "migrate", "old.sqlite", "new.sqlite", "--to", models, "--mapping",
                PolicyLibrary.example.appendingPathComponent("contacts.json").path, "--policies", library,
            ], in: folder.path, through: Self.guarded + Self.limited(processes: count, in: folder))
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(try Self.files(folder) == ["libPolicies.so", PolicyLibrary.stagecoach, "new.sqlite", "old.sqlite"])
    }

    @Test("16 open files are enough, by rows and by objects, with spill files in dozens")
    func openFiles() throws {
        let folder = try TemporaryFolder()
        #expect(try CommandBinary.run(["demo", "--keep", "."], in: folder.path).code == 0)
        try """
        { "formatVersion": 2, "unlisted": "infer", "entityMappings": [
          { "name": "Books", "sourceEntity": "Book", "destinationEntity": "Book",
            "sourceExpression": "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:includesSubentities:', 'Book', 'pageCount > 0', YES), $manager.sourceContext, NO)" } ] }
        """.write(toFile: folder.file("objects.json"), atomically: true, encoding: .utf8)
        for (name, mapping) in [("rows", [String]()), ("objects", ["--mapping", "objects.json"])] {
            var stores: [Data] = []
            for (number, through) in [[Self.prlimit, "--nofile=16"], []].enumerated() {
                let outcome = try CommandBinary.run(
                    [
                        "migrate", "Library.sqlite", "\(name)\(number).sqlite", "--to", "Library.xcdatamodeld",
                        "--memory-limit", "64M",
                    ] + mapping, in: folder.path, through: through)
                #expect(outcome.code == 0, "\(name): \(outcome.messages)")
                stores.append(try Data(contentsOf: URL(fileURLWithPath: folder.file("\(name)\(number).sqlite"))))
            }
            #expect(stores[0] == stores[1], "\(name)")
        }
    }

    @Test("Without a thread for signals, SIGTERM ends a run at once with 75; the same command goes on")
    func signal() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let through = try Self.limited(processes: 1, in: folder)
        let isMet = try untilMet {
            let (process, output, messages) = try CommandBinary.start(
                Self.migrate(source, ["--batch-size", "1"]), in: folder.path, through: through)
            let store = folder.file(".new.sqlite.stagecoach/store.sqlite")
            while process.isRunning, !FileManager.default.fileExists(atPath: store) { usleep(1_000) }
            kill(process.processIdentifier, SIGTERM)
            let outcome = CommandBinary.finish(process, output, messages)
            guard outcome.code != 0 else {
                try FileManager.default.removeItem(atPath: folder.file("new.sqlite"))
                return false
            }
            #expect(outcome.code == 75, "\(outcome.messages)")
            #expect(outcome.messages == "stagecoach: SIGTERM: stopped at once\n")
            return true
        }
        #expect(isMet)
        let again = try CommandBinary.run(
            Self.migrate(source), in: folder.path, through: try Self.user(of: folder))
        #expect(again.code == 0, "\(again.messages)")
        #expect(try Self.files(folder) == ["new.sqlite"])
    }

    @Test("A batch that can start no process says so for each store; the same command goes on")
    func batch() throws {
        let folder = try TemporaryFolder()
        let library = try Data(contentsOf: URL(fileURLWithPath: CommandBinary.librarySource()))
        for name in ["a", "b", "c"] { try library.write(to: URL(fileURLWithPath: folder.file("\(name).sqlite"))) }
        let line = [
            "batch", "*.sqlite", "--into", "out", "--to", CommandBinary.models, "--jobs", "2", "--memory-limit", "200M",
        ]
        let outcome = try CommandBinary.run(
            line, in: folder.path, through: Self.guarded + Self.limited(processes: 1, in: folder))
        #expect(outcome.code == 65, "\(outcome.messages)")
        #expect(outcome.output.split(separator: "\n").count { $0.hasPrefix("failed 74  ") } == 3, "\(outcome.output)")
        #expect(outcome.output.contains("No process could be started for the store"), "\(outcome.output)")
        #expect(outcome.output.contains("ulimit -u"), "\(outcome.output)")
        let again = try CommandBinary.run(line, in: folder.path, through: try Self.user(of: folder))
        #expect(again.code == 0, "\(again.messages)\(again.output)")
    }

    @Test(
        "A batch that can start fewer processes than jobs makes do with them",
        .enabled(if: geteuid() == 0, "only root can run the command as a user without processes"))
    func fewerProcesses() throws {
        let folder = try TemporaryFolder()
        let library = try Data(contentsOf: URL(fileURLWithPath: CommandBinary.librarySource()))
        for name in ["a", "b", "c"] { try library.write(to: URL(fileURLWithPath: folder.file("\(name).sqlite"))) }
        // The batch itself, its thread for signals, one for each job: one process is left.
        let outcome = try CommandBinary.run(
            [
                "batch", "*.sqlite", "--into", "out", "--to", CommandBinary.models, "--jobs", "2", "--memory-limit",
                "200M",
            ], in: folder.path, through: Self.guarded + Self.limited(processes: 5, in: folder))
        #expect(outcome.code == 0, "\(outcome.messages)\(outcome.output)")
        #expect(outcome.output.split(separator: "\n").count { $0.hasPrefix("done ") } == 3, "\(outcome.output)")
    }

    @Test(
        "SIGTERM ends a batch with 75 where its processes have no thread for signals, and says no store crashed",
        .enabled(if: geteuid() == 0, "only root can run the command as a user without processes"))
    func batchSignal() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: source, toPath: folder.file("a.sqlite"))
        let through = try Self.limited(processes: 5, in: folder)
        let isMet = try untilMet {
            let (process, output, messages) = try CommandBinary.start(
                [
                    "batch", "a.sqlite", "--into", "out", "--to", CommandBinary.models, "--jobs", "2",
                    "--memory-limit", "200M", "--batch-size", "1",
                ], in: folder.path, through: through)
            let store = folder.file("out/.a.sqlite.stagecoach/store.sqlite")
            while process.isRunning, !FileManager.default.fileExists(atPath: store) { usleep(1_000) }
            kill(process.processIdentifier, SIGTERM)
            let outcome = CommandBinary.finish(process, output, messages)
            let results = try String(contentsOfFile: folder.file("out/batch.results.jsonl"), encoding: .utf8)
            guard outcome.code != 0 else {
                try FileManager.default.removeItem(atPath: folder.file("out"))
                return false
            }
            #expect(outcome.code == 75, "\(outcome.messages)\(outcome.output)")
            #expect(results.contains("\"status\":\"postponed\""), "\(results)")
            #expect(!results.contains("crashed") && !results.contains("failed"), "\(results)")
            return true
        }
        #expect(isMet)
    }

    @Test(
        "A file that may grow no more is 74 and names the file and the limit; the same command goes on",
        arguments: [(0, "0 bytes"), (1, "1 byte"), (9_000_000, "9,000,000 bytes")])
    func fileSize(limit: Int, named: String) throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            Self.migrate(source, ["--batch-size", "1"]), in: folder.path,
            through: Self.guarded + [Self.prlimit, "--fsize=\(limit)"])
        #expect(outcome.code == 74, "\(outcome.messages)")
        #expect(outcome.messages.contains("new.sqlite"), "\(outcome.messages)")
        #expect(outcome.messages.contains("the limit of file sizes is \(named)"), "\(outcome.messages)")
        #expect(outcome.messages.contains("ulimit -f"), "\(outcome.messages)")
        #expect(try Self.files(folder).isSubset(of: [".new.sqlite.stagecoach"]))
        // A run that ends within half a second leaves no state, so the next one may begin anew.
        let again = try CommandBinary.run(Self.migrate(source, ["--batch-size", "1"]), in: folder.path)
        #expect(again.code == 0, "\(again.messages)")
        #expect(try Self.files(folder) == ["new.sqlite"])
    }

    @Test("A result that is no store names the limit, too")
    func resultSize() throws {
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            [
                "infer", "--from", CommandBinary.models + ":Library", "--to", CommandBinary.models, "-o",
                "inferred.json",
            ],
            in: folder.path, through: Self.guarded + [Self.prlimit, "--fsize=1000"])
        #expect(outcome.code == 74, "\(outcome.messages)")
        #expect(outcome.messages.contains("inferred.json"), "\(outcome.messages)")
        #expect(outcome.messages.contains("the limit of file sizes is 1,000 bytes"), "\(outcome.messages)")
        #expect(try Self.files(folder) == [])
    }

    @Test("Too few addresses are refused with 78 and the least number, which works", arguments: [nil, "64M", "256M"])
    func addresses(memory: String?) throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let line = Self.migrate(source, memory.map { ["--memory-limit", $0] } ?? [])
        func run(_ bytes: Int) throws -> CommandBinary.Outcome {
            try CommandBinary.run(line, in: folder.path, through: Self.guarded + [Self.prlimit, "--as=\(bytes)"])
        }
        var limit = 100 << 20
        var outcome = try run(limit)
        // The least limit for any command may be below the least one for this migration.
        for _ in 0..<2 where outcome.code != 0 {
            #expect(outcome.code == 78, "\(outcome.messages)")
            #expect(try Self.files(folder) == [])
            let told = try #require(outcome.messages.firstMatch(of: /ulimit -v ([0-9]+)/), "\(outcome.messages)")
            limit = try #require(Int(told.1)) << 10
            outcome = try run(limit)
        }
        #expect(outcome.code == 0 && limit > 100 << 20, "\(outcome.messages)")
        #expect(try Self.files(folder) == ["new.sqlite"])
    }
}
