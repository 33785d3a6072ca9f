import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import AtomicStores

@Suite("XML stores at random")
struct RandomXMLTests {
    /// A model of the types whose text is known, with inheritance and every kind of pair of relationships.
    private static func model(
        _ generator: inout SeededGenerator, levels: Int = .max, leaving left: AttributeType? = nil
    ) throws -> ManagedObjectModel {
        let all: [AttributeType] = [
            .integer16, .integer32, .integer64, .float, .string, .boolean, .date, .binaryData,
        ]
        let types = all.filter { $0 != left }
        var definition = ModelDefinition()
        let count = 2 + generator.below(4)
        for number in 0..<count {
            var entity = EntityDefinition(name: "Entity\(number)")
            if number > 0, generator.chance(3) {
                let parent = generator.below(number)
                if levels > 2 || definition.entities[parent].superentityName == nil {
                    entity.superentityName = "Entity\(parent)"
                }
            }
            for attribute in 0..<generator.below(6) {
                var one = AttributeDefinition(
                    name: "value\(attribute)Of\(number)", type: types[generator.below(types.count)])
                one.isOptional = true
                one.allowsExternalBinaryDataStorage = one.type == .binaryData && generator.chance(2)
                entity.attributes.append(one)
            }
            definition.entities.append(entity)
        }
        for number in 0..<generator.below(6) {
            let (owner, target) = (generator.below(count), generator.below(count))
            var first = RelationshipDefinition(name: "a\(number)", destinationEntityName: "Entity\(target)")
            var second = RelationshipDefinition(name: "b\(number)", destinationEntityName: "Entity\(owner)")
            (first.inverseName, second.inverseName) = (second.name, first.name)
            (first.isToMany, second.isToMany) = (generator.chance(2), generator.chance(2))
            definition.entities[owner].relationships.append(first)
            definition.entities[target].relationships.append(second)
        }
        return try ManagedObjectModel(definition)
    }

    private static func text(_ type: AttributeType, _ generator: inout SeededGenerator) -> String {
        switch type {
        case .integer16: "\(Int16(truncatingIfNeeded: generator.next()))"
        case .integer32: "\(Int32(truncatingIfNeeded: generator.next()))"
        case .integer64: "\(Int64(truncatingIfNeeded: generator.next()))"
        case .boolean: "\(generator.below(2))"
        case .float: ["0", "5", "19.6", "-0.1", "1e+20", "3.4028235e+38"][generator.below(6)]
        case .date: "\(Int32(truncatingIfNeeded: generator.next())).00000000000000000000"
        case .binaryData: Data((0..<generator.below(200)).map { UInt8(truncatingIfNeeded: $0) }).base64EncodedString()
        default:
            (0..<generator.below(8)).map { _ in
                ["a", "\\\\", "\\u3c00", "\\u3e00", "\\u2600", "\n", "ü", "\u{1F600}", "'", "\""][generator.below(10)]
            }.joined()
        }
    }

    /// Objects in any order, with links that both sides list.
    private static func objects(_ model: ManagedObjectModel, _ generator: inout SeededGenerator) -> String {
        let entities = model.entities
        let ids = (0..<generator.below(30)).map { 100 + 7 * $0 + generator.below(7) }
        let kinds = ids.map { _ in entities[generator.below(entities.count)] }
        var links: [[String: [Int]]] = ids.map { _ in [:] }
        for (index, entity) in kinds.enumerated() {
            for relationship in entity.relationships where relationship.name.hasPrefix("a") {
                guard let inverse = relationship.inverseRelationship else { continue }
                for (other, kind) in kinds.enumerated()
                where kind.isKindOf(entity: relationship.destination) && generator.chance(4) {
                    let (mine, its) = (links[index][relationship.name] ?? [], links[other][inverse.name] ?? [])
                    guard relationship.isToMany || mine.isEmpty, inverse.isToMany || its.isEmpty else { continue }
                    links[index][relationship.name] = mine + [ids[other]]
                    links[other][inverse.name] = its + [ids[index]]
                }
            }
        }
        return ids.indices.shuffled(using: &generator).map { index -> String in
            let entity = kinds[index]
            var content = ""
            for attribute in entity.attributes where !generator.chance(3) {
                let word = XMLValue.word(of: attribute.attributeType) ?? ""
                let value = text(attribute.attributeType, &generator)
                content += "<attribute name=\"\(attribute.name.lowercased())\" type=\"\(word)\">\(value)</attribute>"
            }
            for relationship in entity.relationships {
                let targets = (links[index][relationship.name] ?? []).map { "z\($0)" }.joined(separator: " ")
                let list = targets.isEmpty ? "" : " idrefs=\"\(targets)\""
                content +=
                    "<relationship name=\"\(relationship.name)\" type=\"0/0\" destination=\"X\"\(list)></relationship>"
            }
            let name = entity.definition.name.uppercased()
            return "<object type=\"\(name)\" id=\"z\(ids[index])\">\(content)</object>"
        }.joined(separator: "\n")
    }

