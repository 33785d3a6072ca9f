import SpillStorage

/// The place of a member in an ordered to-many, as a lookup gives it.
enum MemberOrder: Equatable {
    /// No place. The member follows the members that have one, in ascending key order.
    case none
    /// A copied ordering key.
    case key(Int64)
    /// A copied NULL, which stays NULL.
    case null
    /// A rank in an ordered argument whose keys are not copied. Members get new keys in this order.
    case rank(Int64)

    /// The encoding as two words of a record: the case and its value.
    var words: (kind: UInt64, value: UInt64) {
        switch self {
        case .none: (0, 0)
        case .key(let key): (1, SortKey.encode(key))
        case .null: (2, 0)
        case .rank(let rank): (3, SortKey.encode(rank))
        }
    }

    /// The bits of the first word that tell the case. A record may keep something else in the others.
    static let kindBits: UInt64 = 3

    init(kind: UInt64, value: UInt64) {
        switch kind & MemberOrder.kindBits {
        case 1: self = .key(SortKey.decode(value))
        case 2: self = .null
        case 3: self = .rank(SortKey.decode(value))
        default: self = .none
        }
    }

    /// Returns a word that sorts members in an argument's order: by place if it is ordered, otherwise by source key.
    func rank(orKey key: Int64) -> UInt64 {
        switch self {
        case .key(let order), .rank(let order): SortKey.encode(order)
        case .null: 0
        case .none: SortKey.encode(key)
        }
    }

    var isNone: Bool { self == .none }
}

/// The ordering keys that Core Data gives the members of a new ordered relationship: 2048, 3072, 4096 and so on.
enum OrderingKey {
    /// The key before the first one.
    static let before: Int64 = 1024

    /// Returns the key of a position, counted from 0.
    static func key(at index: Int64) -> Int64 { 2048 + 1024 * index }

    /// Returns the key that follows a key.
    static func next(after key: Int64) -> Int64 {
        let (next, overflow) = key.addingReportingOverflow(1024)
        return overflow ? .max : next
    }
}
