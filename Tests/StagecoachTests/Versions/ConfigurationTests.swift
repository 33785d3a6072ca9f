import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A store may be made for one configuration of its model: it has that configuration's tables and hashes only.
@Suite("Stores of one configuration")
struct ConfigurationTests {
    /// Notes and tags in one configuration, settings in the other; a setting refers to a note all the same.
    private static func version(
        _ title: String, local: [String]? = ["Setting"], extra: [EntityDefinition] = []
    ) throws -> ManagedObjectModel {
        let note = entity(
            "Note", [attribute(title, .string) { $0.renamingIdentifier = "text" }],
            [toMany("tags", "Tag", inverse: "notes")])
        let tag = entity("Tag", [attribute("name", .string)], [toMany("notes", "Note", inverse: "tags")])
        let setting = entity(
            "Setting", [attribute("key", .string), attribute(title, .string) { $0.renamingIdentifier = "text" }],
            [toOne("favorite", "Note")])
        var definition = ModelDefinition()
        definition.entities = [note, tag, setting] + extra
        definition.configurations = ["Cloud": ["Note", "Tag"]]
        definition.configurations["Local"] = local
        return try ManagedObjectModel(definition)
    }

    private static func store(_ part: ManagedObjectModel, in folder: TemporaryFolder) throws -> String {
        var store = ReferenceStore(model: part)
        store.insert("Setting", 4, ["key": .text("a"), "text": .text("x")])
        store.insert("Setting", 9, ["key": .text("b")])
        try store.write(path: folder.file("old.sqlite"))
        return folder.file("old.sqlite")
    }

