import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage

/// The objects and associations of a run with user code. The manager and the default policy methods work on them: creation is
/// ``DefaultCreation``, associations are ``PolicyAssociations``, and links ``PolicyLinkSetter``.
final class PolicyRuntime {
    let modelRun: ModelRun
    let mappings: [PlannedMapping]
    let associations: [MappingAssociations]
    let sources: SourceObjects
    let objects: DestinationObjects
    let sourceContext: ManagedObjectContext
    let destinationContext: ManagedObjectContext
    let failures = FailureRecord()
    let userCode = UserCodeNotes()
    /// True if failures of calls that cannot throw are recorded already.
    var hasScope = false
    let linkSetter: PolicyLinkSetter
    /// The destination object that a policy relates, with the key of the first source object associated with it and its place
    /// among the mapping's objects.
    @exclusivity(unchecked) var relatedNow: (mapping: Int, destination: ManagedObject, source: Int64, place: Int)?
    private let edits: MappingEdits
    /// The evaluator of values that need objects; set once, right after the runtime is made.
    private(set) var dynamicValues: DynamicValues?
    /// The default creation method.
    let creation: DefaultCreation
    /// The associations, as the manager's calls add and look them up.
    let pairs: PolicyAssociations

    init(
        modelRun: ModelRun, mappings: [PlannedMapping], associations: [MappingAssociations],
        rows: [DestinationRows], links: LinkStores, storeUUID: String
    ) {
        self.modelRun = modelRun
        self.mappings = mappings
        self.associations = associations
        edits = MappingEdits(
            mappings: mappings, source: modelRun.inputs.layout.schema, destination: modelRun.inputs.destinationSchema)
        sources = SourceObjects(modelRun: modelRun)
        objects = DestinationObjects(modelRun: modelRun, rows: rows, links: links)
        sourceContext = PolicyRuntime.context(
            of: sources, modelRun.inputs, storeUUID: modelRun.inputs.source.metadata.uuid, failures: failures)
        destinationContext = PolicyRuntime.context(
            of: objects, modelRun.inputs, storeUUID: storeUUID, failures: failures)
        linkSetter = PolicyLinkSetter(
            MemberLookups(
                modelRun: modelRun, mappings: mappings, associations: associations, objects: objects, sources: sources))
        pairs = PolicyAssociations(
            tables: associations, edits: edits, sources: sources, objects: objects, sourceContext: sourceContext,
            destinationContext: destinationContext, linkSetter: linkSetter)
        creation = DefaultCreation(
            modelRun: modelRun, edits: edits, associations: pairs, sources: sources, objects: objects,
            sourceContext: sourceContext, destinationContext: destinationContext)
        sources.context = sourceContext
        objects.context = destinationContext
        objects.associations = associations
        sources.willChange = { [unowned self] () throws(MigrationError) in
            // The load would read the links from the changed source.
            try linkSetter.useAll()
        }
        // A row that a mapping made, or would have made, of a deleted object may be missing.
        sources.hasDeleted = { [unowned self] in objects.hasDeletions = true }
    }

    /// Releases rows, links and associations. Objects that a policy still holds have no values any more.
    func close() {
        sourceContext.close()
        destinationContext.close()
    }

    /// The origins of objects, for reports of invalid ones.
    var origins: PolicyOrigins {
        PolicyOrigins(
            associations: associations, sourceEntity: { [sources] in try sources.entity(table: $0, key: $1) },
            exists: { [objects] reference in
                guard objects.hasDeletions else { return true }
                let entity = objects.schema.model.entity(at: Int(reference.entity))
                return try objects.exists(objects.place(entity: entity, key: reference.key))
            })
    }

    /// Sets the values of `$manager` and `$entityPolicy`.
    func evaluate(with manager: MigrationManager, _ policies: Policies) {
        if manager.observedCalls.contains(.associations) { creation.observer = manager }
        let values = DynamicValues(runtime: self, manager: manager, policies: policies)
        dynamicValues = values
        creation.dynamicValues = values
        linkSetter.dynamicValues = values
    }

    /// Returns a mapping as its policy's `begin` may have changed it.
    func current(_ mapping: PlannedMapping) throws(MigrationError) -> PlannedMapping {
        try edits.current(mapping.mapping, mapping)
    }

    /// Performs the default method of stage 2: evaluates the relationship mappings for one destination object.
    func relateDefault(_ destination: ManagedObject, in mapping: EntityMapping) throws {
        destinationContext.takeOverSets()
        defer { destinationContext.refreshSets() }
        let planned = try edits.current(mapping)
        if let now = relatedNow, now.mapping == planned.index, now.destination === destination {
            return try linkSetter.setAll(
                of: objects.end(destination.place), source: now.source, in: planned, at: now.place)
        }
        var found: [ObjectReference] = []
        try associations[planned.index].sources(of: pairs.reference(destination.place), into: &found)
        // If one destination object has several sources, `$source` is the first.
        guard let source = found.first else { return }
        try linkSetter.setAll(of: objects.end(destination.place), source: source.key, in: planned, at: nil)
    }

    /// Ends a call of user code: what it changed through mutable sets is made, and a failure of a call that could not throw is
    /// thrown.
    func endUserCode() throws {
        if destinationContext.memberSets.isInUse { destinationContext.endSets() }
        if sourceContext.memberSets.isInUse { sourceContext.endSets() }
        try failures.rethrow()
    }

    /// Runs a manager's call that cannot throw. A failure ends the run when the policy's method returns.
    func recording<Value>(_ body: (PolicyRuntime) throws -> Value) -> Value? {
        do {
            return try body(self)
        } catch {
            failures.record(error)
            return nil
        }
    }
}
