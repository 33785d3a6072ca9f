import ManagedModel
import Mapping
import PersistentStore

/// How the links of each destination relationship are decided when no user code runs.
///
/// For declarative mappings an inverse pair is one set of links. Most pairs need nothing but the row at hand; the rest
/// are resolved over the whole table first and merged into the rows by key.
struct LinkPlan {
    /// Relationships that each mapping looks up row by row, by mapping index.
    var direct: [Int: [DirectReference]] = [:]
    /// Columns that are resolved over the whole table.
    var columns: [ColumnTask] = []
    /// Lookups whose links another side decides, but whose argument may refer to rows that do not exist: counted only.
    var counted: [(mapping: PlannedMapping, planned: PlannedRelationship)] = []

    /// One group of foreign key columns that is resolved over the whole table.
    enum ColumnTask {
        /// A to-one with a to-many inverse (nil: none): `patched` are the mappings whose rows get their owner here.
        case oneToMany(RelationshipDescription, inverse: RelationshipDescription?, patched: Set<Int>)
        /// Both sides are to-one; the same relationship twice where it is its own inverse.
        case oneToOne(RelationshipDescription, RelationshipDescription)
        /// A to-many without inverse: the owner's key stands in the members' table.
        case hidden(RelationshipDescription)

        /// The tables whose columns it sets, by index.
        func tables(in schema: StoreSchema) -> [Int] {
            func table(_ relationship: RelationshipDescription) -> [Int] {
                switch schema.storage(of: relationship) {
                case .toOne(let table, _, _, _), .toManyHidden(let table, _, _): [table]
                case .none, .toManyByInverse, .join: []
                }
            }
            switch self {
            case .oneToMany(let relationship, _, _), .hidden(let relationship): return table(relationship)
            case .oneToOne(let first, let second): return table(first) + table(second)
            }
        }
    }
}

/// Sorts the destination's relationships into direct lookups and column tasks.
struct LinkPlanner {
    let mappings: [PlannedMapping]
    let source: StoreSchema
    let destination: StoreSchema

    func plan() -> LinkPlan {
        var plan = LinkPlan()
        for relationship in declaredRelationships() {
            switch destination.storage(of: relationship) {
            case .none, .join: break
            case .toManyByInverse:
                plan.counted += LinkPlanner.lookups(of: relationship, among: mappings).filter { canDangle($0.planned) }
            case .toManyHidden: plan.columns.append(.hidden(relationship))
            case .toOne: planToOne(relationship, into: &plan)
            }
        }
        return plan
    }

    /// Whether a lookup's argument can name rows that do not exist. Members that are found by their own foreign key do.
    private func canDangle(_ planned: PlannedRelationship) -> Bool {
        guard case .lookup(let argument, _)? = planned.value else { return false }
        switch argument {
        // Members that do not exist are not found, so none is missing.
        case .object, .members: return false
        case .toOne: return true
        case .toMany(_, let relationship, _):
            if case .join = source.storage(of: relationship) { return true }
            return false
        }
    }

    /// Every stored relationship of the destination model, where it is declared.
    func declaredRelationships() -> [RelationshipDescription] {
        destination.model.entities.flatMap { entity in
            entity.relationships.filter { $0.entity == entity && !$0.isTransient }
        }
    }

    private func planToOne(_ relationship: RelationshipDescription, into plan: inout LinkPlan) {
        let owners = LinkPlanner.owners(of: relationship, among: mappings)
        guard let inverse = LinkPlanner.mutualInverse(of: relationship) else {
            planOneToMany(relationship, inverse: nil, owners: owners, into: &plan)
            return
        }
        if inverse.isToMany {
            planOneToMany(relationship, inverse: inverse, owners: owners, into: &plan)
        } else if isMirroredSplit(relationship, inverse) || keepsBothColumns(relationship) {
            for (mapping, planned) in owners { plan.direct[mapping.index, default: []].append(direct(planned)) }
        } else if inverse == relationship || isFirst(relationship, of: inverse) {
            // A pair is one task; the side whose entity and name come first carries it.
            plan.columns.append(.oneToOne(relationship, inverse))
        }
    }

