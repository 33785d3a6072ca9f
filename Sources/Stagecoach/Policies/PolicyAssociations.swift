import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import SpillStorage

/// The associations of source and destination objects, as the manager's calls add and look them up.
///
/// Mutable state: the source object whose destination objects are being made, from ``begin(_:from:)`` to ``end()``, with a flag set once
/// something is associated with it. For use by one thread.
final class PolicyAssociations {
    /// The table of each mapping, by its index.
    let tables: [MappingAssociations]
    private let edits: MappingEdits
    private let sources: SourceObjects
    private let objects: DestinationObjects
    private unowned let sourceContext: ManagedObjectContext
    private unowned let destinationContext: ManagedObjectContext
    private let linkSetter: PolicyLinkSetter
    @exclusivity(unchecked) private var creatingFrom: (mapping: Int, key: Int64)?
    @exclusivity(unchecked) private var isAssociated = false
    /// The result of a lookup; the array is reused for the next one.
    private var found: [ObjectReference] = []

    init(
        tables: [MappingAssociations], edits: MappingEdits, sources: SourceObjects, objects: DestinationObjects,
        sourceContext: ManagedObjectContext, destinationContext: ManagedObjectContext, linkSetter: PolicyLinkSetter
    ) {
        self.tables = tables
        self.edits = edits
        self.sources = sources
        self.objects = objects
        self.sourceContext = sourceContext
        self.destinationContext = destinationContext
        self.linkSetter = linkSetter
    }

    // MARK: - The source object at work

    /// The key of the source object at work; nil if there is none.
    var keyAtWork: Int64? { creatingFrom?.key }

    /// Begins the call of a policy's creation method for a source object.
    func begin(_ mapping: Int, from key: Int64) { (creatingFrom, isAssociated) = ((mapping, key), false) }

    /// Notes that the source object at work is associated.
    func noteAssociated() { isAssociated = true }

    /// Ends the call. Returns its mapping, and whether the source object was associated; nil if there was no call.
    func end() -> (mapping: Int, isAssociated: Bool)? {
        defer { creatingFrom = nil }
        return creatingFrom.map { ($0.mapping, isAssociated) }
    }

    // MARK: - Adding

    /// Associates two objects for a mapping, as the manager's call does.
    func add(_ source: ManagedObject, _ destination: ManagedObject, _ mapping: EntityMapping) throws {
        guard source.context === sourceContext, destination.context === destinationContext else {
            throw MigrationError(
                "manager.associate", .data, "An association is from a source object to a destination object",
                context: .init(objectID: source.objectID.shortName, entityMapping: mapping.name))
        }
        let planned = try edits.planned(mapping)
        try add(source.place.table, source.place.key, reference(destination.place), planned, tables[planned.index])
    }

    /// Adds a pair to a mapping's table.
    func add(
        _ table: Int, _ key: Int64, _ destination: ObjectReference, _ mapping: PlannedMapping,
        _ pairs: MappingAssociations
    ) throws(MigrationError) {
        // An association changes what lookups find.
        try linkSetter.useAll()
        try pairs.add(source: ObjectReference(entity: UInt32(table), key: key), destination: destination)
        if let creatingFrom, creatingFrom.mapping == mapping.index, creatingFrom.key == key,
            table == mapping.sourceTable
        {
            isAssociated = true
        } else {
            pairs.hasLatePairs = true
        }
    }

    func reference(_ id: ObjectPlace) -> ObjectReference {
        ObjectReference(entity: UInt32(id.entity.index), key: id.key)
    }

    // MARK: - Looking up

    func destinationInstances(_ name: String, _ sources: [ManagedObject]?) throws -> [ManagedObject] {
        var instances: [ManagedObject] = []
        guard let sources else {
            try forEachDestination(name) { instances.append(destinationContext.object(at: $0)) }
            return instances
        }
        let table = try table(named: name)
        found.removeAll(keepingCapacity: true)
        for source in sources {
            try table.destinations(ofKey: source.place.key, table: source.place.table, into: &found)
        }
        if sources.count > 1 { Self.dropRepeats(&found) }
        instances.reserveCapacity(found.count)
        for reference in found {
            let entity = objects.schema.model.entity(at: Int(reference.entity))
            let place = objects.place(entity: entity, key: reference.key)
            if objects.hasDeletions, try !objects.exists(place) { continue }
            instances.append(destinationContext.object(at: place))
        }
        return instances
    }

