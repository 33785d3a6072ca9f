import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// SwiftData stores of one app's history, each migrated to the version of each other one.
@Suite("Composite attributes of real stores", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealCompositeTests {
    private static let names = ["019f6b62", "146fb67d", "4880ec31", "49289acb", "b1b50c05"]

    private static func path(_ name: String) -> URL {
        SharedStores.url.appendingPathComponent("metacocktails/\(name).store")
    }

    private static func model(_ path: String) throws -> ManagedObjectModel {
        let store = try SourceStore(path: path, cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
        return try #require(try store.cachedModel())
    }

    /// A column by key, as SQL quotes it.
    private static func column(
        _ connection: Connection, _ model: ManagedObjectModel, _ attribute: AttributeDescription
    ) throws -> [String] {
        let schema = StoreSchema(model: model)
        let table = schema.tables[schema.tableByEntity[attribute.declaringEntityIndex]]
        let column = try #require(schema.column(of: attribute))
        return try connection.firstColumn(
            "SELECT Z_PK || ' ' || quote(\"\(table.columns[column].name)\") FROM \"\(table.name)\" ORDER BY Z_PK")
    }

    /// A version whose new required attributes without a default are optional: Core Data refuses them (134110), for want of a
    /// value for existing objects. They are no elements of composites.
    private static func relaxed(_ model: ManagedObjectModel, from old: ManagedObjectModel) throws -> ManagedObjectModel
    {
        var definition = model.definition
        for (entity, found) in definition.entities.enumerated() {
            for (position, attribute) in found.attributes.enumerated()
            where attribute.type != .composite && old.entity(named: found.name)?.attribute(named: attribute.name) == nil
            {
                definition.entities[entity].attributes[position].isOptional = true
            }
        }
        return try ManagedObjectModel(definition)
    }

    private static func statements(_ connection: Connection) throws -> [String] {
        return try connection.firstColumn(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name NOT IN ('ACHANGE', 'ATRANSACTION', "
                + "'ATRANSACTIONSTRING') ORDER BY name")
    }

    @Test("Every value of every composite is kept, and verification finds nothing", arguments: names, names)
    func everyPair(old: String, new: String) throws {
        let folder = try TemporaryFolder()
        let source = try folder.copyStore(Self.path(old))
        let other = try TemporaryFolder()
        let from = try Self.model(source)
        let to = try Self.relaxed(try Self.model(try other.copyStore(Self.path(new))), from: from)
        let mapping = try MappingModel.inferred(from: from, to: to)
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.fullCheck = true
        let migration = Migration(
            from: source, model: from, mapping: mapping, to: folder.file("new.sqlite"), model: to, options: options)
        try migration.run()
        #expect(try StoreVerification(migration).run().differences.isEmpty)
        let before = try Connection(path: source, flags: SQLITE_OPEN_READWRITE)
        let after = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        var compared = 0
        for entity in to.entities {
            for attribute in entity.attributes where attribute.name.contains(".") {
                guard let origin = from.entity(named: entity.definition.name)?.attribute(named: attribute.name) else {
                    continue
                }
                #expect(
                    try Self.column(before, from, origin) == Self.column(after, to, attribute), "\(attribute.name)")
                compared += 1
            }
        }
        #expect(compared >= 20)
        if old == new { #expect(try Self.statements(before) == Self.statements(after)) }
    }

    @Test("A SwiftData store without composites keeps its tables as well")
    func cartkit() throws {
        let folder = try TemporaryFolder()
        let source = try folder.copyStore(
            SharedStores.url.appendingPathComponent("cartkit/CartKitSwiftData_v1.sqlite"))
        let model = try Self.model(source)
        let migration = Migration(
            from: source, model: model, mapping: try .inferred(from: model, to: model), to: folder.file("new.sqlite"),
            model: model)
        try migration.run()
        #expect(try StoreVerification(migration).run().differences.isEmpty)
        let before = try Connection(path: source, flags: SQLITE_OPEN_READWRITE)
        let after = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try Self.statements(before) == Self.statements(after))
    }

    @Test("Composites of Xcode's models are read, laid out and migrated")
    func models() throws {
        for name in ["CoreDataEvolutionIntegrationModel", "GeneratedFlowModel"] {
            let folder = try TemporaryFolder()
            let file = SharedStores.url.appendingPathComponent("composite-models/\(name).contents")
            let model = try ModelXMLReader.readModel(Data(contentsOf: file), path: "contents")
            #expect(model.entityVersionHashesByName.count == model.entities.count)
            let entity = try #require(model.entities.first { !$0.composites.isEmpty })
            let location = try #require(entity.attributesByName["location"])
            let path = folder.file("old.sqlite")
            try ReferenceStore.make(model) { store in
                store.insert(
                    entity.definition.name, 1,
                    ["location.\(location.elements[0].name)": .real(1.5), "name": .text("a")])
                store.insert(entity.definition.name, 2, ["name": .text("b")])
            }.write(path: path)
            let migration = Migration(
                from: path, model: model, mapping: try .inferred(from: model, to: model),
                to: folder.file("new.sqlite"), model: model)
            try migration.run()
            #expect(try StoreVerification(migration).run().differences.isEmpty)
        }
    }
}
