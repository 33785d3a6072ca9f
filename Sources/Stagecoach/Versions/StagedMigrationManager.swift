import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// A manager that migrates a store through the versions that its stages list. Versions are identified by their checksums.
///
/// The manager finds the version that wrote the store among the stages, and migrates the store through all that follow: through
/// a lightweight stage directly to its last version, through a custom stage with its handlers before and after. All work
/// happens in private stores beside the destination, which gets its name in one step at the end. The source is never changed,
/// and a run that throws leaves no destination.
///
/// In a handler, ``storeURL`` is the private store of the version ``model``. It has no journal beside it, and no other process
/// uses it. It may be read and changed through SQLite, through ``transformStore(with:)``, whose policies have objects and
/// contexts, or through the contexts of the ``container``. Before the destination is published, the store is written anew and
/// the model's rules are checked, so changes by handlers are covered.
///
/// A store that was made for one configuration of its model is migrated to that configuration of every version, in lightweight
/// and custom stages. Stages list whole versions, and ``model`` is the configuration's part of a version. The mapping model of
/// a custom stage is for whole models; only its mappings for the configuration are used.
///
/// Each stage is a migration of its own; consecutive stages are not fused.
///
/// ```swift
/// let stage = CustomMigrationStage(
///     migratingFrom: ManagedObjectModelReference(model: old, versionChecksum: old.versionChecksum ?? ""),
///     to: ManagedObjectModelReference(model: new, versionChecksum: new.versionChecksum ?? ""))
/// stage.didMigrateHandler = { manager, _ in print("now in", manager.storeURL?.path ?? "no store") }
/// let manager = StagedMigrationManager([stage])
/// let reports = try manager.migrateStore(
///     from: URL(fileURLWithPath: "Library.sqlite"), to: URL(fileURLWithPath: "New.sqlite"), destinationModel: new)
/// print(reports.count, "stages")
/// ```
public final class StagedMigrationManager: NSObject {
    /// The stages, in order.
    public let stages: [MigrationStage]
    /// The options: memory limit, batch size and work directory. Keys, rejects and id maps do not apply.
    public var options = MigrationOptions()
    /// The registry in which policies of custom stages' mapping models are found by name.
    public var policies: PolicyRegistry = .shared
    /// The models of the versions in lightweight stages. The destination's model, the store's own and the models of custom
    /// stages need not be listed. Only the last version of a lightweight stage is needed.
    public var models: [ManagedObjectModel] = []
    /// The private store, while a handler runs; nil at other times.
    public private(set) var storeURL: URL?
    /// The model of the private store, while a handler runs; nil at other times.
    public private(set) var model: ManagedObjectModel?
    /// The private store with its contexts, while a handler runs; nil at other times.
    public private(set) var container: PersistentContainer?
    /// The failure of the last run, with its place, as ``MigrationManager/failure``.
    public private(set) var failure: MigrationError?
    /// The progress of the run, over all stages.
    public let progress = ProgressCounter()
    private let cancellation = CancellationFlag()
    private var transformed = 0

    /// - Parameter stages: the stages in order. Each version's checksum occurs once, except that a stage may begin with the
    ///   version with which the stage before ends.
    public init(_ stages: [MigrationStage]) {
        self.stages = stages
    }

    /// Stops the run from any thread. The run ends with the given error.
    public func cancelMigrationWithError(_ error: any Error) { cancellation.cancel(error) }

    /// Migrates a store to the last version.
    ///
    /// - Parameters:
    ///   - source: the store; not a byte of it is changed.
    ///   - destination: a path where no file exists yet.
    ///   - model: the last version.
    /// - Returns: a report for each migration that ran, in order.
    /// - Throws: `staged.duplicateVersion` if two stages list a version, `staged.unknownVersion` if no stage lists the store's
    ///   version, `staged.modelNotFound`, `staged.backward` if the destination's version comes before the store's (78); the
    ///   errors of the migrations, with the stage named; the error of a handler, unchanged.
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
        failure = nil
        do {
            return try run(route, from: source.path, to: destination.path, stores)
        } catch let error as MigrationError {
            failure = error
            throw error.errorOfPolicy ?? error
        }
    }

    /// Transforms the private store by a mapping model from its version to the same version, with policies that have objects
    /// and contexts. May only be called in a handler.
    ///
    /// - Throws: `staged.idle` (70) outside a handler; the errors of the migration.
    public func transformStore(with mapping: MappingModel) throws {
        guard let url = storeURL, let model else {
            throw MigrationError("staged.idle", .internal, "No handler of a staged migration is running")
        }
        try container?.save()
        let other = nextTransformed(url)
        try transformation(mapping, url.path, to: other, model).run()
        try ChainStores.replace(url.path, by: other)
    }

    private func nextTransformed(_ url: URL) -> String {
        transformed += 1
        return url.deletingLastPathComponent().appendingPathComponent("step-handler-\(transformed).sqlite").path
    }

    /// Returns a migration of the private store to its own version.
    private func transformation(
        _ mapping: MappingModel, _ path: String, to other: String, _ model: ManagedObjectModel
    ) -> Migration {
        var options = inner
        // The handler may have changed the private store by hand before.
        options.sourceIsKnownByTables = true
        return migration(mapping, from: (path, model), to: (other, model), options)
    }

    private func makeContainer(_ url: URL, _ model: ManagedObjectModel) -> PersistentContainer {
        var other = ""
        return PersistentContainer(
            name: url.deletingPathExtension().lastPathComponent, model: model,
            begin: { pause in
                other = self.nextTransformed(url)
                let mapping = try PausingPolicy.mappingModel(of: model)
                let migration = self.transformation(mapping, url.path, to: other, model)
                migration.manager.policies = PausingPolicy.registry(pause)
                try migration.run()
            }, replace: { try ChainStores.replace(url.path, by: other) })
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
        migration.link = ChainPosition()
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
                ?? MappingModel.inferred(
                    from: version, to: move.destination, unmappable: options.unmappable,
                    mergesDuplicates: options.onInvalid == .merge)
            let isLast = index == route.moves.count - 1 && custom?.didMigrateHandler == nil
            made += 1
            try migrate(mapping, to: move.destination, at: isLast ? destination : stores.path(ofRun: made), name)
            if let handler = custom?.didMigrateHandler { try call(handler, custom, at: place, of: version) }
        }
        if place != destination {
            // The last handler's changes are written anew, so that their rows are checked and the pages are in order.
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
        let url = URL(fileURLWithPath: path)
        let container = makeContainer(url, version)
        (storeURL, model, self.container) = (url, version, container)
        defer { (storeURL, model, self.container) = (nil, nil, nil) }
        do {
            try EvaluationScope.$current.withValue(EvaluationScope(models: [version])) { try handler(self, stage) }
        } catch { throw container.drop(after: error) }
        try container.save()
        if let error = cancellation.error { throw error }
    }
}

extension StagedMigrationManager: StoreMigrating {
    /// Migrates a store to a model and replaces it by the result. It is unchanged if that fails.
    func migrateStore(inPlace url: URL, to model: ManagedObjectModel) throws {
        try replaceStore(at: url) { try migrateStore(from: url, to: $0, destinationModel: model) }
    }
}
