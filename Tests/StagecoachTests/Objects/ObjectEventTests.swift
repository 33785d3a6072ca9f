import Foundation
import Stagecoach
import TestSupport
import Testing

/// A subclass as apps write one, with its events noted in the object's user info of the manager.
private final class Badge: NSManagedObject {
    weak var events: EventLog?
    var code: String? {
        get { value(forKey: "code") as? String }
        set { setValue(newValue, forKey: "code") }
    }

    override func awakeFromInsert() {
        super.awakeFromInsert()
        setPrimitiveValue("awake", forKey: "code")
    }
    override func willSave() {
        super.willSave()
        events?.lines.append("willSave \(code ?? "")")
        setPrimitiveValue("\(code ?? "") saved", forKey: "code")
    }
    override func didSave() {
        super.didSave()
        events?.lines.append("didSave \(isFault)")
    }
    override func prepareForDeletion() {
        super.prepareForDeletion()
        events?.lines.append("delete \(code ?? "")")
    }
    override func awakeFromFetch() { events?.lines.append("fetched") }
    override func awake(fromSnapshotEvents flags: NSSnapshotEventType) {
        super.awake(fromSnapshotEvents: flags)
        if flags.contains(.undoInsertion) { events?.lines.append("undone") }
    }
    override func value(forUndefinedKey key: String) -> Any? {
        key == "title" ? "Badge \(code ?? "")" : super.value(forUndefinedKey: key)
    }
    override func setValue(_ value: Any?, forUndefinedKey key: String) {
        if key != "ignored" { super.setValue(value, forUndefinedKey: key) }
    }
    override func setNilValueForKey(_ key: String) { setValue("", forKey: key) }
    override func willChangeValue(forKey key: String) { super.willChangeValue(forKey: key) }
    override func validateForDelete() throws {
        try super.validateForDelete()
        if code == "kept" { throw CocoaError(.validationRelationshipDeniedDelete) }
    }
    override class func entity() -> NSEntityDescription { super.entity() }
    override var description: String { "badge" }
}

private final class EventLog {
    var lines: [String] = []
    var kept: [Badge] = []
}

@Suite("Subclasses of managed objects: their events, their entity, single values")
struct ObjectEventTests {
    typealias Steps = ClosurePolicy.Steps

    /// Migrates with a destination whose entity Badge has the class `Badge`.
    private func run(
        deletingBadges: Bool = false, _ end: @escaping (NSMigrationManager) throws -> Void
    ) throws -> ReferenceStore {
        let fixture = try PolicyFixture()
        var definition = fixture.destination.definition
        for index in definition.entities.indices where definition.entities[index].name == "Badge" {
            definition.entities[index].managedObjectClassName = "App.Badge"
        }
        for index in definition.entities.indices where deletingBadges && definition.entities[index].name == "Person" {
            for place in definition.entities[index].relationships.indices
            where definition.entities[index].relationships[place].name == "badge" {
                definition.entities[index].relationships[place].deleteRule = .cascade
            }
        }
        let model = try ManagedObjectModel(definition)
        var steps = Steps()
        steps.end = { try end($1) }
        fixture.policy("Persons", steps)
        let made = fixture.manager()
        let manager = NSMigrationManager(sourceModel: fixture.source, destinationModel: model)
        (manager.policies, manager.options) = (made.policies, made.options)
        try manager.migrateStore(
            from: fixture.sourceURL, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL, type: .sqlite)
        return try ReferenceStore.read(path: fixture.destinationURL.path, model: model)
    }

