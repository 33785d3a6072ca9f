import Foundation
import TestSupport
import Testing

/// The rule of the rooms: a file uses types of its own room and of those before it, and of the modules that its target
/// depends on. Closures that a lower room calls and a higher one gives are not found: no list of words tells them from others.
@Suite("Rooms")
struct RoomTests {
    /// The rooms of the module `Stagecoach`, each with what it is about. A room uses only those before it.
    private static let rooms = [
        // Paths, the work area and result files. Knows no migration.
        "Files",
        // Types that callers see: options, plan, report, progress, and the keys of Core Data.
        "API",
        // Mappings resolved to tables and columns, passes, links, costs.
        "Plan",
        // One run: inputs that never change, counts, services.
        "Run",
        // Reading the source: filters, folds, pairs of keys, streams.
        "Source",
        // The destination objects that source objects became.
        "Associations",
        // Attribute programs, values in cells, external values.
        "Values",
        // Links that mapping models declare, and changes that policies make.
        "Links",
        // Row rules, count rules, rejected objects.
        "Rules",
        // The run of one mapping model, and what it leaves for later ones.
        "Model",
        // Contexts, managed objects, rows that are still open, fetches.
        "Objects",
        // The policy and manager classes, and what their calls do.
        "Policies",
        // The journal. Loads and paths write it, so it comes before them.
        "Resume",
        // Rows and links into tables and join tables.
        "Load",
        // The two ways through a mapping model: with user code and without.
        "Paths",
        // The completion of the store, its history, its check, the notes of the report.
        "Publish",
        // `Migration`, which runs the stages.
        SourceRooms.screen,
        // Chains of versions and staged migration managers.
        "Versions",
        // The verification of a finished store.
        "Verification",
        // One object of a store, and what a migration makes of it.
        "Looking",
    ]

    /// The rooms of the other modules that have folders, in their order.
    private static let otherRooms = [
        "SpillStorage": [
            // Values of states as bytes.
            "States",
            // Memory limits and what the process takes.
            "Memory",
            // Calls of files, the work directory.
            "Files",
            // Blocks of compressed columns.
            "Blocks",
            // The journal of a run.
            "Journal",
            // Sets and numberings of keys.
            "Keys",
            // Sorted records of words.
            "Records",
            // Spilled rows.
            "Rows",
            // Sorted entries of bytes.
            "Entries",
            // Pairs of source and destination objects.
            "Associations",
        ],
        "CoreDataStore": [
            // Connections, files, names in SQL.
            "SQLite",
            // Core Data's tables, columns and indexes for a model.
            "Schema",
            // A store as it stands in its file: its layout, its rows.
            "Reading",
            // The forms, names and objects of the source's file that the destination keeps.
            "Carried",
            // A destination's rows, indexes and metadata.
            "Writing",
            // Values in files of their own.
            "External",
            // The comparison of a store with what Core Data would make.
            "Fidelity",
        ],
        "Mapping": [
            // Expressions and predicates: text, tree, program, value.
            "Expression",
            // Mapping models, entity mappings, property mappings.
            "Model",
            // Mapping models that nobody wrote.
            "Inference",
            // The check of expressions against the models.
            "Checking",
            // Files of mapping models.
            "Reading",
            // Two mapping models as one.
            "Composition",
        ],
        "StagecoachCommand": [
            // Streams, signals, errors in words.
            "Console",
            // Options and operands of the command line.
            "Arguments",
            // Stores, models, mapping models and policies that arguments name.
            "Inputs",
            // Policies of other platforms.
            "Porting",
            // The results of commands, for text and for JSON.
            "Outlines",
            // Results in words.
            "Wording",
            // Files of reports.
            "Reporting",
            // Progress while a command works.
            "Progress",
            // The manual page.
            "Manual",
            // Many stores.
            "Batch",
            // The commands.
            "Commands",
            // The command `demo`.
            "Demo",
            // Completions of shells.
            "Completion",
            // `Command`, which runs a command, and the process around it.
            SourceRooms.screen,
        ],
    ]

    /// The uses of later rooms that are allowed, each with its reason.
    private static let allowed: [SourceRooms.Finding] = [
        // `addPersistentStore`, Core Data's way to open a store, migrates it if its options ask for that.
        .init(
            kind: .use, file: "Objects/PersistentStoreCoordinator+Stores.swift", type: "AutomaticMigration",
            rooms: ["Objects", "Versions"]),
        // `migrateStore`, Core Data's own way to start a migration, is a method of the manager that policies see.
        .init(
            kind: .use, file: "Policies/MigrationManager.swift", type: "Migration",
            rooms: ["Policies", SourceRooms.screen]),
    ]

