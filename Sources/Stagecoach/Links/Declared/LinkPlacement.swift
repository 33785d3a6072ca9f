import SpillStorage

/// The assignment of ordering keys to the members of ordered relationships. It runs once all links of mapping models exist, so
/// that later policy code finds a key at every member.
struct LinkPlacement {
    let run: MigrationRun

    /// Writes the ordering keys of a store's ordered sides.
    ///
    /// - Complexity: O(n log n) in links, on disk above the run's share for sorting.
    func place(_ store: LinkStore) throws {
        if store.isOrdered(.first) { try place(store, side: .first) }
        if store.isOrdered(.second), !store.isReflexive { try place(store, side: .second) }
        store.givenOrders.removeAll()
    }

    private func place(_ store: LinkStore, side: LinkStore.Side) throws {
        // Words: owner, class (copied, ranked, neither), rank or member, member, both Z_ENTs, kind, value.
        let grouped = run.services.sorter(width: 7)
        let links = try store.live(side: side)
        let given = try store.givenOrders.scan()
        try withRecords(5) { hint, _ in
            var hasHint = try given.next(into: hint)
            while let view = try links.next() {
                let owner = SortKey.encode(view.object.key)
                let member = SortKey.encode(view.partner.key)
                var order = view.orderOfPartner.words
                while hasHint, (hint[0], hint[1]) < (owner, member) { hasHint = try given.next(into: hint) }
                if hasHint, hint[0] == owner, hint[1] == member { order = (hint[2], hint[3]) }
                let place = PlacementClass(kind: order.kind)
                try grouped.append(
                    owner, place.rawValue, place == .ranked ? order.value : member, member,
                    UInt64(view.object.entity) << 32 | UInt64(view.partner.entity), order.kind, order.value)
            }
        }
        let sorted = try grouped.finish()
        try withRecords(7) { record, _ in
            var numbering = OwnerNumbering()
            while try sorted.next(into: record) {
                if numbering.isOther(record[0]), let earlier = store.earlier {
                    let before = try earlier.highestOrder(of: SortKey.decode(record[0]), side: side)
                    numbering.begin(owner: record[0], after: before)
                }
                let order = numbering.order(owner: record[0], MemberOrder(kind: record[5], value: record[6]))
                try store.add(
                    LinkEnd(key: SortKey.decode(record[0]), entity: UInt32(truncatingIfNeeded: record[4] >> 32)),
                    LinkEnd(key: SortKey.decode(record[3]), entity: UInt32(truncatingIfNeeded: record[4])),
                    side: side, orderOfPartner: order.map(MemberOrder.key) ?? .null)
            }
        }
    }
}
