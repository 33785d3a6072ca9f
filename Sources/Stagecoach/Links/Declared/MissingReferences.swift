import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The handling of references that find no destination object: they are counted with their cause, or kept because
/// something later may still set them.
struct MissingReferences {
    /// The causes; nil until the keys are known.
    var fates: ReferenceFates?
    /// The references that a policy or a later mapping model may still set; nil if all are counted at once.
    var unmigrated: UnmigratedReferences?
    /// True if links are made again without rejected objects. Only references to those are counted then: all others were
    /// counted the first time.
    var isRepeat = false

    /// Notes a reference whose source object exists and was not migrated.
    ///
    /// - Parameters:
    ///   - number: the number that ``unmigrated`` gave the lookup; nil if it keeps none.
    ///   - owner: the key of the destination object that has the reference.
    func note(
        _ source: Int64, inTable table: Int, number: UInt64?, of relationship: CountedRelationship, owner: Int64,
        _ counts: inout ReferenceCounts
    ) throws(MigrationError) {
        if let fates, try fates.isRejected(source, table: table, for: relationship.description) {
            counts.add(relationship, .rejected, owner: owner)
        } else if isRepeat {
            return
        } else if let unmigrated, let number {
            try unmigrated.note(number, owner: owner, source: source)
        } else if let fates {
            counts.add(
                relationship, try fates.fate(of: source, table: table, for: relationship.description), owner: owner)
        }
    }
}
