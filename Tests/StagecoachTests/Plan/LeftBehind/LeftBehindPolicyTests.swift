import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Data left behind on the policy path")
struct LeftBehindPolicyTests {
    private func words(_ manager: MigrationManager) -> [String] {
        (manager.report?.leftBehind?.lines ?? []).map(\.sentence)
    }

    private func run(_ fixture: PolicyFixture) throws -> MigrationManager {
        let manager = fixture.manager()
        try manager.migrateStore(
            from: URL(fileURLWithPath: fixture.sourcePath), type: .sqlite, mapping: fixture.mapping,
            to: URL(fileURLWithPath: fixture.folder.file("new.sqlite")), type: .sqlite)
        return manager
    }

    @Test("A property that no expression reads, of an entity whose policy is handed its objects")
    func handed() throws {
        let fixture = try PolicyFixture()
        let persons = try #require(fixture.mapping.entityMappingsByName["Persons"])
        persons.attributeMappings?.removeAll { $0.name == "age" }
        fixture.policy("Persons", .init())
        let manager = try run(fixture)
        #expect(
            words(manager) == [
                "Person.age, 6 values, is read by no expression; a policy may read it, which is not known"
            ])
        #expect(manager.report?.leftBehind?.isEmpty == true && manager.report?.leftBehind?.values == 0)
    }

    private final class NamingManager: MigrationManager {
        func name(_ object: Any?) -> String? {
            (object as? ManagedObject)?.value(forKey: "name") as? String
        }

        override func registerFunctions(_ functions: ExpressionFunctionTable) {
            functions.add("nameOf:", NamingManager.name)
        }
    }

    @Test("A function that an expression hands the object to")
    func function() throws {
        let fixture = try PolicyFixture()
        let persons = try #require(fixture.mapping.entityMappingsByName["Persons"])
        persons.attributeMappings?.removeAll { $0.name == "age" }
        persons.attributeMapping(named: "name")?.valueExpression = try ValueExpression(
            parsing: "FUNCTION($manager, 'nameOf:', $source)")
        var options = MigrationOptions()
        options.memoryRoom = 48 << 20
        let report = try Migration(
            from: fixture.sourcePath, model: fixture.source, mapping: fixture.mapping,
            to: fixture.folder.file("new.sqlite"), model: fixture.destination, options: options,
            manager: NamingManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        ).run()
        #expect(report.leftBehind?.lines.map(\.name) == ["Person.age", "Person.name"])
        #expect(report.leftBehind?.isEmpty == true)
    }

    @Test("Made and not associated is not dropped")
    func unassociated() throws {
        let fixture = try PolicyFixture()
        fixture.policy(
            "Persons",
            .init(create: { source, mapping, manager, standard in
                switch source.objectID.key {
                case 1: try standard()
                case 2: return
                default:
                    _ = EntityDescription.insertNewObject(
                        forEntityName: "Person", into: manager.destinationContext)
                }
            }))
        let manager = try run(fixture)
        let line = try #require(manager.report?.counts.mappings[0])
        #expect((line.migrated, line.droppedByPolicy, line.unassociated) == (1, 1, 4))
        #expect((line.created, line.createdByPolicy) == (5, 4))
    }
}
