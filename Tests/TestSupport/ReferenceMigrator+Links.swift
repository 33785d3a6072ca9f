import CoreDataStore
import ManagedModel
import Mapping

/// The members that an expression or policy code gives for a relationship of one object.
struct ReferenceClaim {
    var members: [ReferenceMember]
    var ordering: ReferenceOrdering
}

/// What policy code does to links from stage 2 on.
enum ReferenceAction {
    case set(ReferenceChange)
    /// The default method relates an object of a mapping.
    case relate(ReferenceObject, Int)
    /// A mapping without policy sets its links of some pairs when stage 2 reaches it.
    case relateAll(Int, Set<PropertyReference>)
    case delete(ReferenceObject)
}

/// A relationship that policy code set.
struct ReferenceChange {
    var object: ReferenceObject
    var relationship: RelationshipDescription
    var claim: ReferenceClaim
}

// The rules of Semantics.md, "Relationships".
extension ReferenceMigrator {
    /// The inverse, where the two name each other; any other inverse is treated as none.
    static func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
        guard let inverse = relationship.inverseRelationship, !inverse.isTransient,
            inverse.inverseRelationship == relationship
        else { return nil }
        return inverse
    }

    /// The name of an inverse pair: one of its two relationships.
    static func pair(of relationship: RelationshipDescription) -> PropertyReference {
        guard let inverse = inverse(of: relationship) else { return relationship.reference }
        return [relationship.reference, inverse.reference].min { $0.order < $1.order } ?? relationship.reference
    }

    /// Gives all objects the links that were there before, but for some pairs.
    func resetLinks(but kept: Set<PropertyReference>) {
        for object in objects {
            let before = links[ObjectIdentifier(object)]
            for relationship in object.entity.relationships where !kept.contains(Self.pair(of: relationship)) {
                object.toOne[relationship.name] = before?.toOne[relationship.name]
                object.toMany[relationship.name] = before?.toMany[relationship.name]
            }
            object.hiddenOwners = object.hiddenOwners.filter { kept.contains($0.key) }
            object.hiddenOwners.merge((before?.hiddenOwners ?? [:]).filter { !kept.contains($0.key) }) { $1 }
        }
    }

    /// Computes the links of all mappings without policy, as one set for each inverse pair, but for pairs that policy code set
    /// in stage 1.
    func resolveDeclarativeLinks() throws(ReferenceFailure) {
        for object in existing where object.isDeleted { unlinkEverywhere(object) }
        var claims: [ObjectIdentifier: [String: ReferenceClaim]] = [:]
        for (index, mapping) in mappings.enumerated() where !mapping.runsAsPolicy {
            for object in destinations(ofMapping: index) {
                if hasMatches, object.isExisting {
                    for pair in pairsByMapping[index] ?? [] where pair.destination === object {
                        add(
                            try relationshipValues(of: object, mapping: index, from: pair.source), of: object,
                            to: &claims)
                    }
                    continue
                }
                for (relationship, claim) in try relationshipValues(of: object, mapping: index) {
                    claims[ObjectIdentifier(object), default: [:]][relationship.name] = claim
                }
            }
        }
        func claim(_ object: ReferenceObject, _ name: String) -> ReferenceClaim? {
            claims[ObjectIdentifier(object)]?[name]
        }

        for relationship in declaredRelationships where !earlyPairs.contains(Self.pair(of: relationship)) {
            let inverse = Self.inverse(of: relationship)
            switch (relationship.isToMany, inverse?.isToMany) {
            case (false, nil), (true, nil), (true, true):
                // Each owner's links in creation order: a to-many without inverse has one owner a member, so the last
                // one wins; many-to-many is the union of both sides.
                for owner in inClaimOrder(live(of: relationship)) {
                    let members = claim(owner, relationship.name)?.members ?? []
                    for member in relationship.isToMany ? members : Array(members.prefix(1))
                    where mayLink(owner, relationship, member.object) {
                        link(owner, relationship, member.object)
                    }
                }
            case (false, true?):
                guard let inverse else { break }
                var lastOwner: [ObjectIdentifier: ReferenceObject] = [:]
                for owner in inClaimOrder(live(of: inverse)) {
                    for member in claim(owner, inverse.name)?.members ?? [] {
                        lastOwner[ObjectIdentifier(member.object)] = owner
                    }
                }
                for member in live(of: relationship) {
                    // The to-one side's mapping decides where it has one, also when it gives nil.
                    let own = claim(member, relationship.name)
                    let owner = own == nil ? lastOwner[ObjectIdentifier(member)] : own?.members.first?.object
                    if let owner, mayLink(member, relationship, owner) { link(member, relationship, owner) }
                }
            case (false, false?):
                // Both sides at once, when the pair is met first: by owner's creation, then property name; `link`
                // unlinks the earlier partners.
                guard let inverse, relationship.reference.order <= inverse.reference.order else { break }
                // Decision: a pair that an inferred mapping model copies keeps both columns unchanged.
                if mappingModel.rulesOfTheSource == .warn, !hasMatches, copiesPair(relationship, inverse) {
                    for side in [relationship, inverse] {
                        for owner in live(of: side) {
                            if let target = claim(owner, side.name)?.members.first {
                                owner.toOne[side.name] = target.object
                            }
                        }
                    }
                    break
                }
                let names = Set([relationship.name, inverse.name]).sorted(by: Self.precedes)
                for owner in objects where !owner.isGone {
                    for name in names {
                        guard let side = owner.entity.relationship(named: name),
                            side == relationship || side == inverse,
                            let target = claim(owner, name)?.members.first, mayLink(owner, side, target.object)
                        else { continue }
                        link(owner, side, target.object)
                    }
                }
            case (true, false?): break  // Handled by the to-one side.
            }
        }
        for object in objects where !object.isGone {
            for relationship in object.entity.relationships
            where relationship.isToMany && !earlyPairs.contains(Self.pair(of: relationship)) {
                if object.isExisting, hasMatches || claim(object, relationship.name) == nil {
                    arrangeNew(object, relationship, hasMatches ? claim(object, relationship.name) : nil)
                    continue
                }
                arrange(object, relationship, claim(object, relationship.name))
            }
        }
    }

    /// Returns owners in the order in which they claim members: that of mappings and source objects, if source objects became
    /// rows that were there before; else that of creation.
    private func inClaimOrder(_ owners: [ReferenceObject]) -> [ReferenceObject] {
        guard hasMatches else { return owners }
        var last: [ObjectIdentifier: (mapping: Int, source: Int64)] = [:]
        for (index, pairs) in pairsByMapping.sorted(by: { $0.key < $1.key }) {
            for pair in pairs {
                let place = (mapping: index, source: pair.source.key)
                let known = last[ObjectIdentifier(pair.destination)] ?? place
                last[ObjectIdentifier(pair.destination)] = known < place ? place : known
            }
        }
        return owners.sorted {
            (last[ObjectIdentifier($0)] ?? (-1, 0)) < (last[ObjectIdentifier($1)] ?? (-1, 0))
        }
    }

    /// Tells whether every mapping copies both sides of a one-to-one pair from one pair of the source.
    private func copiesPair(_ near: RelationshipDescription, _ far: RelationshipDescription) -> Bool {
        func original(_ side: RelationshipDescription) -> RelationshipDescription? {
            let makers = mappings.filter { mapping in
                !mapping.runsAsPolicy && mapping.sourceEntityName != nil
                    && mapping.destinationEntityName.flatMap(destinationModel.entity(named:))?.isKindOf(
                        entity: side.entity) == true
            }
            let read = makers.map { mapping -> RelationshipDescription? in
                guard let expression = mapping.relationshipMapping(named: side.name)?.valueExpression,
                    let form = try? RelationshipExpression(expression)
                else { return nil }
                switch form {
                case .lookup(_, let path), .lookupByRelationship(_, let path):
                    guard path.condition == nil, path.components.count == 1 else { return nil }
                    let entity = mapping.sourceEntityName.flatMap(source.schema.model.entity(named:))
                    return entity?.relationship(named: path.components[0])
                case .constantNil: return nil
                }
            }
            guard let first = read.first, let found = first, !found.isToMany, read.allSatisfy({ $0 == found }) else {
                return nil
            }
            return found
        }
        guard let one = original(near), let other = original(far) else { return false }
        return Self.inverse(of: one) == other
    }

    /// Gives the members of a to-many their order and ordering keys.
    ///
    /// Decision: members that the other side alone linked follow those of an ordered claim, by ascending key; where
    /// keys are copied they get the highest copied key + 1024, + 2048 …; copied NULL keys stay NULL.
    private func arrange(_ owner: ReferenceObject, _ relationship: RelationshipDescription, _ claim: ReferenceClaim?) {
        let linked = (owner.toMany[relationship.name] ?? []).map(\.object).sorted { $0.key < $1.key }
        var listed = (claim?.members ?? []).filter { member in linked.contains { $0 === member.object } }
        let unlisted = linked.filter { object in !listed.contains { $0.object === object } }
        var result: [ReferenceMember]
        switch relationship.isOrdered ? claim?.ordering ?? .none : .none {
        case .none: result = Self.numbered(linked)
        case .list: result = Self.numbered(listed.map(\.object) + unlisted)
        case .copied:
            listed.sort { ($0.order ?? .min, $0.object.key) < ($1.order ?? .min, $1.object.key) }
            result = listed
            var highest = listed.compactMap(\.order).max() ?? 1024
            for object in unlisted {
                highest += 1024
                result.append(ReferenceMember(object: object, order: highest))
            }
        }
        if !relationship.isOrdered { for index in result.indices { result[index].order = nil } }
        owner.toMany[relationship.name] = result
    }

    /// Decision: members that are linked to an object which was there before, from their own side, come after those that
    /// it had before, by ascending key.
    ///
    /// - Parameter claim: gives the places of some, which come first.
    private func arrangeNew(
        _ owner: ReferenceObject, _ relationship: RelationshipDescription, _ claim: ReferenceClaim?
    ) {
        guard relationship.isOrdered, let members = owner.toMany[relationship.name] else { return }
        let before = links[ObjectIdentifier(owner)]?.toMany[relationship.name] ?? []
        let kept = members.filter { member in before.contains { $0.object === member.object } }
        let added = members.map(\.object).filter { object in !kept.contains { $0.object === object } }
        guard !added.isEmpty else { return }
        var highest = before.compactMap(\.order).max() ?? 1024
        func place(_ object: ReferenceObject) -> Int64 {
            claim?.members.first { $0.object === object }?.order ?? .max
        }
        owner.toMany[relationship.name] =
            kept
            + added.sorted { (place($0), $0.key) < (place($1), $1.key) }.map { object in
                highest += 1024
                return ReferenceMember(object: object, order: highest)
            }
    }

    private static func numbered(_ objects: [ReferenceObject]) -> [ReferenceMember] {
        objects.enumerated().map { ReferenceMember(object: $1, order: 2048 + 1024 * Int64($0)) }
    }

    // MARK: One link at a time

    /// Sets a relationship as policy code does. Decision: a link that stays keeps its place on the other side.
    func set(_ object: ReferenceObject, _ relationship: RelationshipDescription, _ claim: ReferenceClaim) {
        let members = relationship.isToMany ? claim.members : Array(claim.members.prefix(1))
        for partner in object.related(relationship.name) where !members.contains(where: { $0.object === partner }) {
            unlink(object, relationship, partner)
        }
        for member in members { link(object, relationship, member.object) }
        if relationship.isToMany { arrange(object, relationship, claim) }
    }

    /// Links two objects, both sides; what the link excludes is unlinked.
    func link(_ owner: ReferenceObject, _ relationship: RelationshipDescription, _ target: ReferenceObject) {
        let inverse = Self.inverse(of: relationship)
        if !relationship.isToMany, let old = owner.toOne[relationship.name], old !== target {
            unlink(owner, relationship, old)
        }
        if let inverse, !inverse.isToMany, let old = target.toOne[inverse.name], old !== owner {
            unlink(target, inverse, old)
        }
        if relationship.isToMany, inverse == nil {
            if let old = target.hiddenOwners[relationship.reference], old !== owner {
                unlink(old, relationship, target)
            }
            target.hiddenOwners[relationship.reference] = owner
        }
        add(target, to: owner, relationship)
        if let inverse { add(owner, to: target, inverse) }
    }

    /// Decision: a member added to an ordered to-many from the other side comes last, 1024 after the highest key.
    private func add(_ member: ReferenceObject, to owner: ReferenceObject, _ relationship: RelationshipDescription) {
        guard relationship.isToMany else {
            owner.toOne[relationship.name] = member
            return
        }
        var members = owner.toMany[relationship.name] ?? []
        guard !members.contains(where: { $0.object === member }) else { return }
        let next = (members.compactMap(\.order).max() ?? 1024) + 1024
        members.append(ReferenceMember(object: member, order: relationship.isOrdered ? next : nil))
        owner.toMany[relationship.name] = members
    }

    /// Takes an object out of all relationships.
    func unlinkEverywhere(_ object: ReferenceObject) {
        for relationship in object.entity.relationships { unlinkAll(object, relationship) }
        for other in objects {
            for relationship in other.entity.relationships where Self.inverse(of: relationship) == nil {
                unlink(other, relationship, object)
            }
        }
    }

    func unlinkAll(_ object: ReferenceObject, _ relationship: RelationshipDescription) {
        for partner in object.related(relationship.name) { unlink(object, relationship, partner) }
    }

    /// Takes a link away from both sides, if it is there. Decision: the other members keep their ordering keys.
    func unlink(_ owner: ReferenceObject, _ relationship: RelationshipDescription, _ target: ReferenceObject) {
        guard owner.related(relationship.name).contains(where: { $0 === target }) else { return }
        func remove(_ member: ReferenceObject, from owner: ReferenceObject, _ relationship: RelationshipDescription) {
            if relationship.isToMany {
                owner.toMany[relationship.name]?.removeAll { $0.object === member }
            } else {
                owner.toOne[relationship.name] = nil
            }
        }
        remove(target, from: owner, relationship)
        if let inverse = Self.inverse(of: relationship) {
            remove(owner, from: target, inverse)
        } else if relationship.isToMany {
            target.hiddenOwners[relationship.reference] = nil
        }
    }

    // MARK: Small things

    /// All stored relationships where they are declared, by entity name, then name.
    private var declaredRelationships: [RelationshipDescription] {
        destinationModel.entities.flatMap { entity in
            entity.relationships.filter { $0.entity == entity && !$0.isTransient }
        }
    }

    /// The objects that have a relationship, in order of creation.
    private func live(of relationship: RelationshipDescription) -> [ReferenceObject] {
        objects.filter { !$0.isGone && $0.entity.relationship(named: relationship.name) == relationship }
    }

    private static func precedes(_ first: String, _ second: String) -> Bool {
        first.unicodeScalars.lexicographicallyPrecedes(second.unicodeScalars)
    }
}

extension PropertyReference {
    /// For comparing two references.
    fileprivate var order: (Int, String) { (entity, name) }
}
