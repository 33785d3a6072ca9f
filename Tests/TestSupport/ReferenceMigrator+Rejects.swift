import CoreDataStore
import ManagedModel

/// A rejected object and the reason that first rejected it.
package struct ReferenceReject: Hashable, Sendable, CustomStringConvertible {
    package var entity: String
    package var key: Int64
    package var property: String
    package var rule: ReferenceViolation.Rule
    /// The relationships that rejected objects, of this round or a later one, leave with too few members, each with the rules
    /// that the counts of this round and the later ones break. Each is a true reason.
    package var others: [String: Set<ReferenceViolation.Rule>] = [:]

    package var description: String { "\(entity)/p\(key) \(property) \(rule.rawValue)" }
}

// The fixpoint of Semantics.md, "Rejects", in memory.
extension ReferenceMigrator {
    /// Rejects what breaks rules, and what needs rejected objects, until nothing changes.
    ///
    /// Decisions: of several reasons the first counts, values before attributes before to-one before to-many
    /// relationships, each in the entity's order; what was broken and excused stays excused until a member is lost;
    /// constraints are looked at one after the other, by entity, then as declared.
    ///
    /// Decision: objects that the destination had before are never rejected; what is invalid of them in the end ends the
    /// run.
    ///
    /// - Returns: what is invalid of the objects that the destination had before.
    func rejectInvalid() throws(ReferenceFailure) -> [ReferenceViolation] {
        var found: [(ReferenceObject, String, ReferenceViolation.Rule)] = []
        for object in objects where !object.isDeleted && !object.isExisting {
            if let reason = firstViolation(object) { found.append((object, reason.0, reason.1)) }
        }
        reject(found)
        try spread()
        rejectDuplicates()
        try spread()
        for (index, reject) in report.rejects.enumerated() {
            guard
                let object = objects.first(where: {
                    $0.key == reject.key && $0.isRejected && $0.entity.definition.name == reject.entity
                })
            else { continue }
            for (relationship, members, count) in needed[ObjectIdentifier(object)] ?? []
            where members.contains(where: \.isRejected) {
                let rules = (members.count { !$0.isRejected }...count).compactMap { Self.broken(by: $0, relationship) }
                report.rejects[index].others[relationship.name] = Set(rules.map { $0 == .missing ? .reference : $0 })
            }
        }
        return objects.filter { $0.isExisting && !$0.isGone }.compactMap { object in
            firstViolation(object).map {
                ReferenceViolation(
                    entity: object.entity.definition.name, key: object.key, property: $0.0, rule: $0.1)
            }
        }
    }

    private func firstViolation(_ object: ReferenceObject) -> (String, ReferenceViolation.Rule)? {
        if let property = valueErrors[ObjectIdentifier(object)] { return (property, .value) }
        for attribute in object.entity.attributes where attribute.isStored {
            for rule in Self.broken(by: object[attribute.name], attribute) where !isOldRule(rule, object, attribute) {
                return (attribute.name, rule)
            }
        }
        for relationship in relationshipsInOrder(object) {
            let count = object.related(relationship.name).count
            guard let rule = Self.broken(by: count, relationship), !isOldRule(rule, object, relationship) else {
                continue
            }
            return (relationship.name, rule)
        }
        return nil
    }

    /// To-one before to-many.
    private func relationshipsInOrder(_ object: ReferenceObject) -> [RelationshipDescription] {
        let all = object.entity.relationships.filter { !$0.isTransient }
        return all.filter { !$0.isToMany } + all.filter(\.isToMany)
    }

    private func reject(_ found: [(ReferenceObject, String, ReferenceViolation.Rule)]) {
        for (object, property, rule) in found {
            object.isRejected = true
            report.rejects.append(
                ReferenceReject(
                    entity: object.entity.definition.name, key: object.key, property: property, rule: rule))
        }
    }

    /// Makes the links again without the rejected objects. What breaks a rule now is rejected as well, until nothing
    /// changes.
    private func spread() throws(ReferenceFailure) {
        while objects.contains(where: \.isRejected) {
            let before = Dictionary(
                uniqueKeysWithValues: objects.map { (ObjectIdentifier($0), ReferenceLinks(of: $0)) })
            func members(_ object: ReferenceObject, _ name: String) -> [ReferenceObject] {
                guard let links = before[ObjectIdentifier(object)] else { return [] }
                return links.toMany[name]?.map(\.object) ?? links.toOne[name].map { [$0] } ?? []
            }
            try relateAgain()
            var found: [(ReferenceObject, String, ReferenceViolation.Rule)] = []
            for object in objects where !object.isGone && !object.isExisting {
                var reason: (String, ReferenceViolation.Rule)?
                for relationship in relationshipsInOrder(object) where reason == nil {
                    let name = relationship.name
                    let (count, members) = (object.related(name).count, members(object, name))
                    guard let rule = Self.broken(by: count, relationship) else { continue }
                    // What was excused stays excused until a member is lost, or another one comes.
                    let isLost = rule != .tooMany && members.contains(where: \.isRejected)
                    guard isLost || count != members.count && !isOldRule(rule, object, relationship),
                        rule != .tooMany || count > members.count
                    else { continue }
                    reason = (name, isLost && rule == .missing ? .reference : rule)
                }
                if let reason { found.append((object, reason.0, reason.1)) }
            }
            guard !found.isEmpty else { return }
            for (object, _, _) in found {
                needed[ObjectIdentifier(object)] = relationshipsInOrder(object).map {
                    let members = members(object, $0.name)
                    return ($0, members, members.count { !$0.isRejected })
                }
            }
            reject(found)
        }
    }

    private func rejectDuplicates() {
        for entity in destinationModel.entities {
            for constraint in entity.definition.uniquenessConstraints {
                var seen: Set<[ReferenceValue]> = []
                var found: [(ReferenceObject, String, ReferenceViolation.Rule)] = []
                let members = objects.filter { !$0.isDeleted && !$0.isRejected && $0.entity.isKindOf(entity: entity) }
                for object in members.sorted(by: { $0.key < $1.key }) {
                    let values = constraint.map { object[$0] }
                    guard !values.contains(.null), !seen.insert(values).inserted else { continue }
                    guard !object.isExisting else { continue }
                    found.append((object, constraint.joined(separator: ", "), .unique))
                }
                reject(found)
            }
        }
    }
}
