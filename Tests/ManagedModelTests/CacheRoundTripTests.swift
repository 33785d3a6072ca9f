import Archives
import Diagnostics
import Foundation
import Mapping
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Cached models, written and read")
struct CacheRoundTripTests {
    /// A model with one of everything that an archive keeps.
    private func definition() throws -> ModelDefinition {
        var model = ModelDefinition()
        model.versionIdentifiers = ["", "2.0"]
        var base = EntityDefinition(name: "Base")
        base.isAbstract = true
        base.versionHashModifier = "m1"
        base.userInfo = ["key": "value", "other": ""]
        base.attributes = try AttributeType.allCases.filter { $0 != .composite && $0 != .objectID }.map(attribute)
            .sorted { $0.name < $1.name }
        base.uniquenessConstraints = [["aString", "anInteger64"], ["aUUID"]]
        base.compoundIndexes = [["aString", "aDate"]]
        var index = FetchIndexDefinition(name: "byDate")
        var descending = FetchIndexElement(propertyName: "aDate")
        descending.isAscending = false
        var spatial = FetchIndexElement(propertyName: "aDouble")
        spatial.isRTree = true
        index.elements = [descending, spatial]
        base.indexes = [index]
        var children = RelationshipDefinition(name: "children", destinationEntityName: "Leaf")
        children.inverseName = "parent"
        children.isToMany = true
        children.isOrdered = true
        children.minimumCount = 1
        children.maximumCount = 12
        children.deleteRule = .cascade
        children.versionHashModifier = "r"
        children.userInfo = ["r": "1"]
        base.relationships = [children]
        var leaf = EntityDefinition(name: "Leaf")
        leaf.superentityName = "Base"
        leaf.managedObjectClassName = "LeafObject"
        leaf.renamingIdentifier = "OldLeaf"
        var parent = RelationshipDefinition(name: "parent", destinationEntityName: "Base")
        parent.inverseName = "children"
        parent.isOptional = true
        parent.maximumCount = 1
        parent.deleteRule = .deny
        parent.renamingIdentifier = "oldParent"
        parent.isIndexed = true
        parent.isIndexedBySpotlight = true
        var lonely = RelationshipDefinition(name: "tags", destinationEntityName: "Leaf")
        lonely.isToMany = true
        lonely.isTransient = true
        lonely.deleteRule = .noAction
        leaf.relationships = [parent, lonely]
        leaf.attributes = [
            "canonical:(aString)", "children.@count", "children.aDouble.@sum", "now()", "parent.aString",
        ]
        .enumerated().map { number, expression in
            var derived = AttributeDefinition(name: "derived\(number)", type: .string)
            derived.derivationExpression = expression
            return derived
        }
        var fetched = FetchedPropertyDefinition(name: "found")
        fetched.fetchRequest = FetchRequestDefinition(name: "fetchedPropertyFetchRequest", entityName: "Base")
        fetched.userInfo = ["f": "g"]
        leaf.fetchedProperties = [fetched]
        model.entities = [base, leaf]
        model.configurations = ["Cloud": ["Base", "Leaf"], "Empty": []]
        model.fetchRequests = [FetchRequestDefinition(name: "all", entityName: "Leaf")]
        return model
    }

