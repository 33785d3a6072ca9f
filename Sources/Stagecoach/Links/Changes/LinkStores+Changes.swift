import Diagnostics
import SpillStorage

// The changes of links by policy code. The inverse is updated at once.
extension LinkStores {
    /// Sets the partners of an object as policy code does. The inverse is updated at once, links that the new ones exclude are
    /// removed, and links that stay keep their place on the other side.
    ///
    /// - Parameter members: the members in order, without duplicates. In an ordered relationship, members without a place get
    ///   2048 + 1024 * position.
    /// - Complexity: in a plain store O(log n) amortised per member; in an ordered one O(links before and after) to read, and
    ///   O(links that change) to write; memory likewise.
    func set(
        _ owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side, to members: [LinkMember]
    ) throws(MigrationError) {
        let present = store.isPlain ? [] : try store.partners(of: owner.key, side: side)
        if let changes, !isFree {
            let grown = SetRelationship(store: store.number, isFirst: side == .first, owner: owner.key)
            let last = recentSets[grown]
            // If a set only grew, just the new members are noted, because policies often add members one at a time. Calls in
            // between may take members away when they are made again, if default methods are among them.
            let isGrown =
                last?.count == present.count && (!hasDeclared || last?.sequence == changes.sequence)
                && LinkStores.isPrefix(present, of: members, isOrdered: store.isOrdered(side))
            let noted = isGrown ? Array(members.dropFirst(present.count)) : members
            if !isGrown || !noted.isEmpty {
                try note(
                    LinkChange(
                        kind: isGrown ? .add : .set, store: store.number, side: side, owner: owner, members: noted))
            }
            if recentSets.count >= LinkStores.rememberedSets { recentSets.removeAll() }
            if store.isOrdered(side) { recentSets[grown] = (members.count, changes.sequence) }
        }
        try apply(owner, store, side, present, members)
    }

    /// Tells whether the members begin with those present, in their order and numbered without a gap.
    private static func isPrefix(_ present: [LinkView], of members: [LinkMember], isOrdered: Bool) -> Bool {
        guard isOrdered, members.count >= present.count, members.allSatisfy(\.order.isNone) else { return false }
        return LinkView.inOrder(present).enumerated().allSatisfy { position, view in
            view.partner.key == members[position].end.key
                && view.orderOfPartner == .key(OrderingKey.key(at: Int64(position)))
        }
    }

    /// Adds a member at the end of a to-many relationship, as policy code does.
    ///
    /// - Complexity: O(log n) amortised, whatever the number of members, if members were added to the owner recently.
    func add(
        _ member: LinkEnd, to owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side
    ) throws(MigrationError) {
        try note(.add, member, of: owner, store, side)
        try applyAddition(of: member, to: owner, store, side)
    }

    /// Removes a member from a to-many relationship, as policy code does. Does nothing if it is not a member.
    ///
    /// - Complexity: O(log n) amortised, whatever the number of members.
    func remove(
        _ member: LinkEnd, from owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side
    ) throws(MigrationError) {
        try note(.remove, member, of: owner, store, side)
        try applyRemoval(of: member, from: owner, store, side)
    }

    private func note(
        _ kind: LinkChange.Kind, _ member: LinkEnd, of owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side
    ) throws(MigrationError) {
        guard !isFree else { return }
        recentSets[SetRelationship(store: store.number, isFirst: side == .first, owner: owner.key)] = nil
        try note(
            LinkChange(kind: kind, store: store.number, side: side, owner: owner, members: [LinkMember(end: member)]))
    }

    /// Returns the number of an object's partners.
    ///
    /// - Complexity: O(1) for the owner queried last if since then only its own members were added and removed; else O(its
    ///   links).
    func count(of owner: Int64, _ store: LinkStore, _ side: LinkStore.Side) throws(MigrationError) -> Int {
        if let counted, counted.isOf(owner, store, side), counted.sequence == store.sequence { return counted.count }
        let count = try store.partners(of: owner, side: side).count
        counted = CountedMembers(
            store: store.number, side: side, owner: owner, sequence: store.sequence, count: count)
        return count
    }

    func applyAddition(
        of member: LinkEnd, to owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side
    ) throws(MigrationError) {
        let known = counted.flatMap { $0.isOf(owner.key, store, side) && $0.sequence == store.sequence ? $0 : nil }
        if !store.isPlain || known != nil, try store.link(of: owner.key, to: member.key, side: side) != nil { return }
        try unlinkExclusive(store, member, from: side.other, but: owner)
        var order = MemberOrder.none
        var own = MemberOrder.none
        if store.isOrdered(side) { order = try store.nextOrder(of: owner.key, side: side) }
        if store.isOrdered(side.other), !store.isReflexive || owner.key != member.key {
            own = try store.nextOrder(of: member.key, side: side.other)
        }
        try store.add(owner, member, side: side, orderOfPartner: order, orderOfObject: own)
        if let known { counted = known.changed(by: 1, in: store) }
    }

