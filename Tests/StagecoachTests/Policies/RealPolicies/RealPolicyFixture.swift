import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A migration of a shared store, or of one of a shared model, by a shared mapping model and policies of these tests.
struct RealPolicyFixture {
    let folder: TemporaryFolder
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    var mapping: MappingModel
    let registry = PolicyRegistry()
    let sourcePath: String
    var destinationPath: String { folder.file("destination.sqlite") }

    /// - Parameters:
    ///   - models: source and destination below the shared stores: `Bundle.xcdatamodeld:Version` or `.xcdatamodel`.
    ///   - mapping: below the shared stores.
    ///   - store: below the shared stores; nil: the closure's rows.
    init(
        _ models: (String, String), mapping: String, store: String? = nil,
        rows: (inout ReferenceStore) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder()
        let root = SharedStores.url.path + "/"
        source = try ModelLocator.load(root + models.0).model
        destination = try ModelLocator.load(root + models.1).model
        self.mapping = try MappingModel.read(
            path: root + mapping, sourceModel: source, destinationModel: destination)
        if let store {
            sourcePath = try folder.copyStore(SharedStores.url.appendingPathComponent(store))
        } else {
            var made = ReferenceStore(model: source)
            rows(&made)
            made.complete()
            sourcePath = folder.file("source.sqlite")
            try made.write(path: sourcePath)
        }
    }

    /// Migrates.
    @discardableResult
    func run() throws -> MigrationReport {
        let manager = NSMigrationManager(sourceModel: source, destinationModel: destination)
        manager.options.memoryLimit = 8 << 30
        manager.policies = registry
        manager.options.fullCheck = true
        try manager.migrateStore(
            from: URL(fileURLWithPath: sourcePath), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: destinationPath), type: .sqlite)
        let report = try #require(manager.report)
        return report
    }

    /// Rows of a statement, their columns joined by a bar; NULL is empty.
    func rows(_ select: String, ofSource: Bool = false) throws -> [String] {
        let connection = try Connection(
            path: ofSource ? sourcePath : destinationPath, flags: SQLITE_OPEN_READWRITE)
        let statement = try connection.prepare(select)
        var rows: [String] = []
        while try statement.step() {
            let count = sqlite3_column_count(statement.handle)
            rows.append((0..<count).map { statement.text($0) ?? "" }.joined(separator: "|"))
        }
        return rows
    }
}
