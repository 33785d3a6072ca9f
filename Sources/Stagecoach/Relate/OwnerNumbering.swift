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
    private var highest: Int64?

    /// Whether an owner is another than the one whose members were numbered last.
    func isOther(_ next: UInt64) -> Bool { owner != next }

    /// Begins an owner that has members already.
    ///
    /// - Parameter highest: their greatest key.
    mutating func begin(owner next: UInt64, after highest: Int64?) {
        owner = next
        self.highest = highest
    }

    /// The ordering key of the next member; nil where it is a copied NULL.
    mutating func order(owner next: UInt64, _ order: MemberOrder) -> Int64? {
        if owner != next {
            owner = next
            highest = nil
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
