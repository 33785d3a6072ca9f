import Diagnostics
import ManagedModel

extension DestinationStore {
    /// Makes a store without rows.
    ///
    /// - Parameters:
    ///   - path: the path of a file that does not exist.
    ///   - uuid: the store's identifier. Nil makes a temporary store, to plan migrations whose source does not exist yet: a
    ///     version hash that only Core Data knows is blank there instead of left out.
    ///   - modelCache: the content of Z_MODELCACHE; nil leaves the table empty.
    /// - Throws: as ``init(creating:schema:cacheBytes:vfs:)``.
    package static func makeEmpty(
        at path: String, model: ManagedObjectModel, uuid: String? = nil, modelCache: [UInt8]? = nil
    ) throws(MigrationError) {
        let schema = StoreSchema(model: model)
        let store = try DestinationStore(creating: path, schema: schema, cacheBytes: 64 << 10, vfs: nil)
        let blank: [UInt8]? = uuid == nil ? [UInt8](repeating: 0, count: VersionHash.byteCount) : nil
        var metadata = DestinationMetadata(
            uuid: uuid ?? "00000000-0000-0000-0000-000000000000", sourceProperties: [:],
            versionHashes: VersionHash.entityHashes(of: model).compactMapValues { $0.bytes ?? blank },
            versionIdentifiers: model.definition.versionIdentifiers)
        metadata.omitsUnknownHashes = true
        try store.finish(
            metadata: metadata, maximumKeys: schema.tables.map { _ in 0 }, modelCache: modelCache)
    }
}
