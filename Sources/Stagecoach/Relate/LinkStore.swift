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

    /// Links of one object, ascending by partner, by their partners' places. Members without a place of their own follow
    /// in ascending key order.
    static func inOrder(_ views: [LinkView]) -> [LinkView] {
        func rank(_ view: LinkView) -> Int64 {
            switch view.orderOfPartner {
            case .key(let key), .rank(let key): key
            case .null: .min
            case .none: .max
            }
        }
        // Most often they stand in order already.
        let isInOrder = views.indices.dropFirst().allSatisfy { rank(views[$0 - 1]) <= rank(views[$0]) }
        if isInOrder { return views }
        return views.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(
            \.element)
    }
}

/// What changes of links have cost.
package struct LinkStatistics: Sendable, Equatable {
    /// Changes written, each once however many logs it goes to.
    package var writtenRecords = 0
    /// Changes and stored links read when somebody asked for an object's links.
    package var readRecords = 0
}

/// The links of one inverse pair while user code may run: set, unset and read from both ends at any time, on disk above
/// the shared memory.
///
/// A log of changes in each direction, of which the last about the same two objects counts. Where no side has an order
/// (``isPlain``), a change reads nothing: which of the additions still hold follows from the order of the changes alone.
/// A link holds where its last change is an addition, neither of its objects was reset since (``reset(_:side:)``), and
/// neither got another partner since on a side on which it can have only one. ``settle()`` finds those that hold by
/// merging the logs in key order. Where a side is ordered, a new link's place depends on the others of its owner, and
/// who changes a link removes explicitly what it excludes.
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
    /// Whether no side has an order, and no links are there from before.
    let isPlain: Bool
    /// Words of a change.
    let width: Int
    private let shapes: (first: Shape, second: Shape)

    /// Links that held when they were last sought, by their objects on each side; of plain stores only.
    var settled: (first: RecordLog, second: RecordLog)
    /// Changes since.
    let recent: (first: RecordLog, second: RecordLog)
    /// Resets since: key, sequence.
    let resets: (first: RecordLog, second: RecordLog)
    /// Objects of each side that recent changes and resets name.
    @exclusivity(unchecked) private var touched: (first: KeyFilter, second: KeyFilter)
    /// Places that mappings give to members whose own side decides the link: owner, member, the words of a
    /// ``MemberOrder``, and a zero. The owner is of the to-many side.
    let givenOrders: RecordLog
    let makeLog: (Int) -> RecordLog
    let makeSorter: (Int) -> RecordSorter
    /// The links of rows that were in the store before the mapping model; nil where there are none.
    var earlier: EarlierLinks?
    /// The number of changes so far.
    @exclusivity(unchecked) private(set) var sequence: UInt64 = 0
    /// Greatest ordering keys of owners, by side; those that were asked for last.
    private var highest: [[Int64: Int64]] = [[:], [:]]
    /// Records written and read, for tests of what changes cost.
    private(set) var statistics = LinkStatistics()
    @exclusivity(unchecked) private var gathered: [UInt64] = []
    private let record: UnsafeMutablePointer<UInt64>
    /// The two words that records are looked up by.
    private let prefix: UnsafeMutablePointer<UInt64>
    /// What reading unsettled changes has cost, in records.
    @exclusivity(unchecked) private var debt = 0

    /// What is asked of a side for every link.
    private struct Shape {
        var isExclusive: Bool
        var isOrdered: Bool
    }

    /// An empty store.
    ///
    /// - Parameters:
    ///   - memory: what all stores of a run share.
    ///   - filterBytes: for each of the two filters of its own.
    ///   - isOverEarlier: whether links of rows that were in the store before will be laid under it.
    ///   - makeSorter: gives an external sort of so many words.
    init(
        number: Int, first: RelationshipDescription, second: RelationshipDescription?, directory: WorkDirectory,
        memory: RecordMemory, filterBytes: Int, isOverEarlier: Bool = false,
        makeSorter: @escaping (Int) -> RecordSorter
    ) {
        self.number = number
        self.first = first
        self.second = second
        self.makeSorter = makeSorter
        isReflexive = second == first
        let own = Shape(isExclusive: !first.isToMany, isOrdered: first.isOrdered)
        // Without an inverse: many objects may refer to one; a to-many's members have one owner's column.
        let other = Shape(
            isExclusive: second.map { !$0.isToMany } ?? first.isToMany, isOrdered: second?.isOrdered ?? false)
        shapes = (own, isReflexive ? own : other)
        isPlain = !shapes.first.isOrdered && !shapes.second.isOrdered && !isOverEarlier
        width = isPlain ? LinkRecord.plainWidth : LinkRecord.orderedWidth
        let name = "links-\(first.name)"
        makeLog = { width in
            RecordLog(directory: directory, name: name, width: width, indexWords: min(2, width), memory: memory)
        }
        recent = (makeLog(width), makeLog(width))
        settled = (makeLog(width), makeLog(width))
        resets = (makeLog(2), makeLog(2))
        givenOrders = makeLog(5)
        touched = (KeyFilter(bytes: filterBytes), KeyFilter(bytes: filterBytes))
        record = .allocate(capacity: width)
        record.initialize(repeating: 0, count: width)
        prefix = .allocate(capacity: 2)
        prefix.initialize(repeating: 0, count: 2)
    }

    deinit {
        record.deallocate()
        prefix.deallocate()
    }

    /// The relationship of a side; nil on the second side of one without an inverse.
    func relationship(of side: Side) -> RelationshipDescription? { side == .first ? first : second }

    /// Whether an object on a side can have only one partner.
    func isExclusive(_ side: Side) -> Bool { side == .first ? shapes.first.isExclusive : shapes.second.isExclusive }

    /// Whether an object's partners on a side have places.
    func isOrdered(_ side: Side) -> Bool { side == .first ? shapes.first.isOrdered : shapes.second.isOrdered }

    /// Forgets all links.
    func removeAll() {
        settled.first.removeAll()
        settled.second.removeAll()
        givenOrders.removeAll()
        highest = [[:], [:]]
        forgetRecent()
    }

    /// Forgets the changes that are settled.
    func forgetRecent() {
        for log in [recent.first, recent.second, resets.first, resets.second] { log.removeAll() }
        touched.first.removeAll()
        touched.second.removeAll()
        debt = 0
    }

    /// Writes the store's state; what is in memory goes to its logs' files.
    func save(to state: inout StateWriter) throws(MigrationError) {
        for log in logs { try log.save(to: &state) }
        state.write(sequence)
    }

    /// Takes over a store that was written; this one is empty.
    ///
    /// - Complexity: O(changes that are not settled).
    func restore(from state: inout StateReader) throws(MigrationError) {
        for log in logs { try log.restore(from: &state) }
        sequence = try state.word()
        for (side, changes, resets) in [
            (Side.first, recent.first, resets.first), (.second, recent.second, resets.second),
        ] {
            for log in [changes, resets] where log.count > 0 {
                let words = UnsafeMutablePointer<UInt64>.allocate(capacity: log.width)
                defer { words.deallocate() }
                let cursor = try log.scan()
                while try cursor.next(into: words) { touch(SortKey.decode(words[0]), side) }
            }
        }
    }

    private var logs: [RecordLog] {
        [recent.first, recent.second, settled.first, settled.second, resets.first, resets.second, givenOrders]
    }

    /// Makes lookups in an ordered store fast: worth it before many of them. A plain one sees to it by itself.
    func compact() throws(MigrationError) {
        guard !isPlain else { return }
        try recent.first.compact()
        try recent.second.compact()
    }

    // MARK: - Changes

    /// Links two objects. In a plain store what the link excludes is unlinked.
    ///
    /// - Parameters:
    ///   - side: the side on which `object` is the owner.
    ///   - orderOfPartner: the partner's place among the object's members.
    ///   - orderOfObject: the object's place among the partner's members.
    func add(
        _ object: LinkEnd, _ partner: LinkEnd, side: Side, orderOfPartner: MemberOrder = .none,
        orderOfObject: MemberOrder = .none
    ) throws(MigrationError) {
        if !isPlain {
            if isBelowHighest(orderOfPartner, of: object.key, side: side)
                || isBelowHighest(orderOfObject, of: partner.key, side: side.other),
                let before = try link(of: object.key, to: partner.key, side: side)
            {
                // A member that stood last may go to another place.
                forgetHighest(before.orderOfPartner, of: object.key, side: side)
                forgetHighest(before.orderOfObject, of: partner.key, side: side.other)
            }
            note(orderOfPartner, of: object.key, side: side)
            note(orderOfObject, of: partner.key, side: side.other)
        }
        try write(object, partner, side, isAdded: true, orderOfPartner, orderOfObject)
    }

    /// Unlinks two objects.
    func remove(_ object: LinkEnd, _ partner: LinkEnd, side: Side) throws(MigrationError) {
        if !isPlain, highest[index(side)][object.key] != nil || highest[index(side.other)][partner.key] != nil {
            let link = try link(of: object.key, to: partner.key, side: side)
            forgetHighest(link?.orderOfPartner, of: object.key, side: side)
            forgetHighest(link?.orderOfObject, of: partner.key, side: side.other)
        }
        try write(object, partner, side, isAdded: false, .none, .none)
    }

    /// Unlinks an object of a plain store from all partners it has.
    ///
    /// - Complexity: O(log n) amortised, however many there are.
    func reset(_ object: LinkEnd, side: Side) throws(MigrationError) {
        precondition(isPlain, "what an ordered store's objects lose is removed link by link")
        sequence += 1
        touch(object.key, side)
        record[0] = SortKey.encode(object.key)
        record[1] = sequence
        try resets(index(side)).append(record)
    }

    private func isBelowHighest(_ order: MemberOrder, of owner: Int64, side: Side) -> Bool {
        guard !order.isNone, let highest = highest[index(side)][owner] else { return false }
        if case .key(let key) = order { return key < highest }
        return true
    }

    /// Where a member goes that stands last, the greatest key is another's.
    private func forgetHighest(_ order: MemberOrder?, of owner: Int64, side: Side) {
        guard let highest = highest[index(side)][owner] else { return }
        if case .key(let key)? = order, key < highest { return }
        self.highest[index(side)][owner] = nil
    }

    private func write(
        _ object: LinkEnd, _ partner: LinkEnd, _ side: Side, isAdded: Bool, _ orderOfPartner: MemberOrder,
        _ orderOfObject: MemberOrder
    ) throws(MigrationError) {
        sequence += 1
        touch(object.key, side)
        touch(partner.key, side.other)
        let change = LinkRecord.Change(
            object: object, partner: partner, sequence: sequence, isAdded: isAdded, orderOfPartner: orderOfPartner,
            orderOfObject: orderOfObject)
        LinkRecord.encode(change, width: width, into: record)
        statistics.writtenRecords += 1
        try recent(side).append(record)
        guard !isReflexive || object.key != partner.key else { return }
        LinkRecord.encode(change.reversed, width: width, into: record)
        try recent(side.other).append(record)
    }

    private func touch(_ key: Int64, _ side: Side) {
        if index(side) == 0 { touched.first.insert(key) } else { touched.second.insert(key) }
    }

    private func isTouched(_ key: Int64, _ side: Side) -> Bool {
        index(side) == 0 ? touched.first.mayContain(key) : touched.second.mayContain(key)
    }

    func recent(_ side: Side) -> RecordLog { index(side) == 0 ? recent.first : recent.second }
    func settled(_ side: Side) -> RecordLog { index(side) == 0 ? settled.first : settled.second }
    func resets(_ index: Int) -> RecordLog { index == 0 ? resets.first : resets.second }

    // MARK: - Places

    /// Both sides of a relationship that is its own inverse are one.
    func index(_ side: Side) -> Int { isReflexive || side == .first ? 0 : 1 }

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

    // MARK: - Reading

    /// Whether an object's links were changed since the mapping model began; of stores over links of before.
    func hasChanged(_ key: Int64, side: Side) throws(MigrationError) -> Bool {
        guard isTouched(key, side) else { return false }
        var prefix = SortKey.encode(key)
        var isFound = false
        try recent(side).forEach(prefix: &prefix, words: 1) { _ in isFound = true }
        return isFound
    }

    /// Whether there are changes that are not settled.
    var hasRecent: Bool { recent.first.count > 0 || resets.first.count > 0 || resets.second.count > 0 }

    /// The objects that an object is linked to, ascending by key.
    ///
    /// - Complexity: O(changes of the object's links and of its partners' since they were settled last, which reading
    ///   does once it has read as many as there are); memory likewise.
    func partners(of key: Int64, side: Side) throws(MigrationError) -> [LinkView] {
        try views(of: key, to: nil, side)
    }

    /// The link of two objects; nil where there is none.
    ///
    /// - Complexity: O(changes of the link), in a plain store those of an object that can have only one partner.
    func link(of key: Int64, to partner: Int64, side: Side) throws(MigrationError) -> LinkView? {
        // Whether it holds depends on the object's other partners.
        if isPlain, isExclusive(side) { return try partners(of: key, side: side).first { $0.partner.key == partner } }
        return try views(of: key, to: partner, side).first
    }

    /// - Parameter partner: the one that is asked about; nil: all.
    private func views(of key: Int64, to partner: Int64?, _ side: Side) throws(MigrationError) -> [LinkView] {
        if isPlain, hasRecent, debt > 1024 + 2 * (settled.first.count + recent.first.count) { try settle() }
        let before: [LinkView]
        if let partner {
            before = try earlier?.view(of: key, to: partner, side: side).map { [$0] } ?? []
        } else {
            before = try earlier?.views(of: key, side: side) ?? []
        }
        let isOwnTouched = isTouched(key, side)
        var found = gathered
        gathered = []
        found.removeAll(keepingCapacity: true)
        defer { gathered = found.capacity <= LinkStore.keptWords ? found : [] }
        // What was there before stands as an addition before the first change.
        for view in before { found.append(contentsOf: words(of: view)) }
        prefix[0] = SortKey.encode(key)
        if let partner { prefix[1] = SortKey.encode(partner) }
        let words = partner == nil ? 1 : 2
        let width = width
        func gather(_ log: RecordLog) throws(MigrationError) {
            try log.forEach(prefix: prefix, words: words) { record in
                found.append(contentsOf: UnsafeBufferPointer(start: record, count: width))
            }
        }
        if settled.first.count > 0 { try gather(settled(side)) }
        if isOwnTouched { try gather(recent(side)) }
        statistics.readRecords += found.count / width
        guard !found.isEmpty else { return [] }
        var views: [LinkView] = []
        var sequences: [UInt64] = []
        let isUnsettled = isPlain && hasRecent
        found.withUnsafeMutableBufferPointer { words in
            guard let base = words.baseAddress else { return }
            LinkStore.forEachLast(base, count: words.count / width, width: width) { record in
                guard LinkRecord.isAdded(record) else { return }
                views.append(LinkRecord.view(record, width: width))
                if isUnsettled { sequences.append(LinkRecord.sequence(record)) }
            }
        }
        guard isUnsettled, !views.isEmpty else { return views }
        debt += found.count / width + 1
        var last: UInt64 = 0
        if isOwnTouched { last = try lastReset(of: key, side: side) }
        if isExclusive(side) {
            found.withUnsafeBufferPointer { last = max(last, LinkStore.lastAddition($0, width: width)) }
        }
        return try holding(views, sequences, since: last, side)
    }

    /// The buffer of ``partners(of:side:)`` is kept up to this size.
    private static let keptWords = 8192

    /// Of an object's links those that hold: added after the object was reset, and after their partners were.
    private func holding(
        _ views: [LinkView], _ sequences: [UInt64], since last: UInt64, _ side: Side
    ) throws(MigrationError) -> [LinkView] {
        var holding: [LinkView] = []
        let isOtherExclusive = isExclusive(side.other)
        for (view, sequence) in zip(views, sequences) where sequence >= last {
            let partner = view.partner.key
            if isTouched(partner, side.other) {
                debt += 1
                if try lastReset(of: partner, side: side.other) > sequence { continue }
                if isOtherExclusive, try lastAddition(to: partner, side: side.other) > sequence { continue }
            }
            holding.append(view)
        }
        return holding
    }

    private func lastReset(of key: Int64, side: Side) throws(MigrationError) -> UInt64 {
        let log = resets(index(side))
        guard log.count > 0 else { return 0 }
        var prefix = SortKey.encode(key)
        var last: UInt64 = 0
        try log.forEach(prefix: &prefix, words: 1) { last = max(last, $0[1]) }
        return last
    }

    private func lastAddition(to key: Int64, side: Side) throws(MigrationError) -> UInt64 {
        var prefix = SortKey.encode(key)
        var last: UInt64 = 0
        try recent(side).forEach(prefix: &prefix, words: 1) { record in
            if LinkRecord.isAdded(record) { last = max(last, LinkRecord.sequence(record)) }
        }
        return last
    }

    private static func lastAddition(_ words: UnsafeBufferPointer<UInt64>, width: Int) -> UInt64 {
        guard let base = words.baseAddress else { return 0 }
        var last: UInt64 = 0
        for index in 0..<words.count / width where LinkRecord.isAdded(base + index * width) {
            last = max(last, LinkRecord.sequence(base + index * width))
        }
        return last
    }

    /// Shows the last record about each partner, ascending by partner. The records stand one run after the other.
    private static func forEachLast(
        _ base: UnsafeMutablePointer<UInt64>, count: Int, width: Int, _ body: (UnsafeMutablePointer<UInt64>) -> Void
    ) {
        if count == 1 { return body(base) }
        let order = (0..<count).sorted { left, right in
            let (one, other) = (base + left * width, base + right * width)
            return (one[1], one[2]) < (other[1], other[2])
        }
        var last: UnsafeMutablePointer<UInt64>?
        for index in order {
            let record = base + index * width
            if let last {
                if last[1] == record[1] { LinkRecord.fold(last, into: record, width: width) } else { body(last) }
            }
            last = record
        }
        if let last { body(last) }
    }

    /// All live links, ascending by object, then partner: those of now, later changes are not seen.
    ///
    /// - Complexity: O(changes).
    func live(side: Side) throws(MigrationError) -> LiveLinks {
        guard isPlain else { return LiveLinks(.changes(try recent(side).scan()), width: width) }
        guard hasRecent else { return LiveLinks(.changes(try settled(side).scan()), width: width) }
        return LiveLinks(.holding(try holding(side)), width: width)
    }

    /// Whether ``livePartners(of:side:)`` may be asked: each change stands for itself, and nothing lies under them.
    var canStreamPartners: Bool { !isPlain && earlier == nil }

    /// The links of one object, ascending by partner: those of now, later changes are not seen.
    ///
    /// - Complexity: O(changes of the object's links) of time, O(runs) of memory: for owners of very many.
    func livePartners(of key: Int64, side: Side) throws(MigrationError) -> LiveLinks {
        precondition(canStreamPartners, "a plain store's links depend on their partners'")
        return LiveLinks(.changes(try recent(side).scan(prefix: [SortKey.encode(key)])), width: width)
    }

    /// All links that were changed, those that are gone too, ascending by object, then partner. For a store over links of
    /// before.
    func changes(side: Side) throws(MigrationError) -> LiveLinks {
        precondition(!isPlain, "a plain store does not say what is gone")
        return LiveLinks(.changes(try recent(side).scan()), width: width, showsRemoved: true)
    }

    /// Walks over live links.
    final class LiveLinks {
        fileprivate enum Source {
            /// Changes of which the last about each link counts.
            case changes(RecordCursor)
            case holding(HoldingLinks)
        }

        private let source: Source
        private let width: Int
        private let words: UnsafeMutablePointer<UInt64>
        private var has = false
        private let showsRemoved: Bool
        /// Whether the link shown last is there.
        private(set) var isLive = true

        fileprivate init(_ source: Source, width: Int, showsRemoved: Bool = false) {
            self.source = source
            self.width = width
            self.showsRemoved = showsRemoved
            words = .allocate(capacity: width * 2)
        }

        deinit { words.deallocate() }

        /// The next link; nil at the end.
        func next() throws(MigrationError) -> LinkView? {
            switch source {
            case .holding(let links): return try links.next().map { LinkRecord.view($0, width: width) }
            case .changes(let cursor): return try next(cursor)
            }
        }

        private func next(_ cursor: RecordCursor) throws(MigrationError) -> LinkView? {
            let (last, record) = (words, words + width)
            while try cursor.next(into: record) {
                var found: LinkView?
                if has, LinkRecord.isSameLink(last, record) {
                    LinkRecord.fold(last, into: record, width: width)
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
            let isAdded = LinkRecord.isAdded(words)
            guard isAdded || showsRemoved else { return nil }
            isLive = isAdded
            return LinkRecord.view(words, width: width)
        }
    }

    /// The record of a link that was there before every change.
    private func words(of view: LinkView) -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: width) { words, count in
            count = width
            guard let base = words.baseAddress else { return }
            let change = LinkRecord.Change(
                object: view.object, partner: view.partner, sequence: 0, isAdded: true,
                orderOfPartner: view.orderOfPartner, orderOfObject: view.orderOfObject)
            LinkRecord.encode(change, width: width, into: base)
        }
    }
}
