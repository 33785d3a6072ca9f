import CoreDataStore
import Diagnostics
import ManagedModel

/// The links of an inverse pair between rows that existed before the current mapping model. A ``LinkStore`` lays its changes
/// over them. They are read one object at a time, on demand.
final class ExistingLinks {
    private let keysBefore: KeysBefore
    private let first: ExistingLinkReader
    private let second: ExistingLinkReader
    private let tables: (first: Int, second: Int)
    private let isOrdered: (first: Bool, second: Bool)

    /// Tells whether either side of a pair had rows before. Links from new rows to existing rows change the existing ones too.
    static func arePossible(
        _ first: RelationshipDescription, _ second: RelationshipDescription?, in schema: StoreSchema,
        _ keysBefore: KeysBefore
    ) -> Bool {
        let tables = [first.entity, second?.entity ?? first.destination].map(schema.tableIndex(of:))
        return tables.contains { keysBefore.hasRows[$0] }
    }

    /// Returns nil if neither side had rows before.
    init?(_ store: LinkStore, in destination: DestinationStore, _ keysBefore: KeysBefore) throws(MigrationError) {
        let schema = destination.schema
        let owners = schema.tableIndex(of: store.first.entity)
        let members = schema.tableIndex(of: store.second?.entity ?? store.first.destination)
        guard ExistingLinks.arePossible(store.first, store.second, in: schema, keysBefore),
            let first = try ExistingLinkReader(destination, relationship: store.first, isReversed: false),
            let second = try ExistingLinkReader(
                destination, relationship: store.second ?? store.first, isReversed: store.second == nil)
        else { return nil }
        self.keysBefore = keysBefore
        self.first = first
        self.second = second
        tables = (owners, members)
        isOrdered = (store.isOrdered(.first), store.isOrdered(.second))
    }

    /// Tells whether an object on a side existed before.
    func isExisting(_ key: Int64, side: LinkStore.Side) -> Bool {
        keysBefore.isExisting(key, table: side == .first ? tables.first : tables.second)
    }

    /// Returns the links of an object that existed before; none for a new object.
    func views(of key: Int64, side: LinkStore.Side) throws(MigrationError) -> [LinkView] {
        guard isExisting(key, side: side) else { return [] }
        return try (side == .first ? first : second).links(of: key).map { view($0, of: key, side) }
    }

    /// Returns the link of two objects that existed before. Returns nil if there was none.
    func view(of key: Int64, to partner: Int64, side: LinkStore.Side) throws(MigrationError) -> LinkView? {
        guard isExisting(key, side: side), isExisting(partner, side: side.other) else { return nil }
        return try (side == .first ? first : second).link(of: key, to: partner).map { view($0, of: key, side) }
    }

    private func view(_ link: StoredLink, of key: Int64, _ side: LinkStore.Side) -> LinkView {
        let mine = side == .first ? isOrdered.first : isOrdered.second
        let theirs = side == .first ? isOrdered.second : isOrdered.first
        return LinkView(
            object: LinkEnd(key: key, entity: 0),
            partner: LinkEnd(key: link.partner, entity: UInt32(truncatingIfNeeded: link.entityNumber)),
            orderOfPartner: mine ? link.orderOfPartner.map(MemberOrder.key) ?? .null : .none,
            orderOfObject: theirs ? link.orderOfObject.map(MemberOrder.key) ?? .null : .none)
    }

    /// Returns the greatest place among the members that an object had before. Returns nil if there is none.
    func highestOrder(of owner: Int64, side: LinkStore.Side) throws(MigrationError) -> Int64? {
        var highest: Int64?
        for view in try views(of: owner, side: side) {
            if case .key(let key) = view.orderOfPartner { highest = max(highest ?? key, key) }
        }
        return highest
    }
}
