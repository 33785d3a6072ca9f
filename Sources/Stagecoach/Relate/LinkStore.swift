import Diagnostics
import ManagedModel
import SpillStorage

/// One end of a link: a destination object.
struct LinkEnd: Hashable {
    /// Z_PK.
    var key: Int64
    /// Z_ENT.
    var entity: UInt32
}

/// A live link, seen from one of its ends.
struct LinkView {
    /// The object at hand.
    var object: LinkEnd
    /// The other end.
    var partner: LinkEnd
    /// The partner's place among the object's members, where one was given.
    var orderOfPartner: MemberOrder
    /// The object's place among the partner's members, where one was given.
    var orderOfObject: MemberOrder
}

/// The links of one inverse pair while user code may run: set, unset and read from both ends at any time, on disk above
/// the allowance.
///
/// A log of additions and removals in each direction; of several about the same two objects the last counts.
final class LinkStore {
    /// Which relationship of the pair an object is the owner in.
    enum Side {
        case first
        case second

        var other: Side { self == .first ? .second : .first }
    }

    let first: RelationshipDescription
    /// Nil for a relationship without a mutual inverse; the same as `first` where it is its own inverse.
    let second: RelationshipDescription?
    var isReflexive: Bool { second == first }

    // Words: object, partner, sequence, flags, both Z_ENTs, order of partner, order of object.
    private static let width = 7
    private let forward: RecordLog
    private let backward: RecordLog
    /// Side, key and a zero for objects whose relationship a policy set: mappings leave them alone.
    private let touched: RecordLog
    /// Places that mappings give to members whose own side decides the link: owner, member, the words of a
    /// ``MemberOrder``, and a zero. The owner is of the to-many side.
    let givenOrders: RecordLog
    private var sequence: UInt64 = 0

    private enum Flag {
        static let added: UInt64 = 1
        /// Two bits: the kind of the partner's ``MemberOrder``.
        static let partnerOrder: UInt64 = 6
        static let partnerShift: UInt64 = 1
        /// Two bits: the kind of the object's ``MemberOrder``.
        static let objectOrder: UInt64 = 24
        static let objectShift: UInt64 = 3
    }

    init(first: RelationshipDescription, second: RelationshipDescription?, directory: WorkDirectory, memory: Int) {
        self.first = first
        self.second = second
        let name = "links-\(first.name)"
        forward = RecordLog(directory: directory, name: name, width: LinkStore.width, indexWords: 2, memory: memory / 3)
        backward = RecordLog(
            directory: directory, name: name, width: LinkStore.width, indexWords: 2, memory: memory / 3)
        touched = RecordLog(directory: directory, name: name, width: 3, indexWords: 2, memory: memory / 6)
        givenOrders = RecordLog(directory: directory, name: name, width: 5, indexWords: 2, memory: memory / 6)
    }

    /// The side on which a relationship stands.
    func side(of relationship: RelationshipDescription) -> Side { relationship == first ? .first : .second }

    // MARK: - Changes

    /// Links two objects.
    ///
    /// - Parameters:
    ///   - side: the side on which `object` is the owner.
    ///   - orderOfPartner: the partner's place among the object's members.
    func add(_ object: LinkEnd, _ partner: LinkEnd, side: Side, orderOfPartner: MemberOrder = .none)
        throws(MigrationError)
    {
        try write(object, partner, side, isAdded: true, orderOfPartner)
    }

    /// Unlinks two objects.
    func remove(_ object: LinkEnd, _ partner: LinkEnd, side: Side) throws(MigrationError) {
        try write(object, partner, side, isAdded: false, .none)
    }

    private func write(
        _ object: LinkEnd, _ partner: LinkEnd, _ side: Side, isAdded: Bool, _ orderOfPartner: MemberOrder
    ) throws(MigrationError) {
        sequence += 1
        let base = isAdded ? Flag.added : 0
        let (kind, order) = orderOfPartner.words
        let own = base | kind << Flag.partnerShift
        let theirs = base | kind << Flag.objectShift
        let here = log(side)
        let there = isReflexive ? forward : log(side.other)
        try LinkStore.append(to: here, object, partner, sequence, own, order, 0)
        if !isReflexive || object.key != partner.key {
            try LinkStore.append(to: there, partner, object, sequence, theirs, 0, order)
        }
    }

