import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Mapping
import Stagecoach

/// `transformables [--rows 1000000] [--rounds 3] [--memory-limit BYTES] [--folder FOLDER]`: migrates objects that have an array
/// of three texts in a transformable attribute each, with a policy that reads the array and sets a changed one, and prints
/// processor microseconds an object and the peak of memory.
enum TransformablesCommand {
    /// Sets the array in reverse.
    private final class ReversingPolicy: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            let made = EntityDescription.insertNewObject(forEntityName: "Item", into: manager.destinationContext)
            made.setValue((sInstance.value(forKey: "tags") as? [String])?.reversed() as [String]?, forKey: "tags")
            manager.associate(sourceInstance: sInstance, withDestinationInstance: made, for: mapping)
        }
    }

    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["rows", "rounds", "memory-limit", "folder"])
        let rows = try arguments.number("rows") ?? 1_000_000
        let folder = arguments.text("folder") ?? "transformables-\(getpid()).bench"
        try BenchmarkFolder.make(folder)
        let (source, output) = ("\(folder)/source.sqlite", "\(folder)/output.sqlite")
        var item = EntityDefinition(name: "Item")
        item.attributes = [AttributeDefinition(name: "tags", type: .transformable)]
        var definition = ModelDefinition()
        definition.entities = [item]
        let model = try ManagedObjectModel(definition)
        try write(model, rows: rows, to: source)
        let mapping = try MappingModel.inferred(from: model, to: model)
        PolicyRegistry.shared.register("Reversing") { ReversingPolicy() }
        for mapping in mapping.entityMappings { mapping.entityMigrationPolicyClassName = "Reversing" }
        var options = MigrationOptions()
        options.memoryLimit = try arguments.number("memory-limit") ?? 64 << 20
        var best = Double.infinity
        for _ in 0..<(try arguments.number("rounds") ?? 3) {
            let report = try Migration(
                from: source, model: model, mapping: mapping, to: output, model: model, options: options
            ).run()
            best = min(best, report.processorSeconds)
            print("peak \(report.peakMemory >> 20) MiB")
            unlink(output)
        }
        print("\(String(format: "%.2f", best * 1e6 / Double(rows))) µs of processor time an object")
        unlink(source)
        rmdir(folder)
    }

    private static func write(_ model: ManagedObjectModel, rows count: Int, to path: String) throws {
        let store = try DestinationStore(
            creating: path, schema: StoreSchema(model: model), cacheBytes: 8 << 20, vfs: nil)
        var rows = try TableFill(store, entity: "Item")
        let tags = rows.slot("ZTAGS")
        let archiver = NSSecureUnarchiveFromDataTransformer()
        for key in 1...max(1, count) {
            try rows.begin(key: Int64(key))
            let archive = archiver.reverseTransformedValue(["tag \(key)", "another tag", "third of \(key)"])
            rows.set(tags, blob: archive as? Data ?? Data())
        }
        try rows.finish()
        try store.finish(
            metadata: DestinationMetadata(
                uuid: "51A6EC0A-0000-4000-8000-000000000003", sourceProperties: [:],
                versionHashes: model.entityVersionHashesByName.mapValues { Array($0) },
                versionIdentifiers: []),
            maximumKeys: [Int64(count)], modelCache: try ModelCache.encode(model))
    }
}
