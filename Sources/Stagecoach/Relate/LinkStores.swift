import Diagnostics
import ManagedModel
import PersistentStore
import SpillStorage

/// The link stores of all stored relationships of the destination model, one for each inverse pair.
final class LinkStores {
    let all: [LinkStore]
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
        let allowance = max(256 * 1024, session.budget.spill / 2 / max(1, pairs.count))
        var stores: [LinkStore] = []
        var index: [PropertyReference: (store: LinkStore, side: LinkStore.Side)] = [:]
        for (first, second) in pairs {
            let store = LinkStore(first: first, second: second, directory: session.work, memory: allowance)
            stores.append(store)
            index[LinkStores.reference(first)] = (store, .first)
            if let second, second != first { index[LinkStores.reference(second)] = (store, .second) }
        }
        all = stores
        byRelationship = index
    }

    /// The store of a relationship and the side on which its owner stands; nil for a transient one.
    func store(of relationship: RelationshipDescription) -> (store: LinkStore, side: LinkStore.Side)? {
        byRelationship[LinkStores.reference(relationship)]
    }

    private static func reference(_ relationship: RelationshipDescription) -> PropertyReference {
        PropertyReference(entity: relationship.entity.index, name: relationship.name)
    }

    /// Where an object can have only one partner on a side, unlinks the ones it has.
    ///
    /// - Parameters:
    ///   - side: the side on which `object` is the owner.
    ///   - partner: the partner that may stay.
    func unlinkExclusive(
        _ store: LinkStore, _ object: LinkEnd, from side: LinkStore.Side, but partner: LinkEnd
    ) throws(MigrationError) {
        let isExclusive: Bool
        switch (side, store.second) {
        case (.first, _): isExclusive = !store.first.isToMany
        case (.second, let second?): isExclusive = !second.isToMany
        // Without an inverse: many objects may refer to one; a to-many's members have one owner's column.
        case (.second, nil): isExclusive = store.first.isToMany
        }
        guard isExclusive else { return }
        for view in try store.partners(of: object.key, side: side) where view.partner.key != partner.key {
            try store.remove(object, view.partner, side: side)
        }
    }
}