    /// Shows the places of a mapping's destination objects that exist.
    private func forEachDestination(_ name: String, _ body: (ObjectPlace) throws -> Void) throws {
        try table(named: name).forEachDestination { reference, _ in
            let entity = objects.schema.model.entity(at: Int(reference.entity))
            let place = objects.place(entity: entity, key: reference.key)
            if objects.hasDeletions, try !objects.exists(place) { return }
            try body(place)
        }
    }

    /// Shows a mapping's destination objects one after the other.
    func forEachDestinationInstance(_ name: String, _ body: (ManagedObject) throws -> Void) throws {
        var held: ManagedObject?
        try forEachDestination(name) { place in
            destinationContext.renew(&held, entity: place.entity, table: place.table, key: place.key)
            if let held { try body(held) }
        }
    }

    func sourceInstances(_ name: String, _ destinations: [ManagedObject]?) throws -> [ManagedObject] {
        let table = try table(named: name)
        found.removeAll(keepingCapacity: true)
        if let destinations {
            for destination in destinations { try table.sources(of: reference(destination.place), into: &found) }
            if destinations.count > 1 { Self.dropRepeats(&found) }
        } else {
            try table.forEachSource { found.append($0) }
            Self.dropRepeats(&found)
        }
        var instances: [ManagedObject] = []
        instances.reserveCapacity(found.count)
        for reference in found {
            if let object = try sources.object(table: Int(reference.entity), key: reference.key) {
                instances.append(object)
            }
        }
        return instances
    }

    private static func dropRepeats(_ references: inout [ObjectReference]) {
        // Most often they ascend, and none comes twice.
        func precedes(_ one: ObjectReference, _ other: ObjectReference) -> Bool {
            (one.entity, one.key) < (other.entity, other.key)
        }
        let isAscending = references.indices.dropFirst().allSatisfy { precedes(references[$0 - 1], references[$0]) }
        guard references.count > 1, !isAscending else { return }
        var seen: Set<ObjectReference> = []
        references.removeAll { !seen.insert($0).inserted }
    }

    func table(named name: String) throws(MigrationError) -> MappingAssociations {
        guard let known = tables.last(where: { $0.mapping.name == name }) else {
            throw MigrationError(
                "manager.unknownMapping", .data, "There is no entity mapping \(name)",
                remedy: "Name one of: \(edits.mappings.map(\.name).joined(separator: ", "))",
                context: .init(entityMapping: name))
        }
        return known
    }

    // MARK: - Objects made for each member

    /// The member that an object of a mapping with `forEach` was made of; nil if it is no object.
    func member(of destination: ManagedObject, in mapping: PlannedMapping) throws -> ManagedObject? {
        guard let origin = try tables[mapping.index].origin(of: reference(destination.place)) else { return nil }
        return try sources.object(table: Int(origin.member.entity), key: origin.member.key)
    }

    /// Returns the objects that a mapping with `forEach` made of a source object, of a member, or of both, in the order in which
    /// they were made. It performs `objectsOfEntityMapping:source:member:` and its like.
    ///
    /// - Throws: `manager.unknownMapping`; `spill.…`.
    func objects(
        ofMapping name: String, source: ManagedObject?? = .none, member: ManagedObject?? = .none
    ) throws -> [ManagedObject] {
        // A nil argument has no objects, unlike one that is not given.
        if case .some(.none) = source { return [] }
        if case .some(.none) = member { return [] }
        guard let start = (member ?? source) ?? nil else { return [] }
        let table = try table(named: name)
        var found: [ObjectReference] = []
        try table.destinations(ofKey: start.place.key, table: start.place.table, into: &found)
        func isPlace(_ reference: ObjectReference, of object: ManagedObject??) -> Bool {
            guard case .some(.some(let object)) = object else { return true }
            return Int(reference.entity) == object.place.table && reference.key == object.place.key
        }
        var instances: [ManagedObject] = []
        for reference in found {
            guard let origin = try table.origin(of: reference), isPlace(origin.source, of: source),
                isPlace(origin.member, of: member)
            else { continue }
            let entity = objects.schema.model.entity(at: Int(reference.entity))
            let place = objects.place(entity: entity, key: reference.key)
            if objects.hasDeletions, try !objects.exists(place) { continue }
            instances.append(destinationContext.object(at: place))
        }
        return instances
    }
}