    private func log(_ side: Side) -> RecordLog { isReflexive || side == .first ? forward : backward }

    private static func append(
        to log: RecordLog, _ object: LinkEnd, _ partner: LinkEnd, _ sequence: UInt64, _ flags: UInt64,
        _ orderOfPartner: UInt64, _ orderOfObject: UInt64
    ) throws(MigrationError) {
        var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
            SortKey.encode(object.key), SortKey.encode(partner.key), sequence, flags,
            UInt64(object.entity) << 32 | UInt64(partner.entity), orderOfPartner, orderOfObject
        )
        var failure: MigrationError?
        withUnsafeBytes(of: &words) { bytes in
            guard let base = bytes.bindMemory(to: UInt64.self).baseAddress else { return }
            do throws(MigrationError) { try log.append(base) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    // MARK: - What policies set

    /// Remembers that a policy set the relationship of an object.
    func touch(_ key: Int64, side: Side) throws(MigrationError) {
        guard try !isTouched(key, side: side) else { return }
        try touched.append(sideWord(side), SortKey.encode(key), 0)
    }

    /// Whether a policy set the relationship of an object.
    func isTouched(_ key: Int64, side: Side) throws(MigrationError) -> Bool {
        guard touched.count > 0 else { return false }
        var words = (sideWord(side), SortKey.encode(key))
        var found = false
        var failure: MigrationError?
        withUnsafeBytes(of: &words) { bytes in
            guard let base = bytes.bindMemory(to: UInt64.self).baseAddress else { return }
            do throws(MigrationError) { try touched.forEach(prefix: base, words: 2) { _ in found = true } } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return found
    }

    private func sideWord(_ side: Side) -> UInt64 { isReflexive || side == .first ? 0 : 1 }

    // MARK: - Reading

    /// The objects that an object is linked to, ascending by key.
    ///
    /// - Complexity: O(changes of the object's links); memory likewise.
    func partners(of key: Int64, side: Side) throws(MigrationError) -> [LinkView] {
        var views: [LinkView] = []
        let cursor = try log(side).scan(prefix: [SortKey.encode(key)])
        try LinkStore.forEachLive(cursor) { views.append($0) }
        return views
    }

    /// All live links, ascending by object, then partner.
    func forEachLive(side: Side, _ body: (LinkView) throws(MigrationError) -> Void) throws(MigrationError) {
        try LinkStore.forEachLive(try log(side).scan(), body)
    }

    private static func forEachLive(
        _ cursor: RecordCursor, _ body: (LinkView) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: width * 2)
        defer { words.deallocate() }
        let last = words + width
        var has = false
        // The last change of the two objects' link decides; a place that an earlier addition gave stays.
        while try cursor.next(into: words) {
            if has, last[0] != words[0] || last[1] != words[1] {
                if last[3] & Flag.added != 0 { try body(view(last)) }
            } else if has, last[3] & words[3] & Flag.added != 0 {
                keepOrder(Flag.partnerOrder, word: 5, from: last, in: words)
                keepOrder(Flag.objectOrder, word: 6, from: last, in: words)
            }
            last.update(from: words, count: width)
            has = true
        }
        if has, last[3] & Flag.added != 0 { try body(view(last)) }
    }

    private static func keepOrder(
        _ flag: UInt64, word: Int, from earlier: UnsafeMutablePointer<UInt64>, in later: UnsafeMutablePointer<UInt64>
    ) {
        guard later[3] & flag == 0, earlier[3] & flag != 0 else { return }
        later[3] |= earlier[3] & flag
        later[word] = earlier[word]
    }

    private static func view(_ words: UnsafeMutablePointer<UInt64>) -> LinkView {
        LinkView(
            object: LinkEnd(key: SortKey.decode(words[0]), entity: UInt32(truncatingIfNeeded: words[4] >> 32)),
            partner: LinkEnd(key: SortKey.decode(words[1]), entity: UInt32(truncatingIfNeeded: words[4])),
            orderOfPartner: MemberOrder(
                kind: (words[3] & Flag.partnerOrder) >> Flag.partnerShift, value: words[5]),
            orderOfObject: MemberOrder(kind: (words[3] & Flag.objectOrder) >> Flag.objectShift, value: words[6]))
    }
}
