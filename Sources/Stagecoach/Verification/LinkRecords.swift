/// A link of a pair: of an object, the key, to another one.
struct ExpectedLink: SortableRecord {
    /// The key of the object whose row or column holds the link; of a many-to-many pair, that of the near object.
    let key: Int64
    let value: Int64
    /// The place among the members of the near relationship.
    var nearOrder: Int64?
    /// The place among the members of the far relationship.
    var farOrder: Int64?
    /// The position of the mapping model that made the link.
    let turn: Int
    /// The number among records of the same link. The last one counts.
    var sequence = 0

    static let width = 8

    init(key: Int64, value: Int64, turn: Int) {
        (self.key, self.value, self.turn) = (key, value, turn)
    }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        key = fields.key()
        value = fields.key()
        sequence = fields.number()
        nearOrder = fields.optional()
        farOrder = fields.optional()
        turn = fields.number()
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(key)
        fields.write(value)
        fields.write(sequence)
        fields.write(nearOrder)
        fields.write(farOrder)
        fields.write(turn)
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
    let key: Int64
    let precedence: (UInt64, UInt64, UInt64, UInt64)
    let value: Int64

    static let width = 6

    /// Makes the claim that an owner's first member be its value.
    init(first claim: LinkClaim) {
        key = claim.owner
        precedence = (
            1 << 32 | UInt64(claim.candidate), Self.word(claim.position), Self.word(claim.memberSource), 0
        )
        value = claim.member
    }

    /// Makes the claim that a member's last owner be its value. It precedes those for a first member.
    init(last claim: LinkClaim) {
        key = claim.member
        precedence = (
            UInt64(UInt32.max - UInt32(claim.mapping)), ~Self.word(claim.ownerSource), ~Self.word(claim.position),
            ~Self.word(claim.memberSource)
        )
        value = claim.owner
    }

    private static func word(_ number: Int64) -> UInt64 { UInt64(bitPattern: number) ^ 1 << 63 }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        key = fields.key()
        precedence = (fields.word(), fields.word(), fields.word(), fields.word())
        value = fields.key()
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(key)
        fields.write(precedence.0)
        fields.write(precedence.1)
        fields.write(precedence.2)
        fields.write(precedence.3)
        fields.write(value)
    }
}

/// Two keys: a link of a many-to-many pair, or an object of a one-to-one pair and its value.
struct KeyPair: SortableRecord {
    let first: Int64
    let second: Int64

    static let width = 2

    init(first: Int64, second: Int64) { (self.first, self.second) = (first, second) }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        first = fields.key()
        second = fields.key()
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(first)
        fields.write(second)
    }
}

/// A claim of a one-to-one pair, in the order in which objects are related.
struct SequencedClaim: SortableRecord {
    let mapping: Int
    let ownerSource: Int64
    /// 0 for the relationship of an object that is set first, 1 for the other.
    let turn: Int
    /// True if the owner is an object of the near side.
    let isNear: Bool
    let candidate: Int
    let position: Int64
    let memberSource: Int64
    let owner: Int64
    let member: Int64

    static let width = 8

    init(_ claim: LinkClaim, isNear: Bool, turn: Int) {
        self.isNear = isNear
        mapping = claim.mapping
        ownerSource = claim.ownerSource
        self.turn = turn
        candidate = claim.candidate
        position = claim.position
        memberSource = claim.memberSource
        owner = claim.owner
        member = claim.member
    }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        mapping = fields.number()
        ownerSource = fields.key()
        let sides = fields.number()
        turn = sides >> 1
        isNear = sides & 1 == 1
        candidate = fields.number()
        position = fields.key()
        memberSource = fields.key()
        owner = fields.key()
        member = fields.key()
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(mapping)
        fields.write(ownerSource)
        fields.write(turn << 1 | (isNear ? 1 : 0))
        fields.write(candidate)
        fields.write(position)
        fields.write(memberSource)
        fields.write(owner)
        fields.write(member)
    }
}

/// A link of a one-to-one pair at an end, with the time at which it was made.
struct TimedLink: SortableRecord {
    let end: Int64
    let time: Int
    let other: Int64
    /// True if it is the last link of its other end.
    let isLast: Bool

