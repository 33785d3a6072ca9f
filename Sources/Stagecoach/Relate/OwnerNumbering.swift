import SpillStorage

/// In which turn members of one owner get their places.
enum PlacementClass: UInt64 {
    case copied = 0
    case ranked = 1
    case neither = 2

    /// - Parameter kind: the first word of a ``MemberOrder``.
    init(kind: UInt64) {
        switch kind {
        case 1, 2: self = .copied
        case 3: self = .ranked
        default: self = .neither
        }
    }
}

/// Numbers the members of one owner after the other: those with copied keys come first, then those with a rank, then
/// the others.
struct OwnerNumbering {
    private var owner: UInt64?
    private var highest: Int64 = 1024

    /// The ordering key of the next member; nil where it is a copied NULL.
    mutating func order(owner next: UInt64, _ order: MemberOrder) -> Int64? {
        if owner != next {
            owner = next
            highest = 1024
        }
        switch order {
        case .null: return nil
        case .key(let key):
            highest = max(highest, key)
            return key
        case .rank, .none:
            highest = OrderingKey.next(after: highest)
            return highest
        }
    }
}
