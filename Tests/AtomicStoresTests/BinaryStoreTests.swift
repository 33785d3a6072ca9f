import Archives
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import AtomicStores

@Suite("Binary stores")
struct BinaryStoreTests {
    /// A keyed archive under construction.
    private struct Archive {
        private var objects: [PropertyListValue] = [.string("$null")]

        mutating func add(_ value: PropertyListValue) -> PropertyListValue {
            objects.append(value)
            return .uid(UInt64(objects.count - 1))
        }
        mutating func add(_ name: String, _ fields: PropertyListDictionary) -> PropertyListValue {
            var fields = fields
            fields["$class"] = add(.dictionary(["$classname": .string(name), "$classes": .array([.string(name)])]))
            return add(.dictionary(fields))
        }
        mutating func list(_ values: [PropertyListValue]) -> PropertyListValue {
            add("NSArray", ["NS.objects": .array(values)])
        }
        mutating func dictionary(_ entries: [(PropertyListValue, PropertyListValue)]) -> PropertyListValue {
            add(
                "NSMutableDictionary",
                ["NS.keys": .array(entries.map(\.0)), "NS.objects": .array(entries.map(\.1))])
        }
        func bytes(_ key: String, _ root: PropertyListValue) throws -> [UInt8] {
            try BinaryPropertyList.encode(
                .dictionary([
                    "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
                    "$objects": .array(objects), "$top": .dictionary(PropertyListDictionary([key: root])),
                ]))
        }
    }

    /// A store of an author (1) with two books (2 and 3).
    private static func store(_ change: (inout [PropertyListValue], inout Archive) -> Void = { _, _ in }) throws
        -> [UInt8]
    {
        var metadata = Archive()
        let (type, uuid) = (metadata.add(.string("NSStoreType")), metadata.add(.string("NSStoreUUID")))
        let binary = metadata.add(.string("Binary"))
        let id = metadata.add(.string("9F4C2D1E-0000-4000-8000-000000000001"))
        let root = metadata.dictionary([(type, binary), (uuid, id)])
        let first = try metadata.bytes("metadata", root)
        var data = Archive()
        let null = data.add("NSNull", [:])
        let date = data.add("NSDate", ["NS.time": .real(86_400)])
        let picture = data.add("NSMutableData", ["NS.data": .data([1, 2, 3])])
        // By name: books, born, name, picture; then a place for the relationship.
        var values = [data.add(.integer(2)), date, data.add(.string("Ännchen <&>")), picture, null]
        change(&values, &data)
        func node(_ key: Int64, _ name: String, _ values: [PropertyListValue], _ links: (String, [Int64])) -> (
            PropertyListValue, PropertyListValue
        ) {
            let number = data.add(.integer(key))
            let targets = links.1.map { data.add(.integer($0)) }
            let related = data.dictionary([(data.add(.string(links.0)), data.list(targets))])
            return (
                number,
                data.add(
                    "NSDictionaryMapNode",
                    [
                        "NSPrimaryKey64": number, "NSEntityName": data.add(.string(name)),
                        "NSAttributeValues": data.list(values), "NSRelatedNodes": related,
                    ])
            )
        }
        let map = data.dictionary([
            node(3, "Book", [null], ("writer", [1])), node(1, "Author", values, ("works", [2, 3])),
            node(2, "Book", [null], ("writer", [1])),
        ])
        let second = try data.bytes("mapData", map)
        func words(_ numbers: [Int]) -> [UInt8] {
            numbers.flatMap { number in (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
        }
        return Array("CoreData".utf8) + words([0x1_0804_0800, 64 + second.count, first.count, 64, second.count, 3, 0])
            + second + first
    }

    private static func bench() throws -> AtomicBench {
        try AtomicBench(try XMLHostileTests.model { $0.entities[0].attributes.removeLast() })
    }

    private static func importing(_ bytes: [UInt8], _ bench: AtomicBench) throws -> String {
        let path = bench.folder.file("\(UUID().uuidString).binary")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return try bench.importing(path, as: "\(UUID().uuidString).sqlite").path
    }

    @Test("Objects are read with their values and links")
    func objects() throws {
        let bench = try Self.bench()
        let store = try Self.importing(try Self.store(), bench)
        let copy = try XMLDocumentStore(try bench.exporting(store))
        #expect(copy.objects.keys.sorted() == [1, 2, 3])
        #expect(
            copy.objects[1]?.attributes == [
                "books": "2", "born": "86400.00000000000000000000", "name": "Ännchen <&>", "picture": "AQID\n",
            ])
        #expect(copy.objects[1]?.relationships == ["works": [2, 3]])
        #expect(copy.objects[3]?.relationships == ["writer": [1]])
    }

    @Test("Values that the model does not expect are refused")
    func misfits() throws {
        let bench = try Self.bench()
        func code(_ change: (inout [PropertyListValue], inout Archive) -> Void) -> String? {
            failure { _ = try Self.importing(try Self.store(change), bench) }?.code.rawValue
        }
        #expect(code { values, data in values[0] = data.add(.string("x")) } == "store.value")
        #expect(code { values, data in values[0] = data.add(.integer(40_000)) } == "store.value")
        #expect(code { values, _ in values.removeLast() } == "store.slots")
        #expect(code { values, data in values[4] = data.add(.integer(1)) } == "store.slots")
        #expect(code { values, _ in values[2] = .uid(9_999) } == "store.binary")
    }

    @Test("Damaged files are refused and never crash")
    func damaged() throws {
        let bench = try Self.bench()
        let whole = try Self.store()
        var generator = SeededGenerator(seed: RandomSeeds.first)
        for _ in 0..<400 {
            var bytes = whole
            for _ in 0...generator.below(3) {
                let place = generator.below(bytes.count)
                if generator.chance(6) {
                    bytes.removeLast(min(place, bytes.count - 1))
                } else {
                    bytes[place] = UInt8(generator.below(256))
                }
                if bytes.count < 9 { break }
            }
            do { _ = try Self.importing(bytes, bench) } catch let error as MigrationError {
                #expect(error.category == .data || error.category == .configuration, "\(error)")
            }
        }
    }

    @Test(
        "A real store is counted without a model",
        .enabled(if: SharedStores.isPresent))
    func real() throws {
        let path = SharedStores.url.appendingPathComponent("binary/bifrost.paw").path
        #expect(StoreFormat.of(path) == .binary)
        let (header, counts) = try AtomicStoreCensus.count(path, format: .binary)
        #expect(header.metadata.versionHashes.count == 11 && header.metadata.storeType == "Binary")
        #expect(counts.values.reduce(0, +) > 10)
    }

    @Test("Where no real store shows the places of values or their form, nothing is written")
    func unwritable() throws {
        func code(_ change: (inout EntityDefinition) -> Void) throws -> String? {
            let model = try XMLHostileTests.model {
                $0.entities[0].attributes.removeLast()
                change(&$0.entities[0])
            }
            return failure { try AtomicStoreExport.check(model, .binary) }?.code.rawValue
        }
        #expect(try code { _ in } == nil)
        for type in [AttributeType.float, .double, .decimal, .uuid, .uri, .transformable] {
            #expect(try code { $0.attributes.append(.init(name: "odd", type: type)) } == "store.unprovenType")
        }
        #expect(try code { $0.relationships[0].isOrdered = true } == "store.unwritable")
        #expect(try code { $0.attributes[0].isTransient = true } == "store.unwritable")
        #expect(
            try code {
                $0.attributes += ["aB", "Zoo"].map { AttributeDefinition(name: $0, type: .string) }
            } == "store.unwritable")
        let deep = try XMLHostileTests.model { definition in
            definition.entities[0].attributes.removeLast()
            for (name, parent) in [("Poet", "Author"), ("Bard", "Poet")] {
                var entity = EntityDefinition(name: name)
                entity.superentityName = parent
                entity.attributes = [AttributeDefinition(name: "of" + name, type: .string)]
                definition.entities.append(entity)
            }
        }
        #expect(failure { try AtomicStoreExport.check(deep, .binary) }?.code == "store.unwritable")
    }

