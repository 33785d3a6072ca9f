import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Chains: objects in errors, and saved plans")
struct ChainOriginTests {
    /// Three versions: the last demands what the first does not, and entities are renamed on the way.
    private static func versions() throws -> [ModelVersion] {
        try [
            model(entity("A", [attribute("x", .string)])), model(entity("A", [attribute("y", .string)])),
            model(entity("B", [attribute("y", .string, required: true)])),
        ].enumerated().map { ModelVersion(name: "v\($0.offset)", model: $0.element) }
    }

    private static func source(_ folder: TemporaryFolder, _ version: ModelVersion) throws -> String {
        var store = ReferenceStore(model: version.model)
        store.insert("A", 3, ["x": .text("here")])
        store.insert("A", 9)
        try store.write(path: folder.file("old.sqlite"))
        return folder.file("old.sqlite")
    }

    private static func steps(_ versions: [ModelVersion]) throws -> [MigrationStep] {
        [
            MigrationStep(
                from: versions[0], to: versions[1],
                mappingModels: [mappings(try mapping("Near", "A", "A", ["y": "$source.x"]))]),
            MigrationStep(
                from: versions[1], to: versions[2],
                mappingModels: [mappings(try mapping("Far", "A", "B", ["y": "$source.y"]))]),
        ]
    }

    @Test("A later step's error names the object of the chain's source", arguments: [KeyChoice.auto, .sequential])
    func later(keys: KeyChoice) throws {
        let versions = try Self.versions()
        let folder = try TemporaryFolder()
        var options = MigrationOptions()
        options.keys = keys
        let chain = ChainedMigration(
            from: try Self.source(folder, versions[0]), steps: try Self.steps(versions), to: folder.file("new.sqlite"),
            options: options)
        chain.fusesSteps = false
        let error = try #require(throws: MigrationError.self) { try chain.run() }
        #expect(error.code == "validation.missing" && error.message.hasPrefix("Step 2 of 2"))
        #expect(error.message.contains("(source object A/p9)") && error.context.sourceObjectID == "A/p9")
        #expect(error.context.objectID == (keys == .auto ? "B/p9" : "B/p2"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["old.sqlite"])
    }

    @Test("Where two entities share a table, the source's own entity is named")
    func shared() throws {
        let old = try model(
            entity("P"), entity("A", parent: "P", [attribute("x", .string)]),
            entity("B", parent: "P", [attribute("x", .string)]))
        let middle = try model(entity("C", [attribute("x", .string)]))
        let new = try model(entity("C", [attribute("x", .string, required: true)]))
        let versions = [old, middle, new].enumerated().map { ModelVersion(name: "v\($0.offset)", model: $0.element) }
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: old)
        store.insert("A", 1, ["x": .text("one")])
        store.insert("B", 2)
        try store.write(path: folder.file("old.sqlite"))
        let chain = ChainedMigration(
            from: folder.file("old.sqlite"),
            steps: [
                MigrationStep(
                    from: versions[0], to: versions[1],
                    mappingModels: [
                        mappings(
                            try mapping("AC", "A", "C", ["x": "$source.x"]),
                            try mapping("BC", "B", "C", ["x": "$source.x"]))
                    ]),
                MigrationStep(
                    from: versions[1], to: versions[2],
                    mappingModels: [mappings(try mapping("CC", "C", "C", ["x": "$source.x"]))]),
            ], to: folder.file("new.sqlite"))
        chain.fusesSteps = false
        let error = try #require(throws: MigrationError.self) { try chain.run() }
        #expect(error.message.contains("(source object B/p2)"), "\(error)")
    }

    @Test("A value that cannot be computed in a later step is told by the first source's object")
    func value() throws {
        let versions = try [
            model(entity("A", [attribute("x", .integer32)])), model(entity("M", [attribute("x", .integer32)])),
            model(entity("B", [attribute("x", .integer16)])),
        ].enumerated().map { ModelVersion(name: "v\($0.offset)", model: $0.element) }
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: versions[0].model)
        store.insert("A", 4, ["x": .integer(70_000)])
        try store.write(path: folder.file("old.sqlite"))
        let chain = ChainedMigration(
            from: folder.file("old.sqlite"),
            steps: [
                MigrationStep(
                    from: versions[0], to: versions[1],
                    mappingModels: [mappings(try mapping("AM", "A", "M", ["x": "$source.x"]))]),
                MigrationStep(
                    from: versions[1], to: versions[2],
                    mappingModels: [mappings(try mapping("MB", "M", "B", ["x": "$source.x"]))]),
            ], to: folder.file("new.sqlite"))
        chain.fusesSteps = false
        let error = try #require(throws: MigrationError.self) { try chain.run() }
        #expect(error.context.objectID == "A/p4", "\(error)")
    }

    @Test("A chain's plan is saved, run, and refused when it no longer fits")
    func plans() throws {
        let versions = try Self.versions()
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: versions[0].model)
        for key in 1...3 { store.insert("A", Int64(key), ["x": .text("t\(key)")]) }
        try store.write(path: folder.file("old.sqlite"))
        func chain(_ name: String, _ steps: [MigrationStep]? = nil) throws -> ChainedMigration {
            let chain = ChainedMigration(
                from: folder.file("old.sqlite"), steps: try steps ?? Self.steps(versions), to: folder.file(name))
            chain.fusesSteps = false
            return chain
        }
        let saved = try chain("new.sqlite").plan().json()
        var plan = try #require(try ChainPlan.read(json: Data(saved.utf8)))
        #expect(
            plan.runs.count == 2 && plan.runs[0].plan.inputs.source != nil && plan.runs[1].plan.inputs.source == nil)
        #expect(try plan.json() == saved)
        #expect(try ChainPlan.read(json: Data(try plan.runs[0].plan.json().utf8)) == nil)

        // Keys of the second table are changed by hand, and the run does it.
        plan.runs[1].plan.models[0].tables[0].keys = .sequential
        let running = try chain("new.sqlite")
        running.savedPlan = plan
        let report = try running.run()
        #expect(report.keys["B"] == "sequential" && report.counts.created["B"] == 3)

        // Without being told, the plan says which steps are fused.
        let fusing = try chain("fused.sqlite")
        fusing.fusesSteps = true
        fusing.savedPlan = try ChainPlan.read(json: Data(saved.utf8))
        #expect(try fusing.run().steps?.count == 2)

        // Other mapping models, fewer steps, another source.
        let other = try chain(
            "other.sqlite",
            [
                try Self.steps(versions)[0],
                MigrationStep(
                    from: versions[1], to: versions[2],
                    mappingModels: [mappings(try mapping("Far", "A", "B", ["y": "'fixed'"]))]),
            ])
        other.savedPlan = plan
        let changed = try #require(throws: MigrationError.self) { try other.run() }
        #expect(changed.code == "plan.outdated" && changed.message.contains("Far changed"))
        let shorter = try chain("short.sqlite", [try Self.steps(versions)[0]])
        shorter.savedPlan = plan
        #expect(throws: MigrationError.self) { try shorter.run() }
        let connection = try Connection(path: folder.file("old.sqlite"), flags: 2)
        try connection.execute("UPDATE ZA SET ZX = 'changed'")
        try connection.close()
        let stale = try chain("stale.sqlite")
        stale.savedPlan = plan
        let outdated = try #require(throws: MigrationError.self) { try stale.run() }
        #expect(outdated.code == "plan.outdated" && outdated.message.contains("the source: it was written since"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("stale.sqlite")))
    }
}
