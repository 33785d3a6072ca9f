import Diagnostics
import Foundation
import ManagedModel
import Mapping
import PersistentStore

/// Migrates a store over the versions that its stages list, told by their checksums.
///
/// A store is found among the stages by the version that wrote it, and goes through what comes after: a lightweight stage
/// directly to its last version, a custom stage with its handlers before and after. All of it happens in private stores
/// beside the destination, which gets its name in one step at the end; the source is never changed, and a run that throws
/// leaves no destination.
///
/// In a handler ``storeURL`` is the private store, of ``model``, with no journal beside it and nobody else in it: it may be
/// read and changed through SQLite, or through ``transformStore(with:)``, whose policies have objects and contexts. What
/// handlers change is brought into order, and the model's rules are checked, before the destination is published.
///
/// A store that was made for one configuration of its model goes through that configuration of every version, in lightweight
/// and in custom stages: stages list whole versions, ``model`` is the configuration's part, and of a custom stage's mapping
/// model, which is for whole models, counts what concerns it.
///
/// Lightweight steps that follow each other are fused where that gives the same result.
public final class StagedMigrationManager: NSObject {
    /// In order.
    public let stages: [MigrationStage]
    /// Memory limit, batch size, work directory; keys, rejects and id maps do not apply.
    public var options = MigrationOptions()
    /// Where policies of custom stages' mapping models are found by name.
    public var policies: PolicyRegistry = .shared
    /// Models of the versions that lightweight stages list, beside those that custom stages refer to, the destination's
    /// and the store's own. Only the last version of a lightweight stage is needed.
    public var models: [ManagedObjectModel] = []
    /// The private store, while a handler runs; nil at other times.
    public private(set) var storeURL: URL?
    /// The model of the private store, while a handler runs; nil at other times.
    public private(set) var model: ManagedObjectModel?
    /// How far the run is, over all stages.
    public let progress = ProgressCounter()
    private let cancellation = CancellationFlag()
    private var transformed = 0

    /// - Parameter stages: in order, each version's checksum once, but for one that a stage ends with and the next begins with.
    public init(_ stages: [MigrationStage]) {
        self.stages = stages
    }

    /// Stops the run from any thread; it ends with the error.
    public func cancelMigrationWithError(_ error: any Error) { cancellation.cancel(error) }

    /// Migrates a store to the last version.
    ///
    /// - Parameters:
    ///   - source: the store; it is not changed by a byte.
    ///   - destination: where nothing stands yet.
    ///   - model: the last version.
    /// - Returns: a report for each migration that ran, in order.
    /// - Throws: `staged.duplicateVersion` where two stages list a version, `staged.unknownVersion` where no stage lists
    ///   the store's, `staged.modelNotFound`, `staged.backward` where the destination's version comes before the store's
    ///   (78); what the migrations throw, with the stage named; what a handler throws, as it is.
    /// - Complexity: that of the migrations, and of a copy of the store before a first handler and after a last one.
    @discardableResult
    public func migrateStore(
        from source: URL, to destination: URL, destinationModel model: ManagedObjectModel
    ) throws -> [MigrationReport] {
        cancellation.reset()
        let place = DestinationPath(path: destination.path)
        try place.checkFresh()
        let route = try StagedRoute(stages: stages, models: models, source: source.path, destination: model)
        progress.beginRun()
        defer { progress.endRun() }
        let stores = try ChainStores(beside: place, folder: nil)
        stores.beginAnew()
        defer { stores.close() }
        return try run(route, from: source.path, to: destination.path, stores)
    }

