import Archives
import Diagnostics
import TestSupport
import Testing

@testable import ManagedModel

@Suite(
    "Written caches against Core Data's",
    .enabled(if: SharedStores.isPresent, "the folder of shared stores is absent"))
struct CacheFidelityTests {
    /// Fields that a definition does not hold, that frameworks before 1044 do not write, or that refer to others.
    private static let ignoredEntityFields: Set<String> = [
        "NSCompoundIndexes", "NSFetchIndexDescriptions", "NSSubentities", "NSUniqueTuples",
    ]

    /// Attributes whose user info has a list in it: a definition holds texts.
    private static let withLists: Set<String> = ["Asset.boundedByRect", "GenericAsset.boundedByRect"]

    @Test("Entities and properties have the same fields, with the same values, as in every real cache")
    func sameFields() throws {
        var properties = 0
        for cache in try RealModelArchives.caches() {
            let real = try KeyedArchive(decoding: Deflate.inflate(cache.content, limit: 1 << 24)).root()
            let model = try ManagedObjectModel(try ModelCache.decode(cache.content))
            let ours = try KeyedArchive(decoding: ModelArchive.encode(model)).root()
            #expect(real.keys == ours.keys, "\(cache.path)")
            let realEntities = try named(real, "NSEntities")
            let ourEntities = try named(ours, "NSEntities")
            #expect(realEntities.map(\.0) == ourEntities.map(\.0), "\(cache.path)")
            for ((name, realEntity), (_, ourEntity)) in zip(realEntities, ourEntities) {
                compare(realEntity, ourEntity, ignoring: Self.ignoredEntityFields, "\(cache.path) \(name)")
                let realProperties = try named(realEntity, "NSProperties")
                let ourProperties = try named(ourEntity, "NSProperties")
                #expect(realProperties.map(\.0) == ourProperties.map(\.0), "\(cache.path) \(name)")
                for ((property, real), (_, ours)) in zip(realProperties, ourProperties)
                where real.className != "_NSPropertyDescriptionProxy" {
                    properties += 1
                    #expect(real.classNames == ours.classNames)
                    if Self.withLists.contains("\(name).\(property)") {
                        let list = try real.entries("NSUserInfo") ?? []
                        #expect(try list.contains { try $0.value.string() == nil }, "\(cache.path) \(name).\(property)")
                        continue
                    }
                    compare(real, ours, ignoring: [], "\(cache.path) \(name).\(property)")
                }
            }
        }
        print("properties compared with Core Data's: \(properties)")
        #expect(properties > 5000)
    }

    /// The objects of a dictionary, sorted by key.
    private func named(_ object: ArchivedObject, _ key: String) throws -> [(String, ArchivedObject)] {
        try (object.entries(key) ?? []).map { (try $0.key.string() ?? "", try #require($0.value.object)) }
            .sorted { $0.0 < $1.0 }
    }

    private func compare(
        _ real: ArchivedObject, _ ours: ArchivedObject, ignoring ignored: Set<String>, _ place: String
    ) {
        #expect(real.keys.filter { !ignored.contains($0) } == ours.keys.filter { !ignored.contains($0) }, "\(place)")
        for key in real.keys where !ignored.contains(key) {
            let values = (text(real, key), text(ours, key))
            // Defaults that are objects of an application's class are not kept.
            if key == "NSDefaultValue", values.0.hasSuffix(".Cover") { continue }
            #expect(values.0 == values.1, "\(place).\(key)")
        }
    }

    /// A field as text: scalars by value, named objects by class and name, others by class.
    private func text(_ object: ArchivedObject, _ key: String) -> String {
        do {
            let value = try object.value(key)
            if value.isNull { return "null" }
            if let text = try value.string() { return "string " + text }
            // Boolean defaults are 0 and 1 in compiled models, booleans in models made in code.
            if case .boolean(let flag)? = try value.number() { return "number integer(\(flag ? 1 : 0))" }
            if let number = try value.number() { return "number \(number)" }
            if let date = try value.date() { return "date \(date)" }
            if let decimal = try value.decimal() { return "decimal \(decimal)" }
            guard let object = value.object else { return value.kindName }
            for name in ["NSEntityName", "NSPropertyName"] where object.field(name) != nil {
                return "\(object.className) \(try object.string(name) ?? "")"
            }
            // Arrays and dictionaries: their mutability does not matter.
            return object.className.replacing("Mutable", with: "")
        } catch {
            return "\(error)"
        }
    }
}
