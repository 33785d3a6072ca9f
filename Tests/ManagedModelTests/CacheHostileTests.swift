import Archives
import Diagnostics
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Cached models that lie")
struct CacheHostileTests {
    /// A model of one entity `E` with one attribute `a`, fields of either replaced.
    private func archive(
        entity changes: [String: PropertyListValue] = [:], attribute: [String: PropertyListValue] = [:],
        propertyClass: String = "NSAttributeDescription",
        _ more: (inout KeyedArchiveBuilder) -> [String: PropertyListValue] = { _ in [:] }
    ) throws -> [UInt8] {
        var builder = KeyedArchiveBuilder()
        let root = builder.reserve()
        let entity = builder.reserve()
        var fields: [String: PropertyListValue] = [
            "NSPropertyName": builder.string("a").field, "NSAttributeType": .integer(100), "NSEntity": entity.field,
        ]
        fields.merge(attribute) { $1 }
        fields.merge(more(&builder)) { $1 }
        let className: KeyedArchiveBuilder.ClassName =
            propertyClass == "NSDerivedAttributeDescription"
            ? .init(propertyClass, "NSAttributeDescription") : .init(propertyClass)
        let property = builder.object(className, fields)
        let properties = builder.dictionary([(builder.string("a"), property)])
        var entityFields = ["NSEntityName": builder.string("E").field, "NSProperties": properties.field]
        entityFields.merge(changes) { $1 }
        builder.fill(entity, .init("NSEntityDescription"), entityFields)
        let entities = builder.dictionary([(builder.string("E"), entity)])
        builder.fill(root, .init("NSManagedObjectModel"), ["NSEntities": entities.field])
        return try builder.encode(root: root)
    }

    private func expect(
        _ bytes: [UInt8], _ code: MigrationError.Code = "archive.model", entity: String? = "E", property: String? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let error = expectCacheError(code, location) { _ = try ModelArchive.decode(bytes) }
        #expect(error?.context.entity == entity, sourceLocation: location)
        #expect(error?.context.property == property, sourceLocation: location)
    }

    @Test("The plain model of these tests is read")
    func plain() throws {
        let model = try ModelArchive.decode(try archive())
        #expect(model.entities.map(\.name) == ["E"])
        #expect(model.entities.first?.attributes.map(\.type) == [.integer16])
    }

    @Test("Errors name the entity")
    func entities() throws {
        expect(try archive(entity: ["NSEntityName": .string("F")]))
        expect(try archive(entity: ["NSEntityName": .integer(1)]), "archive.type")
        expect(try archive(entity: ["NSProperties": .string("x")]), "archive.type")
        expect(try archive(entity: ["NSProperties": .uid(4_000_000)]), "archive.reference")
        expect(try archive(entity: ["NSUniqueTuples": .integer(3)]), "archive.type")
        expect(try archive(entity: ["NSSuperentity": .integer(3)]), "archive.type")
    }

    @Test("Errors name the property")
    func properties() throws {
        expect(try archive(attribute: ["NSAttributeType": .integer(150)]), property: "a")
        expect(try archive(attribute: ["NSAttributeType": .integer(-100)]), property: "a")
        expect(try archive(attribute: ["NSPropertyName": .string("b")]), property: "a")
        expect(try archive(attribute: ["NSDefaultValue": .string("five")]), property: "a")
        expect(try archive(attribute: ["NSIsOptional": .string("yes")]), "archive.type", property: "a")
        expect(try archive(propertyClass: "NSWindow"), property: "a")
        expect(try archive(propertyClass: "NSRelationshipDescription"), property: "a")
        let relationship: [String: PropertyListValue] = ["_NSDestinationEntityName": .string("E")]
        for (key, value) in [("NSMinCount", -1), ("NSMaxCount", -2), ("NSDeleteRule", 9)] {
            let fields = relationship.merging([key: .integer(Int64(value))]) { $1 }
            expect(try archive(attribute: fields, propertyClass: "NSRelationshipDescription"), property: "a")
        }
    }

    @Test("An entity that is its own parent is left to the model's resolution")
    func ownParent() throws {
        var builder = KeyedArchiveBuilder()
        let root = builder.reserve()
        let entity = builder.reserve()
        builder.fill(
            entity, .init("NSEntityDescription"),
            ["NSEntityName": builder.string("E").field, "NSSuperentity": entity.field])
        let entities = builder.dictionary([(builder.string("E"), entity)])
        builder.fill(root, .init("NSManagedObjectModel"), ["NSEntities": entities.field])
        let definition = try ModelArchive.decode(try builder.encode(root: root))
        expectCacheError("model.inheritanceCycle") { _ = try ManagedObjectModel(definition) }
    }

    @Test("A validation predicate that contains itself is an error")
    func cyclicPredicate() throws {
        let bytes = try archive { builder in
            let compound = builder.reserve()
            let parts = builder.array([compound, compound])
            builder.fill(
                compound, .init("NSCompoundPredicate"),
                ["NSCompoundPredicateType": .integer(1), "NSSubpredicates": parts.field])
            return ["NSValidationPredicates": builder.array([compound]).field]
        }
        expect(bytes, "archive.cycle", property: "a")
    }