    /// Changes the private store by a mapping model from its version to the same version: with policies, where objects
    /// and contexts are needed. Only in a handler.
    ///
    /// - Throws: `staged.idle` (70) outside a handler; what the migration throws.
    public func transformStore(with mapping: MappingModel) throws {
        guard let url = storeURL, let model else {
            throw MigrationError("staged.idle", .internal, "No handler of a staged migration is running")
        }
        transformed += 1
        let other = url.deletingLastPathComponent().appendingPathComponent("step-handler-\(transformed).sqlite").path
        var options = inner
        // The private store was perhaps changed by hand before.
        options.sourceIsKnownByTables = true
        let migration = migration(mapping, from: (url.path, model), to: (other, model), options)
        try migration.run()
        try ChainStores.replace(url.path, by: other)
    }

    private func migration(
        _ mapping: MappingModel, from source: (path: String, model: ManagedObjectModel),
        to destination: (path: String, model: ManagedObjectModel), _ options: MigrationOptions
    ) -> Migration {
        let manager = MigrationManager(sourceModel: source.model, destinationModel: destination.model)
        manager.policies = policies
        let migration = Migration(
            from: source.path, model: source.model, mapping: mapping, to: destination.path, model: destination.model,
            options: options, manager: manager, progress: progress, cancellation: cancellation)
        migration.link = ChainLink()
        return migration
    }

    private var inner: MigrationOptions {
        var inner = options.ofPrivateRun
        inner.plan = nil
        return inner
    }

    private func run(
        _ route: StagedRoute, from source: String, to destination: String, _ stores: ChainStores
    ) throws -> [MigrationReport] {
        var reports: [MigrationReport] = []
        var place = source
        var version = route.start
        var made = 0
        func migrate(_ mapping: MappingModel, to next: ManagedObjectModel, at path: String, _ name: String) throws {
            progress.enter(step: min(reports.count + 1, route.moves.count), of: route.moves.count)
            let migration = migration(
                mapping, from: (place, version), to: (path, next), path == destination ? last : inner)
            do {
                reports.append(try migration.run())
            } catch var error as MigrationError {
                if let shown = error.context.path, stores.owns(shown) { error.context.path = source }
                error.message = "\(name): " + error.message
                throw error
            }
            if place != source { stores.remove(path: place) }
            place = path
            version = next
        }
        for (index, move) in route.moves.enumerated() {
            let name = move.stage?.label ?? "Stage \(index + 1) of \(route.moves.count)"
            let custom = move.stage as? CustomMigrationStage
            if let handler = custom?.willMigrateHandler {
                if place == source {
                    made += 1
                    let store = try SourceStore(
                        path: source, cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
                    place = stores.path(ofRun: made)
                    try store.copy(to: place) { if let error = cancellation.error { throw error } }
                    try store.close()
                }
                try call(handler, custom, at: place, of: version)
            }
            let mapping =
                try custom?.mappingModel?.restricted(from: version, to: move.destination)
                ?? MappingModel.inferred(from: version, to: move.destination, unmappable: options.unmappable)
            let isLast = index == route.moves.count - 1 && custom?.didMigrateHandler == nil
            made += 1
            try migrate(mapping, to: move.destination, at: isLast ? destination : stores.path(ofRun: made), name)
            if let handler = custom?.didMigrateHandler { try call(handler, custom, at: place, of: version) }
        }
        if place != destination {
            // What the last handler did is written anew: its rows are checked, its pages are put in order.
            try migrate(try .inferred(from: version, to: version), to: version, at: destination, "After the last stage")
        }
        progress.begin(.done)
        return reports
    }

    private var last: MigrationOptions {
        var last = inner
        last.isDryRun = options.isDryRun
        last.newUUID = options.newUUID
        last.unknownHashes = options.unknownHashes
        return last
    }

    private func call(
        _ handler: CustomMigrationStage.Handler, _ stage: CustomMigrationStage?, at path: String,
        of version: ManagedObjectModel
    ) throws {
        guard let stage else { return }
        storeURL = URL(fileURLWithPath: path)
        model = version
        defer {
            storeURL = nil
            model = nil
        }
        try handler(self, stage)
        if let error = cancellation.error { throw error }
    }
}
