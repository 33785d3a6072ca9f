import Archives
import Diagnostics
import Foundation
import ManagedModel
import Testing

@Suite("Digests of models")
struct DefinitionDigestTests {
    private static func model() -> ModelDefinition {
        var model = ModelDefinition()
        var entity = EntityDefinition(name: "A")
        entity.attributes = [AttributeDefinition(name: "x", type: .integer16)]
        entity.relationships = [RelationshipDefinition(name: "r", destinationEntityName: "A")]
        entity.relationships[0].maximumCount = 1
        entity.relationships[0].isOptional = true
        entity.fetchedProperties = [FetchedPropertyDefinition(name: "f")]
        entity.indexes = [FetchIndexDefinition(name: "i")]
        entity.indexes[0].elements = [FetchIndexElement(propertyName: "x")]
        model.entities = [entity]
        model.fetchRequests = [FetchRequestDefinition(name: "t", entityName: "A")]
        return model
    }

    private static func digest(_ change: (inout ModelDefinition) -> Void) throws -> [UInt8] {
        var model = model()
        change(&model)
        return try ManagedObjectModel(model).definitionDigest
    }

    /// A part of an archive: a number.
    @Sendable private static func graph(_ number: Int64) -> ArchivedGraph {
        do { return try ArchivedGraph.made { builder throws(MigrationError) in builder.integer(number) } } catch {
            fatalError("a number is archived: \(error)")
        }
    }

