import Foundation
import ManagedModel
import TestSupport
import Testing

/// Policies that throw and crash, in the built command.
@Suite("Policies that fail in the built command", .serialized)
struct PolicyFailureTests {
    /// A policy that fails in the method that `FAIL_IN` names, in the manner of `FAIL_BY`: for the contact "Bad", or, in methods
    /// without an object, at once.
    private static let source = """
        import Stagecoach

        struct Licence: LocalizedError {
            var errorDescription: String? { "The licence has run out." }
            var failureReason: String? { "It was for a year" }
            var recoverySuggestion: String? { "Ask for a new one" }
        }

        @_cdecl("stagecoach_register_policies")
        public func registerPolicies() {
            PolicyRegistry.register(ContactPolicy.self) { functions in
                functions.add("initialsOfName:", ContactPolicy.initials(ofName:))
            }
        }

        final class ContactPolicy: NSEntityMigrationPolicy {
            required init() {
                super.init()
                try? fail("init")
            }

            private func fail(_ method: String, _ name: String? = "Bad") throws {
                let settings = ProcessInfo.processInfo.environment
                guard settings["FAIL_IN"] == method, name == "Bad" else { return }
                func overflow(_ depth: Int) -> Int { depth < 0 ? 0 : overflow(depth + 1) &+ overflow(depth + 2) }
                switch settings["FAIL_BY"] {
                case "NSError":
                    throw NSError(
                        domain: "App", code: 7,
                        userInfo: [
                            NSLocalizedDescriptionKey: "The contact is damaged.",
                            NSLocalizedRecoverySuggestionErrorKey: "Mend it",
                        ])
                case "LocalizedError": throw Licence()
                case "trap": preconditionFailure("trapped")
                case "null": UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
                case "deep": _ = overflow(0)
                case "exit": exit(0)
                default: abort()
                }
            }

            override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws { try fail("begin") }
            override func createDestinationInstances(
                forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
            ) throws {
                let name = sInstance.value(forKey: "fullName") as? String
                if ProcessInfo.processInfo.environment["FAIL_BY"] == "key", name == "Bad" {
                    _ = sInstance.value(forKey: "fullNmae") as! String
                }
                try fail("createDestinationInstances", name)
                if ProcessInfo.processInfo.environment["TALK"] != nil {
                    print("{ \\"status\\": making")
                    FileHandle.standardOutput.write(Data("raw words\\n".utf8))
                }
                try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
                manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]).first?
                    .setValue(sInstance.value(forKey: "fullName"), forKey: "firstName")
            }
            override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
                try fail("endInstanceCreation")
            }
            override func createRelationships(
                forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
            ) throws { try fail("createRelationships", dInstance.value(forKey: "firstName") as? String) }
            override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
                try fail("endRelationshipCreation")
            }
            override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
                try fail("performCustomValidation")
            }
            override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws { try fail("end") }

            func initials(ofName name: String?) throws -> String? {
                try fail("initials", name)
                return nil
            }
        }
        """

    private static let library = Result<PolicyLibrary, any Error> {
        let folder = try TemporaryFolder()
        try source.write(toFile: folder.file("Failing.swift"), atomically: true, encoding: .utf8)
        return try PolicyLibrary(sources: folder.path)
    }

