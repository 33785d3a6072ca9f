import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Managed objects: what policies ask of them")
struct ObjectPropertyTests {
    typealias Steps = ClosurePolicy.Steps

    @Test("Objects are made by entity and context, or without one and inserted later")
    func making() throws {
        let fixture = try PolicyFixture()
        var made: [Int64] = []
        try fixture.runInEnd { manager in
            let context = try #require(manager.destinationContext as ManagedObjectContext?)
            let person = try #require(EntityDescription.entity(forEntityName: "Person", in: context))
            #expect(person == manager.destinationModel.entity(named: "Person"))
            #expect(EntityDescription.entity(forEntityName: "Nobody", in: context) == nil)
            let one = ManagedObject(entity: person, insertInto: context)
            #expect(one.value(forKey: "age") as? Int == 5)
            one.setValue("one", forKey: "name")
            #expect(context.object(with: one.objectID) === one)
            #expect(try context.fetch(request("Person", "name == 'one'")) == [one])
            let other = ManagedObject(entity: person, insertInto: nil)
            #expect(other.managedObjectContext == nil)
            other.setValue("other", forKey: "name")
            other.setValue(one, forKey: "best")
            #expect(other.value(forKey: "name") as? String == "other")
            #expect(try context.fetch(request("Person", "name == 'other'")).isEmpty)
            context.insert(other)
            context.insert(other)
            #expect(other.managedObjectContext === context)
            #expect(other.value(forKey: "age") as? Int == 5)
            #expect(try context.fetch(request("Person", "name == 'other' AND best == %@", one)) == [other])
            #expect(context.object(with: other.objectID) === other)
            made = [one.objectID.key, other.objectID.key]
            // Never inserted: never saved.
            ManagedObject(entity: person, insertInto: nil).setValue("third", forKey: "name")
        }
        let store = try ReferenceStore.read(path: fixture.destinationURL.path, model: fixture.destination)
        #expect(made == [7, 8])
        #expect(store.value("Person", 8, "name") == .text("other"))
        #expect(store.objects("Person")[8]?.related("best").map(\.key) == [7])
        #expect(store.keys("Person").count == 8)
    }