    /// For each type what alters one property of it, each of them once.
    static let changes: [(type: any Sendable, changes: [@Sendable (inout ModelDefinition) -> Void])] = [
        (
            ModelDefinition(),
            [
                { $0.entities.append(EntityDefinition(name: "B")) }, { $0.versionIdentifiers = ["1"] },
                { $0.configurations = ["c": ["A"]] }, { $0.composites = ["k": [.init(name: "y", type: .string)]] },
                { $0.fetchRequests = [] }, { $0.hashesCompositesFlat = true },
            ]
        ),
        (
            EntityDefinition(name: ""),
            [
                {
                    $0.entities[0].name = "C"
                    $0.entities[0].relationships[0].destinationEntityName = "C"
                    $0.fetchRequests = []
                },
                { $0.entities[0].managedObjectClassName = "X" },
                {
                    $0.entities.append(.init(name: "P"))
                    $0.entities[0].superentityName = "P"
                },
                { $0.entities[0].isAbstract = true }, { $0.entities[0].renamingIdentifier = "o" },
                { $0.entities[0].versionHashModifier = "1" },
                { $0.entities[0].attributes.append(.init(name: "z", type: .date)) },
                { $0.entities[0].relationships = [] }, { $0.entities[0].fetchedProperties = [] },
                { $0.entities[0].uniquenessConstraints = [["x"]] }, { $0.entities[0].indexes = [] },
                { $0.entities[0].compoundIndexes = [["x"]] }, { $0.entities[0].userInfo = ["a": "b"] },
                { $0.entities[0].archived.userInfo = ["a": graph(1)] },
            ]
        ),
        (
            AttributeDefinition(name: "", type: .string),
            [
                {
                    $0.entities[0].attributes[0].name = "w"
                    $0.entities[0].indexes = []
                },
                { $0.entities[0].attributes[0].type = .integer32 },
                { $0.entities[0].attributes[0].isOptional = true },
                {
                    $0.entities[0].attributes[0].isTransient = true
                    $0.entities[0].indexes = []
                },
                { $0.entities[0].attributes[0].isIndexed = true },
                { $0.entities[0].attributes[0].allowsCloudEncryption = true },
                { $0.entities[0].attributes[0].isIndexedBySpotlight = true },
                { $0.entities[0].attributes[0].isStoredInExternalRecord = true },
                { $0.entities[0].attributes[0].defaultValue = .integer(4) },
                { $0.entities[0].attributes[0].minimum = .integer(4) },
                { $0.entities[0].attributes[0].maximum = .integer(4) },
                { $0.entities[0].attributes[0].minimumLength = 4 }, { $0.entities[0].attributes[0].maximumLength = 4 },
                { $0.entities[0].attributes[0].regularExpression = "." },
                { $0.entities[0].attributes[0].validationPredicates = [.init(format: "SELF != 3")] },
                { $0.entities[0].attributes[0].validationWarnings = ["Not three"] },
                { $0.entities[0].attributes[0].valueTransformerName = "T" },
                { $0.entities[0].attributes[0].valueClassName = "V" },
                { $0.entities[0].attributes[0].allowsExternalBinaryDataStorage = true },
                { $0.entities[0].attributes[0].preservesValueInHistoryOnDeletion = true },
                { $0.entities[0].attributes[0].derivationExpression = "now()" },
                {
                    $0.composites = ["k": [.init(name: "y", type: .string)]]
                    $0.entities[0].attributes[0].compositeName = "k"
                },
                { $0.entities[0].attributes[0].renamingIdentifier = "o" },
                { $0.entities[0].attributes[0].versionHashModifier = "1" },
                { $0.entities[0].attributes[0].usesScalarValueType = false },
                { $0.entities[0].attributes[0].userInfo = ["a": "b"] },
                { $0.entities[0].attributes[0].archived.defaultValue = graph(2) },
            ]
        ),
        (
            RelationshipDefinition(name: "", destinationEntityName: ""),
            [
                { $0.entities[0].relationships[0].name = "s" },
                {
                    $0.entities.append(.init(name: "B"))
                    $0.entities[0].relationships[0].destinationEntityName = "B"
                },
                { $0.entities[0].relationships[0].inverseName = "r" },
                { $0.entities[0].relationships[0].isOptional = false },
                { $0.entities[0].relationships[0].isTransient = true },
                {
                    $0.entities[0].relationships[0].isToMany = true
                    $0.entities[0].relationships[0].maximumCount = 0
                },
                {
                    $0.entities[0].relationships[0].isToMany = true
                    $0.entities[0].relationships[0].maximumCount = 0
                    $0.entities[0].relationships[0].isOrdered = true
                },
                { $0.entities[0].relationships[0].minimumCount = 1 },
                {
                    $0.entities[0].relationships[0].isToMany = true
                    $0.entities[0].relationships[0].maximumCount = 7
                },
                { $0.entities[0].relationships[0].deleteRule = .deny },
                { $0.entities[0].relationships[0].isIndexed = true },
                { $0.entities[0].relationships[0].isIndexedBySpotlight = true },
                { $0.entities[0].relationships[0].isStoredInExternalRecord = true },
                { $0.entities[0].relationships[0].renamingIdentifier = "o" },
                { $0.entities[0].relationships[0].versionHashModifier = "1" },
                { $0.entities[0].relationships[0].userInfo = ["a": "b"] },
                { $0.entities[0].relationships[0].archived.fields = ["a": graph(3)] },
            ]
        ),
        (
            FetchedPropertyDefinition(name: ""),
            [
                { $0.entities[0].fetchedProperties[0].name = "g" },
                { $0.entities[0].fetchedProperties[0].isOptional = false },
                { $0.entities[0].fetchedProperties[0].fetchRequest = .init(name: "", entityName: "A") },
                { $0.entities[0].fetchedProperties[0].renamingIdentifier = "o" },
                { $0.entities[0].fetchedProperties[0].versionHashModifier = "1" },
                { $0.entities[0].fetchedProperties[0].userInfo = ["a": "b"] },
                { $0.entities[0].fetchedProperties[0].archived.fields = ["a": graph(4)] },
            ]
        ),
        (
            FetchRequestDefinition(name: "", entityName: ""),
            [
                { $0.fetchRequests[0].name = "u" },
                {
                    $0.entities.append(.init(name: "B"))
                    $0.fetchRequests[0].entityName = "B"
                },
                { $0.fetchRequests[0].predicate = "x > 1" }, { $0.fetchRequests[0].fetchLimit = 1 },
                { $0.fetchRequests[0].fetchBatchSize = 1 }, { $0.fetchRequests[0].resultType = 1 },
                { $0.fetchRequests[0].returnsDistinctResults = true },
                { $0.fetchRequests[0].archived.fields = ["a": graph(5)] },
            ]
        ),
        (
            FetchIndexDefinition(name: ""),
            [
                { $0.entities[0].indexes[0].name = "j" }, { $0.entities[0].indexes[0].elements = [] },
                { $0.entities[0].indexes[0].partialIndexPredicate = "x > 1" },
                { $0.entities[0].indexes[0].archived.fields = ["a": graph(6)] },
            ]
        ),
        (
            FetchIndexElement(propertyName: nil),
            [
                { $0.entities[0].indexes[0].elements[0].propertyName = "r" },
                { $0.entities[0].indexes[0].elements[0].expression = "x + 1" },
                { $0.entities[0].indexes[0].elements[0].isRTree = true },
                { $0.entities[0].indexes[0].elements[0].isAscending = false },
                { $0.entities[0].indexes[0].elements[0].archived.fields = ["a": graph(7)] },
            ]
        ),
    ]

    @Test("Every property of a definition enters the digest, but for what only Xcode reads")
    func every() throws {
        let plain = try Self.digest { _ in }
        #expect(try Self.digest { _ in } == plain)
        var seen: Set<[UInt8]> = [plain]
        for (type, changes) in Self.changes {
            // A property that comes later is to be added here, and to the digest.
            let properties = Mirror(reflecting: type).children.compactMap(\.label).filter { $0 != "xcode" }
            #expect(properties.count == changes.count, "\(Swift.type(of: type))")
            for (number, change) in changes.enumerated() {
                let found = try Self.digest(change)
                #expect(seen.insert(found).inserted, "\(Swift.type(of: type)), property \(number)")
            }
        }
    }

    @Test("Values that look alike are told apart")
    func values() throws {
        let values: [AttributeValue?] = [
            nil, .boolean(true), .integer(1), .double(1), .decimal(1), .string("1"), .date(1), .data(Data([1])),
            .uuid(UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))), .uri("1"),
        ]
        let digests = try values.map { value in try Self.digest { $0.entities[0].attributes[0].defaultValue = value } }
        #expect(Set(digests).count == values.count)
    }
}
