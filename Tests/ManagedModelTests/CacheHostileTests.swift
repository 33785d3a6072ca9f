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

    /// The names in an error: its code, entity and property.
    private struct Blame: Equatable {
        var code: MigrationError.Code? = "archive.model"
        var entity: String? = "E"
        var property: String?
    }

    /// Returns the names in the error of reading an archive; no names if it is read.
    private func blame(_ bytes: [UInt8]) -> Blame {
        let error = failure { _ = try ModelArchive.decode(bytes) }
        return Blame(code: error?.code, entity: error?.context.entity, property: error?.context.property)
    }

    @Test("The plain model of these tests is read")
    func plain() throws {
        let model = try ModelArchive.decode(try archive())
        #expect(model.entities.map(\.name) == ["E"])
        #expect(model.entities.first?.attributes.map(\.type) == [.integer16])
    }

    @Test("Errors name the entity")
    func entities() throws {
        #expect(blame(try archive(entity: ["NSEntityName": .string("F")])) == Blame())
        #expect(blame(try archive(entity: ["NSEntityName": .integer(1)])) == Blame(code: "archive.type"))
        #expect(blame(try archive(entity: ["NSProperties": .string("x")])) == Blame(code: "archive.type"))
        #expect(blame(try archive(entity: ["NSProperties": .uid(4_000_000)])) == Blame(code: "archive.reference"))
        #expect(blame(try archive(entity: ["NSUniqueTuples": .integer(3)])) == Blame(code: "archive.type"))
        #expect(blame(try archive(entity: ["NSSuperentity": .integer(3)])) == Blame(code: "archive.type"))
    }

    @Test("Errors name the property")
    func properties() throws {
        #expect(blame(try archive(attribute: ["NSAttributeType": .integer(150)])) == Blame(property: "a"))
        #expect(blame(try archive(attribute: ["NSAttributeType": .integer(-100)])) == Blame(property: "a"))
        #expect(blame(try archive(attribute: ["NSPropertyName": .string("b")])) == Blame(property: "a"))
        #expect(blame(try archive(attribute: ["NSDefaultValue": .string("five")])) == Blame(property: "a"))
        #expect(
            blame(try archive(attribute: ["NSIsOptional": .string("yes")]))
                == Blame(code: "archive.type", property: "a"))
        #expect(blame(try archive(propertyClass: "NSWindow")) == Blame(property: "a"))
        #expect(blame(try archive(propertyClass: "NSRelationshipDescription")) == Blame(property: "a"))
        let relationship: [String: PropertyListValue] = ["_NSDestinationEntityName": .string("E")]
        for (key, value) in [("NSMinCount", -1), ("NSMaxCount", -2), ("NSDeleteRule", 9)] {
            let fields = relationship.merging([key: .integer(Int64(value))]) { $1 }
            #expect(
                blame(try archive(attribute: fields, propertyClass: "NSRelationshipDescription"))
                    == Blame(property: "a"))
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
        #expect(failure { _ = try ManagedObjectModel(definition) }?.code == "model.inheritanceCycle")
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
        #expect(blame(bytes) == Blame(code: "archive.cycle", property: "a"))
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
        #expect(failure { _ = try ModelArchive.decode(bytes) }?.code == "archive.limit")
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
        #expect(failure { _ = try ModelArchive.decode(bytes) }?.code == "archive.limit")

        var named = KeyedArchiveBuilder()
        let longName = named.string(String(repeating: "n", count: 20_000))
        let long = named.dictionary([(longName, named.object(.init("NSEntityDescription"), [:]))])
        let namedBytes = try named.encode(
            root: named.object(.init("NSManagedObjectModel"), ["NSEntities": long.field]))
        #expect(failure { _ = try ModelArchive.decode(namedBytes) }?.code == "archive.model")

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
        #expect(failure { _ = try ModelArchive.decode(ancestors) }?.code == "archive.limit")
    }

    @Test("An archive of something else, and a cache that is no stream, are errors")
    func otherArchives() throws {
        var builder = KeyedArchiveBuilder()
        let bytes = try builder.encode(root: builder.array([]))
        #expect(blame(bytes) == Blame(entity: nil))
        #expect(failure { _ = try ModelCache.decode(bytes) }?.code == "archive.deflate")
        #expect(failure { _ = try ModelCache.decode([]) }?.code == "archive.deflate")
        let bomb = try Deflate.deflate([UInt8](repeating: 0, count: ModelCache.inflatedLimit + 1))
        #expect(failure { _ = try ModelCache.decode(bomb) }?.code == "archive.limit")
    }

    @Test("A proxy counts as the property beneath; a proxy of a proxy is an error")
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
        #expect(blame(cyclic) == Blame(property: "a"))
    }
}
