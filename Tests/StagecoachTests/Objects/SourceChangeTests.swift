import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// The fixture's persons have pets: person 1 has 3 and 1, person 2 has 2. Mappings run in the order Persons, Pets, Things.
@Suite("Changes of source objects")
struct SourceChangeTests {
    typealias Steps = ClosurePolicy.Steps

    /// The source object of an entity with a name.
    private static func source(_ manager: MigrationManager, _ entity: String, _ name: String) throws -> ManagedObject {
        let request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = FormatPredicate(format: "name == %@", name)
        return try #require(try manager.sourceContext.fetch(request).first)
    }

    @Test("A deleted object is not handed to its own mapping or a later one, and the file is not written")
    func deleted() throws {
        let fixture = try PolicyFixture()
        let bytes = try Data(contentsOf: fixture.sourceURL)
        fixture.policy(
            "Persons",
            Steps(begin: { _, manager in
                manager.sourceContext.delete(try Self.source(manager, "Person", "person 3"))
                manager.sourceContext.delete(try Self.source(manager, "Pet", "pet 2"))
            }))
        let manager = fixture.manager()
        let store = try fixture.run(manager)
        #expect(store.column("Person", "name").values.contains(.text("person 3")) == false)
        #expect(store.keys("Person").count == 5 && store.keys("Pet").count == 5)
        #expect(store.column("Pet", "name").values.contains(.text("pet 2")) == false)
        #expect(try Data(contentsOf: fixture.sourceURL) == bytes)
        #expect(try fixture.leftovers() == ["destination.sqlite"])
        let counts = try #require(manager.report).counts
        #expect(counts.deletedSources == 2 && counts.changedSources == nil)
        #expect(counts.mappings.prefix(2).map(\.droppedByPolicy) == [1, 1])
    }

    @Test("An object that its own mapping's policy deletes on the way is not handed to it")
    func deletedOnTheWay() throws {
        let fixture = try PolicyFixture()
        let log = Unchecked(PolicyLog())
        fixture.policy(
            "Persons",
            Steps(create: { source, _, manager, standard in
                log.value.lines.append("\(source.objectID.key)")
                if source.objectID.key == 2 {
                    manager.sourceContext.delete(try Self.source(manager, "Person", "person 5"))
                }
                try standard()
            }))
        let store = try fixture.run()
        #expect(log.value.lines == ["1", "2", "3", "4", "6"])
        #expect(store.keys("Person").count == 5)
    }

