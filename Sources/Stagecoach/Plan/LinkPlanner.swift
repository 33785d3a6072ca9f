import CoreDataStore
import ManagedModel

/// The way in which the links of each destination relationship are decided if no user code runs.
///
/// For declarative mappings an inverse pair is one set of links. Most pairs need only the current row; the others are first
/// resolved over the whole table and then merged into the rows by key.
struct LinkPlan {
    /// The relationships that each mapping looks up row by row, by mapping index.
    var direct: [Int: [DirectReference]] = [:]
    /// The columns that are resolved over the whole table.
    var columns: [ColumnTask] = []
    /// Lookups whose links the other side decides but whose argument may refer to missing rows. Their missing references are
    /// only counted.
    var counted: [(mapping: PlannedMapping, planned: PlannedRelationship)] = []

    /// One group of foreign key columns that is resolved over the whole table.
    enum ColumnTask {
        /// A to-one with a to-many inverse, or with none (nil). `patched` holds the mappings whose rows get their owner here.
        case oneToMany(RelationshipDescription, inverse: RelationshipDescription?, patched: Set<Int>)
        /// A pair of to-one relationships; the same relationship twice if it is its own inverse.
        case oneToOne(RelationshipDescription, RelationshipDescription)
        /// A to-many without an inverse: the owner's key is in the members' table.
        case hidden(RelationshipDescription)

        /// Returns the indices of the tables whose columns the task sets.
        func tables(in schema: StoreSchema) -> [Int] {
            switch self {
            case .oneToMany(let side, _, _), .hidden(let side): [schema.storage(of: side)].compactMap(\.columnTable)
            case .oneToOne(let first, let second):
                [first, second].compactMap { schema.storage(of: $0).columnTable }
            }
        }
    }
}

/// A reference that ``ReferenceProgram`` looks up row by row.
struct DirectReference {
    let planned: PlannedRelationship
    /// The column of the source row whose ordering key is copied; nil if there is none.
    let sourceOrderColumn: Int?
}

/// A planner that divides the destination's relationships into direct lookups and column tasks.
struct LinkPlanner {
    let mappings: [PlannedMapping]
    let source: StoreSchema
    let destination: StoreSchema
    /// Tells whether a relationship's links are planned.
    var plans: (RelationshipDescription) -> Bool = { _ in true }

    func plan() -> LinkPlan {
        var plan = LinkPlan()
        for relationship in declaredRelationships() {
            switch destination.storage(of: relationship) {
            case .none, .join: break
            case .toManyByInverse:
                plan.counted += LinkPlanner.lookups(of: relationship, among: mappings).filter {
                    $0.planned.canDangle(in: source)
                }
            case .toManyHidden: plan.columns.append(.hidden(relationship))
            case .toOne: planToOne(relationship, into: &plan)
            }
        }
        return plan
    }

    /// Returns the task that finds all links of a relationship's inverse pair. Returns nil for a join table.
    func wholeTask(of relationship: RelationshipDescription) -> LinkPlan.ColumnTask? {
        let inverse = LinkPlanner.mutualInverse(of: relationship)
        switch destination.storage(of: relationship) {
        case .none, .join: return nil
        case .toManyByInverse: return inverse.flatMap(wholeTask)
        case .toManyHidden: return .hidden(relationship)
        case .toOne:
            guard let inverse, !inverse.isToMany else {
                return .oneToMany(relationship, inverse: inverse, patched: Set(mappings.indices))
            }
            return .oneToOne(relationship, inverse)
        }
    }

