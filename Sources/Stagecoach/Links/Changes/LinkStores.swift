import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The link stores of all stored relationships of the destination model, one for each inverse pair.
final class LinkStores {
    let all: [LinkStore]
    /// The changes that policy code makes before stage 2; nil from then on.
    var early: ChangesBeforeRelate?
    /// The ordered relationships that were recently set before stage 2.
    var setEarly: Set<SetRelationship> = []
    static let rememberedSets = 1024
    var counted: CountedMembers?
    private let memory: RecordMemory
    private let byRelationship: [PropertyReference: (store: LinkStore, side: LinkStore.Side)]

    init(_ run: MigrationRun, keysBefore: KeysBefore) {
        let schema = run.inputs.destinationSchema
        var pairs: [(RelationshipDescription, RelationshipDescription?)] = []
        var seen: Set<PropertyReference> = []
        for entity in schema.model.entities {
            for relationship in entity.relationships where relationship.entity == entity {
                guard schema.storage(of: relationship) != .none,
                    seen.insert(LinkStores.reference(relationship)).inserted
                else { continue }
                let inverse = LinkPlanner.mutualInverse(of: relationship)
                if let inverse { seen.insert(LinkStores.reference(inverse)) }
                // The side of a join table's first column comes first, so that links come in primary key order.
                if let inverse, case .join(_, 1) = schema.storage(of: relationship), inverse != relationship {
                    pairs.append((inverse, relationship))
                } else {
                    pairs.append((relationship, inverse))
                }
            }
        }
        // All logs share one memory, because only the stores that are being filled or read need much of it.
        let memory = RecordMemory(bytes: run.inputs.budget.links / 8 * 7)
        // Ordered stores query their filters before every change, plain ones only while they are read.
        let isOrdered = pairs.map { $0.isOrdered || $1?.isOrdered ?? false }
        let ordered = isOrdered.count { $0 }
        let filterBytes = (
            ordered: run.inputs.budget.links / 20 / max(1, ordered),
            plain: run.inputs.budget.links / 80 / max(1, pairs.count - ordered)
        )
        var stores: [LinkStore] = []
        var index: [PropertyReference: (store: LinkStore, side: LinkStore.Side)] = [:]
        for ((first, second), isOrdered) in zip(pairs, isOrdered) {
            let store = LinkStore(
                number: stores.count, first: first, second: second, directory: run.inputs.work, memory: memory,
                filterBytes: isOrdered ? filterBytes.ordered : filterBytes.plain,
                isOverExisting: ExistingLinks.arePossible(first, second, in: schema, keysBefore),
                makeSorter: { [services = run.services] in services.sorter(width: $0) })
            stores.append(store)
            index[LinkStores.reference(first)] = (store, .first)
            if let second, second != first { index[LinkStores.reference(second)] = (store, .second) }
        }
        all = stores
        self.memory = memory
        byRelationship = index
        early = ChangesBeforeRelate(directory: run.inputs.work, memory: memory)
    }

    /// Lays the stores over the links of rows that previous mapping models made.
    func begin(on destination: DestinationStore, _ keysBefore: KeysBefore) throws(MigrationError) {
        for store in all { store.earlier = try ExistingLinks(store, in: destination, keysBefore) }
    }

    /// Gives back the memory of links that are only read from now on.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    func park() throws(MigrationError) { try memory.park() }

    /// Encodes all stores. Flushes their in-memory parts to their files.
    func save(to state: inout StateWriter) throws(MigrationError) {
        for store in all { try store.save(to: &state) }
        try state.write(optional: early) { early, state throws(MigrationError) in try early.save(to: &state) }
    }

    /// Restores encoded stores. These stores must be empty.
    func restore(from state: inout StateReader) throws(MigrationError) {
        for store in all { try store.restore(from: &state) }
        if try state.flag() { try early?.restore(from: &state) } else { early = nil }
    }

    /// Releases the statements on the destination.
    func end() {
        for store in all { store.earlier = nil }
    }

