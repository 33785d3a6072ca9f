import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Policies: objects, values and relationships")
struct PolicyObjectTests {
    typealias Steps = ClosurePolicy.Steps

    /// A value that Swift code may set, the attribute, what the row then holds, and what is read back.
    struct Setting: CustomStringConvertible, @unchecked Sendable {
        var attribute: String
        var value: Any?
        var stored: ReferenceValue
        var read: NSObject?
        var description: String { "\(attribute) = \(value.map { "\(type(of: $0)) \($0)" } ?? "nil")" }

        init(_ attribute: String, _ value: Any?, _ stored: ReferenceValue, _ read: NSObject?) {
            self.attribute = attribute
            self.value = value
            self.stored = stored
            self.read = read
        }
    }

    static let date = Date(timeIntervalSinceReferenceDate: 12345.5)
    static let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    static let uuidBytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    static let url = URL(string: "https://example.com/a?b=c")!

    static let settings: [Setting] = [
        Setting("i16", 7, .integer(7), NSNumber(value: 7)),
        Setting("i16", Int16(-7), .integer(-7), NSNumber(value: -7)),
        Setting("i16", NSNumber(value: 300), .integer(300), NSNumber(value: 300)),
        Setting("i16", 7.9, .integer(7), NSNumber(value: 7)),
        Setting("i16", -7.9, .integer(-7), NSNumber(value: -7)),
        Setting("i32", UInt8(200), .integer(200), NSNumber(value: 200)),
        Setting("i32", NSNumber(value: 1.5), .integer(1), NSNumber(value: 1)),
        Setting("i32", true, .integer(1), NSNumber(value: 1)),
        Setting("i64", Int64.max, .integer(.max), NSNumber(value: Int64.max)),
        Setting("i64", Int64.min, .integer(.min), NSNumber(value: Int64.min)),
        Setting("i64", NSDecimalNumber(string: "12.75"), .integer(12), NSNumber(value: 12)),
        Setting("i64", Decimal(string: "-12.75"), .integer(-12), NSNumber(value: -12)),
        Setting("flag", true, .integer(1), NSNumber(value: true)),
        Setting("flag", NSNumber(value: false), .integer(0), NSNumber(value: false)),
        Setting("flag", 1, .integer(1), NSNumber(value: true)),
        Setting("single", Float(0.1), .real(Double(Float(0.1))), NSNumber(value: Float(0.1))),
        Setting("single", 0.1, .real(Double(Float(0.1))), NSNumber(value: Float(0.1))),
        Setting("real", 0.1, .real(0.1), NSNumber(value: 0.1)),
        Setting("real", 3, .real(3), NSNumber(value: 3.0)),
        Setting("real", NSNumber(value: 2.5), .real(2.5), NSNumber(value: 2.5)),
        Setting("decimal", Decimal(string: "12.5"), .real(12.5), NSDecimalNumber(string: "12.5")),
        Setting("decimal", NSDecimalNumber(string: "99"), .integer(99), NSDecimalNumber(string: "99")),
        Setting("decimal", 0.1, .real(0.1), NSDecimalNumber(string: "0.1")),
        Setting("decimal", NSNumber(value: 0.1), .real(0.1), NSDecimalNumber(string: "0.1")),
        Setting("decimal", 4, .integer(4), NSDecimalNumber(string: "4")),
        Setting("text", "größer", .text("größer"), "größer" as NSString),
        Setting("text", "", .text(""), "" as NSString),
        Setting("text", "part of it".prefix(4), .text("part"), "part" as NSString),
        Setting("text", NSString(string: "object"), .text("object"), "object" as NSString),
        Setting("date", date, .real(12345.5), date as NSDate),
        Setting("date", date as NSDate, .real(12345.5), date as NSDate),
        Setting("data", Data([1, 2, 3]), .blob([1, 2, 3]), Data([1, 2, 3]) as NSData),
        Setting("data", Data([1, 2]) as NSData, .blob([1, 2]), Data([1, 2]) as NSData),
        Setting("large", Data([9, 8]), .blob([1, 9, 8]), Data([9, 8]) as NSData),
        Setting("uuid", uuid, .blob(uuidBytes), uuid as NSUUID),
        Setting("uuid", uuid as NSUUID, .blob(uuidBytes), uuid as NSUUID),
        Setting("uri", url, .text("https://example.com/a?b=c"), url as NSURL),
        Setting("uri", url as NSURL, .text("https://example.com/a?b=c"), url as NSURL),
        Setting("i16", nil, .null, nil),
        Setting("i16", NSNull(), .null, nil),
        Setting("text", Int??.some(.none) as Any, .null, nil),
        Setting("text", String???.some(.some(.none)) as Any, .null, nil),
        Setting("text", String??.some(.some("deep")) as Any, .text("deep"), "deep" as NSString),
        Setting("i32", Int?.some(12) as Any, .integer(12), NSNumber(value: 12)),
    ]

