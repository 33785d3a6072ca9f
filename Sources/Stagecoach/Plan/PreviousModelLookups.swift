import ManagedModel

/// Decides whether lookups of objects made by previous mapping models need the policy path.
///
/// If a new row refers to an existing one by a column of its own or by a row of a join table, the keys of the previous
/// mapping are enough. Everything else changes existing rows, or continues the order of their members.
struct PreviousModelLookups {
    /// The mappings of this and all previous models, each at its index.
    let mappings: [PlannedMapping]
    /// The number of mappings that belong to previous models.
    let previousCount: Int

    /// True if a lookup changes existing rows, or may find objects that policies associated.
    var needObjects: Bool {
        forEachReach { relationship, candidates in
            PreviousModelLookups.changesExistingRows(relationship)
                || candidates.contains { mappings[$0].mayBeAssociatedByHand }
        }
    }

    /// Tells whether a lookup finds objects that policies associated or deleted, as far as only the run shows it.
    ///
    /// - Parameters:
    ///   - hasDeletions: true if an associated object may have been deleted.
    ///   - hasPairs: tells whether policies associated objects for the mapping with an index.
    func needObjects(hasDeletions: Bool, hasPairs: (Int) -> Bool) -> Bool {
        forEachReach { _, candidates in hasDeletions || candidates.contains(where: hasPairs) }
    }

    /// Tells whether any lookup that reaches previous mappings passes a test.
    private func forEachReach(_ test: (RelationshipDescription, [Int]) -> Bool) -> Bool {
        mappings.dropFirst(previousCount).contains { mapping in
            mapping.relationships.contains { planned in
                guard case .lookup(_, let candidates)? = planned.value else { return false }
                let reached = candidates.filter { $0 < previousCount }
                return !reached.isEmpty && test(planned.relationship, reached)
            }
        }
    }

    private static func changesExistingRows(_ relationship: RelationshipDescription) -> Bool {
        let inverse = LinkPlanner.mutualInverse(of: relationship)
        guard relationship.isToMany else { return inverse.map { !$0.isToMany || $0.isOrdered } ?? false }
        guard let inverse, inverse != relationship else { return true }
        return !inverse.isToMany || inverse.isOrdered
    }
}
