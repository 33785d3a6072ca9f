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

    /// Position among the run's stores.
    let number: Int
    let first: RelationshipDescription
    /// Nil for a relationship without a mutual inverse; the same as `first` where it is its own inverse.
    let second: RelationshipDescription?
    /// Whether the relationship is its own inverse.
    let isReflexive: Bool

    // Words: object, partner, sequence, flags, both Z_ENTs, order of partner, order of object.
    private static let width = 7
    private let forward: RecordLog
    private let backward: RecordLog
    /// Places that mappings give to members whose own side decides the link: owner, member, the words of a
    /// ``MemberOrder``, and a zero. The owner is of the to-many side.
    let givenOrders: RecordLog
    /// The links of rows that were in the store before the mapping model; nil where there are none.
    var earlier: EarlierLinks?
    private var sequence: UInt64 = 0
    private let shapes: (first: Shape, second: Shape)
    /// Greatest ordering keys of owners, by side; those that were asked for last.
    private var highest: [[Int64: Int64]] = [[:], [:]]
    private var gathered: [UInt64] = []
    /// Objects of each side that may have links.
    private var linked: (first: KeyFilter, second: KeyFilter)

    /// What is asked of a side for every link.
    private struct Shape {
        var isExclusive: Bool
        var isOrdered: Bool
    }

    private enum Flag {
        static let added: UInt64 = 1
        /// Two bits: the kind of the partner's ``MemberOrder``.
        static let partnerOrder: UInt64 = 6
        static let partnerShift: UInt64 = 1
        /// Two bits: the kind of the object's ``MemberOrder``.
        static let objectOrder: UInt64 = 24
        static let objectShift: UInt64 = 3
    }

    init(
        number: Int, first: RelationshipDescription, second: RelationshipDescription?, directory: WorkDirectory,
        memory: Int
    ) {
        self.number = number
        self.first = first
        self.second = second
        isReflexive = second == first
        let name = "links-\(first.name)"
        forward = RecordLog(directory: directory, name: name, width: LinkStore.width, indexWords: 2, memory: memory / 4)
        backward = RecordLog(
            directory: directory, name: name, width: LinkStore.width, indexWords: 2, memory: memory / 4)
        givenOrders = RecordLog(directory: directory, name: name, width: 5, indexWords: 2, memory: memory / 4)
        linked = (KeyFilter(bytes: memory / 8), KeyFilter(bytes: memory / 8))
        let own = Shape(isExclusive: !first.isToMany, isOrdered: first.isOrdered)
        // Without an inverse: many objects may refer to one; a to-many's members have one owner's column.
        let other = Shape(
            isExclusive: second.map { !$0.isToMany } ?? first.isToMany, isOrdered: second?.isOrdered ?? false)
        shapes = (own, isReflexive ? own : other)
    }

    /// The relationship of a side; nil on the second side of one without an inverse.
    func relationship(of side: Side) -> RelationshipDescription? { side == .first ? first : second }

    /// Whether an object on a side can have only one partner.
    func isExclusive(_ side: Side) -> Bool { side == .first ? shapes.first.isExclusive : shapes.second.isExclusive }

    /// Whether an object's partners on a side have places.
    func isOrdered(_ side: Side) -> Bool { side == .first ? shapes.first.isOrdered : shapes.second.isOrdered }

    /// Forgets all links.
    func removeAll() {
        forward.removeAll()
        backward.removeAll()
        givenOrders.removeAll()
        highest = [[:], [:]]
        linked.first.removeAll()
        linked.second.removeAll()
    }

    /// Makes lookups fast: worth it before many of them.
    func compact() throws(MigrationError) {
        try forward.compact()
        try backward.compact()
    }

    // MARK: - Changes

    /// Links two objects.
    ///
    /// - Parameters:
    ///   - side: the side on which `object` is the owner.
    ///   - orderOfPartner: the partner's place among the object's members.
    ///   - orderOfObject: the object's place among the partner's members.
    func add(
        _ object: LinkEnd, _ partner: LinkEnd, side: Side, orderOfPartner: MemberOrder = .none,
        orderOfObject: MemberOrder = .none
    ) throws(MigrationError) {
        note(orderOfPartner, of: object.key, side: side)
        note(orderOfObject, of: partner.key, side: side.other)
        try write(object, partner, side, isAdded: true, orderOfPartner, orderOfObject)
    }

    /// Unlinks two objects.
    func remove(_ object: LinkEnd, _ partner: LinkEnd, side: Side) throws(MigrationError) {
        highest[index(side)][object.key] = nil
        highest[index(side.other)][partner.key] = nil
        try write(object, partner, side, isAdded: false, .none, .none)
    }

    private func write(
        _ object: LinkEnd, _ partner: LinkEnd, _ side: Side, isAdded: Bool, _ orderOfPartner: MemberOrder,
        _ orderOfObject: MemberOrder
    ) throws(MigrationError) {
        sequence += 1
        noteLinked(object.key, side)
        noteLinked(partner.key, side.other)
        let base = isAdded ? Flag.added : 0
        let (mine, place) = orderOfPartner.words
        let (yours, placeOfObject) = orderOfObject.words
        let own = base | mine << Flag.partnerShift | yours << Flag.objectShift
        let theirs = base | mine << Flag.objectShift | yours << Flag.partnerShift
        let here = log(side)
        let there = isReflexive ? forward : log(side.other)
        try LinkStore.append(to: here, object, partner, sequence, own, place, placeOfObject)
        if !isReflexive || object.key != partner.key {
            try LinkStore.append(to: there, partner, object, sequence, theirs, placeOfObject, place)
        }
    }

    private func noteLinked(_ key: Int64, _ side: Side) {
        if index(side) == 0 { linked.first.insert(key) } else { linked.second.insert(key) }
    }

    private func mayBeLinked(_ key: Int64, _ side: Side) -> Bool {
        index(side) == 0 ? linked.first.mayContain(key) : linked.second.mayContain(key)
    }

    // MARK: - Places

    private func index(_ side: Side) -> Int { isReflexive || side == .first ? 0 : 1 }

    private func note(_ order: MemberOrder, of owner: Int64, side: Side) {
        guard case .key(let key) = order, let known = highest[index(side)][owner], known < key else { return }
        highest[index(side)][owner] = key
    }

    /// The place of a member that is added at the end: 1024 after the owner's greatest.
    ///
    /// - Complexity: O(1) for owners asked for lately, else O(the owner's links).
    func nextOrder(of owner: Int64, side: Side) throws(MigrationError) -> MemberOrder {
        let place = index(side)
        if let known = highest[place][owner] { return .key(OrderingKey.next(after: known)) }
        var most: Int64?
        for view in try partners(of: owner, side: side) {
            if case .key(let key) = view.orderOfPartner { most = max(most ?? key, key) }
        }
        if highest[place].count >= LinkStore.rememberedOwners { highest[place].removeAll(keepingCapacity: true) }
        highest[place][owner] = most ?? OrderingKey.before
        return .key(OrderingKey.next(after: most ?? OrderingKey.before))
    }

    private static let rememberedOwners = 1024

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

    // MARK: - Reading

    /// The objects that an object is linked to, ascending by key.
    ///
    /// - Complexity: O(changes of the object's links); memory likewise.
    func partners(of key: Int64, side: Side) throws(MigrationError) -> [LinkView] {
        let before = try earlier?.views(of: key, side: side) ?? []
        guard !before.isEmpty || mayBeLinked(key, side) else { return [] }
        let log = log(side)
        var prefix = SortKey.encode(key)
        var found = gathered
        gathered = []
        found.removeAll(keepingCapacity: true)
        defer { gathered = found.capacity <= LinkStore.keptWords ? found : [] }
        // What was there before stands as an addition before the first change.
        for view in before { found.append(contentsOf: LinkStore.words(of: view)) }
        try log.forEach(prefix: &prefix, words: 1) { record in
            found.append(contentsOf: UnsafeBufferPointer(start: record, count: LinkStore.width))
        }
        guard !found.isEmpty else { return [] }
        var views: [LinkView] = []
        found.withUnsafeMutableBufferPointer { words in
            guard let base = words.baseAddress else { return }
            let count = words.count / LinkStore.width
            if count == 1 {
                if base[3] & Flag.added != 0 { views.append(LinkStore.view(base)) }
                return
            }
            // Records of several runs stand one run after the other: by partner, then in the order of the changes.
            let order = (0..<count).sorted { left, right in
                let (one, other) = (base + left * LinkStore.width, base + right * LinkStore.width)
                return (one[1], one[2]) < (other[1], other[2])
            }
            var last: UnsafeMutablePointer<UInt64>?
            for index in order {
                let record = base + index * LinkStore.width
                if let last {
                    if last[1] == record[1] {
                        LinkStore.fold(last, into: record)
                    } else if last[3] & Flag.added != 0 {
                        views.append(LinkStore.view(last))
                    }
                }
                last = record
            }
            if let last, last[3] & Flag.added != 0 { views.append(LinkStore.view(last)) }
        }
        return views
    }

    /// The buffer of ``partners(of:side:)`` is kept up to this size.
    private static let keptWords = 8192

    /// All live links, ascending by object, then partner: those of now, later changes are not seen.
    func live(side: Side) throws(MigrationError) -> LiveLinks { LiveLinks(try log(side).scan(), showsRemoved: false) }

    /// All links that were changed, those that are gone too, ascending by object, then partner.
    func changes(side: Side) throws(MigrationError) -> LiveLinks {
        LiveLinks(try log(side).scan(), showsRemoved: true)
    }

    /// Walks over live links.
    final class LiveLinks {
        private let cursor: RecordCursor
        private let words: UnsafeMutablePointer<UInt64>
        private var has = false
        private let showsRemoved: Bool
        /// Whether the link shown last is there.
        private(set) var isLive = true

        fileprivate init(_ cursor: RecordCursor, showsRemoved: Bool) {
            self.cursor = cursor
            self.showsRemoved = showsRemoved
            words = .allocate(capacity: width * 2)
        }

        deinit { words.deallocate() }

        /// The next link; nil at the end.
        func next() throws(MigrationError) -> LinkView? {
            let (last, record) = (words, words + width)
            while try cursor.next(into: record) {
                var found: LinkView?
                if has, last[0] == record[0], last[1] == record[1] {
                    LinkStore.fold(last, into: record)
                } else if has {
                    found = show(last)
                }
                last.update(from: record, count: width)
                has = true
                if let found { return found }
            }
            guard has else { return nil }
            has = false
            return show(last)
        }

        private func show(_ words: UnsafeMutablePointer<UInt64>) -> LinkView? {
            let isAdded = words[3] & Flag.added != 0
            guard isAdded || showsRemoved else { return nil }
            isLive = isAdded
            return LinkStore.view(words)
        }
    }

    /// The last change of the two objects' link decides; a place that an earlier addition gave stays.
    private static func fold(_ earlier: UnsafeMutablePointer<UInt64>, into later: UnsafeMutablePointer<UInt64>) {
        guard earlier[3] & later[3] & Flag.added != 0 else { return }
        keepOrder(Flag.partnerOrder, word: 5, from: earlier, in: later)
        keepOrder(Flag.objectOrder, word: 6, from: earlier, in: later)
    }

    private static func keepOrder(
        _ flag: UInt64, word: Int, from earlier: UnsafeMutablePointer<UInt64>, in later: UnsafeMutablePointer<UInt64>
    ) {
        guard later[3] & flag == 0, earlier[3] & flag != 0 else { return }
        later[3] |= earlier[3] & flag
        later[word] = earlier[word]
    }

    /// The record of a link that was there before every change.
    private static func words(of view: LinkView) -> [UInt64] {
        let (mine, place) = view.orderOfPartner.words
        let (yours, placeOfObject) = view.orderOfObject.words
        return [
            SortKey.encode(view.object.key), SortKey.encode(view.partner.key), 0,
            Flag.added | mine << Flag.partnerShift | yours << Flag.objectShift,
            UInt64(view.object.entity) << 32 | UInt64(view.partner.entity), place, placeOfObject,
        ]
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