    @Test("A value of any fitting Swift or Foundation type is stored and read back", arguments: settings)
    func values(_ setting: Setting) throws {
        let fixture = try PolicyFixture(persons: 1)
        var steps = Steps()
        steps.create = { source, mapping, manager, standard in
            try standard()
            let thing = try #require(
                manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source]).first)
            thing.setValue(setting.value, forKey: setting.attribute)
        }
        steps.end = { mapping, manager in
            let thing = try #require(
                manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: nil).first)
            let value = thing.value(forKey: setting.attribute)
            switch value {
            case nil: #expect(setting.read == nil)
            case let object as NSObject: #expect(object == setting.read)
            case let text as String: #expect(text as NSString == setting.read)
            case let date as Date: #expect(date as NSDate == setting.read)
            case let data as Data: #expect(data as NSData == setting.read)
            case let uuid as UUID: #expect(uuid as NSUUID == setting.read)
            case let url as URL: #expect(url as NSURL == setting.read)
            default: Issue.record("read back a \(type(of: value))")
            }
            // Any value can be a member of a set.
            if let value { #expect(NSSet(array: [value, value]).count == 1) }
            // Set again from what was read: nothing changes.
            thing.setValue(value, forKey: setting.attribute)
        }
        fixture.policy("Things", steps)
        let store = try fixture.run()
        #expect(store.value("Thing", 1, setting.attribute) == setting.stored)
    }

    @Test("Numbers read from an object pass for Swift's number types")
    func numberCasts() throws {
        let fixture = try PolicyFixture(persons: 1)
        var steps = Steps()
        steps.create = { source, _, _, standard in
            let age = source.value(forKey: "age")
            #expect(age is NSNumber)
            #expect(age as? Int == 10)
            #expect(age as? Int16 == 10)
            #expect(age as? Double == 10)
            #expect(source.value(forKeyPath: "name") as? String == "person 1")
            #expect(source.dictionaryWithValues(forKeys: ["age", "best"])["best"] is NSNull)
            try standard()
        }
        fixture.policy("Persons", steps)
        try fixture.run()
    }

    @Test("Source objects give to-one, to-many and ordered relationships")
    func sourceRelationships() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        steps.create = { source, _, _, standard in
            try standard()
            guard source.objectID.key == 1 else {
                #expect((source.value(forKey: "friends") as? NSSet)?.count == 0)
                #expect(source.value(forKey: "best") == nil)
                return
            }
            #expect((source.value(forKey: "best") as? ManagedObject)?.value(forKey: "name") as? String == "person 2")
            let pets = try #require(source.value(forKey: "pets") as? NSOrderedSet)
            #expect(pets.array.compactMap { ($0 as? ManagedObject)?.objectID.key } == [3, 1])
            let friends = try #require(source.value(forKey: "friends") as? Set<ManagedObject>)
            #expect(friends.map(\.objectID.key).sorted() == [2, 3])
            let friend = try #require(friends.first { $0.objectID.key == 3 })
            #expect((friend.value(forKey: "friendOf") as? NSSet)?.anyObject() as? ManagedObject === source)
            let owner = (pets.firstObject as? ManagedObject)?.value(forKey: "owner") as? ManagedObject
            #expect(owner === source)
        }
        fixture.policy("Persons", steps)
        try fixture.run()
    }

    @Test("Setting one side of a relationship is seen on the other at once, in every stage")
    func inverses() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        steps.endCreation = { _, manager in
            let persons = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: nil)
            let badge = EntityDescription.insertNewObject(forEntityName: "Badge", into: manager.destinationContext)
            persons[0].setValue(badge, forKey: "badge")
            #expect(badge.value(forKey: "person") as? ManagedObject === persons[0])
            badge.setValue(persons[1], forKey: "person")
            #expect(persons[0].value(forKey: "badge") == nil)
            #expect(persons[1].value(forKey: "badge") as? ManagedObject === badge)
        }
        // After the last mapping that sets them: each sets its own when the stage reaches it.
        var last = Steps()
        last.endRelating = { _, manager in
            let persons = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: nil)
            let pets = manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil)
            // Links of the mappings exist, and so do those that were set in stage 1.
            #expect(
                (persons[0].value(forKey: "pets") as? NSOrderedSet)?.array as? [ManagedObject] == [pets[2], pets[0]])
            #expect((persons[1].value(forKey: "badge") as? ManagedObject)?.entity.name == "Badge")
            pets[4].setValue(persons[0], forKey: "owner")
            #expect(
                (persons[0].value(forKey: "pets") as? NSOrderedSet)?.array as? [ManagedObject]
                    == [pets[2], pets[0], pets[4]])
            persons[2].setValue(NSOrderedSet(array: [pets[5], pets[2]]), forKey: "pets")
            #expect(pets[2].value(forKey: "owner") as? ManagedObject === persons[2])
            #expect((persons[0].value(forKey: "pets") as? NSOrderedSet)?.count == 2)
            persons[3].setValue([pets[3], pets[1]], forKey: "pets")
            persons[4].setValue(Set([persons[0], persons[3]]), forKey: "friends")
            #expect((persons[3].value(forKey: "friendOf") as? NSSet)?.contains(persons[4]) == true)
            persons[5].setValue(NSSet(array: [persons[5]]), forKey: "friends")
            persons[0].setValue(nil, forKey: "best")
        }
        fixture.policy("Persons", steps)
        fixture.policy("Things", last)
        let store = try fixture.run()
        let persons = store.objects("Person")
        #expect(persons[1]?.toMany["pets"]?.map(\.object.key) == [1, 5])
        #expect(persons[1]?.toMany["pets"]?.map(\.order) == [3072, 4096])
        #expect(persons[3]?.toMany["pets"]?.map(\.object.key) == [6, 3])
        #expect(persons[3]?.toMany["pets"]?.map(\.order) == [2048, 3072])
        #expect(persons[4]?.related("pets").map(\.key) == [4, 2])
        #expect(persons[5]?.related("friends").map(\.key) == [1, 4])
        #expect(persons[6]?.related("friends").map(\.key) == [6])
        #expect(persons[1]?.related("best").isEmpty == true)
        #expect(persons[2]?.related("badge").map(\.key) == [1])
        #expect(store.objects("Badge")[1]?.related("person").map(\.key) == [2])
    }

    @Test("Objects that a policy keeps stay the same objects, past their batch and after they are spilled")
    func identity() throws {
        let fixture = try PolicyFixture(persons: 300)
        var sources: [ManagedObject] = []
        var destinations: [ManagedObject] = []
        var steps = Steps()
        steps.create = { source, mapping, manager, standard in
            try standard()
            let made = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: [source])
            #expect(made.count == 1)
            sources.append(source)
            destinations += made
        }
        steps.relate = { object, _, manager, standard in
            #expect(destinations[Int(object.objectID.key) - 1] === object)
            try standard()
        }
        steps.end = { _, manager in
            for (index, source) in sources.enumerated() {
                #expect(source.value(forKey: "name") as? String == "person \(index + 1)")
                let found = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: [source])
                #expect(found.first === destinations[index])
                #expect(manager.destinationContext.object(with: destinations[index].objectID) === destinations[index])
                #expect(destinations[index].value(forKey: "name") as? String == "person \(index + 1)")
            }
            #expect(Set(destinations).count == 300)
            #expect(manager.destinationContext.registeredObjects.count >= 300)
        }
        fixture.policy("Persons", steps)
        try fixture.run()
        // The migration is over: what is still held has no values and no context.
        #expect(destinations[0].managedObjectContext == nil)
        #expect(destinations[0].value(forKey: "name") == nil)
        #expect(destinations[0].objectID.uriRepresentation().absoluteString.hasSuffix("/Person/p1"))
    }

    @Test("An object that nobody holds becomes the next row's; one that is held weakly goes")
    func recycling() throws {
        let fixture = try PolicyFixture(persons: 40)
        fixture.isTiny = false
        var addresses: [Set<ObjectIdentifier>] = [[], []]
        weak var last: ManagedObject?
        var isWeak = false
        var left = 0
        func see(_ object: ManagedObject, _ stage: Int) {
            // An object that was held weakly is gone, and never another row's object.
            if isWeak, last != nil { left += 1 }
            if isWeak { last = object } else { addresses[stage].insert(ObjectIdentifier(object)) }
        }
        var steps = Steps()
        steps.create = { source, _, _, standard in
            see(source, 0)
            #expect(source.value(forKey: "name") as? String == "person \(source.objectID.key)")
            try standard()
        }
        steps.relate = { object, _, _, standard in
            see(object, 1)
            #expect(object.value(forKey: "name") as? String == "person \(object.objectID.key)")
            try standard()
        }
        fixture.policy("Persons", steps)
        try fixture.run()
        #expect(addresses.map(\.count) == [1, 1])
        isWeak = true
        try fixture.run()
        #expect(left == 0)
    }

    @Test("Changes in later stages reach spilled rows, also those of mappings without policy")
    func laterChanges() throws {
        let fixture = try PolicyFixture(persons: 100)
        var steps = Steps()
        steps.relate = { object, _, _, standard in
            try standard()
            object.setValue("related \(object.objectID.key)", forKey: "name")
        }
        steps.validate = { _, manager in
            for object in manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: nil)
            where object.objectID.key % 2 == 0 {
                object.setValue((object.value(forKey: "name") as? String ?? "") + " validated", forKey: "name")
                object.setValue(1, forKey: "age")
            }
        }
        steps.end = { _, manager in
            for object in manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil) {
                object.setValue("end \(object.objectID.key)", forKey: "name")
            }
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        for key in 1...100 as ClosedRange<Int64> {
            let suffix = key % 2 == 0 ? " validated" : ""
            #expect(store.value("Person", key, "name") == .text("related \(key)\(suffix)"))
            #expect(store.value("Person", key, "age") == .integer(key % 2 == 0 ? 1 : key * 10))
            #expect(store.value("Pet", key, "name") == .text("end \(key)"))
        }
        #expect(store.objects("Pet")[3]?.related("owner").map(\.key) == [1])
    }

    @Test("A text set again and again in one row does not pile up")
    func repeatedText() throws {
        let fixture = try PolicyFixture(persons: 2)
        var steps = Steps()
        steps.create = { source, mapping, manager, standard in
            try standard()
            let made = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: [source])[0]
            let long = String(repeating: "x", count: 10_000)
            for number in 0..<2000 { made.setValue("\(number) \(long)", forKey: "name") }
        }
        fixture.policy("Persons", steps)
        fixture.isTiny = false
        fixture.change = { $0.options.memoryLimit = 8 << 30 }
        let store = try fixture.run()
        #expect(store.value("Person", 2, "name") == .text("1999 " + String(repeating: "x", count: 10_000)))
    }

    @Test("A deleted object has no row; references to it are nil; lookups leave it out; counts follow")
    func deletes() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        var related: [Int64] = []
        steps.endCreation = { _, manager in
            let persons = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: nil)
            manager.destinationContext.delete(persons[3])
            #expect(persons[3].isDeleted)
            let left = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: nil)
            #expect(left.map(\.objectID.key) == [1, 2, 3, 5, 6])
        }
        steps.relate = { object, _, _, standard in
            related.append(object.objectID.key)
            try standard()
        }
        steps.end = { _, manager in
            let persons = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: nil)
            let pets = manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil)
            manager.destinationContext.delete(persons[1])
            #expect(persons[0].value(forKey: "best") == nil)
            #expect((persons[0].value(forKey: "friends") as? NSSet)?.count == 1)
            #expect(pets[1].value(forKey: "owner") == nil)
            manager.destinationContext.delete(pets[2])
            manager.destinationContext.delete(pets[2])
            #expect((persons[0].value(forKey: "pets") as? NSOrderedSet)?.count == 1)
            // Setting a relationship to a deleted object leaves it out.
            persons[0].setValue(persons[1], forKey: "best")
        }
        fixture.policy("Persons", steps)
        let manager = fixture.manager()
        let store = try fixture.run(manager)
        #expect(related == [1, 2, 3, 5, 6])
        #expect(store.keys("Person") == [1, 3, 5, 6])
        #expect(store.keys("Pet") == [1, 2, 4, 5, 6])
        #expect(store.maximum("Person") == 6)
        let one = try #require(store.objects("Person")[1])
        #expect(one.related("best").isEmpty)
        #expect(one.dangling.isEmpty)
        #expect(one.related("friends").map(\.key) == [3])
        #expect(one.related("pets").map(\.key) == [1])
        #expect(store.objects("Pet")[2]?.related("owner").isEmpty == true)
        #expect(manager.report?.counts.created["Person"] == 4)
        #expect(manager.report?.counts.mappings[0].droppedByPolicy == 2)
        #expect(manager.report?.counts.mappings[1].droppedByPolicy == 1)
        #expect(manager.report?.counts.mappings[1].migrated == 5)
    }
}