    private static var sources: URL { SharedStores.repository.appendingPathComponent("Sources") }

    @Test("No file of Stagecoach uses a type of a later room, or extends a type of another room")
    func rooms() throws {
        let module = SourceRooms(
            try SourceRooms.sources(in: Self.sources.appendingPathComponent("Stagecoach")), order: Self.rooms)
        #expect(module.unknownRooms.isEmpty)
        for finding in module.upwardUses.union(module.foreignExtensions).subtracting(Self.allowed) {
            Issue.record("\(finding.description)")
        }
        #expect(module.upwardUses.isSuperset(of: Self.allowed), "an exception that nothing needs any more")
    }

    @Test("No file of another module uses a type of a later room", arguments: otherRooms.keys.sorted())
    func order(inModule name: String) throws {
        let module = SourceRooms(
            try SourceRooms.sources(in: Self.sources.appendingPathComponent(name)), order: Self.otherRooms[name] ?? [])
        #expect(module.unknownRooms.isEmpty)
        // A file may extend a type of a room before its own: a reader of files adds itself to the model that it reads.
        for finding in module.upwardUses { Issue.record("\(name): \(finding.description)") }
    }

    @Test("The repository's top level has what belongs there, and nothing that a tool left")
    func topLevel() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: SharedStores.repository.path)
        let known = ["Package.swift", "Sources", "Tests", "Benchmarks", "Fixtures", "README.md", "LICENSE"]
        #expect(names.filter { !$0.hasPrefix(".") && !known.contains($0) } == [])
    }

    @Test("No file imports a module that its target does not depend on")
    func modules() throws {
        let package = try String(
            contentsOf: SharedStores.repository.appendingPathComponent("Package.swift"), encoding: .utf8)
        let dependencies = Self.dependencies(in: package)
        #expect(dependencies["Stagecoach"]?.contains("CoreDataStore") == true)
        for (module, allowed) in dependencies {
            let folder = Self.sources.appendingPathComponent(module)
            for (file, text) in try SourceRooms.sources(in: folder) {
                for name in Self.imports(in: text) where dependencies[name] != nil && !allowed.contains(name) {
                    Issue.record("\(module)/\(file) imports \(name), which is no dependency of \(module)")
                }
            }
        }
    }

    @Test("A use of a later room and an extension over rooms are found, whatever comments and texts say")
    func findings() {
        let lower = """
            // Upper is only mentioned: Upper
            struct Lower { let text = "Upper \\(Other.name)" }
            extension Upper { func walk() {} }
            private struct Hidden {}
            """
        let upper = """
            struct Upper { let lower: Lower; let hidden: Hidden }
            struct Other { static let name = #"Lower "# }
            """
        let pair = SourceRooms(["Down/Lower.swift": lower, "Up/Upper.swift": upper], order: ["Down", "Up"])
        #expect(
            Set(pair.upwardUses.map(\.description)) == [
                "Down/Lower.swift in room Down names Upper of room Up",
                "Down/Lower.swift in room Down names Other of room Up",
            ])
        #expect(
            pair.foreignExtensions.map(\.description) == ["Down/Lower.swift in room Down extends Upper of room Up"])
        let mentioned = SourceRooms(
            [
                "Down/Lower.swift": "/* Upper */ struct Lower { let text = \"Upper\" } // Upper",
                "Up/Upper.swift": upper,
            ],
            order: ["Down", "Up"])
        #expect(mentioned.upwardUses.isEmpty)
        #expect(SourceRooms(["Attic/A.swift": ""], order: ["Down"]).unknownRooms == ["Attic"])
    }

    /// Returns the dependencies of each target of a package with a folder in `Sources`.
    private static func dependencies(in package: String) -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        for target in package.matches(
            of: /\.(?:target|executableTarget|systemLibrary)\(\s*name: "(\w+)"(?:,\s*dependencies: \[([^\]]*)\])?/)
        {
            let names = (target.2 ?? "").matches(of: /"(\w+)"/).map { String($0.1) }
            found[String(target.1)] = Set(names)
        }
        return found
    }

    /// Returns the modules that a file imports.
    private static func imports(in text: String) -> [String] {
        text.matches(of: /(?m)^(?:@\w+ )?import (?:struct |class |enum |func )?(\w+)/).map { String($0.1) }
    }
}
