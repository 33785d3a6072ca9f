import Diagnostics
import Foundation
import Mapping

extension MigrationManager {
    /// Migrates a store, under the method's older name, with the store types as strings.
    ///
    /// - Throws: `manager.storeType` (78) for any type but SQLite; the errors of
    ///   ``migrateStore(from:type:options:mapping:to:type:options:)``.
    public func migrateStore(
        from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil,
        with mappings: MappingModel?, toDestinationURL dURL: URL, destinationType dStoreType: String,
        destinationOptions dOptions: [AnyHashable: Any]? = nil
    ) throws {
        for type in [sStoreType, dStoreType] where type != NSSQLiteStoreType {
            throw MigrationError(
                "manager.storeType", .configuration, "Stores of type \(type) are not migrated, only SQLite stores")
        }
        try migrateStore(
            from: sourceURL, type: .sqlite, options: sOptions, mapping: mappings, to: dURL, type: .sqlite,
            options: dOptions)
    }
}