    @Test("A deleted object keeps its attributes for who holds it, and its policy may still call the default")
    func keptAttributes() throws {
        let fixture = try PolicyFixture()
        let log = Unchecked(PolicyLog())
        fixture.policy(
            "Persons",
            Steps(
                create: { source, mapping, manager, standard in
                    let key = source.objectID.key
                    if key == 3 { source.setValue("renamed", forKey: "name") }
                    if key <= 3 { manager.sourceContext.delete(source) }
                    #expect(source.isDeleted == (key <= 3))
                    #expect(source.value(forKey: "name") as? String == (key == 3 ? "renamed" : "person \(key)"))
                    #expect(source.value(forKey: "age") as? Int == Int(key) * 10)
                    #expect((source.value(forKey: "pets") as? Set<ManagedObject> ?? []).isEmpty || key > 3)
                    if key != 3 { try standard() }
                    if key == 4 {
                        let made = try #require(
                            manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
                                .first)
                        manager.destinationContext.delete(made)
                        #expect(made.value(forKey: "name") as? String == "person 4" && made.isDeleted)
                        made.setValue("other", forKey: "name")
                        #expect(made.value(forKey: "name") as? String == "other")
                    }
                    log.value.lines.append("\(key)")
                }))
        let store = try fixture.run()
        #expect(log.value.lines == ["1", "2", "3", "4", "5", "6"])
        #expect(
            store.column("Person", "name").values.sorted { "\($0)" < "\($1)" }
                == [1, 2, 5, 6].map { .text("person \($0)") })
    }

    @Test("A changed value is seen by fetches, by later mappings and by links, not by what was made before")
    func changed() throws {
        let fixture = try PolicyFixture()
        fixture.policy(
            "Persons",
            Steps(endCreation: { _, manager in
                let pet = try Self.source(manager, "Pet", "pet 2")
                pet.setValue("renamed", forKey: "name")
                #expect(pet.value(forKey: "name") as? String == "renamed")
                #expect(pet.isUpdated && manager.sourceContext.updatedObjects.contains { $0 === pet })
                #expect(try Self.source(manager, "Pet", "renamed") === pet)
                try Self.source(manager, "Person", "person 1").setValue("too late", forKey: "name")
                // To the inverse and back.
                pet.setValue(try Self.source(manager, "Person", "person 4"), forKey: "owner")
                let first = try Self.source(manager, "Pet", "pet 1")
                first.setValue(nil, forKey: "owner")
            }))
        let manager = fixture.manager()
        let store = try fixture.run(manager)
        #expect(Set(store.column("Pet", "name").values).isSuperset(of: [.text("renamed"), .text("pet 1")]))
        #expect(store.column("Person", "name").values.contains(.text("person 1")))
        let persons = store.objects("Person").values
        func pets(_ name: String) throws -> [ReferenceValue] {
            try #require(persons.first { $0["name"] == .text(name) }).related("pets").map { $0["name"] }
        }
        #expect(try pets("person 4") == [.text("renamed")])
        #expect(try pets("person 2") == [])
        #expect(try pets("person 1") == [.text("pet 3")])
        #expect(try #require(manager.report).counts.changedSources == 3)
    }

    @Test("Members of to-many relationships are set, added and removed, with their order and inverses")
    func members() throws {
        let fixture = try PolicyFixture()
        fixture.policy(
            "Persons",
            Steps(begin: { _, manager in
                func person(_ number: Int) throws -> ManagedObject {
                    try Self.source(manager, "Person", "person \(number)")
                }
                func pet(_ number: Int) throws -> ManagedObject { try Self.source(manager, "Pet", "pet \(number)") }
                let first = try person(1)
                first.setValue(NSOrderedSet(array: [try pet(6), try pet(2), try pet(3)]), forKey: "pets")
                #expect(
                    try pet(1).value(forKey: "owner") == nil
                        && pet(2).value(forKey: "owner") as? ManagedObject === first)
                #expect((try person(2).value(forKey: "pets") as? NSOrderedSet)?.count == 0)
                first.mutableSetValue(forKey: "friends").remove(try person(2))
                first.mutableSetValue(forKey: "friends").add(try person(6))
                let sixth = try person(6).value(forKey: "friendOf") as? NSSet
                #expect(sixth?.contains(first) == true)
            }))
        let store = try fixture.run()
        let first = try #require(store.objects("Person").values.first { $0["name"] == .text("person 1") })
        #expect(first.related("pets").map { $0["name"] } == [.text("pet 6"), .text("pet 2"), .text("pet 3")])
        #expect(Set(first.related("friends").map { $0["name"] }) == [.text("person 3"), .text("person 6")])
    }

    @Test("A later mapping's filter asks the changed values")
    func filtered() throws {
        let fixture = try PolicyFixture()
        let persons = try StagecoachTests.mapping("Persons", "Person", "Person", ["name": "$source.name"])
        persons.sourceFilter = try SourcePredicate(format: "age > 30")
        fixture.mapping = mappings(try StagecoachTests.mapping("Things", "Thing", "Thing"), persons)
        fixture.policy(
            "Things",
            Steps(begin: { _, manager in
                try Self.source(manager, "Person", "person 1").setValue(99, forKey: "age")
                try Self.source(manager, "Person", "person 6").setValue(1, forKey: "age")
                manager.sourceContext.delete(try Self.source(manager, "Person", "person 5"))
            }))
        let manager = fixture.manager()
        let store = try fixture.run(manager)
        #expect(Set(store.column("Person", "name").values) == [.text("person 1"), .text("person 4")])
        let line = try #require(manager.report?.counts.mappings.last)
        #expect((line.sourceObjects, line.migrated, line.filtered, line.droppedByPolicy) == (6, 2, 3, 1))
    }

    @Test("An object shows which values it changed, and those that the file has")
    func committed() throws {
        let fixture = try PolicyFixture()
        fixture.policy(
            "Persons",
            Steps(begin: { _, manager in
                func person(_ number: Int) throws -> ManagedObject {
                    try Self.source(manager, "Person", "person \(number)")
                }
                let (first, second) = (try person(1), try person(2))
                let pet = try Self.source(manager, "Pet", "pet 2")
                #expect(first.changedValues().isEmpty && first.committedValues(forKeys: ["age"])["age"] as? Int == 10)
                first.setValue(nil, forKey: "age")
                first.setValue(try person(3), forKey: "best")
                first.mutableOrderedSetValue(forKey: "pets").add(pet)
                first.mutableSetValue(forKey: "friends").remove(second)
                second.setValue("person 2", forKey: "name")
                let changed = first.changedValues()
                #expect(Set(changed.keys) == ["age", "best", "pets", "friends"])
                #expect(changed["age"] is NSNull && (changed["pets"] as? NSOrderedSet)?.count == 3)
                let stored = first.committedValues(forKeys: nil)
                #expect(stored["age"] as? Int == 10 && stored["name"] as? String == "person 1")
                #expect(stored["best"] as? ManagedObject === second && stored["friendOf"] is NSSet)
                #expect((stored["friends"] as? NSSet)?.contains(second) == true)
                #expect((stored["pets"] as? NSOrderedSet)?.array.count == 2)
                // Its own row is the pet's; the person's list changed with it.
                #expect(Array(pet.changedValues().keys) == ["owner"])
                #expect(pet.committedValues(forKeys: ["owner"])["owner"] as? ManagedObject === second)
                #expect(second.committedValues(forKeys: ["pets"])["pets"] as? NSOrderedSet == [pet])
                // A deleted object has what the file has.
                manager.sourceContext.delete(pet)
                #expect(pet.changedValues().isEmpty)
                #expect(pet.committedValues(forKeys: ["name"])["name"] as? String == "pet 2")
                #expect((second.committedValues(forKeys: ["pets"])["pets"] as? NSOrderedSet)?.count == 1)
            }))
        try fixture.run()
    }

    @Test(
        "A source object of a group that a policy changes or deletes before the group's mapping is refused by name",
        arguments: [true, false])
    func grouped(deletes: Bool) throws {
        let fixture = try PolicyFixture()
        let pets = try #require(fixture.mapping.entityMappings?.first { $0.name == "Pets" })
        pets.grouping = ObjectGrouping(
            expressions: [GroupingExpression(try ValueExpression(parsing: "$source.name"))])
        fixture.policy("Persons", Steps())
        #expect(throws: Never.self) { _ = try fixture.run() }
        fixture.policy(
            "Persons",
            Steps(begin: { _, manager in
                let pet = try Self.source(manager, "Pet", "pet 2")
                if deletes { manager.sourceContext.delete(pet) } else { pet.setValue("other", forKey: "name") }
            }))
        let error = #expect(throws: MigrationError.self) { _ = try fixture.run() }
        #expect(error?.code == "policy.changedGroup" && error?.category == .configuration)
        #expect(error?.context.entityMapping == "Pets" && error?.context.objectID?.contains("/p2") == true)
    }

    @Test("Objects cannot be inserted into the source, and foreign ones are refused")
    func refused() throws {
        for change in [
            { (manager: MigrationManager) throws in
                _ = EntityDescription.insertNewObject(forEntityName: "Person", into: manager.sourceContext)
            },
            { manager in
                let other = EntityDescription.insertNewObject(
                    forEntityName: "Person", into: manager.destinationContext)
                try Self.source(manager, "Pet", "pet 1").setValue(other, forKey: "owner")
            },
            { manager in try Self.source(manager, "Pet", "pet 1").setValue(Date(), forKey: "name") },
        ] {
            let fixture = try PolicyFixture()
            let step = Unchecked(change)
            fixture.policy("Persons", Steps(begin: { _, manager in try step.value(manager) }))
            #expect(throws: MigrationError.self) { try fixture.run() }
        }
    }
}
