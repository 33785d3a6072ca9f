import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Stagecoach

/// `composites [--rows 1000000] [--rounds 3] [--nil 30] [--required] [--folder FOLDER] [--keep]`: makes two stores of the same
/// rows, one with three composite attributes and one with their elements as plain attributes, migrates each to its own model,
/// in turn, and prints processor microseconds a row and their ratio. `--nil` is the percentage of composites that are nil; with
/// `--required` some elements are required where their composite is not nil, a rule that plain attributes cannot have.
enum CompositesCommand {
    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["rows", "rounds", "nil", "folder"], flags: ["keep", "required"])
        let rows = try arguments.number("rows") ?? 1_000_000
        let rounds = try arguments.number("rounds") ?? 3
        let share = arguments.text("nil").map { Int($0) ?? 0 } ?? 30
        let folder = arguments.text("folder") ?? "composites-\(getpid()).bench"
        try BenchmarkFolder.make(folder)
        let models = [
            ("composite", try model(isPlain: false, requires: arguments.has("required"))),
            ("plain", try model(isPlain: true, requires: false)),
        ]
        for (name, model) in models {
            try write(model, rows: rows, nilShare: share, to: "\(folder)/\(name).sqlite")
        }
        var best = [Double](repeating: .infinity, count: models.count)
        for _ in 0..<rounds {
            for (index, (name, model)) in models.enumerated() {
                let output = "\(folder)/output.sqlite"
                let report = try Migration(
                    from: "\(folder)/\(name).sqlite", model: model, mapping: .inferred(from: model, to: model),
                    to: output, model: model
                ).run()
                best[index] = min(best[index], report.processorSeconds)
                guard unlink(output) == 0 else { throw Arguments.usage("The store that was made cannot be removed") }
            }
        }
        for (index, (name, _)) in models.enumerated() {
            print("\(name): \(String(format: "%.3f", best[index] * 1e6 / Double(rows))) µs of processor time a row")
            if !arguments.has("keep") { unlink("\(folder)/\(name).sqlite") }
        }
        print("composite to plain: \(String(format: "%.3f", best[0] / best[1]))")
        if !arguments.has("keep") { rmdir(folder) }
    }

    private static let composites: KeyValuePairs<String, [(name: String, type: AttributeType, isRequired: Bool)]> = [
        "author": [("person", .string, true), ("place", .string, false), ("year", .integer32, false)],
        "location": [("latitude", .double, true), ("longitude", .double, true)],
        "price": [("amount", .decimal, true), ("currency", .string, false)],
    ]

    private static func model(isPlain: Bool, requires: Bool) throws(MigrationError) -> ManagedObjectModel {
        func attribute(_ name: String, _ type: AttributeType, isRequired: Bool = false) -> AttributeDefinition {
            var attribute = AttributeDefinition(name: name, type: type)
            attribute.isOptional = !isRequired
            return attribute
        }
        var item = EntityDefinition(name: "Item")
        item.attributes = [attribute("title", .string), attribute("number", .integer64)]
        var definition = ModelDefinition()
        for (name, elements) in composites {
            guard isPlain else {
                var composite = attribute(name, .composite)
                composite.compositeName = name
                item.attributes.append(composite)
                definition.composites[name] = elements.map {
                    attribute($0.name, $0.type, isRequired: requires && $0.isRequired)
                }
                continue
            }
            item.attributes += elements.map { attribute($0.name, $0.type) }
        }
        definition.entities = [item]
        return try ManagedObjectModel(definition)
    }

    private static func write(
        _ model: ManagedObjectModel, rows count: Int, nilShare: Int, to path: String
    ) throws(MigrationError) {
        var generator = BenchmarkGenerator(seed: 1)
        var text = RandomText(&generator)
        let store = try DestinationStore(
            creating: path, schema: StoreSchema(model: model), cacheBytes: 64 << 20, vfs: nil)
        var rows = try TableFill(store, entity: "Item")
        let (title, number) = (rows.slot("ZTITLE"), rows.slot("ZNUMBER"))
        for key in 1...max(1, count) {
            try rows.begin(key: Int64(key))
            text.make(10...40, &generator)
            rows.set(title, text)
            rows.set(number, key)
            for (_, elements) in composites where generator.below(100) >= nilShare {
                for element in elements {
                    let slot = rows.slot("Z" + element.name.uppercased())
                    switch element.type {
                    case .string:
                        text.make(4...16, &generator)
                        rows.set(slot, text)
                    case .double: rows.set(slot, generator.unit() * 180)
                    default: rows.set(slot, generator.below(2100))
                    }
                }
            }
        }
        try rows.finish()
        for table in store.schema.tables.indices { try store.createIndexes(table: table) }
        try store.finish(
            metadata: DestinationMetadata(
                uuid: "51A6EC0A-0000-4000-8000-000000000002", sourceProperties: [:],
                versionHashes: model.entityVersionHashesByName.mapValues { Array($0) },
                versionIdentifiers: model.definition.versionIdentifiers),
            maximumKeys: [Int64(count)], modelCache: try ModelCache.encode(model))
    }
}
