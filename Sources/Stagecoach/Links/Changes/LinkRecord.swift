import SpillStorage

/// The encoding of a link change as words: object, partner, sequence and flags, both Z_ENTs; in stores with an order also the
/// words of both places.
///
/// Records are sorted by object, then partner, then time. Of several records for the same two objects the last counts.
enum LinkRecord {
    /// The number of words if no side is ordered.
    static let plainWidth = 4
    /// The number of words if a side is ordered.
    static let orderedWidth = 6

    private static let added: UInt64 = 1
    /// Two bits: the kind of the partner's ``MemberOrder``.
    private static let partnerOrder: UInt64 = 6
    private static let partnerShift: UInt64 = 1
    /// Two bits: the kind of the object's ``MemberOrder``.
    private static let objectOrder: UInt64 = 24
    private static let objectShift: UInt64 = 3
    private static let flagBits: UInt64 = 5

    /// Writes a change of a link, seen from one of its ends. Places are written if the record has room for them.
    static func encode(
        _ link: LinkView, sequence: UInt64, isAdded: Bool, width: Int, into words: UnsafeMutablePointer<UInt64>
    ) {
        words[0] = SortKey.encode(link.object.key)
        words[1] = SortKey.encode(link.partner.key)
        var flags = isAdded ? added : 0
        if width > plainWidth {
            let (mine, place) = link.orderOfPartner.words
            let (yours, placeOfObject) = link.orderOfObject.words
            flags |= mine << partnerShift | yours << objectShift
            words[4] = place
            words[5] = placeOfObject
        }
        words[2] = sequence << flagBits | flags
        words[3] = UInt64(link.object.entity) << 32 | UInt64(link.partner.entity)
    }

    static func isAdded(_ words: UnsafePointer<UInt64>) -> Bool { words[2] & added != 0 }

    static func sequence(_ words: UnsafePointer<UInt64>) -> UInt64 { words[2] >> flagBits }

    static func isSameLink(_ left: UnsafePointer<UInt64>, _ right: UnsafePointer<UInt64>) -> Bool {
        left[0] == right[0] && left[1] == right[1]
    }

    /// Merges a record into a later one of the same link. An addition without a place keeps the place of the before addition.
    static func fold(
        _ before: UnsafePointer<UInt64>, into later: UnsafeMutablePointer<UInt64>, width: Int
    ) {
        guard width > plainWidth, before[2] & later[2] & added != 0 else { return }
        keepOrder(partnerOrder, word: 4, from: before, in: later)
        keepOrder(objectOrder, word: 5, from: before, in: later)
    }

    private static func keepOrder(
        _ flag: UInt64, word: Int, from before: UnsafePointer<UInt64>, in later: UnsafeMutablePointer<UInt64>
    ) {
        guard later[2] & flag == 0, before[2] & flag != 0 else { return }
        later[2] |= before[2] & flag
        later[word] = before[word]
    }

    static func view(_ words: UnsafePointer<UInt64>, width: Int) -> LinkView {
        let isOrdered = width > plainWidth
        return LinkView(
            object: LinkEnd(key: SortKey.decode(words[0]), entity: UInt32(truncatingIfNeeded: words[3] >> 32)),
            partner: LinkEnd(key: SortKey.decode(words[1]), entity: UInt32(truncatingIfNeeded: words[3])),
            orderOfPartner: isOrdered
                ? MemberOrder(kind: (words[2] & partnerOrder) >> partnerShift, value: words[4]) : .none,
            orderOfObject: isOrdered
                ? MemberOrder(kind: (words[2] & objectOrder) >> objectShift, value: words[5]) : .none)
    }
}
