import Archives
import CoreDataStore
import Diagnostics

/// The facts about a store of type XML or binary that stand apart from its objects.
package struct AtomicStoreHeader: Sendable {
    package let format: StoreFormat
    /// The store's identifier, and its metadata.
    package var metadata: StoreMetadata
    /// The highest number that was ever given to an object, as the file says. It may be wrong.
    package var highestID: Int64

    /// Reads the header of a store.
    ///
    /// - Throws: `store.xml`, `store.truncated`, `store.binary`, `store.metadata` (65); `store.permission` (77), `store.io` (74).
    package static func read(_ path: String, format: StoreFormat) throws(MigrationError) -> AtomicStoreHeader {
        if format == .binary { return try BinaryStoreReader(path: path).header() }
        return try XMLStoreReader(path: path).header()
    }
}
