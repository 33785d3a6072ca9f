import Archives
import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// The completion of the private store once all rows are loaded: triggers are made, metadata and the cached model are written.
/// An appended store already has them.
struct StoreCompletion {
    let run: MigrationRun
    /// The highest key ever given in each table.
    let maximumKeys: [Int64]
    /// The UUID of the store.
    let uuid: String
    /// True if the rows were added to an existing store at the destination.
    let isAppended: Bool
    /// The history to carry over; nil for none.
    let history: HistoryCopy?

    /// Completes the private store, syncs it and closes it. Throws `store.…`.
    func finish(_ destination: DestinationStore) throws {
        run.services.begin(.publish)
        guard !isAppended else { return try destination.finishAppending(maximumKeys: maximumKeys) }
        if let history { try destination.carryOver(history) }
        try destination.createTriggers()
        try destination.finish(
            metadata: try metadata(), maximumKeys: maximumKeys,
            modelCache: try ModelCache.encode(
                run.inputs.destinationSchema.model.whole, archiver: ArchivingLanguage()))
    }

    private func metadata() throws(MigrationError) -> DestinationMetadata {
        let old = run.inputs.source.metadata
        let model = run.inputs.destinationSchema.model
        var metadata = DestinationMetadata(
            uuid: uuid, sourceProperties: old.propertyList,
            versionHashes: Self.versionHashes(of: model, from: old, run.inputs.layout.schema.model),
            versionIdentifiers: model.definition.versionIdentifiers)
        metadata.omitsUnknownHashes = run.inputs.options.unknownHashes == .omit
        return metadata
    }

    /// Returns the version hashes of a destination that are known: computed, stated by a compiled model, or taken from a source
    /// entity that is the same to the last property. They are never invented.
    static func versionHashes(
        of model: ManagedObjectModel, from old: StoreMetadata, _ source: ManagedObjectModel
    ) -> [String: [UInt8]] {
        var hashes: [String: [UInt8]] = [:]
        for (name, hash) in VersionHash.entityHashes(of: model) {
            switch hash {
            case .known(let bytes): hashes[name] = bytes
            case .unknown:
                guard let bytes = old.versionHashes[name], !bytes.isEmpty,
                    let before = source.entity(named: name), let now = model.entity(named: name)
                else { continue }
                // Inherited properties and the elements of composites are part of the hash too.
                let isUnchanged =
                    lineage(before) == lineage(now)
                    && source.definition.composites == model.definition.composites
                if isUnchanged { hashes[name] = bytes }
            }
        }
        return hashes
    }

    /// Returns the definitions of an entity and of all its superentities.
    private static func lineage(_ entity: EntityDescription) -> [EntityDefinition] {
        sequence(first: entity, next: \.superentity).map(\.definition)
    }
}
