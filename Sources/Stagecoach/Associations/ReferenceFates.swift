import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The causes for source objects that lookups find no object for.
///
/// It is used at a miss only. Keys in memory answer most queries; the row itself is read if its entity decides.
final class ReferenceFates {
    /// The data that tells which objects were made of a source object.
    enum Makers {
        /// The keys of mappings without user code, by mapping index.
        case keys([Int: DestinationKeys])
        case associations([MappingAssociations])
    }

    private let source: SourceStore
    private let layout: StoreLayout
    private let schema: StoreSchema
    private var destination: ManagedObjectModel { schema.model }
    private let mappings: [PlannedMapping]
    private let makers: Makers
    private let tally: RunTally
    /// Tells whether objects that were made may have been deleted.
    private let hasDeletions: () -> Bool
    /// The rejected objects; nil if there are none.
    var rejected: RejectedKeys?
    private var tables: [Int: Table] = [:]
    private var found: [ObjectReference] = []

    /// The entities of a source table and the mappings that read it.
    private struct Table {
        /// The mappings that make objects of the table's rows.
        var makers: [PlannedMapping] = []
        /// The entities whose rows may have been left out.
        var entities: [EntityDescription] = []
    }

    init(run: MigrationRun, mappings: [PlannedMapping], makers: Makers, hasDeletions: @escaping () -> Bool) {
        tally = run.tally
        source = run.inputs.source
        layout = run.inputs.layout
        schema = run.inputs.destinationSchema
        self.mappings = mappings
        self.makers = makers
        self.hasDeletions = hasDeletions
    }

    /// Returns the cause for an existing row for which a relationship's lookup found no object.
    ///
    /// - Complexity: one lookup of the key for each mapping of the table; if several entities of the table may be left out, one
    ///   row is read.
    func fate(
        of key: Int64, table index: Int, for relationship: RelationshipDescription
    ) throws(MigrationError) -> ReferenceFate {
        let table = table(index)
        var other: ReferenceFate?
        for mapping in table.makers {
            for object in try made(of: key, table: index, by: mapping) {
                let entity = destination.entity(at: Int(object.entity))
                guard entity.isKindOf(entity: relationship.destination) else {
                    other = other ?? ReferenceFate(cause: .otherEntity, name: entity.definition.name)
                    continue
                }
                if hasDeletions() { return ReferenceFate(cause: .deleted) }
                return ReferenceFate(cause: .otherMapping, name: mapping.name)
            }
        }
        if let other { return try leftOut(key, table: index, for: relationship) ?? other }
        if table.entities.count == 1 { return fate(ofRowsOf: table.entities[0]) }
        guard let entity = try source.entity(ofKey: key, table: index, in: layout) else {
            return ReferenceFate(cause: .stray)
        }
        return fate(ofRowsOf: layout.schema.model.entity(at: entity))
    }

    /// Tells whether a rejected object was made of a row, for a relationship whose lookup found no object.
    func isRejected(
        _ key: Int64, table index: Int, for relationship: RelationshipDescription
    ) throws(MigrationError) -> Bool {
        guard let rejected else { return false }
        for mapping in table(index).makers {
            for object in try made(of: key, table: index, by: mapping) {
                let entity = destination.entity(at: Int(object.entity))
                guard entity.isKindOf(entity: relationship.destination) else { continue }
                if try rejected.contains(object.key, table: schema.tableIndex(of: entity)) { return true }
            }
        }
        return false
    }

    /// Returns the cause why no mapping made an object for the relationship of a row of which another mapping made one; nil if
    /// no mapping was there to make it.
    private func leftOut(
        _ key: Int64, table index: Int, for relationship: RelationshipDescription
    ) throws(MigrationError) -> ReferenceFate? {
        let fitting = table(index).makers.filter {
            $0.filter != nil && $0.sourceTable == index
                && $0.destination?.isKindOf(entity: relationship.destination) == true
        }
        guard !fitting.isEmpty, let entity = try source.entity(ofKey: key, table: index, in: layout) else { return nil }
        let row = layout.schema.model.entity(at: entity)
        return fitting.first { $0.reads(row) }.map { ReferenceFate(cause: causeOfLeavingOut($0), name: $0.name) }
    }

    /// Returns the cause why rows of an entity have no destination object.
    func fate(ofRowsOf entity: EntityDescription) -> ReferenceFate {
        let own = mappings.filter { $0.reads(entity) }
        guard !own.isEmpty else { return ReferenceFate(cause: .withoutMapping, name: entity.definition.name) }
        let making = own.filter { $0.destination != nil }
        if let mapping = making.first(where: { $0.filter != nil }) {
            return ReferenceFate(cause: causeOfLeavingOut(mapping), name: mapping.name)
        }
        if let mapping = making.first(where: \.mayShareObjects) {
            return ReferenceFate(cause: .dropped, name: mapping.name)
        }
        guard making.isEmpty else { return ReferenceFate(cause: .deleted) }
        return ReferenceFate(cause: .removed, name: own.first?.name)
    }

    /// Returns the cause for an object that a mapping left out: the filter, the policy, or either of them. Left out objects are
    /// only counted, not named, so the counts decide.
    private func causeOfLeavingOut(_ mapping: PlannedMapping) -> NilReferences.Cause {
        guard tally.counts.mappings.indices.contains(mapping.index) else { return .filtered }
        let counts = tally.counts.mappings[mapping.index]
        guard counts.droppedByPolicy + counts.unassociated > 0 else { return .filtered }
        return counts.filtered > 0 ? .filteredOrDropped : .dropped
    }

    private func table(_ index: Int) -> Table {
        if let known = tables[index] { return known }
        var table = Table()
        let entities = layout.schema.tables[index].entities.map(layout.schema.model.entity(at:))
        table.makers = mappings.filter { mapping in
            guard mapping.destination != nil else { return false }
            // A policy may associate objects of any table.
            return mapping.sourceTable == index || mapping.mayBeAssociatedByHand
        }
        table.entities = entities.filter { entity in
            guard !entity.isAbstract else { return false }
            // Such a mapping made an object of every row.
            return !mappings.contains {
                $0.reads(entity) && $0.destination != nil && $0.filter == nil && !$0.mayShareObjects
            }
        }
        tables[index] = table
        return table
    }

    private func made(
        of key: Int64, table: Int, by mapping: PlannedMapping
    ) throws(MigrationError) -> [ObjectReference] {
        switch makers {
        case .keys(let keys):
            guard mapping.sourceTable == table, let entity = mapping.destination, let own = keys[mapping.index],
                let made = try own.heldKey(of: key)
            else { return [] }
            return [ObjectReference(entity: UInt32(entity.index), key: made)]
        case .associations(let tables):
            found.removeAll(keepingCapacity: true)
            try tables[mapping.index].destinations(ofKey: key, table: table, into: &found)
            return found
        }
    }
}
