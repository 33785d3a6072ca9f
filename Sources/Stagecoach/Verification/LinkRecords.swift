/// A link of a pair: of an object, the key, to another one.
struct ExpectedLink: SortableRecord {
    /// The key of the object whose row or column holds the link; of a many-to-many pair, that of the near object.
    @Sorted var key: Int64
    @Sorted var value: Int64
    /// The number among records of the same link. The last one counts.
    var sequence = 0
    /// The place among the members of the near relationship.
    @SortedOptional var nearOrder: Int64? = nil
    /// The place among the members of the far relationship.
    @SortedOptional var farOrder: Int64? = nil
    /// The position of the mapping model that made the link.
    var turn: Int

    /// Returns the link with its ends exchanged, or its places, or both.
    func exchanged(ends: Bool, places: Bool) -> ExpectedLink {
        ExpectedLink(
            key: ends ? value : key, value: ends ? key : value, nearOrder: places ? farOrder : nearOrder,
            farOrder: places ? nearOrder : farOrder, turn: turn)
    }
}

/// A wish of an entity mapping: that an object, the owner, have another one, the member, in a relationship.
struct LinkClaim {
    /// The index of the entity mapping that makes the owner.
    let mapping: Int
    let ownerSource: Int64
    /// The index of the entity mapping that makes the member.
    let candidate: Int
    /// The place of the member among those of the source object.
    let position: Int64
    let memberSource: Int64
    let owner: Int64
    let member: Int64
    /// The source's ordering key.
    var order: Int64?
}

/// The claim of one value for an object. The first one counts.
struct ValueClaim: SortableRecord {
    @Sorted var key: Int64
    /// Less for claims of a last owner, which precede those of a first member.
    var rank: UInt64
    @Sorted var source: Int64
    @Sorted var position: Int64
    @Sorted var memberSource: Int64
    @Sorted var value: Int64

    /// Makes the claim that an owner's first member be its value.
    init(first claim: LinkClaim) {
        (key, value) = (claim.owner, claim.member)
        rank = 1 << 32 | UInt64(claim.candidate)
        (source, position, memberSource) = (0, claim.position, claim.memberSource)
    }

    /// Makes the claim that a member's last owner be its value.
    init(last claim: LinkClaim) {
        (key, value) = (claim.member, claim.owner)
        rank = 1 << 32 - 1 - UInt64(claim.mapping)
        // The complement turns the order round.
        (source, position, memberSource) = (~claim.ownerSource, ~claim.position, ~claim.memberSource)
    }
}

/// Two keys: a link of a many-to-many pair, or an object of a one-to-one pair and its value.
struct KeyPair: SortableRecord {
    @Sorted var first: Int64
    @Sorted var second: Int64
}

/// A claim of a one-to-one pair, in the order in which objects are related.
struct SequencedClaim: SortableRecord {
    var mapping: Int
    @Sorted var ownerSource: Int64
    /// The side of the owner, 0 for the near one; 2 is added for the relationship of an object that is set second.
    var sides: Int
    var candidate: Int
    @Sorted var position: Int64
    @Sorted var memberSource: Int64
    @Sorted var owner: Int64
    @Sorted var member: Int64

    var isNear: Bool { sides & 1 == 0 }
}

/// A link of a one-to-one pair at an end, with the time at which it was made.
struct TimedLink: SortableRecord {
    @Sorted var end: Int64
    var time: Int
    @Sorted var other: Int64
    /// 1 if it is the last link of its other end.
    var last = 0
}

/// The ordering key that the source gives a member of an owner.
struct ClaimedPlace: SortableRecord {
    @Sorted var owner: Int64
    @Sorted var member: Int64
    @SortedOptional var order: Int64?
}

/// A member of an owner in the order in which members get their places.
struct PlacedMember: SortableRecord {
    enum Kind: Int {
        /// It keeps the place that the source gives it.
        case given
        /// It keeps the place that it got from an earlier mapping model.
        case earlier
        /// It comes after the members before it.
        case next
    }

    @Sorted var owner: Int64
    var group: UInt64
    @Sorted var rank: Int64
    @Sorted var member: Int64
    var details: Int
    @Sorted var givenPlace: Int64
    @Sorted var givenOrder: Int64

    /// Makes the record of a link whose key is the owner, and whose near place is that of the member.
    ///
    /// - Parameters:
    ///   - isBehind: true for members that come after all those of which it is false.
    ///   - rank: the place that decides among the members; nil comes first.
    init(_ link: ExpectedLink, isBehind: Bool, rank: Int64?, kind: Kind, place: Int64?) {
        (owner, member) = (link.key, link.value)
        group = (isBehind ? 2 : 0) | (rank == nil ? 0 : 1)
        self.rank = rank ?? 0
        details =
            kind.rawValue | (place == nil ? 0 : 4) | (link.farOrder == nil ? 0 : 8) | link.turn << 4
        (givenPlace, givenOrder) = (place ?? 0, link.farOrder ?? 0)
    }

    var kind: Kind { Kind(rawValue: details & 3) ?? .next }
    /// The place that the member keeps.
    var place: Int64? { details & 4 == 0 ? nil : givenPlace }

    /// Returns the link with a place for the member.
    func link(at place: Int64?) -> ExpectedLink {
        ExpectedLink(
            key: owner, value: member, nearOrder: place, farOrder: details & 8 == 0 ? nil : givenOrder,
            turn: details >> 4)
    }
}
