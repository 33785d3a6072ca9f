import Diagnostics

/// Counts of the objects by what happened to them, taken while the rows flow. Every source object is in exactly one of
/// the lines.
public struct MigrationCounts: Sendable, Codable, Equatable {
    /// The counts of one entity mapping.
    public struct Mapping: Sendable, Codable, Equatable {
        /// The entity mapping's name.
        public var name: String
        /// The source entity; nil if it has none.
        public var sourceEntity: String?
        /// The destination entity; nil if it has none.
        public var destinationEntity: String?
        /// Source objects of the mapping's entity.
        public var sourceObjects = 0
        /// Source objects that the filter left out, or whose `forEach` has no members.
        public var filtered = 0
        /// Source objects that were migrated.
        public var migrated = 0
        /// Migrated source objects that share the object of another one, because the mapping makes one object for each distinct
        /// value or merges objects; nil if each makes its own.
        public var shared: Int?
        /// The values by which objects are merged, as the mapping model gives them; nil if they are not merged.
        public var mergedBy: String?
        /// Migrated source objects that became rows which the destination had before; nil if there are none.
        public var matched: Matched?
        /// Source objects dropped by the policy: neither associated, nor rejected, nor used to make an object.
        public var droppedByPolicy = 0
        /// Source objects for which the policy made destination objects without associating them. Lookups do not find
        /// these by their source, and nothing relates them.
        public var unassociated = 0
        /// Source objects without a destination object because it breaks the destination model's rules.
        public var rejected = 0
        /// Destination objects that break the destination model's rules: as many as ``rejected``, unless a policy makes
        /// several of one source object.
        public var rejectedObjects = 0
        /// Rejected destination objects by rule.
        public var rejectedByRule: [String: Int] = [:]
        /// Destination objects that were made.
        public var created = 0
        /// Destination objects that were made without a source.
        public var createdByPolicy = 0

        /// Corrects the counts at the end of the stages. Source objects that a policy associated late were counted as
        /// unassociated before.
        ///
        /// - Parameter associated: the number of source objects with an association, including those of rejected objects.
        mutating func correct(associated: Int) {
            let without = max(0, sourceObjects - filtered - associated)
            let later = max(0, associated - migrated - rejected)
            unassociated = min(without, max(0, unassociated - later))
            droppedByPolicy = without - unassociated
        }
    }

    /// The source objects of an entity mapping that became rows which the destination had before. The rows stay as they are.
    public struct Matched: Sendable, Codable, Equatable {
        /// The source objects.
        public var objects: Int
        /// The rows that they became: fewer, if several objects became one.
        public var rows: Int
        /// The attributes that are equal, as the mapping model gives them.
        public var by: String
    }

    /// The counts of each mapping, in mapping order.
    public var mappings: [Mapping] = []
    /// Source objects of entities that no mapping reads, by entity.
    public var withoutMapping: [String: Int] = [:]
    /// Source objects of entities that a remove mapping names, by entity.
    public var removed: [String: Int] = [:]
    /// Source objects that pass no filter of their entity's several entity mappings; nil if there are none.
    public var passesNoFilter: [PassesNoFilter]?
    /// Source rows whose Z_ENT belongs to no entity of the source model.
    public var strays = 0
    /// References to source rows that do not exist; they became nil. Each object whose link is missing counts: if three
    /// objects read the members of one object's relationship, a missing member counts three times.
    public var danglingReferences = 0
    /// References to source objects that were not migrated; they became nil.
    public var unmigratedReferences = 0
    /// Objects that lookups found for to-one relationships, beside the one that was set.
    public var surplusToOne = 0
    /// References without an object by relationship and cause, those to rejected objects too; nil if there are none.
    public var nilReferences: [NilReferences]?
    /// The objects of ``surplusToOne`` by relationship; nil if there are none.
    public var furtherObjects: [FurtherObjects]?
    /// Links of one-to-one pairs that only one side has in the source; nil if there are none.
    public var oneSidedLinks: [OneSidedLinks]?
    /// Numbers of which a conversion cut something off; nil if there are none. The report has them in
    /// ``MigrationReport/valuesCut``.
    var valuesCut: [ValuesCut]?
    /// Source objects that policies changed and did not delete; nil if there are none. The source itself is never written.
    public var changedSources: Int?
    /// Source objects that policies deleted, with those that delete rules led to; nil if there are none.
    public var deletedSources: Int?
    /// Links written to join tables.
    public var links = 0
    /// External binary values that the destination refers to.
    public var externalValues = 0
    /// The external values for which the run created a file: values that lay in the source's columns, or that policies
    /// set.
    public var externalFilesCreated = 0
    /// External binary values whose file is missing in the source; the reference was kept.
    public var missingExternalFiles = 0
    /// Values copied unchanged that break a rule that the source model has too, by `Entity.property: rule`.
    public var warnings: [String: Int] = [:]

    /// Destination objects by entity.
    public var created: [String: Int] = [:]
}

extension MigrationCounts {
    /// The number of destination objects that were made, rejected ones included.
    var made: Int {
        max(created.values.reduce(0, +), mappings.reduce(0) { $0 + $1.created + $1.rejectedObjects })
    }

    /// Checks that every source object is accounted for: the counts of each line must add up.
    ///
    /// - Throws: `internal.balance` (70) with the mapping and the figures.
    func checkBalance() throws(MigrationError) {
        for line in mappings where line.sourceEntity != nil && line.destinationEntity != nil {
            let dropped = line.droppedByPolicy + line.unassociated
            guard line.sourceObjects == line.migrated + line.filtered + dropped + line.rejected else {
                throw MigrationError(
                    "internal.balance", .internal,
                    "\(line.sourceObjects.counted("source object")), but \(line.migrated) migrated, \(line.filtered) filtered, \(dropped) dropped and \(line.rejected) rejected",
                    context: .init(entity: line.sourceEntity, entityMapping: line.name))
            }
        }
    }
}
