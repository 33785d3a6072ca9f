import Diagnostics
import ManagedModel
import PersistentStore
import SpillStorage

/// The links of an inverse pair between rows that were in the store before the mapping model at work: the ground on
/// which a ``LinkStore``'s changes are laid. Read one object at a time, when it is asked about.
final class EarlierLinks {
    private let session: MigrationSession
    private let first: StoredLinks
    private let second: StoredLinks
    private let tables: (first: Int, second: Int)
    private let isOrdered: (first: Bool, second: Bool)

    /// Whether either side of a pair had rows before: links of new rows to them change them too.
    static func arePossible(
        _ first: RelationshipDescription, _ second: RelationshipDescription?, _ session: MigrationSession
    ) -> Bool {
        let schema = session.destinationSchema
        let tables = [first.entity, second?.entity ?? first.destination].map(schema.tableIndex(of:))
        return tables.contains { session.hasRows[$0] }
    }

    /// Nil where neither side had rows before.
    init?(_ store: LinkStore, in destination: DestinationStore, session: MigrationSession) throws(MigrationError) {
        let schema = session.destinationSchema
        let owners = schema.tableIndex(of: store.first.entity)
        let members = schema.tableIndex(of: store.second?.entity ?? store.first.destination)
        guard EarlierLinks.arePossible(store.first, store.second, session),
            let first = try StoredLinks(destination, relationship: store.first, isReversed: false),
            let second = try StoredLinks(
                destination, relationship: store.second ?? store.first, isReversed: store.second == nil)
        else { return nil }
        self.session = session
        self.first = first
        self.second = second
        tables = (owners, members)
        isOrdered = (store.isOrdered(.first), store.isOrdered(.second))
    }

    /// Whether an object on a side was there before.
    func isExisting(_ key: Int64, side: LinkStore.Side) -> Bool {
        session.isExisting(key, table: side == .first ? tables.first : tables.second)
    }

    /// The links of an object that was there before; none of another.
    func views(of key: Int64, side: LinkStore.Side) throws(MigrationError) -> [LinkView] {
        guard isExisting(key, side: side) else { return [] }
        let found = try (side == .first ? first : second).links(of: key)
        let mine = side == .first ? isOrdered.first : isOrdered.second
        let theirs = side == .first ? isOrdered.second : isOrdered.first
        return found.map { link in
            LinkView(
                object: LinkEnd(key: key, entity: 0),
                partner: LinkEnd(key: link.partner, entity: UInt32(truncatingIfNeeded: link.entityNumber)),
                orderOfPartner: mine ? link.orderOfPartner.map(MemberOrder.key) ?? .null : .none,
                orderOfObject: theirs ? link.orderOfObject.map(MemberOrder.key) ?? .null : .none)
        }
    }

    /// The greatest place among the members that an object had before; nil where there is none.
    func highestOrder(of owner: Int64, side: LinkStore.Side) throws(MigrationError) -> Int64? {
        var highest: Int64?
        for view in try views(of: owner, side: side) {
            if case .key(let key) = view.orderOfPartner { highest = max(highest ?? key, key) }
        }
        return highest
    }
}
