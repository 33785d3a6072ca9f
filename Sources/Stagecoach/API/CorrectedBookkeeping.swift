import Diagnostics

/// Core Data's own numbers that are wrong in the source's table of an entity, and right in the destination.
///
/// Core Data itself reads such a store without complaint: it does not look at the entity number where a table has one entity.
public struct CorrectedBookkeeping: Sendable, Codable, Equatable {
    /// The entity whose objects the table has; of a hierarchy the root.
    public var entity: String
    /// The number of the table's rows with another entity number (Z_ENT) than the entity's; nil if there are none, and for the
    /// table of a hierarchy, whose rows of no entity are counted in ``MigrationCounts/strays``.
    public var otherNumbers: Int?
    /// The highest key that the source says it gave out (Z_MAX), if the rows have a higher one; nil otherwise.
    public var statedMaximum: Int?
    /// The highest key of the rows, beside ``statedMaximum``.
    public var highestKey: Int?

    /// The sentences of the entry, without a full stop.
    public var sentences: [String] {
        var sentences: [String] = []
        if let otherNumbers {
            sentences.append(
                otherNumbers.counted("source row of \(entity) has", "source rows of \(entity) have")
                    + " another entity number (Z_ENT) than \(entity)'s; the destination's rows have the right one")
        }
        if let statedMaximum, let highestKey {
            sentences.append(
                "The source's highest key of \(entity) (Z_MAX) is \(statedMaximum), and a row has the key \(highestKey); "
                    + "the destination's is that of all rows")
        }
        return sentences
    }
}
