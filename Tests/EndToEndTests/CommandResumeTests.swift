import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import SpillStorage
import TestSupport
import Testing

/// Runs of the built command that are killed at records of their journal, and the same command again until it is done: the
/// destination is that of a run that nobody killed.
@Suite("Killed runs of the built command")
struct CommandResumeTests {
    private static let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Orders.xcdatamodeld")
        .path
    private static let from = models + ":Orders"

    /// A store of orders, with a checkpoint in each batch of ten rows.
    ///
    /// - Parameter isValid: whether no object breaks a rule of the second version.
    private func store(in folder: TemporaryFolder, isValid: Bool) throws -> String {
        let path = folder.file("old.sqlite")
        let loaded = try ModelLocator.load(Self.from)
        try ReferenceStore.make(loaded.model) { store in
            for key in 1...600 as ClosedRange<Int64> {
                let isBad = !isValid && key % 7 == 0
                store.insert(
                    "Customer", key,
                    [
                        "age": .integer(isBad ? 200 : 30), "name": .text("Customer \(key)"),
                        "email": .text(!isValid && key % 11 == 0 ? "a@b" : "c\(key)@d"),
                    ])
            }
            var line: Int64 = 0
            for key in 1...1500 as ClosedRange<Int64> {
                store.insert(
                    "Order", key, ["number": .integer(key * 100), "placedAt": .real(86_400)],
                    toOne: ["customer": 1 + key % 600])
                for _ in 0..<(!isValid && key % 31 == 0 ? 1 : 2) {
                    line += 1
                    store.insert("Line", line, ["code": .text("L\(line)")], toOne: ["order": key])
                }
            }
        }.write(path: path)
        return path
    }

    /// Every row of a store and what makes its tables, as text.
    private func dump(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("PRAGMA user_version") == 0)
        let check = try connection.prepare("PRAGMA integrity_check(3)")
        #expect(try check.step() && check.text(0) == "ok", "\(check.text(0) ?? "")")
        var lines: [String] = []
        var tables: [String] = []
        let schema = try connection.prepare("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
        while try schema.step() {
            lines.append((0..<3).map { schema.text(Int32($0)) ?? "" }.joined(separator: "|"))
            if schema.text(0) == "table", let name = schema.text(1) { tables.append(name) }
        }
        for table in tables {
            let columns = try connection.prepare("SELECT name FROM pragma_table_info('\(table)')")
            var names: [String] = []
            while try columns.step() { names.append("quote(\"\(columns.text(0) ?? "")\")") }
            let rows = try connection.prepare("SELECT \(names.joined(separator: " || '|' || ")) FROM \"\(table)\"")
            while try rows.step() { lines.append("\(table) \(rows.text(0) ?? "")") }
        }
        return lines
    }