    private static func tables(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        return try connection.firstColumn("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    }

    private static let fixed = ["Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY"]

    @Test("The model of a configuration has its entities, with the hashes that they have in the whole model")
    func restricted() throws {
        let whole = try Self.version("text")
        let part = try #require(whole.restricted(toConfiguration: "Local"))
        #expect(part.entities.map(\.definition.name) == ["Setting"])
        #expect(part.entity(named: "Setting")?.relationship(named: "favorite") == nil)
        #expect(part.entityVersionHashesByName["Setting"] == whole.entityVersionHashesByName["Setting"])
        #expect(part.whole === whole && part.restrictedConfigurations == ["Local"])
        #expect(whole.restricted(toConfiguration: "Cloud")?.entities.count == 2)
        #expect(whole.restricted(toConfiguration: "None") == nil)
        let all = try Self.version("text", local: ["Setting", "Note", "Tag"])
        #expect(all.restricted(toConfiguration: "Local") === all)
        let hashes = part.entityVersionHashesByName.mapValues { Array($0) }
        #expect(whole.fitting(storeHashes: hashes)?.restrictedConfigurations == ["Local"])
        #expect(whole.fitting(storeHashes: whole.entityVersionHashesByName.mapValues { Array($0) }) === whole)
        #expect(whole.fitting(storeHashes: ["Setting": [UInt8](repeating: 1, count: 32)]) == nil)
    }

    @Test("An entity's ancestors are in its configuration, whether the store's hashes name them or not")
    func ancestors() throws {
        var child = entity("Child", [attribute("x", .string)])
        child.superentityName = "Parent"
        var definition = ModelDefinition()
        definition.entities = [entity("Parent"), child, entity("Other")]
        definition.configurations = ["One": ["Child"]]
        let whole = try ManagedObjectModel(definition)
        let hashes = whole.entityVersionHashesByName.mapValues { Array($0) }
        for names in [["Child"], ["Child", "Parent"]] {
            let fitting = whole.fitting(storeHashes: hashes.filter { names.contains($0.key) })
            #expect(fitting?.entities.map(\.definition.name) == ["Child", "Parent"])
        }
    }

    @Test("A store of a configuration becomes one of the same configuration, entities outside it are not made")
    func migrates() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version("text")
        let new = try Self.version(
            "body", local: ["Setting", "Device"], extra: [entity("Device", [attribute("id", .uuid)])])
        let part = try #require(old.restricted(toConfiguration: "Local"))
        let source = try Self.store(part, in: folder)
        let route = try VersionRoute.find(
            from: ModelVersion(name: "1", model: part), to: ModelVersion(name: "2", model: new))
        #expect(route.steps.count == 1)
        let path = folder.file("new.sqlite")
        let chain = ChainedMigration(from: source, steps: route.steps, to: path)
        #expect(try chain.plan().runs[0].plan.models[0].entityMappings.map(\.destinationEntity).contains("Setting"))
        let report = try chain.run()
        #expect(report.counts.created["Setting"] == 2)
        #expect(try Self.tables(path) == ["ZDEVICE", "ZSETTING"] + Self.fixed)
        let found = try StoreVersion.find(store: path, bundle: nil)
        // The cached model is the whole one, as Core Data has it.
        #expect(found.evidence == .cachedModel && found.configurations == ["Local"])
        #expect(found.model.whole.entities.count == 4)
        let store = try SourceStore(path: path, cacheBytes: 1 << 16, valueLimit: 1 << 16, temporaryDirectory: nil)
        #expect(try StoreFidelity(of: store, model: found.model).differences == [])
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM ZSETTING WHERE ZBODY = 'x' AND Z_PK = 4") == 1)
    }

    @Test("Where the destination has no such configuration, the store becomes one of the whole model")
    func whole() throws {
        let folder = try TemporaryFolder()
        let part = try #require(try Self.version("text").restricted(toConfiguration: "Local"))
        let source = try Self.store(part, in: folder)
        let route = try VersionRoute.find(
            from: ModelVersion(name: "1", model: part),
            to: ModelVersion(name: "2", model: try Self.version("body", local: nil)))
        try ChainedMigration(from: source, steps: route.steps, to: folder.file("new.sqlite")).run()
        #expect(try Self.tables(folder.file("new.sqlite")).filter { !Self.fixed.contains($0) }.count == 4)
        #expect(try StoreVersion.find(store: folder.file("new.sqlite"), bundle: nil).configurations == [])
    }

    @Test("Stages list whole versions, and a store of a configuration goes through its part of them")
    func staged() throws {
        let folder = try TemporaryFolder()
        let versions = try [
            Self.version("text"), Self.version("body"),
            Self.version("words", local: ["Setting", "Device"], extra: [entity("Device", [attribute("id", .uuid)])]),
        ]
        let source = try Self.store(try #require(versions[0].restricted(toConfiguration: "Local")), in: folder)
        let checksums = try versions.map { try #require($0.versionChecksum) }
        let references = zip(versions, checksums).map {
            ManagedObjectModelReference(model: $0, versionChecksum: $1)
        }
        let custom = CustomMigrationStage(migratingFrom: references[1], to: references[2])
        custom.mappingModel = try .inferred(from: versions[1], to: versions[2])
        custom.mappingModel?.entityMappings.first { $0.destinationEntityName == "Setting" }?.attributeMappings?
            .first { $0.name == "words" }?.valueExpression = try NSExpression(parsing: "'new'")
        var seen: [[String]] = []
        custom.willMigrateHandler = { manager, _ in
            seen.append(try Self.tables(try #require(manager.storeURL).path))
            #expect(manager.model?.restrictedConfigurations == ["Local"])
        }
        custom.didMigrateHandler = { manager, _ in
            seen.append(try Self.tables(try #require(manager.storeURL).path))
        }
        let manager = StagedMigrationManager([LightweightMigrationStage(Array(checksums.prefix(2))), custom])
        manager.models = versions
        try manager.migrateStore(
            from: URL(fileURLWithPath: source), to: URL(fileURLWithPath: folder.file("new.sqlite")),
            destinationModel: versions[2])
        #expect(seen == [["ZSETTING"] + Self.fixed, ["ZDEVICE", "ZSETTING"] + Self.fixed])
        #expect(try Self.tables(folder.file("new.sqlite")) == ["ZDEVICE", "ZSETTING"] + Self.fixed)
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM ZSETTING WHERE ZWORDS = 'new'") == 2)
    }

    @Test("A mapping model for whole models is used as far as it concerns the configuration")
    func mapping() throws {
        let (old, new) = (try Self.version("text"), try Self.version("body"))
        let whole = try MappingModel.inferred(from: old, to: new)
        let parts = (
            try #require(old.restricted(toConfiguration: "Local")),
            try #require(new.restricted(toConfiguration: "Local"))
        )
        #expect(whole.restricted(from: old, to: new) === whole)
        let part = whole.restricted(from: parts.0, to: parts.1)
        #expect(part.entityMappings.map(\.destinationEntityName) == ["Setting"])
        #expect(part.entityMappings[0].relationshipMappings?.isEmpty == true)
        #expect(part.rulesOfTheSource == .warn)
    }
}
