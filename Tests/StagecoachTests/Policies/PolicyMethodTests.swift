import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Policies: the seven methods")
struct PolicyMethodTests {
    typealias Steps = ClosurePolicy.Steps

    @Test("The methods come stage by stage over all entity mappings, each mapping's in order")
    func order() throws {
        let fixture = try PolicyFixture(persons: 2)
        let log = PolicyLog()
        fixture.policy("Persons", Steps(log: log))
        fixture.policy("Pets", Steps(log: log))
        try fixture.run()
        #expect(
            log.lines == [
                "begin Persons", "create Persons p1", "create Persons p2", "created Persons",
                "begin Pets", "create Pets p1", "create Pets p2", "created Pets",
                "relate Persons p1", "relate Persons p2", "related Persons",
                "relate Pets p1", "relate Pets p2", "related Pets",
                "validate Persons", "end Persons", "validate Pets", "end Pets",
            ])
    }

    @Test("An add mapping calls every method but the two for single objects")
    func addMapping() throws {
        let fixture = try PolicyFixture(persons: 2)
        let log = PolicyLog()
        let add = EntityMapping()
        add.name = "Add"
        add.mappingType = .addEntityMappingType
        add.destinationEntityName = "Badge"
        fixture.mapping.entityMappings.append(add)
        var steps = Steps(log: log)
        steps.begin = { _, manager in
            EntityDescription.insertNewObject(forEntityName: "Badge", into: manager.destinationContext)
                .setValue("first", forKey: "code")
        }
        fixture.policy("Add", steps)
        let store = try fixture.run()
        #expect(log.lines == ["begin Add", "created Add", "related Add", "validate Add", "end Add"])
        #expect(store.column("Badge", "code") == [1: .text("first")])
    }

    @Test("A mapping without destination entity has its policy called for every source object; what it makes is saved")
    func withoutDestination() throws {
        let fixture = try PolicyFixture(persons: 3)
        let custom = EntityMapping()
        custom.name = "Custom"
        custom.mappingType = .customEntityMappingType
        custom.sourceEntityName = "Person"
        fixture.mapping.entityMappings.append(custom)
        let log = PolicyLog()
        var steps = Steps(log: log)
        steps.create = { source, mapping, manager, standard in
            try standard()
            let badge = EntityDescription.insertNewObject(forEntityName: "Badge", into: manager.destinationContext)
            badge.setValue(source.value(forKey: "name"), forKey: "code")
            manager.associate(sourceInstance: source, withDestinationInstance: badge, for: mapping)
        }
        fixture.policy("Custom", steps)
        let store = try fixture.run()
        #expect(store.column("Badge", "code").count == 3)
        #expect(log.lines.count == 11)
    }

    @Test("A remove mapping without policy removes")
    func removeMapping() throws {
        let fixture = try PolicyFixture(persons: 3)
        fixture.mapping.entityMappings[1].destinationEntityName = nil
        fixture.mapping.entityMappings[1].mappingType = .removeEntityMappingType
        fixture.mapping.entityMappings[1].attributeMappings = []
        fixture.mapping.entityMappings[1].relationshipMappings = []
        fixture.policy("Persons", Steps())
        let manager = fixture.manager()
        let store = try fixture.run(manager)
        #expect(store.keys("Pet").isEmpty)
        #expect(manager.report?.counts.removed == ["Pet": 3])
    }

    @Test("Policies that call super give what the mapping model gives, with sequential keys and Z_OPT 1")
    func superOnly() throws {
        let fixture = try PolicyFixture()
        fixture.policy("Persons", Steps())
        fixture.policy("Pets", Steps())
        let store = try fixture.run()
        #expect(store.keys("Person") == [1, 2, 3, 4, 5, 6])
        #expect(store.lock("Person", 1) == .integer(1))
        #expect(store.maximum("Person") == 6)
        let persons = store.objects("Person")
        #expect(persons[1]?.related("pets").map(\.key) == [3, 1])
        #expect(persons[1]?.toMany["pets"]?.map(\.order) == [2048, 3072])
        #expect(persons[1]?.related("friends").map(\.key) == [2, 3])
        #expect(persons[3]?.related("friendOf").map(\.key) == [1])
        #expect(persons[1]?.related("best").map(\.key) == [2])
        #expect(store.value("Person", 4, "name") == .text("person 4"))
    }

    @Test("Overriding without super: objects inserted and associated by hand, attributes from the source")
    func byHand() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        steps.create = { source, mapping, manager, _ in
            let made = EntityDescription.insertNewObject(
                forEntityName: mapping.destinationEntityName ?? "", into: manager.destinationContext)
            #expect(made.value(forKey: "age") as? Int == 5)
            made.setValue(source.value(forKey: "name"), forKey: "name")
            manager.associate(sourceInstance: source, withDestinationInstance: made, for: mapping)
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        #expect(store.value("Person", 3, "name") == .text("person 3"))
        #expect(store.value("Person", 3, "age") == .integer(5))
        // The default createRelationships relates what was associated by hand.
        #expect(store.objects("Person")[1]?.related("pets").map(\.key) == [3, 1])
    }

    @Test("One to none, one to many, many to one; objects without association; all is counted")
    func cardinalities() throws {
        let fixture = try PolicyFixture()
        var kept: ManagedObject?
        var related: [String] = []
        var steps = Steps()
        steps.create = { source, mapping, manager, standard in
            switch source.value(forKey: "age") as? Int {
            case 10: break
            case 20:
                for number in 1...2 {
                    let made = EntityDescription.insertNewObject(
                        forEntityName: "Person", into: manager.destinationContext)
                    made.setValue("double \(number)", forKey: "name")
                    manager.associate(sourceInstance: source, withDestinationInstance: made, for: mapping)
                }
            case 30, 40, 50:
                if let kept {
                    manager.associate(sourceInstance: source, withDestinationInstance: kept, for: mapping)
                    manager.associate(sourceInstance: source, withDestinationInstance: kept, for: mapping)
                } else {
                    try standard()
                    kept =
                        manager.destinationInstances(
                            forEntityMappingName: mapping.name, sourceInstances: [source]
                        ).first
                }
            default:
                EntityDescription.insertNewObject(forEntityName: "Person", into: manager.destinationContext)
                    .setValue("extra", forKey: "name")
                try standard()
            }
        }
        steps.relate = { object, mapping, manager, standard in
            let sources = manager.sourceInstances(
                forEntityMappingName: mapping.name, destinationInstances: [object])
            related.append("\(object.objectID.key): \(sources.map { $0.value(forKey: "age") as? Int ?? 0 })")
            try standard()
        }
        fixture.policy("Persons", steps)
        let manager = fixture.manager()
        let store = try fixture.run(manager)
        #expect(
            store.column("Person", "name") == [
                1: .text("double 1"), 2: .text("double 2"), 3: .text("person 3"), 4: .text("extra"),
                5: .text("person 6"),
            ])
        #expect(related == ["1: [20]", "2: [20]", "3: [30, 40, 50]", "5: [60]"])
        let line = try #require(manager.report?.counts.mappings.first)
        #expect(line.sourceObjects == 6)
        #expect(line.migrated == 5)
        #expect(line.droppedByPolicy == 1)
        #expect(line.created == 5)
        #expect(line.createdByPolicy == 1)
        #expect(manager.report?.counts.created["Person"] == 5)
    }

    @Test("A source that is associated after its own call counts as migrated")
    func lateAssociation() throws {
        let fixture = try PolicyFixture()
        var kept: [ManagedObject] = []
        var steps = Steps()
        steps.create = { source, _, _, _ in kept.append(source) }
        steps.endCreation = { mapping, manager in
            for source in kept.reversed() {
                let made = EntityDescription.insertNewObject(forEntityName: "Person", into: manager.destinationContext)
                made.setValue(source.value(forKey: "name"), forKey: "name")
                manager.associate(sourceInstance: source, withDestinationInstance: made, for: mapping)
            }
            let sources = manager.sourceInstances(forEntityMappingName: "Persons", destinationInstances: nil)
            #expect(sources.map(\.objectID.key) == [6, 5, 4, 3, 2, 1])
        }
        var order: [Int64] = []
        steps.relate = { object, _, _, standard in
            order.append(object.objectID.key)
            try standard()
        }
        fixture.policy("Persons", steps)
        let manager = fixture.manager()
        let store = try fixture.run(manager)
        #expect(store.value("Person", 1, "name") == .text("person 6"))
        #expect(order == [1, 2, 3, 4, 5, 6])
        #expect(manager.report?.counts.mappings.first?.migrated == 6)
        #expect(store.objects("Person")[6]?.related("pets").map(\.key) == [3, 1])
    }

    @Test("Lookups: order of the sources given, nil gives all, unknown names fail the run")
    func lookups() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        steps.endCreation = { _, manager in
            let all = manager.sourceInstances(forEntityMappingName: "Persons", destinationInstances: nil)
            #expect(all.map(\.objectID.key) == [1, 2, 3, 4, 5, 6])
            let reversed = manager.destinationInstances(
                forEntityMappingName: "Persons", sourceInstances: all.reversed() + all)
            #expect(reversed.map(\.objectID.key) == [6, 5, 4, 3, 2, 1])
            #expect(manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: []).isEmpty)
            // A later mapping has made nothing yet.
            #expect(manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil).isEmpty)
        }
        steps.end = { _, manager in
            #expect(manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil).count == 6)
            #expect(manager.destinationInstances(forEntityMappingName: "Nobody", sourceInstances: nil).isEmpty)
        }
        fixture.policy("Persons", steps)
        let error = #expect(throws: MigrationError.self) { try fixture.run() }
        #expect(error?.code == "manager.unknownMapping")
        #expect(error?.description.contains("Nobody") == true)
        #expect(try fixture.leftovers() == [])
    }

    @Test("All objects of a mapping one after the other are those of a lookup of all, each once")
    func oneByOne() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        steps.endCreation = { mapping, manager in
            let persons = manager.sourceInstances(forEntityMappingName: "Persons", destinationInstances: nil)
            let made = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: nil)
            // Again, of another source object, and by hand.
            manager.associate(sourceInstance: persons[0], withDestinationInstance: made[4], for: mapping)
            let new = EntityDescription.insertNewObject(forEntityName: "Person", into: manager.destinationContext)
            manager.associate(sourceInstance: persons[1], withDestinationInstance: new, for: mapping)
            manager.destinationContext.delete(made[2])
        }
        steps.end = { mapping, manager in
            let pets = manager.mappingModel.entityMappingsByName["Pets"]
            let source = try #require(try manager.sourceContext.fetch(request("Pet", "name == 'pet 2'")).first)
            let all = manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil)
            manager.associate(sourceInstance: source, withDestinationInstance: all[4], for: try #require(pets))
            for (name, expected) in [("Persons", [1, 2, 4, 5, 6, 7]), ("Pets", [1, 2, 3, 4, 5, 6])] {
                var keys: [Int64] = []
                try manager.forEachDestinationInstance(forEntityMappingName: name) { keys.append($0.objectID.key) }
                let found = manager.destinationInstances(forEntityMappingName: name, sourceInstances: nil)
                #expect(keys == expected.map(Int64.init) && found.map(\.objectID.key) == keys, "\(name)")
            }
            #expect(throws: MigrationError.self) {
                try manager.forEachDestinationInstance(forEntityMappingName: "Nobody") { _ in }
            }
        }
        fixture.policy("Persons", steps)
        let manager = fixture.manager()
        try fixture.run(manager)
        #expect(throws: MigrationError.self) {
            try manager.forEachDestinationInstance(forEntityMappingName: "Pets") { _ in }
        }
    }

    @Test("Other roots keep their keys; objects inserted there come after the greatest key")
    func keptRoots() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        steps.create = { source, _, manager, standard in
            try standard()
            guard source.objectID.key == 2 else { return }
            EntityDescription.insertNewObject(forEntityName: "Pet", into: manager.destinationContext)
                .setValue("stray", forKey: "name")
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        #expect(store.keys("Pet") == [1, 2, 3, 4, 5, 6, 7])
        #expect(store.lock("Pet", 1) == .integer(4))
        #expect(store.lock("Pet", 7) == .integer(1))
        #expect(store.value("Pet", 7, "name") == .text("stray"))
        #expect(store.maximum("Pet") == 7)
    }

    @Test("Batches, passes and the path of other mappings do not change the destination", arguments: [1, 3, 1000])
    func cuts(batch: Int) throws {
        let fixture = try PolicyFixture(persons: 20)
        var steps = Steps()
        steps.create = { source, _, _, standard in if source.objectID.key % 3 != 0 { try standard() } }
        steps.end = { mapping, manager in
            for object in manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil) {
                object.setValue("renamed \(object.objectID.key)", forKey: "name")
            }
        }
        fixture.policy("Persons", steps)
        let expected = try fixture.run()
        for passes in 1...4 {
            for isFused in [true, false] {
                fixture.change = {
                    $0.options.batchSize = batch
                    $0.options.passes = passes
                    $0.usesStoreSpecificMigrationManager = isFused
                }
                #expect(try fixture.run().differences(from: expected) == [])
            }
        }
    }

    @Test("Without policies the object path gives what the row path gives")
    func objectPath() throws {
        let fixture = try PolicyFixture(persons: 20)
        let expected = try fixture.run()
        fixture.change = { $0.usesStoreSpecificMigrationManager = false }
        let manager = fixture.manager()
        #expect(try fixture.run(manager).differences(from: expected) == [])
        #expect(manager.report?.isStaged == true)
    }
}
