import Diagnostics
import ManagedModel

extension DestinationStore {
    /// Makes a store without rows, to plan migrations whose source does not exist yet. It is temporary: a version hash that
    /// only Core Data knows is left blank.
    ///
    /// - Parameter path: the path of a file that does not exist.
    /// - Throws: as ``init(creating:schema:cacheBytes:vfs:)``.
    package static func makeEmpty(at path: String, model: ManagedObjectModel) throws(MigrationError) {
        let schema = StoreSchema(model: model)
        let store = try DestinationStore(creating: path, schema: schema, cacheBytes: 64 << 10, vfs: nil)
        let blank = [UInt8](repeating: 0, count: VersionHash.byteCount)
        try store.finish(
            metadata: DestinationMetadata(
                uuid: "00000000-0000-0000-0000-000000000000", sourceProperties: [:],
                versionHashes: VersionHash.entityHashes(of: model).mapValues { $0.bytes ?? blank },
                versionIdentifiers: model.versionIdentifiers),
            maximumKeys: schema.tables.map { _ in 0 }, modelCache: nil)
    }
}