    /// The classes of the objects of an archive, each with the names of its fields.
    private static func forms(_ path: String) throws -> Set<String> {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        func word(_ place: Int) -> Int { bytes[place..<place + 8].reduce(0) { $0 << 8 | Int($1) } }
        var forms: Set<String> = []
        for place in [16, 32] {
            let part = Array(bytes[word(place)..<word(place) + word(place + 8)])
            guard case .dictionary(let top) = try BinaryPropertyList.decode(part),
                case .array(let objects)? = top["$objects"]
            else { continue }
            for case .dictionary(let object) in objects {
                guard case .uid(let number)? = object["$class"], case .dictionary(let kind) = objects[Int(number)],
                    case .array(let names)? = kind["$classes"]
                else { continue }
                let fields = object.map(\.key).filter { $0 != "NSRelatedNodes" }.sorted()
                forms.insert("\(names) \(fields)")
            }
        }
        return forms
    }

    @Test("What is written has the form of a real store", .enabled(if: SharedStores.isPresent))
    func form() throws {
        let bench = try Self.bench()
        let written = try bench.exporting(
            try Self.importing(try Self.store { values, _ in values[1] = values[4] }, bench), as: "made.binary", .binary
        )
        let real = try Self.forms(SharedStores.url.appendingPathComponent("binary/bifrost.paw").path)
        let own = try Self.forms(written)
        // A dictionary of the metadata cannot be changed in newer stores, which this one is not.
        let news = own.subtracting(real).filter { !$0.contains(#"("NSDictionary")"#) }
        #expect(own.count > 5 && news.isEmpty, "\(news)")
    }
}