    @Test("Entities that share one large dictionary are an error, not a long wait")
    func sharedProperties() throws {
        var builder = KeyedArchiveBuilder()
        let root = builder.reserve()
        let none = builder.array([])
        let index = builder.object(
            .init("NSFetchIndexDescription"), ["NSIndexName": .string("i"), "NSIndexElements": none.field])
        let indexes = builder.array([KeyedArchiveBuilder.Reference](repeating: index, count: 20_000))
        var entries: [(key: KeyedArchiveBuilder.Reference, value: KeyedArchiveBuilder.Reference)] = []
        for number in 0..<2000 {
            let name = builder.string("E\(number)")
            let entity = builder.object(
                .init("NSEntityDescription"),
                ["NSEntityName": name.field, "NSFetchIndexDescriptions": indexes.field])
            entries.append((name, entity))
        }
        let entities = builder.dictionary(entries)
        builder.fill(root, .init("NSManagedObjectModel"), ["NSEntities": entities.field])
        let bytes = try builder.encode(root: root)
        expectCacheError("archive.limit") { _ = try ModelArchive.decode(bytes) }
    }

    @Test("An expression that shares its parts, and long shared texts, are not multiplied")
    func expressionBombs() throws {
        let bytes = try archive(propertyClass: "NSDerivedAttributeDescription") { builder in
            var top = builder.object(.init("NSSelfExpression"), [:])
            for _ in 0..<100 {
                let arguments = builder.array([top, top])
                let operand = builder.object(
                    .init("NSConstantValueExpression"), ["NSConstantValueClassName": .string("_NSPredicateUtilities")])
                top = builder.object(
                    .init("NSFunctionExpression"),
                    [
                        "NSSelectorName": .string("add:to:"), "NSOperand": operand.field,
                        "NSArguments": arguments.field,
                    ])
            }
            return ["NSDerivationExpression": top.field]
        }
        #expect(try ModelArchive.decode(bytes).entities.first?.attributes.first?.derivationExpression == "")
        let long = try archive(propertyClass: "NSDerivedAttributeDescription") { builder in
            let text = builder.object(
                .init("NSConstantValueExpression"),
                ["NSConstantValue": .string(String(repeating: "x", count: 10_000))])
            let collection = builder.array([KeyedArchiveBuilder.Reference](repeating: text, count: 5000))
            return [
                "NSDerivationExpression": builder.object(
                    .init("NSAggregateExpression"), ["NSCollection": collection.field]
                ).field
            ]
        }
        #expect(try ModelArchive.decode(long).entities.first?.attributes.first?.derivationExpression == "")
    }

    @Test("Large shared data and names, and classes with endless ancestors, are errors")
    func sharedBytes() throws {
        var builder = KeyedArchiveBuilder()
        let root = builder.reserve()
        let data = builder.data([UInt8](repeating: 7, count: 4 << 20))
        let properties = builder.dictionary(
            (0..<200).map { number in
                let name = builder.string("a\(number)")
                return (
                    name,
                    builder.object(
                        .init("NSAttributeDescription"),
                        [
                            "NSPropertyName": name.field, "NSAttributeType": .integer(1000),
                            "NSDefaultValue": data.field,
                        ])
                )
            })
        let entity = builder.object(
            .init("NSEntityDescription"), ["NSEntityName": .string("E"), "NSProperties": properties.field])
        let entities = builder.dictionary([(builder.string("E"), entity)])
        builder.fill(root, .init("NSManagedObjectModel"), ["NSEntities": entities.field])
        let bytes = try builder.encode(root: root)
        expectCacheError("archive.limit") { _ = try ModelArchive.decode(bytes) }

        var named = KeyedArchiveBuilder()
        let longName = named.string(String(repeating: "n", count: 20_000))
        let long = named.dictionary([(longName, named.object(.init("NSEntityDescription"), [:]))])
        let namedBytes = try named.encode(
            root: named.object(.init("NSManagedObjectModel"), ["NSEntities": long.field]))
        expectCacheError("archive.model") { _ = try ModelArchive.decode(namedBytes) }

        let ancestors = try BinaryPropertyList.encode(
            .dictionary([
                "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
                "$top": .dictionary(["root": .uid(1)]),
                "$objects": .array([
                    .string("$null"), .dictionary(["$class": .uid(2)]),
                    .dictionary([
                        "$classname": .string("NSManagedObjectModel"),
                        "$classes": .array([PropertyListValue](repeating: .string("X"), count: 100)),
                    ]),
                ]),
            ]))
        expectCacheError("archive.limit") { _ = try ModelArchive.decode(ancestors) }
    }

    @Test("An archive of something else, and a cache that is no stream, are errors")
    func otherArchives() throws {
        var builder = KeyedArchiveBuilder()
        let bytes = try builder.encode(root: builder.array([]))
        expect(bytes, entity: nil)
        expectCacheError("archive.deflate") { _ = try ModelCache.decode(bytes) }
        expectCacheError("archive.deflate") { _ = try ModelCache.decode([]) }
        let bomb = try Deflate.deflate([UInt8](repeating: 0, count: ModelCache.inflatedLimit + 1))
        expectCacheError("archive.limit") { _ = try ModelCache.decode(bomb) }
    }

    @Test("Proxies stand for the property beneath; a proxy of a proxy is an error")
    func proxies() throws {
        let bytes = try archive(propertyClass: "_NSPropertyDescriptionProxy") { builder in
            let underlying = builder.object(
                .init("NSAttributeDescription"),
                ["NSPropertyName": .string("a"), "NSAttributeType": .integer(700)])
            return ["NSUnderlyingProperty": underlying.field]
        }
        #expect(try ModelArchive.decode(bytes).entities.first?.attributes.first?.type == .string)
        let cyclic = try archive(propertyClass: "_NSPropertyDescriptionProxy") { builder in
            let underlying = builder.reserve()
            builder.fill(underlying, .init("_NSPropertyDescriptionProxy"), ["NSUnderlyingProperty": underlying.field])
            return ["NSUnderlyingProperty": underlying.field]
        }
        expect(cyclic, property: "a")
    }
}