    /// Runs a migration undisturbed, and once more with kills and resumed, and compares the results.
    ///
    /// - Parameters:
    ///   - arguments: all but the destination.
    ///   - first, later: as in ``untilDone(_:in:first:later:fresh:)``.
    private func expectSame(
        _ arguments: [String], in folder: TemporaryFolder, first: Int, later: Int?, fresh: String? = nil
    ) throws {
        func line(_ name: String) -> [String] { ["migrate", folder.file("old.sqlite"), name] + arguments }
        let whole = try CommandBinary.run(line("whole.sqlite"), in: folder.path)
        #expect(whole.code == 0, "\(whole.messages)")
        let before = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let (outcome, kills) = try untilDone(
            line("new.sqlite"), in: folder.path, first: first, later: later, fresh: fresh)
        #expect(outcome.code == 0 && kills > 0, "\(outcome.messages)")
        #expect(try dump(folder.file("new.sqlite")) == dump(folder.file("whole.sqlite")))
        // Nothing else is left.
        let after = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(after) == Set(before + ["new.sqlite"]))
    }

    /// Runs a command until it is done: killed at a record of the first run, and of every later one.
    ///
    /// - Parameters:
    ///   - first: the record after which the first run is killed; 1 is that of what the run was begun with.
    ///   - later: the same for later runs; nil lets the second one end.
    ///   - fresh: the file at the destination before the run; nil if there is none.
    /// - Returns: the last outcome, and how often the run was killed.
    private func untilDone(
        _ arguments: [String], in folder: String, first: Int, later: Int?, fresh: String? = nil
    ) throws -> (CommandBinary.Outcome, kills: Int) {
        var kills = 1
        var outcome = try killed(arguments, in: folder, at: first, fresh: fresh)
        while outcome.code == -SIGKILL, kills < 200 {
            // A run that is killed at the same place each time would never end.
            let environment =
                later.map {
                    FaultInjection.kill(atRecord: $0 + (kills > 20 ? kills : 0), isResumed: true, in: folder)
                } ?? FaultInjection.environment()
            outcome = try CommandBinary.run(arguments, in: folder, environment: environment)
            if outcome.code == -SIGKILL { kills += 1 }
        }
        return (outcome, kills)
    }

    /// Runs a command that is killed at a record, or, where it does not get so far, at an earlier one: how many records a run
    /// has depends on how fast the disk is.
    private func killed(
        _ arguments: [String], in folder: String, at record: Int, fresh: String? = nil
    ) throws -> CommandBinary.Outcome {
        var record = record
        while true {
            let environment = FaultInjection.kill(atRecord: record, in: folder)
            let outcome = try CommandBinary.run(arguments, in: folder, environment: environment)
            if outcome.code == -SIGKILL || record == 1 { return outcome }
            record = max(1, record * 2 / 3)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix("new.") {
                try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix(".new.") {
                try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
            if let fresh {
                try FileManager.default.copyItem(atPath: "\(folder)/\(fresh)", toPath: "\(folder)/new.sqlite")
            }
        }
    }

    @Test(
        "A run killed at any record is resumed to the same destination",
        arguments: [(1, nil), (2, nil), (3, 2), (5, nil), (9, 3), (14, nil), (19, 4), (25, nil)] as [(Int, Int?)])
    func inferred(first: Int, later: Int?) throws {
        let folder = try TemporaryFolder()
        _ = try store(in: folder, isValid: true)
        let arguments = ["--from", Self.from, "--to", Self.models, "--batch-size", "10", "--progress", "none"]
        try expectSame(arguments, in: folder, first: first, later: later)
    }

    @Test(
        "Rejects are neither lost nor doubled by a kill",
        arguments: [(2, nil), (4, nil), (12, 5), (20, nil), (24, nil), (28, 3), (34, nil), (40, nil)] as [(Int, Int?)])
    func rejects(first: Int, later: Int?) throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder, isValid: false)
        func arguments(_ name: String) -> [String] {
            [
                "migrate", source, "\(name).sqlite", "--from", Self.from, "--to", Self.models, "--batch-size", "10",
                "--on-invalid", "reject", "--reject-file", "\(name).jsonl", "--id-map", "\(name).csv", "--json",
                "--progress", "none",
            ]
        }
        let whole = try CommandBinary.run(arguments("whole"), in: folder.path)
        #expect(whole.code == 0, "\(whole.messages)")
        let (outcome, kills) = try untilDone(arguments("new"), in: folder.path, first: first, later: later)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(kills > 0)
        #expect(try dump(folder.file("new.sqlite")) == dump(folder.file("whole.sqlite")))
        for ending in ["jsonl", "csv"] {
            let files = try ["new", "whole"].map {
                try String(contentsOfFile: folder.file("\($0).\(ending)"), encoding: .utf8)
            }
            #expect(files[0] == files[1])
        }
        let reports = try [outcome, whole].map { outcome in
            try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        }
        func counted(_ report: [String: Any]) -> NSDictionary {
            let rejects = (report["rejects"] as? [String: Any] ?? [:]).filter { $0.key != "file" }
            return ["counts": report["counts"] ?? "", "rejects": rejects]
        }
        #expect(counted(reports[0]) == counted(reports[1]))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                == ["new.csv", "new.jsonl", "new.sqlite", "old.sqlite", "whole.csv", "whole.jsonl", "whole.sqlite"])
    }

    @Test(
        "What is appended is there once, whenever the run is killed",
        arguments: [(1, nil), (3, 2), (17, nil)] as [(Int, Int?)])
    func appended(first: Int, later: Int?) throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder, isValid: true)
        let arguments = ["--from", Self.from, "--to", Self.models + ":Orders", "--progress", "none"]
        for name in ["new.sqlite", "whole.sqlite", "start.sqlite"] {
            let made = try CommandBinary.run(["migrate", source, name] + arguments, in: folder.path)
            #expect(made.code == 0, "\(made.messages)")
        }
        let append = arguments + ["--append", "--keys", "sequential", "--batch-size", "10"]
        try expectSame(append, in: folder, first: first, later: later, fresh: "start.sqlite")
    }

    @Test("A destination that was written since an append was killed is refused; --restart begins anew")
    func appendedChanged() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder, isValid: true)
        let arguments = ["--from", Self.from, "--to", Self.models + ":Orders", "--progress", "none"]
        let made = try CommandBinary.run(["migrate", source, "new.sqlite"] + arguments, in: folder.path)
        #expect(made.code == 0, "\(made.messages)")
        try FileManager.default.copyItem(atPath: folder.file("new.sqlite"), toPath: folder.file("start.sqlite"))
        let append =
            ["migrate", source, "new.sqlite"] + arguments + ["--append", "--keys", "sequential", "--batch-size", "10"]
        let killed = try self.killed(append, in: folder.path, at: 9, fresh: "start.sqlite")
        #expect(killed.code == -SIGKILL)
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
        try connection.execute("UPDATE ZCUSTOMER SET ZNAME = 'Else' WHERE Z_PK = 1")
        try connection.close()
        let changed = try CommandBinary.run(append, in: folder.path)
        #expect(changed.code == 78, "\(changed.messages)")
        #expect(changed.messages.contains("the destination was written since"), "\(changed.messages)")
        let anew = try CommandBinary.run(append + ["--restart"], in: folder.path)
        #expect(anew.code == 0, "\(anew.messages)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                == ["new.sqlite", "old.sqlite", "start.sqlite"])
    }

    @Test(
        "A run by several mapping models killed at any record is resumed to the same destination",
        arguments: [(9, 4), (33, nil)] as [(Int, Int?)])
    func severalModels(first: Int, later: Int?) throws {
        let folder = try TemporaryFolder()
        _ = try store(in: folder, isValid: true)
        var arguments = [
            "--from", Self.from, "--to", Self.models + ":Orders", "--batch-size", "10", "--progress", "none",
        ]
        for entity in ["Customer", "Order", "Line"] {
            let text = """
                {"formatVersion": 1, "entityMappings": [
                    {"name": "\(entity)", "sourceEntity": "\(entity)", "destinationEntity": "\(entity)"}
                ]}
                """
            try text.write(toFile: folder.file("\(entity).json"), atomically: true, encoding: .utf8)
            arguments += ["--mapping", "\(entity).json"]
        }
        try expectSame(arguments, in: folder, first: first, later: later)
    }

    @Test(
        "A run over composite attributes, by the file that infer wrote, is resumed inside the entity",
        arguments: [(3, nil), (7, 2)] as [(Int, Int?)])
    func composites(first: Int, later: Int?) throws {
        let folder = try TemporaryFolder()
        var files: [String] = []
        for (name, old) in [("author", ""), ("writer", "author")] {
            files.append(folder.file("\(name).xcdatamodel"))
            try FileManager.default.createDirectory(atPath: files[files.count - 1], withIntermediateDirectories: false)
            try """
            <model><entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
            <attribute name="\(name)" elementID="\(old)" optional="YES" attributeType="Composite" composite="Person"/></entity>
            <composite name="Person"><attribute name="name" attributeType="String"/>
            <attribute name="born" optional="YES" attributeType="Integer 32"/></composite></model>
            """.write(toFile: files[files.count - 1] + "/contents", atomically: true, encoding: .utf8)
        }
        try ReferenceStore.make(ModelLocator.load(files[0]).model) { store in
            for key in 1...600 as ClosedRange<Int64> {
                store.insert(
                    "Book", key,
                    key % 3 == 0
                        ? ["title": .text("t\(key)")] : ["author.name": .text("a\(key)"), "author.born": .integer(key)])
            }
        }.write(path: folder.file("old.sqlite"))
        let models = ["--from", files[0], "--to", files[1]]
        let inferred = try CommandBinary.run(["infer"] + models + ["-o", "map.json"], in: folder.path)
        #expect(inferred.code == 0, "\(inferred.messages)")
        let text = try String(contentsOfFile: folder.file("map.json"), encoding: .utf8)
        #expect(text.contains(#""writer.born": "$source.author.born""#))
        let arguments = models + ["--mapping", "map.json", "--batch-size", "10", "--progress", "none"]
        try expectSame(arguments, in: folder, first: first, later: later)
        let store = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try store.integer("SELECT sum(ZBORN) FROM ZBOOK WHERE ZNAME = 'a' || Z_PK") == 120_000)
        let verified = try CommandBinary.run(
            ["verify", "old.sqlite", "new.sqlite"] + models + ["--mapping", "map.json"], in: folder.path)
        #expect(verified.code == 0, "\(verified.messages)")
    }

    @Test(
        "A run with a policy killed at any record is resumed inside the entity",
        arguments: [(3, nil), (11, 3)] as [(Int, Int?)])
    func policy(first: Int, later: Int?) throws {
        let folder = try TemporaryFolder()
        let example = SharedStores.repository.appendingPathComponent("Fixtures/ExamplePolicies").path
        let models = "\(example)/Contacts.xcdatamodeld"
        let source = folder.file("old.sqlite")
        try ReferenceStore.make(try ModelLocator.load(models + ":Contacts").model) { store in
            for key in 1...300 as ClosedRange<Int64> {
                store.insert(
                    "Contact", key,
                    ["fullName": .text("First\(key) Last\(key % 9)"), "companyName": .text("Company \(key % 12)")])
            }
        }.write(path: source)
        let arguments = [
            "--to", models, "--mapping", "\(example)/contacts.json", "--policies",
            try PolicyLibrary.exampleLibrary(), "--batch-size", "10", "--progress", "none",
        ]
        try expectSame(arguments, in: folder, first: first, later: later)
    }

    @Test("Policies of other code are refused between a kill and the repeat")
    func changedPolicies() throws {
        let folder = try TemporaryFolder()
        let example = SharedStores.repository.appendingPathComponent("Fixtures/ExamplePolicies").path
        let models = "\(example)/Contacts.xcdatamodeld"
        let source = folder.file("old.sqlite")
        try ReferenceStore.make(try ModelLocator.load(models + ":Contacts").model) { store in
            for key in 1...300 as ClosedRange<Int64> {
                store.insert("Contact", key, ["fullName": .text("First Last\(key)"), "companyName": .text("Company")])
            }
        }.write(path: source)
        // It looks for Stagecoach beside it.
        let exampleLibrary = try PolicyLibrary.exampleLibrary()
        let library = exampleLibrary.replacingOccurrences(of: ".so", with: "-\(UUID().uuidString).so")
        try FileManager.default.copyItem(atPath: exampleLibrary, toPath: library)
        let arguments = [
            "migrate", source, "new.sqlite", "--to", models, "--mapping", "\(example)/contacts.json", "--policies",
            library, "--batch-size", "10", "--progress", "none",
        ]
        let killed = try self.killed(arguments, in: folder.path, at: 6)
        #expect(killed.code == -SIGKILL, "\(killed.messages)")
        // Bytes behind a library's sections are not loaded: its code is the same, and the file another one.
        let built = try Data(contentsOf: URL(fileURLWithPath: library))
        try (built + Data("other".utf8)).write(to: URL(fileURLWithPath: library))
        let outcome = try CommandBinary.run(arguments, in: folder.path)
        #expect(outcome.code == 78, "\(outcome.messages)")
        #expect(outcome.messages.contains("the libraries of policies hold other code"), "\(outcome.messages)")
        #expect(outcome.messages.contains("--restart"))
        try built.write(to: URL(fileURLWithPath: library))
        let again = try CommandBinary.run(arguments, in: folder.path)
        #expect(again.code == 0, "\(again.messages)")
    }

    @Test("A model that says something else is refused, though its version hashes are the same")
    func changedModel() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder, isValid: true)
        let bundle = folder.file("Orders.xcdatamodeld")
        try FileManager.default.copyItem(atPath: Self.models, toPath: bundle)
        let arguments = [
            "migrate", source, "new.sqlite", "--from", bundle + ":Orders", "--to", bundle + ":Orders 2", "--batch-size",
            "10", "--progress", "none",
        ]
        let killed = try self.killed(arguments, in: folder.path, at: 6)
        #expect(killed.code == -SIGKILL, "\(killed.messages)")
        let contents = bundle + "/Orders 2.xcdatamodel/contents"
        let text = try String(contentsOfFile: contents, encoding: .utf8)
        let changed = text.replacingOccurrences(
            of: "<attribute name=\"code\"", with: "<attribute name=\"code\" defaultValueString=\"none\"")
        try #require(changed != text)
        try changed.write(toFile: contents, atomically: true, encoding: .utf8)
        let outcome = try CommandBinary.run(arguments, in: folder.path)
        #expect(outcome.code == 78)
        #expect(outcome.messages.contains("the destination model says something else"), "\(outcome.messages)")
    }

    @Test("A run with other inputs is refused, saying what differs; --restart begins anew")
    func changed() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder, isValid: true)
        let arguments = [
            "migrate", source, "new.sqlite", "--from", Self.from, "--to", Self.models, "--batch-size", "10",
            "--progress", "none",
        ]
        let killed = try self.killed(arguments, in: folder.path, at: 6)
        #expect(killed.code == -SIGKILL)
        let other = try CommandBinary.run(arguments + ["--keys", "sequential"], in: folder.path)
        #expect(other.code == 78)
        #expect(other.messages.contains("--keys was not given, and is sequential now"), "\(other.messages)")
        let connection = try Connection(path: source, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("UPDATE ZCUSTOMER SET ZNAME = 'Else' WHERE Z_PK = 1")
        try connection.close()
        let changed = try CommandBinary.run(arguments, in: folder.path)
        #expect(changed.code == 78)
        #expect(changed.messages.contains("the source: it was written since"), "\(changed.messages)")
        #expect(changed.messages.contains("--restart"))
        let anew = try CommandBinary.run(arguments + ["--restart"], in: folder.path)
        #expect(anew.code == 0, "\(anew.messages)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["new.sqlite", "old.sqlite"])
    }

    @Test(
        "A run that goes on says where, and its progress never goes back and ends at all rows", arguments: [6, 13, 20])
    func progress(record: Int) throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder, isValid: true)
        let arguments = [
            "migrate", source, "new.sqlite", "--from", Self.from, "--to", Self.models, "--batch-size", "10",
            "--progress", "json",
        ]
        let killed = try self.killed(arguments, in: folder.path, at: record)
        #expect(killed.code == -SIGKILL)
        let outcome = try CommandBinary.run(arguments, in: folder.path, environment: FaultInjection.environment())
        #expect(outcome.code == 0)
        let events = try outcome.messages.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let resumed = try #require(events.first { $0["event"] as? String == "resumed" })
        #expect((resumed["rows"] as? Int ?? 0) > 0)
        let rows = events.compactMap { $0["rows"] as? Int }
        #expect(rows == rows.sorted() && rows.last == events.last?["totalRows"] as? Int, "\(rows)")
    }

    @Test("A damaged journal is not believed: the run begins anew")
    func damaged() throws {
        let folder = try TemporaryFolder()
        let source = try store(in: folder, isValid: true)
        let arguments = ["--from", Self.from, "--to", Self.models, "--batch-size", "10", "--progress", "none"]
        let whole = try CommandBinary.run(["migrate", source, "whole.sqlite"] + arguments, in: folder.path)
        #expect(whole.code == 0)
        let killed = try killed(["migrate", source, "new.sqlite"] + arguments, in: folder.path, at: 9)
        #expect(killed.code == -SIGKILL)
        let path = URL(fileURLWithPath: folder.file(".new.sqlite.stagecoach/run.journal"))
        var bytes = try Data(contentsOf: path)
        bytes[bytes.count / 3] ^= 0x10
        try bytes.write(to: path)
        let outcome = try CommandBinary.run(["migrate", source, "new.sqlite"] + arguments, in: folder.path)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(try dump(folder.file("new.sqlite")) == dump(folder.file("whole.sqlite")))
    }
}
