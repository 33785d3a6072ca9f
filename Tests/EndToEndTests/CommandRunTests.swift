import CSQLite
import CoreDataStore
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Runs of the built command")
struct CommandRunTests {
    @Test(
        "demo runs, holds 64 MiB by its own figure, and leaves nothing",
        .enabled(if: !Instrumentation.isSanitized, "a sanitizer's memory would count"))
    func demo() throws {
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(["demo"], in: folder.path, environment: ["TMPDIR": folder.path])
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(outcome.output.contains("Making a store of 200,000 objects\n"))
        #expect(
            outcome.output.contains("Book/p1  title 'On Comets, vol. 1', citation 'Clara Keller 32, On Comets, vol. 1'")
        )
        let line = try #require(
            outcome.output.split(separator: "\n").first { $0.hasPrefix("Peak memory of the whole") })
        let figure = try #require(line.split(separator: ":").last?.split(separator: " ").first.flatMap { Double($0) })
        print("demo: \(line)")
        #expect(figure > 5 && figure <= 64)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test("demo keeps its stores in a new or empty folder only")
    func keep() throws {
        let folder = try CommandBinary.library.get()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("library")).sorted()
                == [
                    "Library-2.sqlite", "Library.sqlite", "Library.xcdatamodeld", "books.json", "customers",
                    "library.json",
                    "stores.jsonl",
                ])
        let outcome = try CommandBinary.run(["demo", "--keep", folder.file("library")])
        #expect(outcome.code == 73)
        #expect(FileManager.default.fileExists(atPath: folder.file("library/Library.sqlite")))
    }

    @Test("a migration of the library is whole, and only the destination is new")
    func library() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            [
                "migrate", source, "new.sqlite", "--to", CommandBinary.models, "--memory-limit",
                Instrumentation.limit("64M"), "--json",
                // A slow machine says after ten seconds how far it is.
                "--progress", "none",
            ], in: folder.path)
        #expect(outcome.code == 0 && outcome.messages.isEmpty, "\(outcome.messages)")
        let report = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        let peak = try #require(report["peakMemory"] as? Int)
        print("library: peak memory \(peak) bytes")
        #expect(peak <= 64 << 20 || Instrumentation.isSanitized)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["new.sqlite"])
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM ZITEM") == 45_000)
        #expect(
            try connection.integer(
                "SELECT count(*) FROM ZSECTION WHERE ZBOOK IN (SELECT Z_PK FROM ZITEM WHERE Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'))"
            ) == 149_800)
        #expect(try connection.integer("SELECT count(*) FROM ZAUTHOR WHERE ZFULLNAME LIKE '% %'") == 5_000)
        #expect(
            try connection.integer("SELECT count(*) = 1 FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1)
    }

    @Test("--profile says what each stage took, on standard error and in the report")
    func profile() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            [
                "migrate", source, "new.sqlite", "--to", CommandBinary.models, "--memory-limit",
                Instrumentation.limit("64M"), "--json",
                "--profile", "--progress", "none",
            ], in: folder.path)
        #expect(outcome.code == 0)
        let lines = outcome.messages.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines.first == ["stage", "of", "seconds", "processor", "read", "written", "spilled"])
        #expect(lines.last?.prefix(2) == ["in", "all"])
        let report = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        let profile = try #require(report["profile"] as? [[String: Any]])
        let stages = Set(profile.compactMap { $0["stage"] as? String })
        #expect(stages.isSuperset(of: ["opening", "keys", "load", "indexes", "publish"]))
        let seconds = profile.compactMap { $0["seconds"] as? Double }.reduce(0, +)
        #expect(seconds <= (report["seconds"] as? Double ?? 0))
        // The loaded rows were written.
        let written = profile.filter { $0["stage"] as? String == "load" }.compactMap { $0["bytesWritten"] as? Int }
        #expect(written.reduce(0, +) >= (report["destinationBytes"] as? Int ?? 0) / 2)
        let plain = try CommandBinary.run(
            ["migrate", source, "plain.sqlite", "--to", CommandBinary.models, "--json", "--progress", "none"],
            in: folder.path)
        #expect(plain.messages.isEmpty && !plain.output.contains("profile"))
    }

    @Test(
        "real stores go to their next version by inference, untouched",
        .enabled(if: SharedStores.isPresent, "the folder of real stores is absent"),
        arguments: [
            (
                "wibosco-revised", "CoreDataMigration_Example_1.sqlite",
                "CoreDataMigration_Example.xcdatamodeld:CoreDataMigration_Example 2", "ZPOST", 10
            ),
            ("objcio-moody", "Moody.moody", "Moody.xcdatamodeld:Moody 2", "ZMOOD", 4),
        ])
    func realStores(family: String, store: String, model: String, table: String, rows: Int) throws {
        let folder = try TemporaryFolder()
        let originals = SharedStores.url.appendingPathComponent("\(family)/stores")
        let source = try folder.copyStore(originals.appendingPathComponent(store))
        let before = try CommandBinary.contents(of: folder.path)
        let outcome = try CommandBinary.run([
            "migrate", source, folder.file("new.sqlite"), "--to", SharedStores.url.path + "/\(family)/models/\(model)",
            "--check=full",
        ])
        #expect(outcome.code == 0, "\(outcome.messages)")
        var after = try CommandBinary.contents(of: folder.path)
        #expect(after.removeValue(forKey: "new.sqlite") != nil)
        #expect(after == before)
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM \(table)") == Int64(rows))
    }

    @Test(
        "SIGTERM and SIGINT during a run say so at once and end with 75; the same command goes on",
        arguments: [SIGTERM, SIGINT])
    func signals(signal: Int32) throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let isMet = try untilMet {
            // A test run in the background of a script has SIGINT ignored, which the command would heed.
            let outcome = try meet(source, folder, through: ["/usr/bin/env", "--default-signal=INT"]) { process in
                kill(process.processIdentifier, signal)
            }
            guard let outcome else { return false }
            #expect(outcome.code == 75, "\(outcome.messages)")
            #expect(outcome.output.isEmpty)
            let lines = outcome.messages.split(separator: "\n")
            let name = signal == SIGINT ? "SIGINT" : "SIGTERM"
            #expect(lines.first?.hasPrefix("stagecoach: \(name): stopping") == true, "\(outcome.messages)")
            #expect(lines.contains("stagecoach: Interrupted by \(name); no destination was made"))
            // Before its first record a run leaves nothing that could be resumed.
            guard FileManager.default.fileExists(atPath: folder.file(".new.sqlite.stagecoach")) else { return false }
            #expect(
                outcome.messages.contains("is kept in ./.new.sqlite.stagecoach: the same command resumes from there"))
            return true
        }
        #expect(isMet)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [".new.sqlite.stagecoach"])
        let again = try CommandBinary.run(
            ["migrate", source, "new.sqlite", "--to", CommandBinary.models], in: folder.path)
        #expect(again.code == 0, "\(again.messages)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["new.sqlite"])
    }

    /// Runs a migration and does something while it is at work; single rows make that long enough.
    ///
    /// - Returns: how it ended; nil if it was done before it could be met, and its destination is removed.
    private func meet(
        _ source: String, _ folder: TemporaryFolder, through launcher: [String] = [], _ body: (Process) throws -> Void
    ) throws -> CommandBinary.Outcome? {
        let (process, output, messages) = try CommandBinary.start(
            ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--batch-size", "1"], in: folder.path,
            through: launcher)
        let work = folder.file(".new.sqlite.stagecoach/store.sqlite")
        while process.isRunning, !FileManager.default.fileExists(atPath: work) { usleep(1_000) }
        try body(process)
        let outcome = CommandBinary.finish(process, output, messages)
        guard outcome.code == 0 else { return outcome }
        try FileManager.default.removeItem(atPath: folder.file("new.sqlite"))
        return nil
    }

    @Test("after SIGKILL the same command takes the work directory over")
    func killed() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let isMet = try untilMet {
            guard let outcome = try meet(source, folder, { kill($0.processIdentifier, SIGKILL) }) else { return false }
            #expect(outcome.code == -SIGKILL)
            // Killed as it published, it leaves no work to take over.
            if FileManager.default.fileExists(atPath: folder.file("new.sqlite")) {
                try FileManager.default.removeItem(atPath: folder.file("new.sqlite"))
            }
            return FileManager.default.fileExists(atPath: folder.file(".new.sqlite.stagecoach/store.sqlite"))
        }
        #expect(isMet)
        #expect(FileManager.default.fileExists(atPath: folder.file(".new.sqlite.stagecoach/store.sqlite")))
        let again = try CommandBinary.run(
            ["migrate", source, "new.sqlite", "--to", CommandBinary.models], in: folder.path)
        #expect(again.code == 0, "\(again.messages)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["new.sqlite"])
    }

    @Test("after SIGKILL of a check the next one clears its folder away")
    func killedCheck() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let line = [
            "check", source, "new.sqlite", "--to", CommandBinary.models, "--work-dir", folder.path, "--batch-size", "1",
        ]
        func left() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
        let isMet = try untilMet {
            let (process, output, messages) = try CommandBinary.start(line, in: folder.path)
            while process.isRunning, try left().isEmpty { usleep(1_000) }
            kill(process.processIdentifier, SIGKILL)
            _ = CommandBinary.finish(process, output, messages)
            return try !left().isEmpty
        }
        #expect(isMet)
        let again = try CommandBinary.run(line, in: folder.path)
        #expect(again.code == 0, "\(again.messages)")
        #expect(try left() == [])
    }

    @Test("two runs to one destination: the second is told that it is busy")
    func busy() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let isMet = try untilMet {
            var second: CommandBinary.Outcome?
            let first = try meet(source, folder) { process in
                kill(process.processIdentifier, SIGSTOP)
                defer { kill(process.processIdentifier, SIGCONT) }
                second = try CommandBinary.run(
                    ["migrate", source, "new.sqlite", "--to", CommandBinary.models], in: folder.path)
            }
            // The first always ends well, and its destination is gone.
            #expect(first == nil, "\(first?.messages ?? "")")
            // Stopped at its very end, the first may have published or let go already.
            guard second?.code != 73, second?.code != 0 else { return false }
            #expect(second?.code == 75, "\(second?.messages ?? "")")
            return true
        }
        #expect(isMet)
    }

    @Test("a reader that goes away does not end a migration, and a full device is an error")
    func brokenPipe() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let command = "\"$0\" migrate \"$1\" new.sqlite --to \"$2\" \"$3\""
        let closed = try CommandBinary.run(
            [source, CommandBinary.models, "--json"], in: folder.path,
            through: ["/bin/bash", "-c", "\(command) | true; exit ${PIPESTATUS[0]}"])
        #expect(closed.code == 0, "\(closed.messages)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["new.sqlite"])
        let full = try CommandBinary.run(["--help"], through: ["/bin/bash", "-c", "\"$0\" --help > /dev/full"])
        #expect(full.code == 74 && full.messages.contains("standard output"))
    }
}
