import ManagedModel
import PersistentStore

/// Whether a mapping model's lookups of objects that earlier ones made need the stages with barriers.
///
/// A new row that refers to an earlier one by its own column, or by a row of a join table, needs nothing but the earlier
/// mapping's keys. Everything else changes earlier rows or counts on from their members' places.
struct EarlierLookups {
    /// Each at its index.
    let mappings: [PlannedMapping]
    /// How many of them are earlier ones.
    let earlier: Int

    /// Whether a lookup changes rows that were there before, or finds what policies associated.
    var needObjects: Bool {
        forEachReach { relationship, candidates in
            EarlierLookups.changesEarlierRows(relationship)
                || candidates.contains { mappings[$0].mayBeAssociatedByHand }
        }
    }

    /// Whether a lookup finds what policies associated or deleted, as far as only the run shows.
    func needObjects(in archive: AssociationArchive) -> Bool {
        forEachReach { _, candidates in
            archive.hasDeletions || candidates.contains { archive.tables[$0].hasPairs }
        }
    }

    /// Whether any lookup that reaches earlier mappings passes a test.
    private func forEachReach(_ test: (RelationshipDescription, [Int]) -> Bool) -> Bool {
        mappings.dropFirst(earlier).contains { mapping in
            mapping.relationships.contains { planned in
                guard case .lookup(_, let candidates)? = planned.value else { return false }
                let reached = candidates.filter { $0 < earlier }
                return !reached.isEmpty && test(planned.relationship, reached)
            }
        }
    }

    private static func changesEarlierRows(_ relationship: RelationshipDescription) -> Bool {
        let inverse = LinkPlanner.mutualInverse(of: relationship)
        guard relationship.isToMany else { return inverse.map { !$0.isToMany || $0.isOrdered } ?? false }
        guard let inverse, inverse != relationship else { return true }
        return !inverse.isToMany || inverse.isOrdered
    }
}