    func applyRemoval(
        of member: LinkEnd, from owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side
    ) throws(MigrationError) {
        let known = counted.flatMap { $0.isOf(owner.key, store, side) && $0.sequence == store.sequence ? $0 : nil }
        guard try store.link(of: owner.key, to: member.key, side: side) != nil else { return }
        try store.remove(owner, member, side: side)
        if let known { counted = known.changed(by: -1, in: store) }
    }

    func apply(
        _ owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side, _ present: [LinkView], _ members: [LinkMember]
    ) throws(MigrationError) {
        if store.isPlain {
            if members.isEmpty || !store.isExclusive(side) { try store.reset(owner, side: side) }
            for member in members { try store.add(owner, member.end, side: side) }
            return
        }
        if !present.isEmpty {
            let wanted = members.count > 8 ? Set(members.map(\.end.key)) : []
            for view in present {
                let stays =
                    members.count > 8
                    ? wanted.contains(view.partner.key) : members.contains { $0.end.key == view.partner.key }
                if !stays { try store.remove(owner, view.partner, side: side) }
            }
        }
        // The present links ascend by the keys of their partners.
        func presentOrder(_ key: Int64) -> MemberOrder? {
            var (low, high) = (0, present.count)
            while low < high {
                let middle = (low + high) / 2
                if present[middle].partner.key < key { low = middle + 1 } else { high = middle }
            }
            guard low < present.count, present[low].partner.key == key else { return nil }
            return present[low].orderOfPartner
        }
        for (position, member) in members.enumerated() {
            try place(member, at: Int64(position), of: owner, store, side, before: presentOrder(member.end.key))
        }
    }

    /// Places one member of a set in a store that is not plain.
    ///
    /// - Parameters:
    ///   - position: the member's position in the set.
    ///   - before: the previous place if it is a member already; nil if it is not.
    private func place(
        _ member: LinkMember, at position: Int64, of owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side,
        before: MemberOrder?
    ) throws(MigrationError) {
        var order = MemberOrder.none
        if store.isOrdered(side) { order = member.order.isNone ? .key(OrderingKey.key(at: position)) : member.order }
        if let before {
            if !order.isNone, order != before { try store.add(owner, member.end, side: side, orderOfPartner: order) }
            return
        }
        try unlinkExclusive(store, member.end, from: side.other, but: owner)
        var own = MemberOrder.none
        if store.isOrdered(side.other), !store.isReflexive || owner.key != member.end.key {
            own = try store.nextOrder(of: member.end.key, side: side.other)
        }
        try store.add(owner, member.end, side: side, orderOfPartner: order, orderOfObject: own)
    }

    /// Sets the partners of an object as ``set(_:_:_:to:)`` does, if there are too many to hold in memory.
    ///
    /// The new members come by key in parallel with those present, so removed and kept members are known without holding either
    /// list. If the members are ordered as they were found, they are sorted once more.
    ///
    /// - Complexity: O(n log n) in the members before and after; the memory of two external sorts.
    func set(
        _ owner: LinkEnd, _ store: LinkStore, _ side: LinkStore.Side, to members: ManyMembers
    ) throws {
        precondition(isFree && store.canStreamPartners, "a set that has to be remembered is held")
        let present = try store.livePartners(of: owner.key, side: side)
        var next = try present.next()
        let found = try members.finish()
        var position: Int64 = 0
        while let (member, sequence) = try found.next() {
            while let view = next, view.partner.key < member.end.key {
                try store.remove(owner, view.partner, side: side)
                next = try present.next()
            }
            var before: MemberOrder?
            if let view = next, view.partner.key == member.end.key {
                before = view.orderOfPartner
                next = try present.next()
            }
            if members.isByFinding {
                try members.append(member, found: sequence, before: before)
            } else {
                try place(member, at: position, of: owner, store, side, before: before)
                position += 1
            }
        }
        while let view = next {
            try store.remove(owner, view.partner, side: side)
            next = try present.next()
        }
        guard members.isByFinding else { return }
        let placed = try members.finishByFinding()
        while let (member, before) = try placed.next() {
            try place(member, at: position, of: owner, store, side, before: before)
            position += 1
        }
    }
}

/// A relationship of an object.
struct SetRelationship: Hashable {
    let store: Int
    let isFirst: Bool
    let owner: Int64
}

/// The number of an object's members, valid while nothing else changes in their store.
struct CountedMembers {
    let store: Int
    let side: LinkStore.Side
    let owner: Int64
    /// The sequence number of the store when the members were counted.
    let sequence: UInt64
    let count: Int

    func isOf(_ owner: Int64, _ store: LinkStore, _ side: LinkStore.Side) -> Bool {
        self.owner == owner && self.store == store.number && self.side == side
    }

    func changed(by difference: Int, in store: LinkStore) -> CountedMembers {
        CountedMembers(
            store: self.store, side: side, owner: owner, sequence: store.sequence, count: count + difference)
    }
}

/// An object to which a relationship is set, and its place if one is given.
struct LinkMember {
    var end: LinkEnd
    var order: MemberOrder = .none
}
