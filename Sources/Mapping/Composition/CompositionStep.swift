import ManagedModel

/// One of two mapping models to be composed, with its source and destination models.
struct CompositionStep {
    /// The origin of a relationship's objects.
    enum Origin: Equatable {
        /// No expression.
        case none
        /// The destination objects of a source relationship's objects; `mapping` is set if only one entity mapping is searched.
        case link(from: String, mapping: String?)
        case other

        var relationship: String? {
            if case .link(let name, _) = self { name } else { nil }
        }
    }

    let model: MappingModel
    let source: ManagedObjectModel
    let destination: ManagedObjectModel

    var mappings: [EntityMapping] { model.entityMappings ?? [] }

    func source(of mapping: EntityMapping) -> EntityDescription? {
        mapping.sourceEntityName.flatMap { source.entity(named: $0) }
    }
    func destination(of mapping: EntityMapping) -> EntityDescription? {
        mapping.destinationEntityName.flatMap { destination.entity(named: $0) }
    }

    /// Refuses user code, source expressions, shared and several objects, and new keys, whose effects are known only at run time.
    func checkForm() throws(MappingComposition.Obstacle) {
        var tables: [Int: Int] = [:]
        var seen: Set<[Int]> = []
        for mapping in mappings {
            if mapping.hasPolicy {
                throw .init("\(mapping.name ?? "") has a policy")
            }
            if mapping.grouping != nil {
                throw .init("several source objects of \(mapping.name ?? "") share an object")
            }
            if mapping.forEach != nil {
                throw .init("a source object of \(mapping.name ?? "") makes several objects")
            }
            if mapping.matching != nil {
                throw .init("objects of \(mapping.name ?? "") become rows that the destination had before")
            }
            if let ordered = mapping.relationshipMappings?.first(where: { $0.sorting != nil }) {
                throw .init("the objects of \(mapping.name ?? "").\(ordered.name ?? "") are ordered by an attribute")
            }
            if mapping.usedSourceExpression != nil, mapping.sourceFetch != .all {
                throw .init("\(mapping.name ?? "") has a source expression")
            }
            guard let from = source(of: mapping), let to = destination(of: mapping) else { continue }
            let table = tables[to.root.index] ?? from.root.index
            tables[to.root.index] = table
            guard table == from.root.index, seen.insert([to.root.index, from.index]).inserted else {
                throw .init("the objects of \(to.root.definition.name) get new keys")
            }
        }
    }

    /// Returns the origin of a relationship of a mapping's destination.
    func origin(of name: String, in mapping: EntityMapping) -> Origin {
        guard let node = mapping.relationshipMapping(named: name)?.valueExpression?.node else { return .none }
        guard case .function(.variable("manager"), let selector, let arguments) = node, arguments.count == 2,
            case .constant(.string(let named)) = arguments[0], let key = arguments[1].ownKey,
            source(of: mapping)?.relationship(named: key) != nil
        else { return .other }
        switch selector {
        case LookupSelector.byEntityMapping, LookupSelector.byEntityMappingName:
            return .link(from: key, mapping: named)
        case LookupSelector.bySourceRelationship where named == key: return .link(from: key, mapping: nil)
        default: return .other
        }
    }

    /// Tells whether a relationship keeps its objects with only names changed: the same kind, order and inverse, and no object
    /// left out because of its entity.
    func isIsomorphic(_ name: String, in mapping: EntityMapping) -> Bool {
        guard
            let old = origin(of: name, in: mapping).relationship.flatMap({ key in
                source(of: mapping)?.relationship(named: key)
            }), let new = destination(of: mapping)?.relationship(named: name), isSameKind(old, new), !narrows(old, new)
        else { return false }
        switch (old.inverseRelationship, new.inverseRelationship) {
        case (nil, nil): return true
        case (let oldInverse?, let newInverse?):
            return oldInverse.inverseRelationship == old && newInverse.inverseRelationship == new
                && isSameKind(oldInverse, newInverse) && !narrows(oldInverse, newInverse)
                && mappings.allSatisfy { other in
                    guard let entity = destination(of: other), source(of: other) != nil else { return true }
                    return
                        (!entity.isKindOf(entity: newInverse.entity)
                        || origin(of: newInverse.name, in: other).relationship == oldInverse.name)
                        && (!entity.isKindOf(entity: new.entity)
                            || origin(of: new.name, in: other).relationship == old.name)
                }
        default: return false
        }
    }

    /// Tells whether objects of the old relationship can become objects that the new one does not accept.
    func narrows(_ old: RelationshipDescription, _ new: RelationshipDescription) -> Bool {
        mappings.contains { mapping in
            guard let from = source(of: mapping), let to = destination(of: mapping) else { return false }
            return from.isKindOf(entity: old.destination) && !to.isKindOf(entity: new.destination)
        }
    }

    private func isSameKind(_ old: RelationshipDescription, _ new: RelationshipDescription) -> Bool {
        old.isToMany == new.isToMany && old.isOrdered == new.isOrdered
    }
}
