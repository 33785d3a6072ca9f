import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// A small migration of one entity `Item` and its kids, with expressions of the test's: run, checked, verified.
final class ExpressionTrial {
    let folder: TemporaryFolder
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    let sourcePath: String
    var mapping: MappingModel
    var options: MigrationOptions
    /// Gives the manager what the trial needs: policies, functions.
    var change: (MigrationManager) -> Void = { _ in }

    /// - Parameters:
    ///   - old: the source's attributes of Item.
    ///   - new: the destination's.
    ///   - rows: values of Items 1, 2, …
    init(
        old: [AttributeDefinition], new: [AttributeDefinition], rows: [[String: ReferenceValue]],
        _ attributes: KeyValuePairs<String, String?> = [:]
    ) throws {
        folder = try TemporaryFolder()
        func family(_ attributes: [AttributeDefinition]) throws -> ManagedObjectModel {
            try model(
                entity("Item", attributes, [toMany("kids", "Kid", inverse: "item"), toOne("favourite", "Kid")]),
                entity(
                    "Kid",
                    [attribute("n", .integer32), attribute("t", .string), attribute("single", .float)],
                    [toOne("item", "Item", inverse: "kids")]))
        }
        source = try family(old)
        destination = try family(new)
        sourcePath = folder.file("old.sqlite")
        try ReferenceStore.make(source) { store in
            for (index, row) in rows.enumerated() { store.insert("Item", Int64(index + 1), row) }
            guard !rows.isEmpty else { return }
            // Item 1 has kids 1 and 2, Item 2, where there is one, kid 3.
            for (key, owner) in [(1, 1), (2, 1), (3, min(2, rows.count))] as [(Int64, Int)] {
                store.insert(
                    "Kid", key, ["n": .integer(key), "t": .text("kid \(key)"), "single": .real(0.1 * Double(key))],
                    toOne: ["item": Int64(owner)])
            }
        }.write(path: sourcePath)
        mapping = mappings(
            try StagecoachTests.mapping("ItemToItem", "Item", "Item", attributes),
            try StagecoachTests.mapping("KidToKid", "Kid", "Kid", ["n": "$source.n", "t": "$source.t"]))
        options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.fullCheck = true
        options.batchSize = 2
    }

    var item: EntityMapping { mapping.entityMappings[0] }
    var destinationPath: String { folder.file("new.sqlite") }

    func migration() -> Migration {
        let manager = MigrationManager(sourceModel: source, destinationModel: destination)
        manager.policies = PolicyRegistry()
        change(manager)
        return Migration(
            from: sourcePath, model: source, mapping: mapping, to: destinationPath, model: destination,
            options: options, manager: manager)
    }

    /// Migrates and reads the destination.
    func run() throws -> ReferenceStore {
        try? FileManager.default.removeItem(atPath: destinationPath)
        _ = try migration().run()
        return try ReferenceStore.read(path: destinationPath, model: destination)
    }

    func verify() throws -> VerificationReport { try StoreVerification(migration()).run() }
}
