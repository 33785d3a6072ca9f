import Diagnostics
import ManagedModel
import PersistentStore
import SpillStorage

/// The link stores of all stored relationships of the destination model, one for each inverse pair.
final class LinkStores {
    let all: [LinkStore]
    /// What policy code sets before stage 2; nil from then on.
    private var early: EarlyChanges?
    private let byRelationship: [PropertyReference: (store: LinkStore, side: LinkStore.Side)]

    init(session: MigrationSession) {
        let schema = session.destinationSchema
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
        // All logs share one memory: only the stores that are being filled or read need much of it.
        let memory = RecordMemory(bytes: session.budget.links / 8 * 7)
        // Ordered stores ask their filters before every change, plain ones only while they are read.
        let isOrdered = pairs.map { $0.isOrdered || $1?.isOrdered ?? false }
        let ordered = isOrdered.count { $0 }
        let filterBytes = (
            ordered: session.budget.links / 20 / max(1, ordered),
            plain: session.budget.links / 80 / max(1, pairs.count - ordered)
        )
        var stores: [LinkStore] = []
        var index: [PropertyReference: (store: LinkStore, side: LinkStore.Side)] = [:]
        for ((first, second), isOrdered) in zip(pairs, isOrdered) {
            let store = LinkStore(
                number: stores.count, first: first, second: second, directory: session.work, memory: memory,
                filterBytes: isOrdered ? filterBytes.ordered : filterBytes.plain,
                isOverEarlier: EarlierLinks.arePossible(first, second, session),
                makeSorter: { session.sorter(width: $0) })
            stores.append(store)
            index[LinkStores.reference(first)] = (store, .first)
            if let second, second != first { index[LinkStores.reference(second)] = (store, .second) }
        }
        all = stores
        byRelationship = index
        early = EarlyChanges(directory: session.work, memory: memory)
    }

    /// Lays the stores on the links that rows of earlier mapping models have.
    func begin(on destination: DestinationStore, session: MigrationSession) throws(MigrationError) {
        for store in all { store.earlier = try EarlierLinks(store, in: destination, session: session) }
    }

    /// Lets the statements on the destination go.
    func end() {
        for store in all { store.earlier = nil }
    }

    /// The store of a relationship and the side on which its owner stands; nil for a transient one.
    func store(of relationship: RelationshipDescription) -> (store: LinkStore, side: LinkStore.Side)? {
        byRelationship[LinkStores.reference(relationship)]
    }

    private static func reference(_ relationship: RelationshipDescription) -> PropertyReference {
        PropertyReference(entity: relationship.entity.index, name: relationship.name)
    }

    /// Where an object of an ordered store can have only one partner on a side, unlinks the ones it has.
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

    // MARK: - What policy code sets

    /// Sets the partners of an object as policy code does: the inverse follows at once, whatever the new links exclude
    /// is unlinked, links that stay keep their place on the other side.
    ///
    /// - Parameter members: in their order, each once; in an ordered relationship those without a place get
    ///   2048 + 1024 * position.
    /// - Complexity: in a plain store O(log n) amortised a member, in an ordered one O(links before and after); memory
    ///   likewise.
    func set(
        _ owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side, to members: [LinkMember]
    ) throws(MigrationError) {
        try early?.append(store: store.number, side: side, owner: owner, members: members)
        try apply(owner, store, side, members)
    }

    /// Whether ``set(_:_:_:to:)`` may be done member by member: nothing has to be remembered for later.
    var isReplayed: Bool { early == nil }

    private func apply(
        _ owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side, _ members: [LinkMember]
    ) throws(MigrationError) {
        if store.isPlain {
            if members.isEmpty || !store.isExclusive(side) { try store.reset(owner, side: side) }
            for member in members { try store.add(owner, member.end, side: side) }
            return
        }
        let present = try store.partners(of: owner.key, side: side)
        if !present.isEmpty {
            let wanted = members.count > 8 ? Set(members.map(\.end.key)) : []
            for view in present {
                let stays =
                    members.count > 8
                    ? wanted.contains(view.partner.key) : members.contains { $0.end.key == view.partner.key }
                if !stays { try store.remove(owner, view.partner, side: side) }
            }
        }
        let known = present.count > 8 ? Set(present.map(\.partner.key)) : []
        let isOrdered = store.isOrdered(side)
        for (position, member) in members.enumerated() {
            let isPresent =
                present.count > 8
                ? known.contains(member.end.key) : present.contains { $0.partner.key == member.end.key }
            var order = MemberOrder.none
            if isOrdered { order = member.order.isNone ? .key(OrderingKey.key(at: Int64(position))) : member.order }
            if isPresent {
                if !order.isNone { try store.add(owner, member.end, side: side, orderOfPartner: order) }
                continue
            }
            try unlinkExclusive(store, member.end, from: side.other, but: owner)
            var own = MemberOrder.none
            if store.isOrdered(side.other), !store.isReflexive || owner.key != member.end.key {
                own = try store.nextOrder(of: member.end.key, side: side.other)
            }
            try store.add(owner, member.end, side: side, orderOfPartner: order, orderOfObject: own)
        }
    }

    /// Applies what policy code set before the links of mapping models were there, in call order.
    ///
    /// - Parameter exists: whether an object has not been deleted since.
    func replayEarlyChanges(where exists: (LinkEnd) throws(MigrationError) -> Bool) throws(MigrationError) {
        guard let changes = early else { return }
        early = nil
        try changes.forEachChange { number, side, owner, members throws(MigrationError) in
            guard try exists(owner) else { return }
            var left: [LinkMember] = []
            for member in members where try exists(member.end) { left.append(member) }
            try apply(owner, all[number], side, left)
        }
    }

    /// Forgets the links that policy code set before those of mapping models; they are replayed.
    func beginDeclaredLinks() {
        guard let early, !early.isEmpty else { return }
        for store in all { store.removeAll() }
    }
}

/// An object that a relationship is set to, and its place where one is given.
struct LinkMember {
    var end: LinkEnd
    var order: MemberOrder = .none
}
