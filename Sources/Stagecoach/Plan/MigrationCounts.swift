import ManagedModel

/// What happened to the objects, counted while the rows flow. Every source object is in exactly one of the lines.
public struct MigrationCounts: Sendable, Codable, Equatable {
    /// One entity mapping's objects.
    public struct Mapping: Sendable, Codable, Equatable {
        /// The entity mapping's name.
        public var name: String
        /// The source entity; nil where it has none.
        public var sourceEntity: String?
        /// The destination entity; nil where it has none.
        public var destinationEntity: String?
        /// Source objects of the mapping's entity.
        public var sourceObjects = 0
        /// Source objects that the filter left out.
        public var filtered = 0
        /// Source objects that were migrated.
        public var migrated = 0
        /// Source objects that the policy made nothing of: neither associated, nor rejected, nor made an object for.
        public var droppedByPolicy = 0
        /// Source objects for which the policy made destination objects and associated none: nothing finds these by their
        /// source, and nobody relates them.
        public var unassociated = 0
        /// Source objects without a destination object because it breaks the destination model's rules.
        public var rejected = 0
        /// Destination objects that break the destination model's rules: as many, unless a policy makes several of one
        /// source object.
        public var rejectedObjects = 0
        /// Rejected destination objects by rule.
        public var rejectedByRule: [String: Int] = [:]
        /// Destination objects made.
        public var created = 0
        /// Destination objects made without a source.
        public var createdByPolicy = 0
    }

    /// By mapping, in mapping order.
    public var mappings: [Mapping] = []
    /// Source objects of entities that no mapping reads, by entity.
    public var withoutMapping: [String: Int] = [:]
    /// Source objects of entities that a remove mapping names, by entity.
    public var removed: [String: Int] = [:]
    /// Source rows whose Z_ENT is of no entity of the source model.
    public var strays = 0
    /// References to source rows that do not exist; they became nil. Counted by each object whose links they would be:
    /// three objects that look into one object's relationship count what it misses three times.
    public var danglingReferences = 0
    /// References to source objects that were not migrated; they became nil.
    public var unmigratedReferences = 0
    /// Objects that lookups found for to-one relationships beside the one that each got.
    public var surplusToOne = 0
    /// References without an object by relationship and cause, those to rejected objects included; nil where there are none.
    public var nilReferences: [NilReferences]?
    /// The objects of ``surplusToOne`` by relationship; nil where there are none.
    public var furtherObjects: [FurtherObjects]?
    /// Links of one-to-one pairs that stand on one side only in the source; nil where there are none.
    public var oneSidedLinks: [OneSidedLinks]?
    /// Links written to join tables.
    public var links = 0
    /// External binary values referred to.
    public var externalValues = 0
    /// Those of them that the run made a file of: values of the source that lay in its columns, or that policies set.
    public var externalFilesCreated = 0
    /// External binary values whose file does not exist in the source; the reference was kept.
    public var missingExternalFiles = 0
    /// Values copied unchanged that break a rule the source model already had, by `Entity.property: rule`.
    public var warnings: [String: Int] = [:]

    /// Objects per destination entity.
    public var created: [String: Int] = [:]
}
