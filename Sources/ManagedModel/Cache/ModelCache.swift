import Archives
import Diagnostics

/// The model cached in a store: Z_MODELCACHE.Z_CONTENT, a ``ModelArchive`` as a raw deflate stream.
///
/// Every store written by frameworks since 637 (2015) has one [139 of 139 real stores].
package enum ModelCache {
    /// The greatest size in bytes of an inflated model. Real ones are below 60 kB.
    package static let inflatedLimit = 16 << 20

    /// Reads a store's model.
    ///
    /// - Parameter content: the value of Z_CONTENT.
    /// - Throws: `archive.deflate`, `archive.limit`, and the errors of ``ModelArchive/decode(_:)``.
    package static func decode(_ content: [UInt8]) throws(MigrationError) -> ModelDefinition {
        try ModelArchive.decode(try Deflate.inflate(content, limit: inflatedLimit))
    }

    /// Writes a store's model.
    ///
    /// - Parameter archiver: as ``ModelArchive/encode(_:archiver:)`` takes it.
    /// - Returns: the value of Z_CONTENT.
    /// - Throws: what ``ModelArchive/encode(_:)`` throws.
    package static func encode(
        _ model: ManagedObjectModel, archiver: (any PredicateArchiver)? = nil
    ) throws(MigrationError) -> [UInt8] {
        try Deflate.deflate(try ModelArchive.encode(model, archiver: archiver))
    }
}