    /// Returns every stored relationship of the destination model that is planned, at the entity that declares it.
    func declaredRelationships() -> [RelationshipDescription] {
        destination.model.entities.flatMap { entity in
            entity.relationships.filter { $0.entity == entity && !$0.isTransient && plans($0) }
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
            for (mapping, planned) in owners {
                plan.direct[mapping.index, default: []].append(.init(planned: planned, sourceOrderColumn: nil))
            }
        } else if inverse == relationship || relationship.isNamedBefore(inverse) {
            // A pair is one task. It belongs to the side whose entity and name come first.
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
            // Expressions over objects are evaluated on the policy path, which has no link plan.
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

    /// Returns the source column of ordering keys that can be copied with the foreign key. Both sides must read one pair of
    /// mutual inverses in the source that is ordered there too, and nothing else may contribute. Returns nil otherwise.
    private func copiedOrderColumn(
        owners: [(mapping: PlannedMapping, planned: PlannedRelationship)],
        ownersOfInverse: [(mapping: PlannedMapping, planned: PlannedRelationship)]
    ) -> Int? {
        guard !LinkPlanner.sharesObjects(mappings) else { return nil }
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
                original == inverse, planned.sort == nil
            else { return nil }
        }
        // If an owner's mapping has no lookup for the relationship, the members of that owner have to be numbered.
        let ownerEntity = ownersOfInverse[0].planned.relationship.entity
        let silent = mappings.contains { mapping in
            guard mapping.hasDeclaredLinks, let made = mapping.destination, made.isKindOf(entity: ownerEntity) else {
                return false
            }
            return !ownersOfInverse.contains { $0.mapping === mapping }
        }
        return silent ? nil : column
    }

    /// Tells whether a pair is a split: two mappings of one source entity that refer to each other's object of the same source.
    /// The two columns then agree by construction.
    func isMirroredSplit(_ first: RelationshipDescription, _ second: RelationshipDescription) -> Bool {
        guard !LinkPlanner.sharesObjects(mappings) else { return false }
        let one = LinkPlanner.lookups(of: first, among: mappings)
        let other = LinkPlanner.lookups(of: second, among: mappings)
        guard first != second, one.count == 1, other.count == 1,
            case .lookup(.object, let firstCandidates)? = one[0].planned.value,
            case .lookup(.object, let secondCandidates)? = other[0].planned.value
        else { return false }
        return firstCandidates == [other[0].mapping.index] && secondCandidates == [one[0].mapping.index]
    }

    /// Tells whether a relationship and its inverse are a one-to-one pair whose two columns are both copied unchanged from the
    /// source (``CopiedPair``).
    func keepsBothColumns(_ relationship: RelationshipDescription) -> Bool {
        CopiedPair(relationship, among: mappings)?.isKept ?? false
    }

    /// Tells whether several objects may claim the members of a relationship, or its lookups find several objects. If one of
    /// them is left out, the relationship gets another.
    func isContested(_ relationship: RelationshipDescription) -> Bool {
        let isOpen = mappings.contains { mapping in
            mapping.mayShareObjects && !mapping.belongsToPreviousModel || mapping.hasDynamicRelationships
        }
        guard !isOpen else { return true }
        let inverse = LinkPlanner.mutualInverse(of: relationship)
        if relationship.isToMany {
            // Every link of a many-to-many is stored.
            guard let inverse else { return true }
            return !inverse.isToMany && isContested(inverse)
        }
        if let inverse, !inverse.isToMany {
            return !isMirroredSplit(relationship, inverse) && !keepsBothColumns(relationship)
        }
        let isClaimed = inverse.map { !LinkPlanner.lookups(of: $0, among: mappings).isEmpty } ?? false
        return LinkPlanner.owners(of: relationship, among: mappings).contains { _, planned in
            switch planned.value {
            case nil: isClaimed
            case .some(.none): false
            case .lookup(.object, let candidates), .lookup(.toOne, let candidates):
                // Mappings of different entities make no two objects of one source object.
                Set(candidates.map { mappings[$0].source?.index }).count < candidates.count
                    || candidates.contains { mappings[$0].sourceExpression != nil }
            case .lookup, .dynamic: true
            }
        }
    }

    /// Tells whether source objects of some mapping share an object. A link then says less at one end than at the other: the
    /// first of a group owns links, and each of them is found.
    static func sharesObjects(_ mappings: [PlannedMapping]) -> Bool { mappings.contains(where: \.sharesObjects) }

    /// Returns the inverse, if it names the relationship as its own inverse; otherwise nil.
    static func mutualInverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
        guard let inverse = relationship.inverseRelationship, !inverse.isTransient,
            inverse.inverseRelationship == relationship
        else { return nil }
        return inverse
    }

    /// Returns the mappings that make objects with the relationship and whose links no user code sets, each with its plan for
    /// the relationship.
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

    /// Returns the owners whose mapping looks members up.
    static func lookups(
        of relationship: RelationshipDescription, among mappings: [PlannedMapping]
    ) -> [(mapping: PlannedMapping, planned: PlannedRelationship)] {
        owners(of: relationship, among: mappings).filter(\.planned.findsMembers)
    }
}
