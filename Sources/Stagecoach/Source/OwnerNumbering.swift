import SpillStorage

/// The order of the groups in which the members of one owner get their places.
enum PlacementClass: UInt64 {
    case copied = 0
    case ranked = 1
    case neither = 2

    /// - Parameter kind: the first word of a ``MemberOrder``.
    init(kind: UInt64) {
        switch kind & MemberOrder.kindBits {
        case 1, 2: self = .copied
        case 3: self = .ranked
        default: self = .neither
        }
    }
}

/// A numbering of the members of each owner in turn: first the members with copied keys, then those with a rank, then the
/// others.
struct OwnerNumbering {
    private var owner: UInt64?
    private var highest: Int64?
    private let before: ((Int64) throws -> Int64?)?

    /// - Parameter before: returns the greatest key among the members that an owner had before; nil: no owner had any.
    init(after before: ((Int64) throws -> Int64?)? = nil) { self.before = before }

    /// Returns the ordering key of the next member. Returns nil for a copied NULL.
    mutating func order(owner next: UInt64, _ order: MemberOrder) throws -> Int64? {
        if owner != next {
            owner = next
            highest = try before?(SortKey.decode(next))
        }
        switch order {
        case .null: return nil
        case .key(let key):
            highest = max(highest ?? key, key)
            return key
        case .rank, .none:
            let next = OrderingKey.next(after: highest ?? OrderingKey.before)
            highest = next
            return next
        }
    }
}
