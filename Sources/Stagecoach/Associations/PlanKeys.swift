import CoreDataStore
import ManagedModel
import SpillStorage

/// The keys of all mappings and of all source tables.
struct PlanKeys {
    /// A mapping that may have migrated a referenced object.
    struct Candidate {
        let keys: DestinationKeys
        /// The Z_ENT of the objects that the mapping makes.
        let entityNumber: Int64
    }

    let byMapping: [Int: DestinationKeys]
    var byTable: [Int: KeyIndex]

    /// Returns the candidates of a lookup whose own rows may be found, in mapping order: those that read the source table of the
    /// lookup's argument and make objects that fit the relationship.
    func candidates(
        _ indices: [Int], table: Int, for relationship: RelationshipDescription, in destination: StoreSchema
    ) -> [Candidate] {
        indices.compactMap { index in
            guard let keys = byMapping[index], keys.mapping.sourceTable == table, let entity = keys.mapping.destination,
                entity.isKindOf(entity: relationship.destination)
            else { return nil }
            return Candidate(keys: keys, entityNumber: Int64(destination.number(of: entity)))
        }
    }

    /// Fills in the counts that follow from the keys: the migrated and filtered source objects of each declarative
    /// mapping.
    func account(for mappings: [PlannedMapping], in tally: RunTally) {
        for mapping in mappings {
            guard !mapping.belongsToPreviousModel, let own = byMapping[mapping.index] else { continue }
            let migrated = own.index.count + (own.shared?.count ?? 0) + (own.matched?.count ?? 0)
            tally.counts.mappings[mapping.index].migrated = migrated
            tally.counts.mappings[mapping.index].filtered =
                tally.counts.mappings[mapping.index].sourceObjects - migrated
            if let matched = own.matched, matched.count > 0 {
                tally.counts.mappings[mapping.index].matched = .init(
                    objects: matched.count, rows: matched.rowCount, by: mapping.matching?.keysText ?? "")
            }
            if let shared = own.shared, shared.count > 0 {
                tally.counts.mappings[mapping.index].shared = shared.count
                tally.counts.mappings[mapping.index].mergedBy = mapping.merges ? mapping.grouping?.valuesText : nil
            }
        }
    }
}