    static let width = 4

    init(end: Int64, time: Int, other: Int64, isLast: Bool) {
        (self.end, self.time, self.other, self.isLast) = (end, time, other, isLast)
    }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        end = fields.key()
        time = fields.number()
        other = fields.key()
        isLast = fields.number() == 1
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(end)
        fields.write(time)
        fields.write(other)
        fields.write(isLast ? 1 : 0)
    }
}

/// The ordering key that the source gives a member of an owner.
struct ClaimedPlace: SortableRecord {
    let owner: Int64
    let member: Int64
    let order: Int64?

    static let width = 4

    init(_ claim: LinkClaim) { (owner, member, order) = (claim.owner, claim.member, claim.order) }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        owner = fields.key()
        member = fields.key()
        order = fields.optional()
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(owner)
        fields.write(member)
        fields.write(order)
    }
}

/// A link by its owner and member, while members are put in order.
struct OwnedLink: SortableRecord {
    let owner: Int64
    let member: Int64
    /// The place among the owner's members.
    let order: Int64?
    /// The place of the owner among the member's objects.
    let otherOrder: Int64?
    let turn: Int

    static let width = 7

    init(owner: Int64, member: Int64, order: Int64?, otherOrder: Int64?, turn: Int) {
        (self.owner, self.member, self.order, self.otherOrder, self.turn) = (owner, member, order, otherOrder, turn)
    }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        owner = fields.key()
        member = fields.key()
        order = fields.optional()
        otherOrder = fields.optional()
        turn = fields.number()
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(owner)
        fields.write(member)
        fields.write(order)
        fields.write(otherOrder)
        fields.write(turn)
    }
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

    let owner: Int64
    /// True for members that come after all those of which it is false.
    let isBehind: Bool
    /// The place that decides among the members; nil comes first.
    let rank: Int64?
    let member: Int64
    let kind: Kind
    let place: Int64?
    let otherOrder: Int64?
    let turn: Int

    // The owner, two flags and the rank, the member, four flags and the mapping model, two places.
    static let width = 7

    init(_ link: OwnedLink, isBehind: Bool, rank: Int64?, kind: Kind, place: Int64?) {
        owner = link.owner
        member = link.member
        otherOrder = link.otherOrder
        turn = link.turn
        (self.isBehind, self.rank, self.kind, self.place) = (isBehind, rank, kind, place)
    }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        owner = fields.key()
        let order = fields.number()
        isBehind = order & 2 != 0
        let rank = fields.key()
        self.rank = order & 1 != 0 ? rank : nil
        member = fields.key()
        let flags = fields.number()
        kind = Kind(rawValue: flags & 3) ?? .next
        turn = flags >> 4
        let (place, other) = (fields.key(), fields.key())
        self.place = flags & 4 != 0 ? place : nil
        otherOrder = flags & 8 != 0 ? other : nil
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(owner)
        fields.write((isBehind ? 2 : 0) | (rank == nil ? 0 : 1))
        fields.write(rank ?? Int64(0))
        fields.write(member)
        fields.write(kind.rawValue | (place == nil ? 0 : 4) | (otherOrder == nil ? 0 : 8) | turn << 4)
        fields.write(place ?? Int64(0))
        fields.write(otherOrder ?? Int64(0))
    }
}

/// A row of a join table.
struct FoundLink: SortableRecord {
    let near: Int64
    let far: Int64
    let nearOrder: Int64?
    let farOrder: Int64?

    static let width = 6

    init(near: Int64, far: Int64, nearOrder: Int64?, farOrder: Int64?) {
        (self.near, self.far, self.nearOrder, self.farOrder) = (near, far, nearOrder, farOrder)
    }

    init(words: UnsafePointer<UInt64>) {
        var fields = RecordReading(words)
        near = fields.key()
        far = fields.key()
        nearOrder = fields.optional()
        farOrder = fields.optional()
    }

    func write(to words: UnsafeMutablePointer<UInt64>) {
        var fields = RecordFields(words)
        fields.write(near)
        fields.write(far)
        fields.write(nearOrder)
        fields.write(farOrder)
    }
}
