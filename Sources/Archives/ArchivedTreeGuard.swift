import Diagnostics

/// Bounds a walk over archived objects that should form a tree, such as expressions. A cycle exceeds the limit of depth;
/// subtrees that are shared too often exceed the limit of visits.
///
/// It is a class, so that all walks over an archive share one.
package final class ArchivedTreeGuard {
    private let maximumDepth: Int
    private let maximumVisits: Int
    private var depth = 0
    private var visits = 0

    package init(maximumDepth: Int = 128, maximumVisits: Int = 100_000) {
        self.maximumDepth = maximumDepth
        self.maximumVisits = maximumVisits
    }

    /// Charges bytes that a visit copies or hashes; 64 bytes cost as much as one visit. Without this a long text shared by many
    /// objects would multiply too.
    ///
    /// - Throws: `archive.limit`.
    package func charge(bytes: Int) throws(MigrationError) {
        visits += bytes / 64
        guard visits <= maximumVisits else {
            throw .archive("archive.limit", "The archive's texts or collections are too long or shared too often")
        }
    }

    /// Enters an object, one level deeper. Every call needs a call of ``leave()``.
    ///
    /// - Throws: `archive.cycle` beyond the depth, `archive.limit` beyond the visits.
    package func enter(_ object: ArchivedObject) throws(MigrationError) {
        depth += 1
        visits += 1
        guard depth <= maximumDepth else {
            throw .archive("archive.cycle", "Object \(object.uid) of the archive is nested in itself or too deeply")
        }
        guard visits <= maximumVisits else {
            throw .archive("archive.limit", "Object \(object.uid) of the archive expands to too many objects")
        }
    }

    package func leave() { depth -= 1 }
}
