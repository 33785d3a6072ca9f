import ManagedModel

/// The choice of keys for destination rows.
package enum ReferenceKeys: String, Sendable, CaseIterable {
    case auto, kept, sequential
}

/// The report of a reference migration.
package struct ReferenceReport {
    /// Source objects with at least one destination object, by entity mapping name.
    package var migrated: [String: Int] = [:]
    /// Source objects that a filter left out, by entity mapping name.
    package var filtered: [String: Int] = [:]
    /// Source objects that a policy neither associated nor rejected, by entity mapping name.
    package var droppedByPolicy: [String: Int] = [:]
    /// Source objects all of whose destination objects were rejected, by entity mapping name.
    package var rejected: [String: Int] = [:]
    /// Rejected destination objects with their first reasons.
    package var rejects: [ReferenceReject] = []
    /// Source objects of entities that no mapping reads, by entity name.
    package var withoutMapping: [String: Int] = [:]
    /// Source objects of entities whose only mappings are Remove mappings, by entity name.
    package var removed: [String: Int] = [:]
    /// Destination objects without association, by entity name.
    package var createdByPolicy: [String: Int] = [:]
    /// References that a relationship mapping looks up to rows that do not exist: each once for the source object whose
    /// links they would be, which is not always the one that holds them (`$source.a.bs`).
    package var danglingReferences = 0
    /// Objects that expressions gave to-one relationships beside the one that each got.
    package var furtherDestinations = 0
    /// Broken rules that the source model had too, of values copied unchanged by an inferred mapping.
    package var warnings: [ReferenceViolation] = []
    /// True if keys were kept, by name of destination root entity; only roots of which a mapping makes objects.
    package var keysKept: [String: Bool] = [:]
    /// Associations that remain at the end, by mapping, then in order of association.
    package var associations: [ReferenceAssociation] = []
}

/// A pair of the association table, as the id map shows it.
package struct ReferenceAssociation: Hashable, Sendable {
    package var mapping: String
    package var sourceEntity: String
    package var sourceKey: Int64
    package var destinationEntity: String
    package var destinationKey: Int64
}

/// The outcome of a reference migration.
package struct ReferenceOutcome {
    package var store: ReferenceStore
    package var report: ReferenceReport
}
