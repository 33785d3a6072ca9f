import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Chains of versions")
struct ChainTests {
    /// Four versions: a title gets a default, is renamed, and an entity with links comes and is renamed.
    static func versions() throws -> [ModelVersion] {
        func renamed(_ name: String, from old: String, _ value: AttributeValue? = nil) -> AttributeDefinition {
            attribute(name, .string, default: value, required: value != nil) { $0.renamingIdentifier = old }
        }
        var tagged = entity("Label", [attribute("name", .string)], [toMany("books", "Book", inverse: "labels")])
        tagged.renamingIdentifier = "Tag"
        return try [
            model(entity("Book", [attribute("title", .string)])),
            model(entity("Book", [attribute("title", .string, default: .string("none"), required: true)])),
            model(
                entity(
                    "Book",
                    [
                        renamed("name", from: "title", .string("other")),
                        attribute("pages", .integer32, default: .integer(7)),
                    ],
                    [toMany("tags", "Tag", inverse: "books")]),
                entity("Tag", [attribute("name", .string)], [toMany("books", "Book", inverse: "tags")])),
            model(
                entity(
                    "Book",
                    [
                        renamed("heading", from: "name", .string("third")),
                        attribute("pages", .integer32, default: .integer(9)),
                    ],
                    [
                        {
                            var labels = toMany("labels", "Label", inverse: "books")
                            labels.renamingIdentifier = "tags"
                            return labels
                        }()
                    ]), tagged),
        ].enumerated().map { ModelVersion(name: "\($0.offset + 1)", model: $0.element) }
    }

    static func source(_ folder: TemporaryFolder, _ version: ModelVersion) throws -> String {
        var store = ReferenceStore(model: version.model)
        store.insert("Book", 3, ["title": .text("A")])
        store.insert("Book", 9)
        let path = folder.file("old.sqlite")
        try store.write(path: path)
        return path
    }

    static func inferred(_ from: ModelVersion, _ to: ModelVersion) throws -> MigrationStep {
        MigrationStep(from: from, to: to, mappingModels: [try .inferred(from: from.model, to: to.model)])
    }

