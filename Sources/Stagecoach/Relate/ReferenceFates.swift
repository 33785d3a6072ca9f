import Diagnostics
import ManagedModel
import PersistentStore
import SpillStorage

/// What became of a source object that a reference points to in vain.
struct ReferenceFate: Hashable {
    let cause: NilReferences.Cause
    /// The entity or entity mapping that the cause speaks of.
    var name: String?

    static let dangling = ReferenceFate(cause: .dangling)
    static let rejected = ReferenceFate(cause: .rejected)
}

/// Says what became of source objects that lookups find no object for.
///
/// Asked at a miss only: keys that are at hand answer for most, and the row itself where its entity decides.
final class ReferenceFates {
    /// Who knows which objects were made of a source object.
    enum Makers {
        /// Keys of mappings without user code, by mapping index.
        case keys([Int: MappingKeys])
        case associations([MappingAssociations])
    }

    private let source: SourceStore
    private let layout: StoreLayout
    private let destination: ManagedObjectModel
    private let mappings: [PlannedMapping]
    private let makers: Makers
    private unowned let session: MigrationSession
    /// True where objects that were made may be gone.
    private let hasDeletions: () -> Bool
    private var tables: [Int: Table] = [:]
    private var found: [ObjectReference] = []

    /// A source table's entities and what their mappings do.
    private struct Table {
        /// The mappings that make objects of its rows.
        var makers: [PlannedMapping] = []
        /// The entities of which a row may have become nothing.
        var entities: [EntityDescription] = []
    }

    init(
        session: MigrationSession, mappings: [PlannedMapping], makers: Makers,
        hasDeletions: (() -> Bool)? = nil
    ) {
        self.session = session
        source = session.source
        layout = session.layout
        destination = session.destinationSchema.model
        self.mappings = mappings
        self.makers = makers
        let associations = session.associations
        self.hasDeletions = hasDeletions ?? { associations.hasDeletions }
    }

    /// What became of a row that exists, and that a relationship's lookup found no object for.
    ///
    /// - Complexity: a look-up of the key for each mapping of the table; where several entities of the table may be left
    ///   out, one row is read.
    func fate(
        of key: Int64, table index: Int, for relationship: RelationshipDescription
    ) throws(MigrationError) -> ReferenceFate {
        let table = table(index)
        var other: ReferenceFate?
        for mapping in table.makers {
            for entity in try made(of: key, table: index, by: mapping) {
                guard entity.isKindOf(entity: relationship.destination) else {
                    other = other ?? ReferenceFate(cause: .otherEntity, name: entity.definition.name)
                    continue
                }
                if hasDeletions() { return ReferenceFate(cause: .deleted) }
                return ReferenceFate(cause: .otherMapping, name: mapping.name)
            }
        }
        if let other { return other }
        if table.entities.count == 1 { return fate(ofRowsOf: table.entities[0]) }
        guard let entity = try source.entity(ofKey: key, table: index, in: layout) else {
            return ReferenceFate(cause: .stray)
        }
        return fate(ofRowsOf: layout.schema.model.entity(at: entity))
    }

    private func fate(ofRowsOf entity: EntityDescription) -> ReferenceFate {
        let own = mappings.filter { $0.reads(entity) }
        guard !own.isEmpty else { return ReferenceFate(cause: .withoutMapping, name: entity.definition.name) }
        let making = own.filter { $0.destination != nil }
        if let mapping = making.first(where: { $0.filter != nil }) {
            return ReferenceFate(cause: causeOfLeavingOut(mapping), name: mapping.name)
        }
        if let mapping = making.first(where: \.mayBeAssociatedByHand) {
            return ReferenceFate(cause: .dropped, name: mapping.name)
        }
        guard making.isEmpty else { return ReferenceFate(cause: .deleted) }
        return ReferenceFate(cause: .removed, name: own.first?.name)
    }

    /// The filter, the policy, or either of them: the objects that each of them left out are counted, not named.
    private func causeOfLeavingOut(_ mapping: PlannedMapping) -> NilReferences.Cause {
        guard session.counts.mappings.indices.contains(mapping.index) else { return .filtered }
        let counts = session.counts.mappings[mapping.index]
        guard counts.droppedByPolicy + counts.unassociated > 0 else { return .filtered }
        return counts.filtered > 0 ? .filteredOrDropped : .dropped
    }

    private func table(_ index: Int) -> Table {
        if let known = tables[index] { return known }
        var table = Table()
        let entities = layout.schema.tables[index].entities.map(layout.schema.model.entity(at:))
        table.makers = mappings.filter { mapping in
            guard mapping.destination != nil else { return false }
            // Policies may associate whatever they like.
            return mapping.sourceTable == index || mapping.mayBeAssociatedByHand
        }
        table.entities = entities.filter { entity in
            guard !entity.isAbstract else { return false }
            // Of such a mapping every row became an object.
            return !mappings.contains {
                $0.reads(entity) && $0.destination != nil && $0.filter == nil && !$0.mayBeAssociatedByHand
            }
        }
        tables[index] = table
        return table
    }

    private func made(
        of key: Int64, table: Int, by mapping: PlannedMapping
    ) throws(MigrationError) -> [EntityDescription] {
        switch makers {
        case .keys(let keys):
            guard mapping.sourceTable == table, let entity = mapping.destination, let own = keys[mapping.index],
                !own.isLeftOut, try own.destinationKey(of: key) != nil
            else { return [] }
            return [entity]
        case .associations(let tables):
            found.removeAll(keepingCapacity: true)
            try tables[mapping.index].destinations(ofKey: key, table: table, into: &found)
            return found.map { destination.entity(at: Int($0.entity)) }
        }
    }
}
