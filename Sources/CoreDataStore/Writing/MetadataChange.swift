import Archives
import CSQLite
import Diagnostics

extension StoreMetadata {
    /// Replaces the application's keys and values in the metadata of a finished store. Core Data's own stay.
    ///
    /// - Parameters:
    ///   - path: the store, which no other process uses.
    ///   - values: the new keys and values; Core Data's keys among them are ignored.
    /// - Throws: errors of opening the store (65, 66, 74, 77), of writing to it (74, 77).
    package static func setApplicationValues(
        _ values: [String: PropertyListValue], ofStore path: String
    ) throws(MigrationError) {
        let store = try SourceStore(path: path)
        var list = store.metadata.propertyList.filter { frameworkKeys.contains($0.key) }
        try store.close()
        list.merge(values.filter { !frameworkKeys.contains($0.key) }) { own, _ in own }
        let bytes: [UInt8]
        do { bytes = try BinaryPropertyList.encode(.dictionary(PropertyListDictionary(list))) } catch {
            throw MigrationError(
                "metadata.value", .usage, "The metadata cannot be written as a property list: \(error)",
                context: .init(path: path))
        }
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try write(bytes, through: connection)
        try connection.close()
    }

    /// Writes the property list. The statement ends here, so that the connection can be closed.
    private static func write(_ list: [UInt8], through connection: Connection) throws(MigrationError) {
        let statement = try connection.prepare("UPDATE Z_METADATA SET Z_PLIST = ?1")
        statement.bind(list, at: 1)
        try statement.run()
    }
}