    @Test("Objects of a subclass are told of their insertion, their deletion, and the save")
    func events() throws {
        let log = EventLog()
        let store = try run { manager in
            let context = manager.destinationContext
            let badge = Badge(context: context)
            #expect(badge.code == "awake")
            let late = Badge(entity: badge.entity, insertInto: nil)
            #expect(late.code == nil)
            late.code = "late"
            context.insert(late)
            #expect(late.code == "awake")
            let gone = Badge(context: context)
            for object in [badge, late, gone] { object.events = log }
            log.kept = [badge, late, gone]
            try context.save()
            #expect(log.lines.isEmpty)
            context.delete(gone)
            context.delete(gone)
            // What is read is the same object as long as it is kept.
            let request = Badge.fetchRequest()
            #expect(request.entityName == "Badge")
            #expect(try context.fetch(request).count == 2)
            #expect(try context.fetch(request).allSatisfy { $0 is Badge })
        }
        #expect(
            log.lines.sorted() == ["delete awake", "didSave true", "didSave true", "willSave awake", "willSave awake"])
        #expect(store.texts("Badge", "code") == ["awake saved", "awake saved"])
    }

    @Test("An object of a subclass that a cascade deletes is told so, and may change others before")
    func cascade() throws {
        let log = EventLog()
        let store = try run(deletingBadges: true) { manager in
            let context = manager.destinationContext
            let persons = NSFetchRequest<NSManagedObject>(entityName: "Person")
            let all = try context.fetch(persons)
            for person in all.prefix(2) {
                let badge = Badge(context: context)
                (badge.events, badge.code) = (log, person.value(forKey: "name") as? String)
                badge.setValue(person, forKey: "person")
                log.kept.append(badge)
            }
            context.delete(all[0])
            #expect(log.kept.map(\.isDeleted) == [true, false])
            #expect(log.lines == ["delete person 1"])
        }
        #expect(store.texts("Badge", "code") == ["person 2 saved"])
    }

    @Test("A subclass overrides what happens with undefined keys, the checks, and its description")
    func overrides() throws {
        _ = try run { manager in
            let badge = Badge(context: manager.destinationContext)
            badge.code = "kept"
            #expect(badge.value(forKey: "title") as? String == "Badge kept" && badge.description == "badge")
            badge.setValue(1, forKey: "ignored")
            badge.setNilValueForKey("code")
            badge.code = "kept"
            badge.awake(fromSnapshotEvents: [.undoInsertion, .refresh])
            #expect(throws: CocoaError.self) { try badge.validateForDelete() }
        }
        let error = #expect(throws: MigrationError.self) {
            _ = try run { _ = Badge(context: $0.destinationContext).value(forKey: "none") }
        }
        #expect(error?.code == "object.unknownKey")
    }

    @Test("A value that willSave cannot set ends the run")
    func failure() throws {
        final class Bad: NSManagedObject {
            override func willSave() { setValue(1, forKey: "none") }
        }
        var kept: Bad?
        let error = #expect(throws: MigrationError.self) {
            _ = try run { manager in
                let entity = try #require(
                    NSEntityDescription.entity(forEntityName: "Badge", in: manager.destinationContext))
                kept = Bad(entity: entity, insertInto: manager.destinationContext)
            }
        }
        #expect(error?.code == "object.unknownKey")
        #expect(kept?.isFault == true)
    }

    @Test("A class finds its entity in the models of the run")
    func entity() throws {
        _ = try run { manager in
            #expect(Badge.entity().name == "Badge")
            #expect(Badge.entity() == manager.destinationModel.entitiesByName["Badge"])
            #expect(NSManagedObject.entity().name == "ManagedObject")
        }
        #expect(Badge.entity().name == "Badge" && Badge.entity().properties.isEmpty)
    }

    @Test("A single value is checked against the model's rules")
    func validateValue() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
            let person = try #require(try manager.destinationContext.fetch(request).first)
            var value: AnyObject? = "Ada" as AnyObject
            try person.validateValue(&value, forKey: "name")
            value = nil
            try person.validateValue(&value, forKey: "name")
            try person.validateValue(&value, forKey: "pets")
            let error = #expect(throws: MigrationError.self) { try person.validateValue(&value, forKey: "none") }
            #expect(error?.code == "object.unknownKey")
            // Person 1 has a best friend, who has none.
            let further = #expect(throws: MigrationError.self) {
                try person.validateValue(&value, forKeyPath: "best.none")
            }
            #expect(further?.code == "object.unknownKey")
            try person.validateValue(&value, forKeyPath: "best.best.none")
        }
        let model = NSManagedObjectModel.ruled
        let object = NSManagedObject(entity: model.entities[0], insertInto: nil)
        func code(_ value: Any?, _ key: String) -> String? {
            var value = value as AnyObject?
            do { try object.validateValue(&value, forKey: key) } catch {
                return (error as? MigrationError)?.code.rawValue
            }
            return nil
        }
        #expect(code("abc", "code") == nil && code("abcd", "code") == "validation.tooLong")
        #expect(code(nil, "code") == "validation.missing")
        #expect(code(3, "number") == nil && code(30, "number") == "validation.tooLarge")
        #expect(code(nil, "owner") == "validation.missing" && code(object, "owner") == nil)
        let error = #expect(throws: MigrationError.self) {
            var long: AnyObject? = "abcd" as AnyObject
            try object.validateValue(&long, forKeyPath: "code")
        }
        #expect(error?.code == "validation.tooLong")
    }

    @Test("Mutable views by key path, and of arrays")
    func views() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
            request.predicate = NSPredicate(format: "name == 'person 1'")
            let person = try #require(try context.fetch(request).first)
            let pet = NSEntityDescription.insertNewObject(forEntityName: "Pet", into: context)
            // Person 1's best is person 2, who has pet 2.
            #expect(person.mutableOrderedSetValue(forKeyPath: "best.pets").count == 1)
            person.mutableOrderedSetValue(forKeyPath: "best.pets").add(pet)
            person.mutableSetValue(forKeyPath: "best.friends").add(person)
            #expect(person.mutableSetValue(forKeyPath: "best.best.friends").count == 0)
            let best = try #require(person.value(forKey: "best") as? NSManagedObject)
            #expect((best.value(forKey: "pets") as? NSOrderedSet)?.lastObject as? NSManagedObject === pet)
            #expect((best.value(forKey: "friends") as? NSSet)?.contains(person) == true)
            let pets = best.mutableArrayValue(forKey: "pets")
            #expect(pets.count == 2 && pets.lastObject as? NSManagedObject === pet)
            pets.exchangeObject(at: 0, withObjectAt: 1)
            pets.removeObject(at: 1)
            #expect((best.value(forKey: "pets") as? NSOrderedSet)?.array as? [NSManagedObject] == [pet])
            person.mutableArrayValue(forKeyPath: "best.pets").removeAllObjects()
            #expect((best.value(forKey: "pets") as? NSOrderedSet)?.count == 0)
        }
    }
}

extension NSManagedObjectModel {
    /// An entity with a text, a number and a required relationship, each with a rule.
    fileprivate static var ruled: NSManagedObjectModel {
        var code = AttributeDefinition(name: "code", type: .string)
        code.maximumLength = 3
        var number = AttributeDefinition(name: "number", type: .integer16)
        number.maximum = .integer(10)
        number.isOptional = true
        var entity = EntityDefinition(name: "Thing")
        entity.attributes = [code, number]
        entity.relationships = [RelationshipDefinition(name: "owner", destinationEntityName: "Thing")]
        var definition = ModelDefinition()
        definition.entities = [entity]
        do { return try ManagedObjectModel(definition) } catch { preconditionFailure("\(error)") }
    }
}