    @Test("Inferred steps run as one migration, and defaults are those of the versions that gave them")
    func fused() throws {
        let versions = try Self.versions()
        let folder = try TemporaryFolder()
        let chain = ChainedMigration(
            from: try Self.source(folder, versions[0]),
            steps: try (0..<3).map { try Self.inferred(versions[$0], versions[$0 + 1]) }, to: folder.file("new.sqlite"))
        let plan = try chain.plan()
        #expect(plan.runs.count == 1 && plan.runs[0].steps.map(\.destination) == ["2", "3", "4"])
        #expect(!plan.runs[0].plan.models.isEmpty && chain.single != nil)
        let report = try chain.run()
        #expect(
            try StoreQuery.texts(
                "SELECT Z_PK || ZHEADING || ZPAGES FROM ZBOOK ORDER BY Z_PK", in: folder.file("new.sqlite"))
                == ["3A7", "9none7"])
        #expect(report.steps?.count == 1 && report.steps?[0].through == ["2", "3"])
        #expect(report.steps?[0].sourceVersion == "1" && report.steps?[0].destinationVersion == "4")
        #expect(report.counts.created["Book"] == 2)
    }

    @Test(
        "A step with a policy runs by itself; id map, report and progress are of the whole chain, nothing private stays"
    )
    func apart() throws {
        final class Shouting: EntityMigrationPolicy {
            override func createDestinationInstances(
                forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
            ) throws {
                try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
                let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
                made.first?.setValue("\(source.value(forKey: "title") ?? "")!", forKey: "name")
            }
        }
        let registry = PolicyRegistry()
        registry.register("ChainTests.Shouting") { Shouting() }
        let versions = try Self.versions()
        let folder = try TemporaryFolder()
        let custom = try MappingModel.inferred(from: versions[1].model, to: versions[2].model)
        let book = try #require(custom.entityMappings.first { $0.destinationEntityName == "Book" })
        book.entityMigrationPolicyClassName = "ChainTests.Shouting"
        let steps = try [
            Self.inferred(versions[0], versions[1]),
            MigrationStep(from: versions[1], to: versions[2], mappingModels: [custom], files: ["custom.json"]),
            Self.inferred(versions[2], versions[3]),
        ]
        var options = MigrationOptions()
        options.idMap = folder.file("ids.csv")
        let progress = ProgressCounter()
        let source = try Self.source(folder, versions[0])
        let chain = ChainedMigration(
            from: source, steps: steps, to: folder.file("new.sqlite"), options: options, progress: progress)
        chain.policies = registry
        let plan = try chain.plan()
        #expect(plan.runs.count == 3 && chain.single == nil)
        #expect(plan.runs.map { $0.obstacle == nil } == [false, false, true])
        #expect(plan.runs[0].obstacle?.contains("policy") == true)
        let report = try chain.run()
        #expect(
            try StoreQuery.texts("SELECT ZHEADING FROM ZBOOK ORDER BY Z_PK", in: folder.file("new.sqlite")) == [
                "A!", "none!",
            ])
        #expect(report.steps?.count == 3 && report.source == source && report.isStaged)
        #expect(progress.snapshot.fraction == 1 && progress.snapshot.steps == 3)
        let ids = try String(contentsOfFile: folder.file("ids.csv"), encoding: .utf8)
        #expect(ids.contains("Book,3,Book,1\n") && ids.contains("Book,9,Book,2\n"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                == ["ids.csv", "new.sqlite", "old.sqlite"])
    }

    @Test("A chain reads and writes its own folder, also if another one with a forged store takes its name")
    func exchanged() throws {
        final class Exchanging: EntityMigrationPolicy {
            override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
                let place = try #require(mapping.userInfo?["place"] as? String)
                let forged = try #require(mapping.userInfo?["forged"] as? String)
                try FileManager.default.moveItem(atPath: place, toPath: place + "-moved")
                try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
                try FileManager.default.copyItem(atPath: forged, toPath: place + "/step-1.sqlite")
            }
        }
        let folder = try TemporaryFolder()
        let versions = try Self.versions()
        let custom = try MappingModel.inferred(from: versions[1].model, to: versions[2].model)
        let book = try #require(custom.entityMappings.first { $0.destinationEntityName == "Book" })
        let place = folder.file(".new.sqlite.stagecoach-chain")
        book.entityMigrationPolicyClassName = "ChainTests.Exchanging"
        book.userInfo = ["place": place, "forged": folder.file("forged.sqlite")]
        var forged = ReferenceStore(model: versions[2].model)
        forged.insert("Book", 4, ["name": .text("Forged")])
        try forged.write(path: folder.file("forged.sqlite"))
        let steps = try [
            MigrationStep(from: versions[1], to: versions[2], mappingModels: [custom], files: ["custom.json"]),
            Self.inferred(versions[2], versions[3]),
        ]
        var store = ReferenceStore(model: versions[1].model)
        store.insert("Book", 3, ["title": .text("A")])
        try store.write(path: folder.file("old.sqlite"))
        let chain = ChainedMigration(from: folder.file("old.sqlite"), steps: steps, to: folder.file("new.sqlite"))
        let registry = PolicyRegistry()
        registry.register("ChainTests.Exchanging") { Exchanging() }
        chain.policies = registry
        let report = try chain.run()
        #expect(report.steps?.count == 2 && report.destination == folder.file("new.sqlite"))
        #expect(try StoreQuery.texts("SELECT ZHEADING FROM ZBOOK", in: folder.file("new.sqlite")) == ["A"])
        // The other folder is left as it is, and nothing stays in the chain's own.
        #expect(try FileManager.default.contentsOfDirectory(atPath: place) == ["step-1.sqlite"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: place + "-moved").isEmpty)
    }

    @Test("An error names the step and the user's files, and nothing stays")
    func failing() throws {
        let versions = try [
            model(entity("A", [attribute("x", .string)])),
            model(entity("A", [attribute("x", .string, required: true)])),
            model(entity("A", [attribute("y", .string)])),
        ].enumerated().map { ModelVersion(name: "v\($0.offset)", model: $0.element) }
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: versions[0].model)
        store.insert("A", 1)
        try store.write(path: folder.file("old.sqlite"))
        let steps = try (0..<2).map { try Self.inferred(versions[$0], versions[$0 + 1]) }
        let chain = ChainedMigration(from: folder.file("old.sqlite"), steps: steps, to: folder.file("new.sqlite"))
        // The middle version demands what the last one does not.
        #expect(try chain.plan().runs.count == 2)
        let error = try #require(throws: MigrationError.self) { try chain.run() }
        #expect(error.code == "validation.missing" && error.message.hasPrefix("Step 1 of 2, v0 → v1: "))
        #expect(!error.description.contains("stagecoach-chain"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["old.sqlite"])
        let check = try chain.check()
        #expect(check.version == "v1" && check.report.violations.map(\.property) == ["x"])
        var options = MigrationOptions()
        options.onInvalid = .reject
        options.rejectFile = folder.file("rejects.jsonl")
        let rejecting = ChainedMigration(
            from: folder.file("old.sqlite"), steps: steps, to: folder.file("new.sqlite"), options: options)
        #expect(try rejecting.run().rejects?.objects == 1)
        #expect(try String(contentsOfFile: folder.file("rejects.jsonl"), encoding: .utf8).contains("A/p1"))
        #expect(try StoreQuery.texts("SELECT count(*) FROM ZA", in: folder.file("new.sqlite")) == ["0"])
    }

    @Test("An existing destination is refused before the first step")
    func standing() throws {
        let versions = try Self.versions()
        let folder = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: folder.file("new.sqlite")))
        let chain = ChainedMigration(
            from: try Self.source(folder, versions[0]),
            steps: try (0..<3).map { try Self.inferred(versions[$0], versions[$0 + 1]) }, to: folder.file("new.sqlite"))
        chain.fusesSteps = false
        let error = try #require(throws: MigrationError.self) { try chain.run() }
        #expect(error.code == "destination.exists" && !error.message.contains("Step"))
    }

    @Test("Later steps' rejects name objects of the chain's source, and every migration has its plan")
    func laterRejects() throws {
        let versions = try [
            model(entity("A", [attribute("x", .string)])), model(entity("A", [attribute("y", .string)])),
            model(entity("B", [attribute("y", .string, required: true)])),
        ].enumerated().map { ModelVersion(name: "v\($0.offset)", model: $0.element) }
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: versions[0].model)
        store.insert("A", 3, ["x": .text("here")])
        store.insert("A", 9)
        try store.write(path: folder.file("old.sqlite"))
        let steps = [
            MigrationStep(
                from: versions[0], to: versions[1],
                mappingModels: [mappings(try mapping("Near", "A", "A", ["y": "$source.x"]))]),
            MigrationStep(
                from: versions[1], to: versions[2],
                mappingModels: [mappings(try mapping("Far", "A", "B", ["y": "$source.y"]))]),
        ]
        var options = MigrationOptions()
        options.keys = .sequential
        options.onInvalid = .reject
        options.rejectFile = folder.file("rejects.jsonl")
        let chain = ChainedMigration(
            from: folder.file("old.sqlite"), steps: steps, to: folder.file("new.sqlite"), options: options)
        let plan = try chain.plan()
        #expect(plan.runs.map { $0.plan.models[0].entityMappings.map(\.sourceRows) } == [[2], [2]])
        #expect(plan.runs[1].plan.models[0].tables.map(\.rootEntity) == ["B"])
        let check = try chain.check()
        #expect(check.report.violations.flatMap(\.samples).map(\.sourceID) == ["A/p9"])
        let report = try chain.run()
        #expect(report.rejects?.objects == 1 && report.rejects?.sample.map(\.sourceID) == ["A/p9"])
        let lines = try String(contentsOfFile: folder.file("rejects.jsonl"), encoding: .utf8)
        #expect(lines.contains("\"id\":\"B/p2\",\"sourceID\":\"A/p9\""), "\(lines)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                == ["new.sqlite", "old.sqlite", "rejects.jsonl"])
    }
}
