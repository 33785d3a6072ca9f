import CoreDataStore
import Diagnostics
import ManagedModel

/// The route of a store through a staged migration: from the version that wrote it through the stages that follow.
struct StagedRoute {
    /// One migration of the route.
    struct Move {
        /// The stage; nil for a migration between stages or from the last stage to the destination's version.
        let stage: MigrationStage?
        let destination: ManagedObjectModel
    }

    /// The model by which the store is read.
    let start: ManagedObjectModel
    let moves: [Move]

    /// - Throws: the errors of ``StagedMigrationManager/migrateStore(from:to:destinationModel:)``.
    init(
        stages: [MigrationStage], models: [ManagedObjectModel], source: String, destination given: ManagedObjectModel
    ) throws(MigrationError) {
        let destination = given.whole
        try Self.checkOnce(stages)
        var known = StagedModels(models + [destination])
        for stage in stages {
            guard let custom = stage as? CustomMigrationStage else { continue }
            for reference in [custom.currentModel, custom.nextModel] {
                known.add(try reference.resolved(), checksum: reference.versionChecksum)
            }
        }
        let (store, own) = try Self.store(source, known)
        // A store of one configuration has only the hashes of its entities, but stages list whole versions.
        let checksum = store.whole === store ? own : store.whole.versionChecksum ?? own
        known.add(store.whole, checksum: checksum)
        start = store
        let end = destination.versionChecksum
        let all = stages.flatMap(\.checksums)
        if let end, let to = all.lastIndex(of: end), let from = all.firstIndex(of: checksum), to < from {
            throw MigrationError(
                "staged.backward", .configuration, "The destination's version comes before the store's in the stages",
                context: .init(path: source))
        }
        guard checksum != end, let first = stages.firstIndex(where: { Self.begins($0, with: checksum) }) else {
            // The last stage may end with the store's version. Then only the migration to the destination is left.
            guard checksum == end || stages.last?.checksums.last == checksum else {
                throw Self.unknown(checksum, source)
            }
            moves = [Move(stage: nil, destination: destination.counterpart(of: store))]
            return
        }
        var found: [Move] = []
        var now = checksum
        for stage in stages[first...] {
            if now == end { break }
            if let light = stage as? LightweightMigrationStage {
                // The destination's version may be in the middle of the stage.
                let listed = light.versionChecksums
                let stop = end.flatMap { listed.contains($0) ? $0 : nil } ?? listed.last(where: { known[$0] != nil })
                guard let stop else { throw Self.missing(listed.last ?? now) }
                guard let model = known[stop] else { throw Self.missing(stop) }
                if stop != now { found.append(Move(stage: stage, destination: model)) }
                now = stop
            } else if let custom = stage as? CustomMigrationStage {
                if custom.currentModel.versionChecksum != now, let model = known[custom.currentModel.versionChecksum] {
                    found.append(Move(stage: nil, destination: model))
                }
                guard let model = known[custom.nextModel.versionChecksum] else {
                    throw Self.missing(custom.nextModel.versionChecksum)
                }
                found.append(Move(stage: stage, destination: model))
                now = custom.nextModel.versionChecksum
            }
        }
        if now != end { found.append(Move(stage: nil, destination: destination)) }
        // A store of one configuration keeps it as long as the versions have that configuration.
        var last = store
        moves = found.map { move in
            last = move.destination.counterpart(of: last)
            return Move(stage: move.stage, destination: last)
        }
    }

    private static func begins(_ stage: MigrationStage, with checksum: String) -> Bool {
        if let light = stage as? LightweightMigrationStage { return light.versionChecksums.contains(checksum) }
        return (stage as? CustomMigrationStage)?.currentModel.versionChecksum == checksum
    }

    /// Checks that each version occurs once, except that a stage may begin with the version with which the stage before ends.
    private static func checkOnce(_ stages: [MigrationStage]) throws(MigrationError) {
        var seen: Set<String> = []
        var last: String?
        for stage in stages {
            for (position, checksum) in stage.checksums.enumerated() {
                if position == 0, checksum == last { continue }
                guard seen.insert(checksum).inserted else {
                    throw MigrationError(
                        "staged.duplicateVersion", .configuration,
                        "The version checksum \(checksum) occurs in two places of the stages",
                        remedy: "List each version once")
                }
            }
            last = stage.checksums.last
        }
    }

    /// Returns the model that wrote the store, and its checksum: that in the metadata, or that of the hashes there.
    private static func store(
        _ path: String, _ known: StagedModels
    ) throws(MigrationError) -> (ManagedObjectModel, String) {
        let store = try SourceStore(path: path, cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
        let metadata = store.metadata
        let cached = try? store.cachedModel()
        try store.close()
        let checksum =
            metadata.versionChecksum
            ?? (metadata.versionHashes.isEmpty ? nil : VersionHash.checksum(of: metadata.versionHashes))
        guard let checksum else {
            throw MigrationError(
                "staged.unknownVersion", .configuration, "The store has no version checksum and no version hashes",
                remedy: "Migrate it with a source model that is named", context: .init(path: path))
        }
        if let fitting = cached?.fitting(storeHashes: metadata.versionHashes) { return (fitting, checksum) }
        let hashes = metadata.versionHashes
        guard
            let model = known[checksum].map({ $0.fitting(storeHashes: hashes) ?? $0 })
                ?? known.all.lazy.compactMap({ $0.fitting(storeHashes: hashes) }).first
        else { throw unknown(checksum, path) }
        return (model, checksum)
    }

    private static func unknown(_ checksum: String, _ path: String) -> MigrationError {
        MigrationError(
            "staged.unknownVersion", .configuration, "No stage is for the store's version, of the checksum \(checksum)",
            remedy: "Add a stage that lists it", context: .init(path: path))
    }

    private static func missing(_ checksum: String) -> MigrationError {
        MigrationError(
            "staged.modelNotFound", .configuration, "There is no model version of the checksum \(checksum)",
            remedy: "Add it to the manager's models")
    }
}

/// Models by their version checksums.
struct StagedModels {
    private(set) var all: [ManagedObjectModel] = []
    private var byChecksum: [String: ManagedObjectModel] = [:]

    init(_ models: [ManagedObjectModel]) {
        for model in models { add(model, checksum: model.versionChecksum) }
    }

    subscript(checksum: String) -> ManagedObjectModel? { byChecksum[checksum] }

    /// Adds a model under a given checksum.
    mutating func add(_ model: ManagedObjectModel, checksum: String?) {
        all.append(model)
        if let checksum, byChecksum[checksum] == nil { byChecksum[checksum] = model }
    }
}
