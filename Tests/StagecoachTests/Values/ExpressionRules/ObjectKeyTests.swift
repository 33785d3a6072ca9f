import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Keys of the manager, of mappings, models, entities and object ids: what Core Data's objects give.
@Suite("Keys of objects that are no managed objects")
struct ObjectKeyTests {
    private static let old = [attribute("s", .string)]
    private static let new = [
        attribute("text", .string), attribute("number", .integer32), attribute("uri", .uri),
        attribute("flag", .boolean),
    ]

    private static func trial(_ property: String, _ expression: String) throws -> ExpressionTrial {
        let trial = try ExpressionTrial(old: old, new: new, rows: [["s": .text("a")], [:]], [property: expression])
        trial.item.userInfo = ["currency": "EUR", "list": [1, 2]]
        trial.item.attributeMapping(named: property)?.userInfo = ["unit": "m"]
        return trial
    }

    /// Property, expression, and the value of both rows.
    static let values: [(String, String, ReferenceValue)] = [
        ("text", "$manager.currentEntityMapping.name", .text("ItemToItem")),
        ("text", "FUNCTION($manager, 'currentEntityMapping').name", .text("ItemToItem")),
        ("text", "FUNCTION(FUNCTION($manager, 'currentEntityMapping'), 'name')", .text("ItemToItem")),
        ("text", "FUNCTION($manager, 'valueForKeyPath:', 'currentEntityMapping.name')", .text("ItemToItem")),
        ("text", "$entityMapping.userInfo.currency", .text("EUR")),
        ("text", "FUNCTION($entityMapping.userInfo, 'objectForKey:', 'currency')", .text("EUR")),
        ("text", "$entityMapping.userInfo.missing", .null),
        ("text", "$propertyMapping.userInfo.unit", .text("m")),
        ("text", "$propertyMapping.name", .text("text")),
        ("text", "$entityMapping.sourceEntityName", .text("Item")),
        ("text", "$entityMapping.entityMigrationPolicyClassName", .null),
        ("number", "$entityMapping.mappingType", .integer(5)),
        ("number", "$entityMapping.attributeMappings.@count", .integer(1)),
        ("number", "$manager.mappingModel.entityMappings.@count", .integer(2)),
        ("text", "$manager.mappingModel.entityMappingsByName.KidToKid.destinationEntityName", .text("Kid")),
        ("flag", "'Kid' IN $manager.sourceModel.entities.name", .integer(1)),
        ("text", "$manager.destinationModel.entitiesByName.Kid.managedObjectClassName", .text("NSManagedObject")),
        ("number", "$manager.sourceModel.entitiesByName.Kid.attributesByName.n.attributeType", .integer(200)),
        ("flag", "$manager.sourceModel.entitiesByName.Item.relationshipsByName.kids.isToMany", .integer(1)),
        ("text", "$source.entity.name", .text("Item")), ("text", "FUNCTION($source, 'entity').name", .text("Item")),
        ("flag", "$source.entity.isAbstract", .integer(0)),
    ]

    @Test("A key gives what Core Data's object has, on both paths, and the verification computes it", arguments: values)
    func value(property: String, expression: String, expected: ReferenceValue) throws {
        for usesRows in [true, false] {
            let trial = try Self.trial(property, expression)
            trial.options.usesStoreSpecificMigrationManager = usesRows
            let store = try trial.run()
            #expect(store.column("Item", property) == [1: expected, 2: expected])
            let report = try trial.verify()
            #expect(report.isEqual && report.notRecomputed.isEmpty, "\(report.differences) \(report.notRecomputed)")
        }
    }

    @Test("A policy's default creation sees the mapping at work")
    func policy() throws {
        let trial = try Self.trial("text", "$manager.currentEntityMapping.name")
        trial.item.entityMigrationPolicyClassName = "Plain"
        trial.change = { $0.policies.register("Plain") { EntityMigrationPolicy() } }
        #expect(try trial.run().column("Item", "text") == [1: .text("ItemToItem"), 2: .text("ItemToItem")])
    }

    @Test("A filter may ask for the mapping at work")
    func filter() throws {
        let trial = try Self.trial("text", "$source.s")
        trial.item.sourceFilter = try SourcePredicate(
            format: "$manager.currentEntityMapping.userInfo.currency == 'EUR' AND s != nil")
        #expect(try trial.run().keys("Item") == [1])
        #expect(try trial.verify().isEqual)
    }

    @Test(
        "An object's address is kept as text and as URI",
        arguments: [
            "$source.objectID.URIRepresentation", "FUNCTION(FUNCTION($source, 'objectID'), 'URIRepresentation')",
            "FUNCTION($source.objectID, 'URIRepresentation')",
        ])
    func address(expression: String) throws {
        for (property, text) in [("uri", expression), ("text", "\(expression).absoluteString")] {
            let trial = try Self.trial(property, text)
            let store = try trial.run()
            let uuid = try ReferenceStore.read(path: trial.sourcePath, model: trial.source).uuid
            #expect(
                store.column("Item", property) == [
                    1: .text("x-coredata://\(uuid)/Item/p1"), 2: .text("x-coredata://\(uuid)/Item/p2"),
                ])
            let report = try trial.verify()
            #expect(report.isEqual && report.notRecomputed.isEmpty, "\(report.differences) \(report.notRecomputed)")
        }
    }

    @Test(
        "What has no such key is refused before anything runs, by a policy's mapping too",
        arguments: [
            "$manager.mappingModel.foo", "$manager.currentEntityMapping.foo", "$entityMapping.foo",
            "$source.objectID.foo",
            "$source.entity.foo", "$manager.foo", "FUNCTION($entityMapping, 'foo')", "$manager.sourceContext.foo",
        ])
    func unknown(expression: String) throws {
        for policy in [nil, "Plain"] {
            let trial = try Self.trial("text", expression)
            trial.item.entityMigrationPolicyClassName = policy
            trial.change = { $0.policies.register("Plain") { EntityMigrationPolicy() } }
            let error = #expect(throws: MigrationError.self) { try trial.run() }
            #expect(error?.category == .configuration, "\(error?.description ?? "")")
            #expect(!FileManager.default.fileExists(atPath: trial.destinationPath))
        }
    }

    @Test("Errors of a row name its object in one form")
    func objectNames() throws {
        for condition in ["FUNCTION($source.s, 'substringToIndex:', 9) == 'x'", "CAST($source.s, 'NSNumber') == 5"] {
            let trial = try Self.trial("number", "TERNARY(\(condition), 1, 2)")
            let error = #expect(throws: MigrationError.self) { try trial.run() }
            #expect(error?.category == .data && error?.context.objectID == "Item/p1", "\(error?.description ?? "")")
        }
    }
}
