import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Verification of objects that policies make, without and with a second run of the policies.
@Suite("Verification of what policies make") struct VerificationPolicyTests {
    /// Splits a name, gives each person a badge, and links the two.
    private final class PersonPolicy: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            let context = manager.destinationContext
            let person = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
            person.setValue((source.value(forKey: "name") as? String)?.uppercased(), forKey: "name")
            let badge = NSEntityDescription.insertNewObject(forEntityName: "Badge", into: context)
            badge.setValue(source.value(forKey: "name"), forKey: "text")
            person.setValue(badge, forKey: "badge")
            manager.associate(sourceInstance: source, withDestinationInstance: person, for: mapping)
        }
    }

    /// Stamps what it makes with a new UUID.
    private final class StampingPolicy: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let made = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source]
            ).first
            made?.setValue(UUID().uuidString, forKey: "name")
        }
    }

    private final class Fixture {
        let folder: TemporaryFolder
        let source: ManagedObjectModel
        let destination: ManagedObjectModel
        let path: String
        let manager: MigrationManager
        let mapping: MappingModel

        init(_ policy: String = "Persons") throws {
            folder = try TemporaryFolder()
            source = try model(
                entity("Person", [attribute("name", .string)], [toMany("tags", "Tag", inverse: "person")]),
                entity("Tag", [attribute("word", .string)], [toOne("person", "Person", inverse: "tags")]),
                entity("Place", [attribute("name", .string)]))
            destination = try model(
                entity(
                    "Person", [attribute("name", .string)],
                    [toMany("tags", "Tag", inverse: "person"), toOne("badge", "Badge", inverse: "person")]),
                entity("Badge", [attribute("text", .string)], [toOne("person", "Person", inverse: "badge")]),
                entity("Tag", [attribute("word", .string)], [toOne("person", "Person", inverse: "tags")]),
                entity("Place", [attribute("name", .string)]))
            path = folder.file("old.sqlite")
            try ReferenceStore.make(source) { store in
                for key in 1...5 as ClosedRange<Int64> {
                    store.insert("Person", key, ["name": .text("person \(key)")])
                    store.insert("Tag", key, ["word": .text("tag \(key)")], toOne: ["person": key])
                    store.insert("Place", key, ["name": .text("place \(key)")])
                }
            }.write(path: path)
            mapping = mappings(
                try StagecoachTests.mapping("Persons", "Person", "Person", policy: policy),
                try StagecoachTests.mapping(
                    "Tags", "Tag", "Tag", ["word": "$source.word"],
                    relationships: ["person": by("Persons", "$source.person")]),
                try StagecoachTests.mapping("Places", "Place", "Place", ["name": "$source.name"]))
            manager = MigrationManager(sourceModel: source, destinationModel: destination)
            manager.policies = PolicyRegistry()
            manager.policies.register("Persons") { PersonPolicy() }
            manager.policies.register("Stamping") { StampingPolicy() }
            try migration.run()
        }

        var migration: Migration {
            var options = MigrationOptions()
            options.memoryRoom = 64 << 20
            options.fullCheck = true
            return Migration(
                from: path, model: source, mapping: mapping, to: folder.file("new.sqlite"), model: destination,
                options: options, manager: manager)
        }

        func verify(rerun: Bool) throws -> VerificationReport {
            let verification = StoreVerification(migration)
            verification.runsPolicies = rerun
            return try verification.run()
        }

        func change(_ sql: String) throws {
            let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
            try connection.execute(sql)
            try connection.close()
        }
    }

    @Test("The report says which objects were recomputed, and which were not, and why")
    func coverage() throws {
        let report = try Fixture().verify(rerun: false)
        #expect(report.differences == [])
        #expect(!report.isComplete && !report.ranPolicies)
        let lines = report.compared.entities.map {
            "\($0.entity) \($0.mappings) \($0.recomputed) \($0.rerun) \($0.checked) \($0.reason ?? "-")"
        }
        #expect(
            lines == [
                "Badge [] 0 0 5 a policy made them", "Person [\"Persons\"] 0 0 5 a policy made them",
                "Place [\"Places\"] 5 0 0 -", "Tag [\"Tags\"] 5 0 0 -",
            ])
        #expect(report.compared.objects == 20 && report.compared.recomputed == 10 && report.compared.checked == 10)
        let encoded = try JSONEncoder().encode(report)
        let object = try #require(try JSONSerialization.jsonObject(with: encoded) as? [String: Any])
        let compared = try #require(object["compared"] as? [String: Any])
        #expect(compared["recomputed"] as? Int == 10 && compared["checked"] as? Int == 10)
        #expect(try JSONDecoder().decode(VerificationReport.self, from: encoded).compared == report.compared)
    }

    @Test("Where the policies run again, all that they made is compared")
    func rerun() throws {
        let fixture = try Fixture()
        let report = try fixture.verify(rerun: true)
        #expect(report.differences == [])
        #expect(report.ranPolicies && report.compared.rerun == 10 && report.compared.checked == 0)
        #expect(report.notes.contains { $0.contains("trusts the policies") })
        let relationships = report.notRecomputed.filter { $0.subject.contains(".") && !$0.isRerun }
        #expect(relationships == [])
    }

    static let damages: [(String, String)] = [
        ("UPDATE ZPERSON SET ZNAME = 'wrong' WHERE Z_PK = 2", "value Person/p2 name"),
        ("UPDATE ZBADGE SET ZTEXT = 'wrong' WHERE Z_PK = 3", "value Badge/p3 text"),
        (
            "DELETE FROM ZBADGE WHERE Z_PK = 5; UPDATE ZPERSON SET ZBADGE = NULL WHERE Z_PK = 5",
            "missingObject Badge/p5 "
        ),
        ("INSERT INTO ZBADGE (Z_PK, Z_ENT, Z_OPT) VALUES (9, 1, 1)", "extraObject Badge/p9 "),
        ("UPDATE ZTAG SET ZPERSON = 1 WHERE Z_PK = 2", "relationship Tag/p2 person"),
        ("UPDATE ZPERSON SET Z_OPT = 7 WHERE Z_PK = 1", "lock Person/p1 Z_OPT"),
        (
            "UPDATE ZPERSON SET ZBADGE = 1 WHERE Z_PK = 2; UPDATE ZPERSON SET ZBADGE = 2 WHERE Z_PK = 1; "
                + "UPDATE ZBADGE SET ZPERSON = 3 - Z_PK WHERE Z_PK < 3", "relationship Person/p1 badge"
        ),
    ]

    @Test("Damage to a policy's results is found if the policies run again", arguments: damages)
    func damaged(sql: String, expected: String) throws {
        let fixture = try Fixture()
        try fixture.change(sql)
        let found = try fixture.verify(rerun: true).differences.map {
            "\($0.kind.rawValue) \($0.objectID ?? "") \($0.property ?? "")"
        }
        #expect(found.contains(expected), "\(found)")
    }

    @Test("Values that are never the same twice are differences, and a note says what they may be")
    func stamped() throws {
        let fixture = try Fixture("Stamping")
        #expect(try fixture.verify(rerun: false).differences == [])
        let report = try fixture.verify(rerun: true)
        #expect(report.differences.map(\.property) == Array(repeating: "name", count: 5))
        #expect(report.notes.contains { $0.hasPrefix("Person.name: the policies gave other values") })
    }

    @Test("Of a store that was appended to the policies do not run, and the report says so")
    func appended() throws {
        let fixture = try Fixture()
        var options = fixture.migration.options
        options.appendsToExisting = true
        let migration = Migration(
            from: fixture.path, model: fixture.source, mapping: fixture.mapping, to: fixture.folder.file("new.sqlite"),
            model: fixture.destination, options: options, manager: fixture.manager)
        try migration.run()
        let verification = StoreVerification(migration)
        verification.runsPolicies = true
        let report = try verification.run()
        #expect(report.differences == [])
        #expect(!report.ranPolicies && report.notes.contains { $0.contains("did not run again") })
        #expect(report.compared.passedOver >= 20 && report.compared.recomputed <= 10)
    }
}
