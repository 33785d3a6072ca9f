import ManagedModel
import Mapping

// The operations of policies on the destination: insert, delete, associate, look up, set relationships.
extension ReferenceMigrator {
    /// Inserts an object with the model's default values.
    ///
    /// - Parameter source: where the default policy makes it from a source object; decides a kept key and Z_OPT.
    @discardableResult
    package func insert(
        _ entityName: String, from source: ReferenceObject? = nil
    ) throws(ReferenceFailure) -> ReferenceObject {
        guard let entity = destinationModel.entity(named: entityName) else {
            throw .unsupported("no destination entity \(entityName)")
        }
        let root = entity.root.index
        var numbers = numbering[root] ?? ReferenceNumbering(isKept: false, maximum: 0)
        var key: Int64
        var lock: Int64 = 1
        if let source, let reserved = reservedKeys?[ObjectIdentifier(source)] {
            key = reserved
            lock = numbers.isKept ? source.lock : 1
        } else {
            key = numbers.maximum + 1
            numbers.maximum = key
        }
        numbering[root] = numbers
        let object = ReferenceObject(entity: entity, key: key, lock: lock, creation: objects.count)
        for attribute in entity.attributes where attribute.isStored {
            guard let standard = attribute.definition.defaultValue else { continue }
            object[attribute.name] = Self.insertionValue(standard, attribute)
        }
        objects.append(object)
        return object
    }

    /// A default as a new object has it, with the marker of inline data where the attribute allows external storage.
    static func insertionValue(_ standard: AttributeValue, _ attribute: AttributeDescription) -> ReferenceValue {
        let value = ReferenceValue(standard, type: attribute.attributeType)
        guard case .blob(let bytes) = value, attribute.definition.allowsExternalBinaryDataStorage else { return value }
        return .blob([1] + bytes)
    }

    /// Deletes an object and those that delete rules cascade to, level by level: they leave all relationships; their keys are
    /// not given again.
    package func delete(_ object: ReferenceObject) throws(ReferenceFailure) {
        var round = [object]
        while !round.isEmpty {
            var next: [ReferenceObject] = []
            for object in round where !object.isDeleted {
                for relationship in object.entity.relationships where relationship.deleteRule == .cascade {
                    next += object.related(relationship.name)
                }
                unlinkEverywhere(object)
                object.isDeleted = true
                laterActions?.append(.delete(object))
            }
            round = next
        }
    }

    /// Associates a source with a destination object; a pair twice counts once.
    package func associate(
        _ source: ReferenceObject, _ object: ReferenceObject, _ mapping: EntityMapping
    ) throws(ReferenceFailure) {
        addPair(source, object, try mappingIndex(named: mapping.name))
    }

    /// `destinationInstances(forEntityMappingName:sourceInstances:)`; nil sources: all of the mapping.
    package func destinationInstances(
        _ mapping: String, sources: [ReferenceObject]?
    ) throws(ReferenceFailure) -> [ReferenceObject] {
        let index = try mappingIndex(named: mapping)
        guard let sources else { return destinations(ofMapping: index) }
        var seen: Set<ObjectIdentifier> = []
        return sources.flatMap { source in pairs(of: source).filter { $0.mapping == index }.map(\.destination) }
            .filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// `sourceInstances(forEntityMappingName:destinationInstances:)`; nil destinations: all of the mapping.
    package func sourceInstances(
        _ mapping: String, destinations: [ReferenceObject]?
    ) throws(ReferenceFailure) -> [ReferenceObject] {
        let pairs = pairsByMapping[try mappingIndex(named: mapping)] ?? []
        var seen: Set<ObjectIdentifier> = []
        let found =
            destinations.map { wanted in
                wanted.flatMap { object in pairs.filter { $0.destination === object }.map(\.source) }
            } ?? pairs.map(\.source)
        return found.filter { !$0.isDeleted && seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// Sets a to-one, or the members of a to-many in their order; the inverse follows at once.
    package func set(
        _ object: ReferenceObject, _ relationship: String, to members: [ReferenceObject]
    ) throws(ReferenceFailure) {
        guard let description = object.entity.relationship(named: relationship) else {
            throw .unsupported("\(object.entity) has no relationship \(relationship)")
        }
        let claim = ReferenceClaim(members: members.map { ReferenceMember(object: $0) }, ordering: .list)
        setPairs.insert(Self.pair(of: description))
        set(object, description, claim)
        let change = ReferenceChange(object: object, relationship: description, claim: claim)
        earlyChanges?.append(change)
        laterActions?.append(.set(change))
    }

    /// Does the work of the default policy in stage 2.
    ///
    /// Decision: for a mapping with a policy class the default method sets each relationship at once, with inverse
    /// maintenance, in the order of the mapping's relationship mappings, because it is policy code.
    package func createRelationships(
        for object: ReferenceObject, _ mapping: EntityMapping
    ) throws(ReferenceFailure) {
        let index = try mappingIndex(named: mapping.name)
        for (relationship, claim) in try relationshipValues(of: object, mapping: index) {
            set(object, relationship, claim)
        }
        laterActions?.append(.relate(object, index))
    }
}