    /// The cost of changes to links.
    var statistics: LinkStatistics {
        all.reduce(into: LinkStatistics(writtenRecords: early?.writtenRecords ?? 0)) { sum, store in
            sum.writtenRecords += store.statistics.writtenRecords
            sum.readRecords += store.statistics.readRecords
        }
    }

    /// Returns the store of a relationship and the side on which its owner is. Returns nil for a transient relationship.
    func store(of relationship: RelationshipDescription) -> (store: LinkStore, side: LinkStore.Side)? {
        byRelationship[LinkStores.reference(relationship)]
    }

    private static func reference(_ relationship: RelationshipDescription) -> PropertyReference {
        PropertyReference(entity: relationship.entity.index, name: relationship.name)
    }

    /// Unlinks the other partners of an object in an ordered store, if the object can have only one partner on the side.
    ///
    /// - Parameters:
    ///   - side: the side on which `object` is the owner.
    ///   - partner: the partner that may stay.
    func unlinkExclusive(
        _ store: LinkStore, _ object: LinkEnd, from side: LinkStore.Side, but partner: LinkEnd
    ) throws(MigrationError) {
        guard !store.isPlain, store.isExclusive(side) else { return }
        for view in try store.partners(of: object.key, side: side) where view.partner.key != partner.key {
            try store.remove(object, view.partner, side: side)
        }
    }

    /// Applies the changes that policy code made before the links of mapping models existed, in call order.
    ///
    /// - Parameter exists: tells whether an object still exists.
    func replayEarlyChanges(where exists: (LinkEnd) throws(MigrationError) -> Bool) throws(MigrationError) {
        guard let changes = early else { return }
        early = nil
        setEarly = []
        try changes.forEachChange { change, number, side, owner, members throws(MigrationError) in
            guard try exists(owner) else { return }
            let store = all[number]
            var left: [LinkMember] = []
            for member in members where try exists(member.end) { left.append(member) }
            switch change {
            case .set:
                let present = store.isPlain ? [] : try store.partners(of: owner.key, side: side)
                try apply(owner, store, side, present, left)
            case .add: for member in left { try applyAddition(of: member.end, to: owner, store, side) }
            case .remove: for member in left { try applyRemoval(of: member.end, from: owner, store, side) }
            }
        }
    }

    /// Removes the links that policy code made before those of mapping models; they are replayed later. Deleted objects of the
    /// existing store stay without links.
    ///
    /// - Parameter entity: returns the entity of a Z_ENT.
    func beginDeclaredLinks(entity: (UInt32) -> EntityDescription?) throws(MigrationError) {
        guard let early, !early.isEmpty else { return }
        for store in all { store.removeAll() }
        try early.forEachDeletion { end throws(MigrationError) in
            if let entity = entity(end.entity) { try unlinkAll(end, of: entity) }
        }
    }

    /// Returns the stores in which an object of an entity may have links, and its side in each.
    func ends(of entity: EntityDescription) -> [(store: LinkStore, side: LinkStore.Side)] {
        // Relationships that refer to the object without an inverse come last.
        entity.relationships.compactMap { store(of: $0) }
            + all.filter { $0.second == nil && entity.isKindOf(entity: $0.first.destination) }.map { ($0, .second) }
    }

    /// Unlinks a deleted object from all its partners.
    ///
    /// - Parameter isStored: true if the object was in the store before, with links there.
    func unlinkAll(_ object: LinkEnd, of entity: EntityDescription, isStored: Bool) throws(MigrationError) {
        try unlinkAll(object, of: entity)
        if isStored { try early?.noteDeletion(of: object) }
    }

    private func unlinkAll(_ object: LinkEnd, of entity: EntityDescription) throws(MigrationError) {
        for (store, side) in ends(of: entity) {
            for view in try store.partners(of: object.key, side: side) {
                try store.remove(view.object, view.partner, side: side)
            }
        }
    }
}