    @Test(
        "XML to SQLite to XML keeps every value and link, and once more the same bytes",
        arguments: RandomSeeds.seeds(40))
    func roundTrips(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let bench = try AtomicBench(try Self.model(&generator))
        let original = bench.folder.file("original.xml")
        try AtomicBench.document(Self.objects(bench.model, &generator)).write(
            toFile: original, atomically: true, encoding: .utf8)
        let (first, _) = try bench.importing(original, as: "first.sqlite")
        let exported = try bench.exporting(first, as: "first.xml")
        let (before, after) = (try XMLDocumentStore(original), try XMLDocumentStore(exported))
        #expect(before.objects.keys.sorted() == after.objects.keys.sorted())
        for (id, object) in before.objects {
            #expect(
                after.objects[id]?.attributes.mapValues(Self.withoutLines)
                    == object.attributes.mapValues(Self.withoutLines))
            #expect(
                after.objects[id]?.relationships.mapValues { $0.sorted() }
                    == object.relationships.mapValues { $0.sorted() })
        }
        let (second, _) = try bench.importing(exported, as: "second.sqlite")
        let again = try bench.exporting(second, as: "second.xml")
        #expect(try String(contentsOfFile: again, encoding: .utf8) == String(contentsOfFile: exported, encoding: .utf8))
        let stores = try [first, second].map { try ReferenceStore.read(path: $0, model: bench.model) }
        #expect(stores[0].differences(from: stores[1]) == [])
    }

    @Test("XML to SQLite to binary and back keeps every value and link", arguments: RandomSeeds.seeds(40))
    func binary(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let bench = try AtomicBench(try Self.model(&generator, levels: 2, leaving: .float))
        let original = bench.folder.file("original.xml")
        try AtomicBench.document(Self.objects(bench.model, &generator)).write(
            toFile: original, atomically: true, encoding: .utf8)
        let (first, result) = try bench.importing(original, as: "first.sqlite")
        let binary = try bench.exporting(first, as: "first.binary", .binary)
        #expect(try AtomicStoreCensus.count(binary, format: .binary).counts.values.reduce(0, +) == result.objects)
        let (second, _) = try bench.importing(binary, as: "second.sqlite")
        let again = try bench.exporting(second, as: "second.binary", .binary)
        #expect(try Data(contentsOf: URL(fileURLWithPath: again)) == Data(contentsOf: URL(fileURLWithPath: binary)))
        let texts = try [first, second].map {
            try AtomicBench.body(try bench.exporting($0, as: UUID().uuidString))
        }
        #expect(texts[0] == texts[1])
        let stores = try [first, second].map { try ReferenceStore.read(path: $0, model: bench.model) }
        #expect(stores[0].differences(from: stores[1]) == [])
    }

    private static func withoutLines(_ text: String) -> String { text.replacing("\n", with: "") }

    @Test("Damages at random are refused and never crash")
    func damaged() throws {
        var generator = SeededGenerator(seed: RandomSeeds.first)
        let bench = try AtomicBench(try Self.model(&generator))
        let whole = Array(AtomicBench.document(Self.objects(bench.model, &generator)).utf8)
        let path = bench.folder.file("damaged.xml")
        for number in 0..<400 {
            var bytes = whole
            for _ in 0...generator.below(4) {
                let place = generator.below(bytes.count)
                switch generator.below(3) {
                case 0: bytes[place] = UInt8(generator.below(256))
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + generator.below(20)))
                default:
                    bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + generator.below(20))], at: place)
                }
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            do { _ = try bench.importing(path, as: "\(number).sqlite") } catch let error as MigrationError {
                #expect(error.category == .data || error.category == .configuration, "\(error)")
            }
        }
    }
}
