import SpillStorage

/// What a lookup says about a member's place in an ordered to-many.
enum MemberOrder: Equatable {
    /// Nothing: the place is by ascending key, after the members that have one.
    case none
    /// A copied ordering key.
    case key(Int64)
    /// A copied NULL: it stays NULL.
    case null
    /// A rank in an ordered argument whose keys are not copied: fresh keys, in this order.
    case rank(Int64)

    /// Two words of a record: which case, and its number.
    var words: (kind: UInt64, value: UInt64) {
        switch self {
        case .none: (0, 0)
        case .key(let key): (1, SortKey.encode(key))
        case .null: (2, 0)
        case .rank(let rank): (3, SortKey.encode(rank))
        }
    }

    init(kind: UInt64, value: UInt64) {
        switch kind {
        case 1: self = .key(SortKey.decode(value))
        case 2: self = .null
        case 3: self = .rank(SortKey.decode(value))
        default: self = .none
        }
    }

    /// A word that sorts members as an argument has them: by place where it is ordered, else by source key.
    func rank(orKey key: Int64) -> UInt64 {
        switch self {
        case .key(let order), .rank(let order): SortKey.encode(order)
        case .null: 0
        case .none: SortKey.encode(key)
        }
    }

    var isNone: Bool { self == .none }
}

/// The ordering keys that Core Data gives a fresh ordered relationship (`core-data-formats.md` A.10).
enum OrderingKey {
    /// The key before the first one.
    static let before: Int64 = 1024

    /// The key of position `index`, from 0.
    static func key(at index: Int64) -> Int64 { 2048 + 1024 * index }

    /// The key after a key.
    static func next(after key: Int64) -> Int64 {
        let (next, overflow) = key.addingReportingOverflow(1024)
        return overflow ? .max : next
    }
}