    private func planOneToMany(
        _ relationship: RelationshipDescription, inverse: RelationshipDescription?,
        owners: [(mapping: PlannedMapping, planned: PlannedRelationship)], into plan: inout LinkPlan
    ) {
        let ownersOfInverse = inverse.map { LinkPlanner.lookups(of: $0, among: mappings) } ?? []
        let isOrdered = inverse?.isOrdered ?? false
        let orderColumn = isOrdered ? copiedOrderColumn(owners: owners, ownersOfInverse: ownersOfInverse) : nil
        let ordersCounted = isOrdered && orderColumn == nil
        var patched: Set<Int> = []
        for (mapping, planned) in owners {
            switch planned.value {
            case nil:
                if !ownersOfInverse.isEmpty { patched.insert(mapping.index) }
            // Objects evaluate the latter: on the staged path, which has no link plan.
            case .some(.none), .dynamic: break
            case .lookup(.toMany, _), .lookup(.members, _): patched.insert(mapping.index)
            case .lookup:
                if ordersCounted {
                    patched.insert(mapping.index)
                } else {
                    plan.direct[mapping.index, default: []].append(
                        DirectReference(planned: planned, sourceOrderColumn: orderColumn))
                }
            }
        }
        if !patched.isEmpty { plan.columns.append(.oneToMany(relationship, inverse: inverse, patched: patched)) }
    }

    private func direct(_ planned: PlannedRelationship) -> DirectReference {
        DirectReference(planned: planned, sourceOrderColumn: nil)
    }

    private func isFirst(_ relationship: RelationshipDescription, of other: RelationshipDescription) -> Bool {
        (relationship.entity.index, relationship.name) < (other.entity.index, other.name)
    }

    /// The source column with the ordering keys, where they can be copied with the foreign key: both sides read one
    /// pair of mutual inverses of the source, ordered there too, and nothing else contributes.
    private func copiedOrderColumn(
        owners: [(mapping: PlannedMapping, planned: PlannedRelationship)],
        ownersOfInverse: [(mapping: PlannedMapping, planned: PlannedRelationship)]
    ) -> Int? {
        var column: Int?
        var read: RelationshipDescription?
        for (_, planned) in owners {
            guard case .lookup(.toOne(let steps, _, _, let original), _)? = planned.value, steps.isEmpty,
                case .toOne(_, _, _, let order?) = source.storage(of: original), read == nil || read == original
            else { return nil }
            read = original
            column = order
        }
        guard let read, let inverse = LinkPlanner.mutualInverse(of: read), inverse.isOrdered, !ownersOfInverse.isEmpty
        else { return nil }
        for (_, planned) in ownersOfInverse {
            guard case .lookup(.toMany(let steps, let original, _), _)? = planned.value, steps.isEmpty,
                original == inverse
            else { return nil }
        }
        // An owner whose mapping says nothing about the order would have its members counted.
        let ownerEntity = ownersOfInverse[0].planned.relationship.entity
        let silent = mappings.contains { mapping in
            guard mapping.hasDeclaredLinks, let made = mapping.destination, made.isKindOf(entity: ownerEntity) else {
                return false
            }
            return !ownersOfInverse.contains { $0.mapping === mapping }
        }
        return silent ? nil : column
    }

    /// A split: two mappings of one source entity that refer to each other's object of the same source. The two
    /// columns agree by construction.
    func isMirroredSplit(_ first: RelationshipDescription, _ second: RelationshipDescription) -> Bool {
        let one = LinkPlanner.lookups(of: first, among: mappings)
        let other = LinkPlanner.lookups(of: second, among: mappings)
        guard first != second, one.count == 1, other.count == 1,
            case .lookup(.object, let firstCandidates)? = one[0].planned.value,
            case .lookup(.object, let secondCandidates)? = other[0].planned.value
        else { return false }
        return firstCandidates == [other[0].mapping.index] && secondCandidates == [one[0].mapping.index]
    }

    /// True where both columns of a one-to-one pair are copied as they stand, each by its own rows.
    func keepsBothColumns(_ relationship: RelationshipDescription) -> Bool {
        CopiedPair(relationship, among: mappings)?.isKept ?? false
    }

    /// The inverse, where it names the relationship as its own inverse too.
    static func mutualInverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
        guard let inverse = relationship.inverseRelationship, !inverse.isTransient,
            inverse.inverseRelationship == relationship
        else { return nil }
        return inverse
    }

    /// The mappings that make objects with the relationship and whose links no user code sets, with what they say about it.
    static func owners(
        of relationship: RelationshipDescription, among mappings: [PlannedMapping]
    ) -> [(mapping: PlannedMapping, planned: PlannedRelationship)] {
        mappings.compactMap { mapping in
            guard mapping.hasDeclaredLinks, let planned = mapping.relationship(named: relationship.name),
                planned.relationship == relationship
            else { return nil }
            return (mapping, planned)
        }
    }

    /// Those among the owners whose mapping looks members up.
    static func lookups(
        of relationship: RelationshipDescription, among mappings: [PlannedMapping]
    ) -> [(mapping: PlannedMapping, planned: PlannedRelationship)] {
        owners(of: relationship, among: mappings).filter {
            if case .lookup? = $0.planned.value { true } else { false }
        }
    }
}
