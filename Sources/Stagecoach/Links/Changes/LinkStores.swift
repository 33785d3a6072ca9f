import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The link stores of all stored relationships of the destination model, one for each inverse pair.
final class LinkStores {
    let all: [LinkStore]
    /// The changes by user code, to be made again without rejected objects; nil if none can be rejected.
    let changes: LinkChanges?
    /// True once stage 2 has begun: the declared links have been made.
    private(set) var hasDeclared = false
    /// True while changes need not be noted: they are being made again, or a default method makes them whose call is noted.
    private var isNoted = false
    /// The members that expressions over objects gave for objects of mappings without a policy, if links may have to be made
    /// again: mapping and relationship, owner, position, member, its Z_ENT.
    let dynamicMembers: RecordLog?
    /// The deletions that a delete rule denies.
    let denied: DeniedDeletions
    /// Makes the deferred links of a store; set by stage 2.
    var makeDeferred: ((LinkStore) throws(MigrationError) -> Void)?
    /// The ordered relationships that were recently set, with the number of their members and the sequence of the call.
    var recentSets: [SetRelationship: (count: Int, sequence: UInt64)] = [:]
    static let rememberedSets = 1024
    var counted: CountedMembers?
    private let memory: RecordMemory
    private let byRelationship: [PropertyReference: (store: LinkStore, side: LinkStore.Side)]

    /// - Parameter mayReject: true if links may have to be made again without rejected objects.
    init(_ run: MigrationRun, keysBefore: KeysBefore, mayReject: Bool) {
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
        changes = mayReject ? LinkChanges(directory: run.inputs.work, memory: memory) : nil
        denied = DeniedDeletions(directory: run.inputs.work, memory: memory)
        dynamicMembers =
            mayReject
            ? RecordLog(directory: run.inputs.work, name: "links-found", width: 5, indexWords: 2, memory: memory) : nil
    }

    /// Lays the stores over the links of rows that previous mapping models made.
    func begin(on destination: DestinationStore, _ keysBefore: KeysBefore) throws(MigrationError) {
        for store in all { store.existing = try ExistingLinks(store, in: destination, keysBefore) }
    }

    /// Gives back the memory of links that are only read from now on.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    func park() throws(MigrationError) { try memory.park() }

    /// Writes all stores, or restores them: these stores must be empty. Their parts in memory go to their files before.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        for store in all { try store.code(with: &coder) }
        try coder.code(&hasDeclared)
        try changes?.code(with: &coder)
        try dynamicMembers?.code(with: &coder)
        try denied.code(with: &coder)
    }

    /// Releases the statements on the destination.
    func end() {
        for store in all { store.existing = nil }
    }

    /// The cost of changes to links.
    var statistics: LinkStatistics {
        all.reduce(into: LinkStatistics(writtenRecords: changes?.writtenRecords ?? 0)) { sum, store in
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

    // MARK: - Making links again

    /// True if changes need not be noted one by one.
    var isFree: Bool { changes == nil || isNoted }

    /// Notes a change, so that it can be made again.
    func note(_ change: @autoclosure () -> LinkChange) throws(MigrationError) {
        if !isFree { try changes?.append(change()) }
    }

    /// Lets a default method change links. Its call is noted instead of the changes, because they can be found again.
    ///
    /// - Parameters:
    ///   - source: the key of the owner's source object.
    ///   - mapping: the index of the mapping.
    func relate(_ owner: LinkEnd, from source: Int64, in mapping: Int, _ body: () throws -> Void) throws {
        guard hasDeclared, !isFree else { return try body() }
        try changes?.append(.relate(owner, from: source, mapping: mapping))
        isNoted = true
        defer { isNoted = false }
        try body()
    }

    /// Prepares a store for user code that reads or changes its links: deferred ones are made. All user code comes this way.
    func use(_ store: LinkStore) throws(MigrationError) {
        if store.isDeferred { try makeDeferred?(store) }
    }

    /// Notes that stage 2 begins: links that policies set from now on come after declared ones.
    func beginStage2() {
        hasDeclared = true
        recentSets = [:]
        for store in all { store.beginStage2() }
    }

    /// Lets the default methods of a mapping without a policy change the links of a store. The call is noted instead of the
    /// changes.
    func relateAll(of mapping: Int, in store: LinkStore, _ body: () throws -> Void) throws {
        guard !isFree else { return try body() }
        try changes?.append(.relateAll(store, mapping: mapping))
        isNoted = true
        defer { isNoted = false }
        try body()
    }

    /// Removes all links, which are made again. Objects of the existing store that stage 1 deleted stay without links.
    ///
    /// - Parameter entity: returns the entity of a Z_ENT.
    func removeAll(entity: (UInt32) -> EntityDescription?) throws(MigrationError) {
        for store in all { store.removeAll() }
        guard let changes else { return }
        try changes.forEachDeletionAtOnce { end throws(MigrationError) in
            if let entity = entity(end.entity) { try unlinkAll(end, of: entity) }
        }
        changes.beginReplay()
    }

    /// Makes the changes by user code again, in call order.
    ///
    /// - Parameters:
    ///   - entity: returns the entity of a Z_ENT.
    ///   - exists: tells whether an object exists at the time of a change.
    ///   - other: called with what is no change of one relationship, and no deletion.
    func makeChanges(
        entity: (UInt32) -> EntityDescription?, where exists: (LinkEnd) throws(MigrationError) -> Bool,
        other: (LinkChange) throws -> Void
    ) throws {
        recentSets = [:]
        isNoted = true
        defer { isNoted = false }
        try changes?.replay { change in
            switch change.kind {
            case .makeDeferred, .relateAll: try other(change)
            case .delete: if let entity = entity(change.owner.entity) { try unlinkAll(change.owner, of: entity) }
            case .relate: if try exists(change.owner) { try other(change) }
            case .set, .add, .remove: if try exists(change.owner) { try makeAgain(change, where: exists) }
            }
        }
    }

    /// Makes the change of one relationship again, with the members that exist.
    private func makeAgain(_ change: LinkChange, where exists: (LinkEnd) throws(MigrationError) -> Bool) throws {
        let (store, side, owner) = (all[change.store], change.side, change.owner)
        var left: [LinkMember] = []
        for member in change.members where try exists(member.end) { left.append(member) }
        switch change.kind {
        case .add: for member in left { try applyAddition(of: member.end, to: owner, store, side) }
        case .remove: for member in left { try applyRemoval(of: member.end, from: owner, store, side) }
        default:
            let present = store.isPlain ? [] : try store.partners(of: owner.key, side: side)
            try apply(owner, store, side, present, left)
        }
    }

    /// Tells whether a deleted object still exists at the time of the change that is made again.
    func isDeletedLater(_ object: LinkEnd) throws(MigrationError) -> Bool {
        try changes?.isDeletedLater(object) ?? false
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
        if hasDeclared { try note(LinkChange(kind: .delete, owner: object)) }
        if hasDeclared || isStored { try changes?.noteDeletion(of: object, isAtOnce: !hasDeclared) }
    }

    private func unlinkAll(_ object: LinkEnd, of entity: EntityDescription) throws(MigrationError) {
        for (store, side) in ends(of: entity) {
            if store.isPlain, try store.hasMany(object.key, side: side) {
                try store.reset(object, side: side)
                continue
            }
            try store.forEachPartner(of: object.key, side: side) { view throws(MigrationError) in
                try store.remove(view.object, view.partner, side: side)
            }
        }
    }
}