    private func attribute(_ type: AttributeType) throws -> AttributeDefinition {
        let name = type == .integer64 ? "anInteger64" : "a\(type.label.replacingOccurrences(of: " ", with: ""))"
        var attribute = AttributeDefinition(name: name, type: type)
        attribute.isOptional = type.rawValue % 200 == 0
        attribute.isTransient = type == .undefined
        attribute.isIndexed = type == .integer16
        switch type {
        case .integer16, .integer32, .integer64:
            attribute.defaultValue = .integer(-5)
            attribute.minimum = .integer(-10)
            attribute.maximum = .integer(.max)
        case .decimal:
            attribute.defaultValue = .decimal(try #require(Decimal(string: "-3.3333333332999993")))
            attribute.maximum = .decimal(100)
        case .double, .float:
            attribute.defaultValue = .double(0.1)
            attribute.minimum = .double(-1.5)
        case .string:
            attribute.defaultValue = .string("Zoë \u{1F98A}")
            attribute.minimumLength = 1
            attribute.maximumLength = 80
            attribute.regularExpression = "^[A-Z]\\d+\"$"
            attribute.renamingIdentifier = "oldString"
            attribute.versionHashModifier = "2"
            attribute.userInfo = ["a": "b"]
            attribute.preservesValueInHistoryOnDeletion = true
        case .boolean: attribute.defaultValue = .boolean(true)
        case .date:
            attribute.defaultValue = .date(628_161_600)
            attribute.minimum = .date(0)
            attribute.maximum = .date(1e9)
        case .binaryData:
            attribute.defaultValue = .data(Data([1, 2, 3]))
            attribute.allowsExternalBinaryDataStorage = true
        case .uuid:
            attribute.defaultValue = .uuid(try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")))
        case .uri:
            attribute.defaultValue = .uri("https://example.org/a?b=c")
            attribute.isIndexedBySpotlight = true
        case .transformable:
            attribute.valueTransformerName = "NSSecureUnarchiveFromData"
            attribute.valueClassName = "NSArray"
        case .undefined, .objectID, .composite: break
        }
        return attribute
    }

    @Test("A model with one of everything comes back equal, inflated or not")
    func roundTrip() throws {
        let definition = try definition()
        let model = try ManagedObjectModel(definition)
        #expect(try ModelArchive.decode(ModelArchive.encode(model)) == definition)
        #expect(try ModelCache.decode(ModelCache.encode(model)) == definition)
        #expect(try ModelArchive.encode(model) == ModelArchive.encode(ManagedObjectModel(definition)))
    }

    @Test("The graph has Core Data's classes, copies of inherited properties, and the bits of _P")
    func graph() throws {
        let archive = try KeyedArchive(decoding: ModelArchive.encode(ManagedObjectModel(try definition())))
        let entities = try #require(try archive.root().entries("NSEntities"))
        #expect(try archive.root().object("NSEntities")?.className == "NSKnownKeysDictionary1")
        let leaf = try #require(entities.last?.value.object)
        #expect(try leaf.string("NSEntityName") == "Leaf")
        var properties: [String: ArchivedObject] = [:]
        for entry in try leaf.entries("NSProperties") ?? [] {
            properties[try #require(try entry.key.string())] = entry.value.object
        }
        let text = try #require(properties["aString"])
        #expect(try text.object("NSEntity")?.uid == leaf.uid)
        // Always, optional or not, and without validation, user info and hash modifier: none of the three here.
        #expect(try text.integer("_P") == 1)
        #expect(try text.integer("NSFlagsKey") == 16)
        #expect(try properties["derived0"]?.integer("_P") == 245)
        #expect(properties["derived0"]?.className == "NSDerivedAttributeDescription")
        let children = try #require(properties["children"])
        #expect(try children.integer("_P") == 1 + 48 + 1024)
        #expect(try children.integer("NSMaxCount") == 12)
        // Optional, without validation, user info and hash modifier, and the two bits of Spotlight.
        let place = try #require(properties["aURI"])
        #expect(try place.integer("_P") == 243 + 256 + 2048)
        #expect(try place.flag("NSIndexedBySpotlight"))
        #expect(try children.value("NSIndexedBySpotlight").isNull)
        #expect(try properties["parent"]?.integer("_P") == 243 + 256 + 2048)
        let inverse = try #require(try children.object("NSInverseRelationship"))
        #expect(inverse.uid == properties["parent"]?.uid)
        #expect(try inverse.object("NSInverseRelationship")?.uid != children.uid)
        #expect(try properties["found"]?.integer("_P") == 191)
        #expect(try properties["found"]?.object("NSFetchRequest")?.object("NSEntity")?.string("NSEntityName") == "Base")
    }

    @Test("Composite attributes come back, nested ones too, under the name of their attribute")
    func composites() throws {
        var model = ModelDefinition()
        var place = AttributeDefinition(name: "Point", type: .composite)
        place.compositeName = "Point"
        var inner = AttributeDefinition(name: "height", type: .composite)
        inner.compositeName = "height"
        model.composites = [
            "Point": [AttributeDefinition(name: "lat", type: .double), inner],
            "height": [AttributeDefinition(name: "metres", type: .float)],
        ]
        var entity = EntityDefinition(name: "E")
        entity.attributes = [place]
        model.entities = [entity]
        #expect(try ModelArchive.decode(ModelArchive.encode(ManagedObjectModel(model))) == model)
    }

    @Test("A derivation that Core Data does not have is an error that names the attribute")
    func unknownDerivation() throws {
        var model = ModelDefinition()
        var entity = EntityDefinition(name: "E")
        var derived = AttributeDefinition(name: "d", type: .string)
        derived.derivationExpression = "a + b"
        entity.attributes = [derived]
        model.entities = [entity]
        let resolved = try ManagedObjectModel(model)
        let error = failure { _ = try ModelArchive.encode(resolved) }
        #expect(error?.code == "archive.derivation")
        #expect(error?.context == .init(entity: "E", property: "d", expression: "a + b"))
    }

    @Test("Every truncation and changed bytes of an own archive give a model or an error")
    func mutations() throws {
        let seed = RandomSeeds.first
        print("own model mutations, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let bytes = try ModelArchive.encode(ManagedObjectModel(try definition()))
        for end in stride(from: 0, to: bytes.count, by: 7) {
            #expect(foreignError { _ = try ModelArchive.decode(Array(bytes[..<end])) } == nil)
        }
        for _ in 0..<1500 {
            var changed = bytes
            changed[random.below(bytes.count)] = UInt8(random.below(256))
            #expect(foreignError { _ = try ManagedObjectModel(try ModelArchive.decode(changed)) } == nil)
        }
    }

    @Test("A partial index's predicate is archived in any form; a text that is none goes with its index")
    func partialIndexes() throws {
        func indexes(_ predicates: [String]) throws -> [String?] {
            var entity = EntityDefinition(name: "A")
            entity.attributes = [AttributeDefinition(name: "n", type: .integer64)]
            entity.indexes = predicates.enumerated().map { position, predicate in
                var index = FetchIndexDefinition(name: "i\(position)")
                index.elements = [FetchIndexElement(propertyName: "n")]
                index.partialIndexPredicate = predicate
                return index
            }
            var definition = ModelDefinition()
            definition.entities = [entity]
            let model = try ManagedObjectModel(definition)
            let read = try ModelCache.decode(try ModelCache.encode(model, archiver: ArchivingLanguage()))
            return read.entities[0].indexes.map(\.partialIndexPredicate)
        }
        #expect(
            try indexes(["n > 5", "n = 1.5 OR (n >= 2 && n != nil)", "n == 'x' AND n <= -3", "n == YES"]) == [
                "n > 5", "n == 1.5 OR (n >= 2 AND n != NULL)", "n == \"x\" AND n <= -3", "n == YES",
            ])
        #expect(
            try indexes(["NOT n == 1", "n IN {1, 2}", "lowercase:(n) == 'x'"]) == [
                "NOT (n == 1)", "n IN {1, 2}", "lowercase:(n) == \"x\"",
            ])
        #expect(try indexes(["n > ", "(n > 1", "n > 1)"]).isEmpty)
    }

    @Test("A model's cache is made once for each choice about predicates, and one does not stand for the other")
    func madeOnce() throws {
        func model() throws -> ManagedObjectModel {
            var entity = EntityDefinition(name: "A")
            entity.attributes = [AttributeDefinition(name: "n", type: .integer64)]
            var index = FetchIndexDefinition(name: "i")
            index.elements = [FetchIndexElement(propertyName: "n")]
            index.partialIndexPredicate = "n > 5"
            entity.indexes = [index]
            var definition = ModelDefinition()
            definition.entities = [entity]
            return try ManagedObjectModel(definition)
        }
        let (one, other) = (try model(), try model())
        let bare = try ModelCache.encode(one)
        let full = try ModelCache.encode(one, archiver: ArchivingLanguage())
        #expect(bare != full)
        #expect(try ModelCache.encode(other, archiver: ArchivingLanguage()) == full)
        #expect(try ModelCache.encode(other) == bare)
        #expect(try ModelCache.encode(one) == bare && ModelCache.encode(one, archiver: ArchivingLanguage()) == full)
        #expect(one.definitionDigest == other.definitionDigest && one.definitionDigest == one.definitionDigest)
    }
}
