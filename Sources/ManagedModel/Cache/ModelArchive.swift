import Archives
import Diagnostics

/// A model as Core Data archives it: the contents of a `.mom`, and of Z_MODELCACHE once inflated.
///
/// Parts for which a definition has no place are kept unchanged (``ArchivedGraph``) and written again:
/// validation predicates of any form with their warnings, a transformable's default, user info that is no text, the order of a
/// fetch request. A composite's name is not in the archive: the reader names it after its first attribute.
package enum ModelArchive {
    /// The greatest size of an archive in bytes. Larger ones are refused.
    static let greatestByteCount = 64 << 20
    /// The limits of an archive. Real ones are below 60 kB and 5000 values.
    private static let limits = BinaryPropertyList.Limits(
        bytes: greatestByteCount, expandedValues: 2 << 20, depth: 64)

    /// Reads a model.
    ///
    /// Compound indexes and indexed attributes are returned as archived. Core Data derives both from fetch indexes too
    /// (SampleModel_V2, Bookmarks_V3), so one index may be described twice.
    ///
    /// - Parameter bytes: the whole keyed archive.
    /// - Returns: the model, with only its own properties in each entity; entities and properties are sorted by name in code
    ///   point order.
    /// - Throws: `archive.format`, `archive.limit`, `archive.notKeyed` and others of ``KeyedArchive``; `archive.model` for a
    ///   graph that is not a model. The context names entity and property.
    /// - Complexity: O(bytes) time and memory.
    package static func decode(_ bytes: [UInt8]) throws(MigrationError) -> ModelDefinition {
        var reader = ModelArchiveReader(try KeyedArchive(decoding: bytes, limits: limits))
        return try reader.read()
    }

    /// Writes a model as Core Data writes it into a store's cache.
    ///
    /// - Parameter archiver: archives the predicates and expressions that were not read from an archive; nil: fetch requests
    ///   lose theirs, and indexes that have one are left out.
    /// - Returns: the keyed archive; equal models give equal bytes.
    /// - Throws: `archive.derivation` for a derivation expression in a form that Core Data does not derive by,
    ///   `archive.composite` for unknown or endlessly nested composites.
    /// - Complexity: O(properties, inherited ones counted in each subentity).
    package static func encode(
        _ model: ManagedObjectModel, archiver: (any PredicateArchiver)? = nil
    ) throws(MigrationError) -> [UInt8] {
        var writer = ModelArchiveWriter(model, archiver: archiver)
        return try writer.write()
    }
}

/// Archives the texts of predicates and expressions as NSPredicate and NSExpression archive themselves.
package protocol PredicateArchiver: Sendable {
    /// The archived predicate; nil if the text is none.
    func predicate(_ text: String) -> ArchivedGraph?
    /// The archived expression; nil if the text is none.
    func expression(_ text: String) -> ArchivedGraph?
}

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
    /// - Parameter archiver: as ``ModelArchive/encode(_:archiver:)`` takes it. The first one given for a model serves it from
    ///   then on.
    /// - Returns: the value of Z_CONTENT.
    /// - Throws: what ``ModelArchive/encode(_:)`` throws.
    /// - Complexity: that of ``ModelArchive/encode(_:archiver:)`` for the first call.
    package static func encode(
        _ model: ManagedObjectModel, archiver: (any PredicateArchiver)? = nil
    ) throws(MigrationError) -> [UInt8] {
        let archives = archiver != nil
        if let known = model.computed.withLock({ $0.cacheContents[archives] }) { return known }
        let content = try Deflate.deflate(try ModelArchive.encode(model, archiver: archiver))
        model.computed.withLock { $0.cacheContents[archives] = content }
        return content
    }
}
