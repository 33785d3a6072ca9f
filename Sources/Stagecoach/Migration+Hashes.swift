import CoreDataStore
import Diagnostics
import ManagedModel

extension Migration {
    /// Returns the names of the entities of a fresh destination whose version hashes only Core Data can compute.
    func unknownHashes(_ prepared: Prepared) -> [String] {
        let known = StoreCompletion.versionHashes(
            of: destinationModel, from: prepared.source.metadata, prepared.layout.schema.model)
        return destinationModel.entities.map(\.definition.name).filter { known[$0] == nil }.sorted()
    }

    /// Refuses a destination with unknown version hashes, unless they may be left out, and a destination with unknown columns.
    /// Nothing has been written yet.
    ///
    /// - Throws: `metadata.missingHash`, `model.unstorableAttribute` (78).
    func checkHashes(_ prepared: Prepared, appends: Bool) throws(MigrationError) {
        if !appends { try prepared.schema.refuseUnstorable(destinationPath) }
        guard !appends, options.unknownHashes == .refuse, let first = unknownHashes(prepared).first else { return }
        let reason = destinationModel.unknownHashReason(ofEntity: first).map { " (\($0))" } ?? ""
        throw MigrationError(
            "metadata.missingHash", .configuration,
            "The version hash of this entity is known to Core Data only" + reason,
            remedy:
                "Give the destination model as a compiled .momd, whose VersionInfo.plist holds the hashes, or as a store "
                + "of that version, whose metadata hold them, or leave them out with --unknown-hashes omit",
            context: .init(entity: first))
    }
}