    /// Stores of three contacts, the second of them bad in those that are named.
    private func stores(_ count: Int, bad: Set<Int>) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let model = try ModelLocator.load(Self.models + ":Contacts").model
        for number in 1...count {
            try ReferenceStore.make(model) { store in
                for key in 1...Int64(3) {
                    let isBad = key == 2 && bad.contains(number)
                    store.insert("Contact", key, ["fullName": .text(isBad ? "Bad" : "Ada \(key)")])
                }
            }.write(path: folder.file("\(number).sqlite"))
        }
        return folder
    }

    private static var models: String {
        PolicyLibrary.example.appendingPathComponent("Contacts.xcdatamodeld").path
    }

    private func options() throws -> [String] {
        [
            "--to", Self.models, "--mapping", PolicyLibrary.example.appendingPathComponent("contacts.json").path,
            "--policies", try Self.library.get().path,
        ]
    }

    private func migrate(
        _ folder: TemporaryFolder, failingIn method: String, by manner: String
    ) throws -> CommandBinary.Outcome {
        try CommandBinary.run(
            ["migrate", folder.file("1.sqlite"), folder.file("new.sqlite")] + options(),
            environment: ["FAIL_IN": method, "FAIL_BY": manner])
    }

    /// The methods with their stages, and whether they are for an object.
    private static let methods: [(name: String, stage: String, hasObject: Bool)] = [
        ("begin", "create", false), ("createDestinationInstances", "create", true),
        ("endInstanceCreation", "create", false), ("createRelationships", "relate", true),
        ("endRelationshipCreation", "relate", false), ("performCustomValidation", "validate", false),
        ("end", "validate", false),
    ]

    @Test(
        "A crash in any method names policy, stage, mapping and object, and keeps the signal", .timeLimit(.minutes(30)))
    func crashes() throws {
        let folder = try stores(1, bad: [1])
        for (index, method) in Self.methods.enumerated() {
            let manner = ["trap", "null", "abort"][index % 3]
            let outcome = try migrate(folder, failingIn: method.name, by: manner)
            let signals = ["trap": ["SIGILL", "SIGTRAP"], "null": ["SIGSEGV"], "abort": ["SIGABRT"]][manner] ?? []
            let line =
                " in ExamplePolicies.ContactPolicy.\(method.name), stage \(method.stage), entity mapping ContactToContact"
                + (method.hasObject ? ", object Contact/p2" : "")
                + ". The same command goes on from its last checkpoint\n"
            #expect(
                signals.contains { outcome.messages.contains("stagecoach: " + $0 + line) },
                "\(method.name) \(manner): \(outcome.messages)")
            let numbers: [String: [Int32]] = ["trap": [SIGILL, SIGTRAP], "null": [SIGSEGV], "abort": [SIGABRT]]
            #expect(numbers[manner]?.contains(-outcome.code) == true, "\(method.name) \(manner): \(outcome.code)")
            #expect(!outcome.messages.contains("Backtracing") && !outcome.messages.contains("crashed:"))
        }
        // A stack that overflows has no room for the handler.
        let deep = try migrate(folder, failingIn: "createDestinationInstances", by: "deep")
        #expect(deep.messages.contains("stagecoach: SIGSEGV in ExamplePolicies.ContactPolicy."), "\(deep.messages)")
        #expect(deep.code == -SIGSEGV)
        let function = try migrate(folder, failingIn: "initials", by: "trap")
        #expect(function.messages.contains("object Contact/p2"), "\(function.messages)")
        // Nothing of the crashes is in the way.
        let good = try migrate(folder, failingIn: "none", by: "trap")
        #expect(good.code == 0, "\(good.messages)")
    }

    @Test("A failure that was recorded before a trap is printed beside it", .timeLimit(.minutes(30)))
    func recorded() throws {
        let outcome = try migrate(try stores(1, bad: [1]), failingIn: "createDestinationInstances", by: "key")
        let line = outcome.messages.split(separator: "\n").last.map(String.init) ?? ""
        #expect(line.hasPrefix("stagecoach: SIG"), "\(outcome.messages)")
        #expect(
            line.hasSuffix(
                ", object Contact/p2. Recorded before: Contact/p2.fullNmae: The entity Contact has no property fullNmae "
                    + "(Did you mean 'fullName'?). The same command goes on from its last checkpoint"), "\(line)")
    }

    @Test("A policy that crashes while it is made is named", .timeLimit(.minutes(30)))
    func initialising() throws {
        let outcome = try migrate(try stores(1, bad: [1]), failingIn: "init", by: "abort")
        #expect(
            outcome.messages.hasSuffix(
                "stagecoach: SIGABRT in ExamplePolicies.ContactPolicy.init, entity mapping ContactToContact. "
                    + "The same command goes on from its last checkpoint\n"), "\(outcome.messages)")
        let check = try CommandBinary.run(
            ["policies", "check", try Self.library.get().path], environment: ["FAIL_IN": "init", "FAIL_BY": "abort"])
        #expect(check.messages.contains("stagecoach: SIGABRT in "), "\(check.messages)")
        #expect(check.messages.contains("ContactPolicy.init"), "\(check.messages)")
    }

    @Test("exit() in a policy is an error that names it", .timeLimit(.minutes(30)))
    func exits() throws {
        let folder = try stores(2, bad: [1])
        for method in Self.methods {
            let outcome = try migrate(folder, failingIn: method.name, by: "exit")
            #expect(outcome.code == 70, "\(method.name): \(outcome.code) \(outcome.messages)")
            let line =
                "stagecoach: exit() was called in ExamplePolicies.ContactPolicy.\(method.name), stage \(method.stage), "
                + "entity mapping ContactToContact\(method.hasObject ? ", object Contact/p2" : ""). "
                + "A policy ends a run by throwing an error. The same command goes on from its last checkpoint\n"
            #expect(outcome.messages.hasSuffix(line), "\(method.name): \(outcome.messages)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
        }
        let good = try migrate(folder, failingIn: "none", by: "exit")
        #expect(good.code == 0, "\(good.messages)")
        let batch = try CommandBinary.run(
            ["batch", folder.file("1.sqlite"), folder.file("2.sqlite"), "--into", folder.file("out")] + options(),
            environment: ["FAIL_IN": "createDestinationInstances", "FAIL_BY": "exit"])
        #expect(batch.code == 65, "\(batch.output)\(batch.messages)")
        #expect(
            batch.output.contains("crashed 70  ") && batch.output.contains("exit() was called in "), "\(batch.output)")
    }

    @Test("What a policy throws is printed in its own words, with the place", .timeLimit(.minutes(30)))
    func errors() throws {
        let folder = try stores(1, bad: [1])
        for method in Self.methods {
            let outcome = try migrate(folder, failingIn: method.name, by: "NSError")
            #expect(outcome.code == 65)
            let place =
                "(entity mapping ContactToContact, entity Contact, "
                + (method.hasObject ? "object Contact/p2, " : "")
                + "policy ExamplePolicies.ContactPolicy.\(method.name)): The contact is damaged\nMend it.\n"
            #expect(outcome.messages.hasSuffix(place), "\(outcome.messages)")
            #expect(!outcome.messages.contains("Domain="))
        }
        let outcome = try migrate(folder, failingIn: "end", by: "LocalizedError")
        #expect(outcome.code == 65)
        #expect(
            outcome.messages.hasSuffix("): The licence has run out. It was for a year\nAsk for a new one.\n"),
            "\(outcome.messages)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
    }

    @Test("What a policy prints goes to standard error, beside the results of the command", .timeLimit(.minutes(30)))
    func prints() throws {
        let folder = try stores(2, bad: [])
        let single = try CommandBinary.run(
            ["migrate", folder.file("1.sqlite"), folder.file("new.sqlite"), "--json"] + options(),
            environment: ["TALK": "1"])
        #expect(single.code == 0, "\(single.messages)")
        #expect(try JSONSerialization.jsonObject(with: Data(single.output.utf8)) is [String: Any])
        #expect(single.messages.contains("making\n") && single.messages.contains("raw words\n"))
        let batch = try CommandBinary.run(
            ["batch", folder.file("1.sqlite"), folder.file("2.sqlite"), "--into", folder.file("out"), "--jobs", "2"]
                + options(), environment: ["TALK": "1"])
        #expect(batch.code == 0, "\(batch.output)\(batch.messages)")
        #expect(batch.output.split(separator: "\n").count { $0.hasPrefix("done ") } == 2, "\(batch.output)")
        #expect(!batch.output.contains("words") && batch.messages.contains("raw words\n"), "\(batch.output)")
    }

    @Test("A batch survives a crash, and tries the store last", .timeLimit(.minutes(30)), arguments: [1, 2])
    func batch(jobs: Int) throws {
        let folder = try stores(3, bad: [1])
        let into = folder.file("out")
        func batch(_ manner: String) throws -> CommandBinary.Outcome {
            try CommandBinary.run(
                ["batch"] + (1...3).map { folder.file("\($0).sqlite") }
                    + ["--into", into, "--jobs", "\(jobs)", "--memory-limit", Instrumentation.limit("400M")]
                    + options(),
                environment: ["FAIL_IN": "createDestinationInstances", "FAIL_BY": manner])
        }
        let first = try batch("null")
        #expect(first.code == 65, "\(first.output)\(first.messages)")
        let lines = first.output.split(separator: "\n").map(String.init)
        #expect(lines.count { $0.hasPrefix("done ") } == 2, "\(first.output)")
        let crash = lines.first { $0.hasPrefix("crashed 70  ") } ?? ""
        #expect(
            crash.hasSuffix(
                "SIGSEGV in ExamplePolicies.ContactPolicy.createDestinationInstances, stage create, "
                    + "entity mapping ContactToContact, object Contact/p2. The same command tries this store last"),
            "\(first.output)")
        let results = try String(contentsOfFile: into + "/batch.results.jsonl", encoding: .utf8)
        #expect(results.contains("\"status\":\"crashed\""), "\(results)")

        // The store that crashed comes after those that were not tried: one is new again.
        for name in ["2", "3"] { try FileManager.default.removeItem(atPath: "\(into)/\(name).sqlite") }
        let second = try batch("NSError")
        #expect(second.code == 65)
        let again = second.output.split(separator: "\n").map(String.init)
        if jobs == 1 {
            #expect(again[0].hasPrefix("done ") && again[1].hasPrefix("done "), "\(second.output)")
            #expect(again[2].hasPrefix("failed 65  ") && again[2].contains("The contact is damaged"))
        }
        let third = try batch("none at all")
        #expect(third.code == 65 && third.output.contains("crashed 70  "), "\(third.output)")
    }
}