    @Test("A class without an entity, and an abstract or unknown entity, end the run with a reason")
    func failures() throws {
        let fixture = try PolicyFixture()
        func code(_ body: @escaping (ManagedObjectContext) -> Void) -> String? {
            do {
                try fixture.runInEnd { manager in body(manager.destinationContext) }
                return nil
            } catch { return (error as? MigrationError)?.code.rawValue }
        }
        #expect(code { _ = ManagedObject(context: $0) } == "object.unknownEntity")
        #expect(
            code { _ = EntityDescription.insertNewObject(forEntityName: "Nobody", into: $0) } == "object.unknownEntity")
        #expect(
            code { context in
                let objects = [ManagedObject(context: context), ManagedObject(context: context)]
                if objects[0] === objects[1] { Issue.record("two failures are one object") }
                for object in objects { object.setValue("x", forKey: "name") }
            } == "object.unknownEntity")
        #expect(
            code { _ = try? $0.fetch(request("Person", limit: 1)).first?.value(forKey: "color") } == "object.unknownKey"
        )
        #expect(
            code { _ = try? $0.fetch(request("Person", limit: 1)).first?.value(forKeyPath: "best.color") }
                == "object.unknownKey")
    }

    final class Badge: ManagedObject {
        override func value(forKey key: String) -> Any? { key == "code" ? "computed" : super.value(forKey: key) }
    }

    @Test("A subclass finds its entity by the class name in the model, and its overrides are asked")
    func subclass() throws {
        let fixture = try PolicyFixture()
        var definition = fixture.destination.definition
        let index = try #require(definition.entities.firstIndex { $0.name == "Badge" })
        definition.entities[index].managedObjectClassName = "Badge"
        let model = try ManagedObjectModel(definition)
        var steps = Steps()
        steps.end = { _, manager in
            let context = try #require(manager.destinationContext as ManagedObjectContext?)
            let badge = Badge(context: context)
            #expect(badge.entity.name == "Badge")
            #expect(badge.isInserted)
            #expect(try badge.expressionValue(forKey: "code") as? String == "computed")
            badge.setPrimitiveValue("stored", forKey: "code")
        }
        fixture.policy("Persons", steps)
        let carried = Unchecked(steps)
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: model)
        manager.options.memoryLimit = 8 << 30
        manager.policies = PolicyRegistry()
        manager.policies.register("PersonsPolicy") {
            let policy = ClosurePolicy()
            policy.steps = carried.value
            return policy
        }
        try manager.migrateStore(
            from: fixture.sourceURL, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL, type: .sqlite)
        let store = try ReferenceStore.read(path: fixture.destinationURL.path, model: model)
        #expect(store.column("Badge", "code") == [1: .text("stored")])
    }

    @Test("States, ids and values by other keys")
    func states() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = try #require(manager.destinationContext as ManagedObjectContext?)
            let person = try #require(try context.fetch(request("Person", limit: 1)).first)
            let origin = try #require(try manager.sourceContext.fetch(request("Person", limit: 1)).first)
            #expect(person.isInserted && person.hasChanges && !person.isUpdated && !person.isDeleted && !person.isFault)
            #expect(
                !origin.isInserted && !origin.hasChanges && !origin.isUpdated && !origin.isDeleted && !origin.isFault)
            #expect(person.faultingState == 0)
            #expect(person.hasFault(forRelationshipNamed: "pets") == false)
            #expect(person.value(forKey: "objectID") as? ManagedObjectID == person.objectID)
            #expect((person.value(forKey: "self") as? ManagedObject) === person)
            #expect((person.value(forKey: "entity") as? EntityDescription)?.name == "Person")
            #expect(
                person.value(forKeyPath: "best.objectID") as? ManagedObjectID
                    == (person.value(forKey: "best") as? ManagedObject)?.objectID)
            #expect(person.objectIDs(forRelationshipNamed: "pets").map(\.key) == [3, 1])
            #expect(person.objectIDs(forRelationshipNamed: "best").map(\.key) == [2])
            #expect(person.changedValues()["name"] as? String == "person 1")
            #expect(person.changedValues()["badge"] == nil)
            #expect(person.changedValuesForCurrentEvent().count == person.changedValues().count)
            #expect(person.committedValues(forKeys: ["name"]).isEmpty)
            #expect(origin.changedValues().isEmpty)
            #expect(origin.committedValues(forKeys: ["name"])["name"] as? String == "person 1")
            #expect(origin.committedValues(forKeys: nil)["age"] as? Int == 10)
            person.willAccessValue(forKey: "name")
            person.didAccessValue(forKey: nil)
            person.willChangeValue(forKey: "name")
            person.didChangeValue(forKey: "name")
            context.delete(person)
            #expect(person.isDeleted && !person.isInserted && !person.hasChanges)
        }
    }

    @Test("Key paths go over relationships, with collection operators, and set values at their end")
    func keyPaths() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                let person = try #require(try context.fetch(request("Person", limit: 1)).first)
                #expect(person.value(forKeyPath: "name") as? String == "person 1")
                #expect(person.value(forKeyPath: "best.name") as? String == "person 2")
                #expect(person.value(forKeyPath: "best.best.name") == nil)
                #expect(person.value(forKeyPath: "pets.@count") as? Int == 2)
                #expect(person.value(forKeyPath: "friends.@sum.age") as? Int == 50)
                #expect(person.value(forKeyPath: "friends.@max.age") as? Int == 30)
                let names = person.value(forKeyPath: "friends.name")
                #expect(
                    (names as? NSSet)?.allObjects.compactMap { $0 as? String }.sorted() == ["person 2", "person 3"])
                let dictionary = person.dictionaryWithValues(forKeys: ["name", "best", "age"])
                #expect(dictionary["name"] as? String == "person 1")
                #expect((dictionary["best"] as? ManagedObject)?.objectID.key == 2)
            }
            let person = try #require(try manager.destinationContext.fetch(request("Person", limit: 1)).first)
            person.setValue("renamed", forKeyPath: "best.name")
            person.setValue("everybody", forKeyPath: "pets.name")
            person.setValue("nobody", forKeyPath: "best.best.name")
            person.setValuesForKeys(["name": "one", "age": NSNull()])
        }
        let store = try ReferenceStore.read(path: fixture.destinationURL.path, model: fixture.destination)
        #expect(store.value("Person", 2, "name") == .text("renamed"))
        #expect(store.column("Pet", "name")[3] == .text("everybody"))
        #expect(store.value("Person", 1, "age") == .null)
        #expect(store.value("Person", 1, "name") == .text("one"))
    }

    @Test("Values can be cast to Swift's sets, numbers and arrays")
    func casts() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let person = try #require(try context?.fetch(request("Person", limit: 1)).first)
                let friends = try #require(person.value(forKey: "friends") as? Set<ManagedObject>)
                #expect(friends.map(\.objectID.key).sorted() == [2, 3])
                let pets = try #require(person.value(forKey: "pets") as? NSOrderedSet)
                #expect((pets.array as? [ManagedObject])?.map(\.objectID.key) == [3, 1])
                #expect(person.value(forKey: "age") as? Int == 10)
                #expect(person.value(forKey: "age") as? Int16 == 10)
                #expect((person.value(forKey: "age") as? NSNumber)?.intValue == 10)
            }
        }
    }

    @Test("A mutable set changes the object at once, with any kind of inverse")
    func mutableSets() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        steps.end = { _, manager in
            let context = try #require(manager.destinationContext as ManagedObjectContext?)
            let persons = try context.fetch(request("Person"))
            let pets = try context.fetch(request("Pet"))
            // To-one inverse.
            let owned = persons[4].mutableSetValue(forKey: "pets")
            owned.add(pets[3])
            owned.add(pets[4])
            owned.add(pets[4])
            #expect(owned.count == 2)
            #expect(owned.contains(pets[4]))
            #expect(pets[3].value(forKey: "owner") as? ManagedObject === persons[4])
            owned.remove(pets[3])
            owned.remove(pets[0])
            #expect(owned.allObjects.compactMap { $0 as? ManagedObject } == [pets[4]])
            #expect(pets[3].value(forKey: "owner") == nil)
            #expect(pets[0].value(forKey: "owner") as? ManagedObject === persons[0])
            // To-many inverse.
            let friends = persons[5].mutableSetValue(forKey: "friends")
            friends.addObjects(from: [persons[0], persons[1], persons[2]])
            friends.minus([persons[1]])
            #expect(Set(friends.compactMap { ($0 as? ManagedObject)?.objectID.key }) == [1, 3])
            #expect((persons[2].value(forKey: "friendOf") as? Set<ManagedObject>)?.contains(persons[5]) == true)
            friends.intersect([persons[2]])
            #expect(friends.count == 1)
            let others = persons[3].mutableSetValue(forKey: "friends")
            others.union([persons[0]])
            others.removeAllObjects()
            #expect(others.count == 0)
            // Ordered.
            let ordered = persons[0].mutableOrderedSetValue(forKey: "pets")
            #expect(ordered.count == 2)
            ordered.add(pets[5])
            ordered.insert(pets[3], at: 0)
            ordered.remove(pets[0])
            #expect((0..<ordered.count).map { (ordered.object(at: $0) as? ManagedObject)?.objectID.key } == [4, 3, 6])
            ordered.exchangeObject(at: 0, withObjectAt: 2)
            #expect(ordered.index(of: pets[5]) == 0)
            ordered.removeObject(at: 1)
            ordered.replaceObject(at: 1, with: pets[1])
            #expect(persons[0].objectIDs(forRelationshipNamed: "pets").map(\.key) == [6, 2])
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        let persons = store.objects("Person")
        #expect(persons[1]?.related("pets").map(\.key) == [6, 2])
        #expect(persons[5]?.related("pets").map(\.key) == [5])
        #expect(persons[6]?.related("friends").map(\.key) == [3])
        #expect(store.objects("Pet")[1]?.related("owner").isEmpty == true)
    }

    @Test("An object can be checked against the model's rules before it is saved")
    func validation() throws {
        var definition = ModelDefinition()
        definition.entities = [
            entity(
                "Rule",
                [
                    attribute("name", .string, required: true) {
                        $0.minimumLength = 2
                        $0.maximumLength = 4
                        $0.regularExpression = "[a-z]+"
                    },
                    attribute("size", .integer16) {
                        $0.minimum = .integer(1)
                        $0.maximum = .integer(9)
                    },
                ],
                [
                    toOne("owner", "Rule", inverse: "owned", required: true),
                    toMany("owned", "Rule", inverse: "owner"),
                ])
        ]
        definition.entities[0].relationships[1].maximumCount = 2
        let model = try ManagedObjectModel(definition)
        let folder = try TemporaryFolder()
        try ReferenceStore.make(model) { _ in }.write(path: folder.file("source.sqlite"))
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        manager.options.memoryLimit = 8 << 30
        manager.policies = PolicyRegistry()
        var steps = Steps()
        steps.end = { _, manager in
            let rule = EntityDescription.insertNewObject(forEntityName: "Rule", into: manager.destinationContext)
            func code() -> String? {
                do {
                    try rule.validateForInsert()
                    try rule.validateForUpdate()
                    return nil
                } catch { return (error as? MigrationError)?.code.rawValue }
            }
            #expect(code() == "validation.missing")
            for (name, expected) in [("a", "tooShort"), ("abcde", "tooLong"), ("ab1", "pattern"), ("abc", "missing")] {
                rule.setValue(name, forKey: "name")
                #expect(code() == "validation.\(expected)", "\(name)")
            }
            rule.setValue(rule, forKey: "owner")
            #expect(code() == nil)
            for (size, expected) in [(0, "tooSmall"), (10, "tooLarge")] {
                rule.setValue(size, forKey: "size")
                #expect(code() == "validation.\(expected)")
            }
            rule.setValue(9, forKey: "size")
            let others = (0..<2).map { _ in
                EntityDescription.insertNewObject(forEntityName: "Rule", into: manager.destinationContext)
            }
            for other in others {
                other.setValue("abcd", forKey: "name")
                other.setValue(rule, forKey: "owner")
            }
            #expect(code() == "validation.tooMany")
            try rule.validateForDelete()
            manager.destinationContext.delete(others[0])
            #expect(code() == nil)
        }
        let carried = Unchecked(steps)
        manager.policies.register("RulePolicy") {
            let policy = ClosurePolicy()
            policy.steps = carried.value
            return policy
        }
        try manager.migrateStore(
            from: URL(fileURLWithPath: folder.file("source.sqlite")), type: .sqlite,
            mapping: mappings(try mapping("Rules", "Rule", "Rule", policy: "RulePolicy")),
            to: URL(fileURLWithPath: folder.file("out.sqlite")), type: .sqlite)
    }

    @Test("Entities and properties answer under Core Data's names")
    func descriptions() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let person = try #require(try manager.sourceContext.fetch(request("Person", limit: 1)).first).entity
            #expect(person.name == "Person")
            #expect(person.attributesByName.keys.sorted() == ["age", "name"])
            #expect(person.relationshipsByName["pets"]?.destinationEntity?.name == "Pet")
            #expect(person.relationshipsByName["pets"]?.inverseRelationship?.name == "owner")
            #expect(person.relationshipsByName["pets"]?.isOrdered == true)
            #expect(person.relationshipsByName["best"]?.maxCount == 1)
            #expect(person.propertiesByName.count == person.properties.count)
            var (attributes, toMany) = (0, 0)
            for property in person.properties {
                if property is NSAttributeDescription { attributes += 1 }
                if let relationship = property as? NSRelationshipDescription, relationship.isToMany { toMany += 1 }
                #expect(property.isOptional && !property.isTransient && !property.isIndexed)
            }
            #expect(attributes == 2 && toMany == 3)
            #expect(person.attributesByName["age"]?.attributeType == .integer16AttributeType)
            #expect(person.attributesByName["age"]?.attributeValueClassName == "NSNumber")
            #expect(person.attributesByName["age"]?.defaultValue as? Int == 5)
            #expect(person.managedObjectClassName == "NSManagedObject")
            #expect(person.superentity == nil && person.subentities.isEmpty && !person.isAbstract)
            let pet = try #require(person.managedObjectModel.entitiesByName["Pet"])
            #expect(person.relationships(forDestination: pet).map(\.name) == ["pets"])
            #expect(person.isKindOf(entity: person) && !person.isKindOf(entity: pet))
        }
    }
}
