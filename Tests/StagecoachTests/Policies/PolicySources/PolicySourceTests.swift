import Foundation
import Stagecoach
import TestSupport
import Testing

// Row of the table of what real policies use                              Test
// override createDestinationInstances, super, destinationInstances        superclass
// setValue(_:forKey:), value(forKey:)                                     superclass
// insertNewObject(forEntityName:into:), destinationContext                handmade
// associate(sourceInstance:withDestinationInstance:for:)                  handmade
// mapping.name, sourceEntityName, destinationEntityName                   superclass, handmade
// object.entity, entity.name, attributesByName, relationshipsByName       handmade
// dictionaryWithValues(forKeys:), setValuesForKeys, NSNull                dictionaries
// NSManagedObject(entity:insertInto:), entity(forEntityName:in:)          dictionaries, split
// NSNumber in signatures and casts, primitiveValue, setPrimitiveValue     numbers, split
// 1:0, 1:n and n:1 creation                                               split
// mapping.userInfo, manager.userInfo, attributeMappings, valueExpression  expressions
// NSExpression(forConstantValue:), (format:), expressionValue             expressions
// value(forKeyPath:), key paths                                           keyPaths
// createRelationships, sourceInstances, NSOrderedSet                      relating
// NSFetchRequest of results, fetchLimit, managedObjectContext             genres
// NSSet and Set<NSManagedObject> casts, end, NSSortDescriptor             genres
// begin, endInstanceCreation, performCustomValidation                     mutable
// mutableSetValue, delete, registeredObjects, isFault                     mutable
// NSPredicate: ==, AND, %@, %K, IN, SELF ==; fetch, count(for:)           predicates
// objectID, uriRepresentation, persistentStoreCoordinator                 identity
// object(with:), existingObject(with:), sourceContext                     identity
// @objc functions of expressions                                          functions
@Suite("Real policies' calls, written as people write them")
struct PolicySourceTests {
    @Test("Calling super and changing what it made")
    func superclass() throws {
        let store = try PolicySourceFixture().run(SuperPolicy.self)
        #expect(store.texts("Book", "title") == ["EMMA", "DUNE", "ANON", "BEOWULF"])
        #expect(store.texts("Book", "pages") == ["474", "412", "7", "90"])
    }

    @Test("Creating and associating by hand")
    func handmade() throws {
        let fixture = try PolicySourceFixture()
        let store = try fixture.run(HandmadePolicy.self)
        #expect(store.texts("Book", "title") == ["Emma", "Dune", "Anon", "Beowulf"])
        #expect(store.texts("Book", "isbn") == ["1", "-", "-", "4"])
        #expect(store.texts("Book", "note") == Array(repeating: "by hand", count: 4))
        #expect(fixture.manager.report?.counts.mappings[1].migrated == 4)
    }

    @Test("Values by dictionary, NSNull for nil")
    func dictionaries() throws {
        let store = try PolicySourceFixture().run(DictionaryPolicy.self)
        #expect(store.texts("Book", "title") == ["Emma", "Dune", "Anon", "Beowulf"])
        #expect(store.texts("Book", "isbn") == ["1", "-", "-", "4"])
        #expect(store.texts("Book", "note") == ["0 missing", "1 missing", "1 missing", "0 missing"])
    }

    @Test("Numbers cast to NSNumber, Int, Int32, Int64 and Double")
    func numbers() throws {
        let store = try PolicySourceFixture().run(NumberPolicy.self)
        #expect(store.texts("Book", "pages") == ["2370", "2060", "35", "450"])
        #expect(store.texts("Book", "note") == ["0 67", "9.5 58", "0 1", "0 12"])
    }

    @Test("Dropping, splitting and merging objects")
    func split() throws {
        let fixture = try PolicySourceFixture()
        let store = try fixture.run(SplitPolicy.self)
        #expect(store.texts("Book", "title") == ["Emma 1", "Emma 2", "Collected"])
        let line = fixture.manager.report?.counts.mappings[1]
        #expect(line?.droppedByPolicy == 1)
        #expect(line?.migrated == 3)
    }

    @Test("Expressions set before super, evaluated with a partial context, and userInfo")
    func expressions() throws {
        let fixture = try PolicySourceFixture()
        fixture.books?.userInfo = ["suffix": "seven"]
        let store = try fixture.run(ExpressionPolicy.self)
        #expect(store.texts("Book", "note") == Array(repeating: "note seven", count: 4))
        #expect(store.texts("Book", "year") == ["1474", "1412", "1007", "1090"])
        #expect(
            fixture.manager.userInfo?.keys.compactMap { $0 as? String }.sorted() == ["Anon", "Beowulf", "Dune", "Emma"])
    }

    @Test("Key paths through relationships")
    func keyPaths() throws {
        let store = try PolicySourceFixture().run(KeyPathPolicy.self)
        #expect(store.texts("Book", "note") == ["Austen 4", "Herbert 4", "nobody 4", "nobody 4"])
    }

    @Test("Relating by lookups, ordered sets included")
    func relating() throws {
        let store = try PolicySourceFixture().run(RelatingPolicy.self)
        let books = store.objects("Book")
        #expect(books[1]?.related("author").map { $0["name"] } == [.text("Austen")])
        #expect(books[2]?.related("author").map { $0["name"] } == [.text("Herbert")])
        #expect(books[3]?.related("author").isEmpty == true)
        #expect(books[1]?.related("chapters").map { $0["title"] } == [.text("c3"), .text("c1"), .text("c2")])
    }

    @Test("Finding or creating by one fetch for each object")
    func genres() throws {
        let store = try PolicySourceFixture().run(GenrePolicy.self)
        #expect(store.texts("Genre", "name").sorted() == ["desert", "novel", "romance"])
        let genres = store.objects("Genre").values
        let ranks = Dictionary(uniqueKeysWithValues: genres.map { ($0["name"], $0["rank"]) })
        #expect(ranks == [.text("desert"): .integer(0), .text("novel"): .integer(1), .text("romance"): .integer(2)])
        #expect(
            Set(store.objects("Book")[1]?.related("genres").map { $0["name"] } ?? []) == [
                .text("novel"), .text("romance"),
            ])
    }

    @Test("Objects kept from begin on, mutable sets, deletion, custom validation")
    func mutable() throws {
        let store = try PolicySourceFixture().run(MutablePolicy.self)
        #expect(store.texts("Genre", "name") == ["all"])
        #expect(store.texts("Genre", "rank") == ["4"])
        #expect(store.objects("Genre").values.first?.related("books").count == 4)
    }

    @Test("Predicates of the forms that policies use")
    func predicates() throws {
        let store = try PolicySourceFixture().run(PredicatePolicy.self)
        #expect(store.texts("Book", "note")[0] == "4 Emma;Emma;Dune;Emma,Dune;Emma;Dune,Beowulf,Anon;Dune,Anon")
    }

    @Test("Ids, URIs and the store behind a context")
    func identity() throws {
        let store = try PolicySourceFixture().run(IdentityPolicy.self)
        #expect(store.texts("Book", "note") == (1...4).map { "p\($0) library.sqlite" })
    }
}
