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
    /// The object from which the link is seen.
    var object: LinkEnd
    /// The other end.
    var partner: LinkEnd
    /// The partner's place among the object's members, if one was given.
    var orderOfPartner: MemberOrder
    /// The object's place among the partner's members, if one was given.
    var orderOfObject: MemberOrder

    /// The same link, seen from the other end.
    var reversed: LinkView {
        LinkView(object: partner, partner: object, orderOfPartner: orderOfObject, orderOfObject: orderOfPartner)
    }

    /// Sorts the links of one object by their partners' places. The links must ascend by partner. Members without a place
    /// follow at the end, in ascending key order.
    static func inOrder(_ views: [LinkView]) -> [LinkView] {
        func rank(_ view: LinkView) -> Int64 {
            switch view.orderOfPartner {
            case .key(let key), .rank(let key): key
            case .null: .min
            case .none: .max
            }
        }
        // Most often they are in order already.
        let isInOrder = views.indices.dropFirst().allSatisfy { rank(views[$0 - 1]) <= rank(views[$0]) }
        if isInOrder { return views }
        return views.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(
            \.element)
    }
}

/// The cost of changes to links, in records.
package struct LinkStatistics: Sendable, Equatable {
    /// The number of changes written. A change counts once, whatever the number of logs it goes to.
    package var writtenRecords = 0
    /// The number of changes and stored links that were read for queries of objects' links.
    package var readRecords = 0
}

/// The links of one inverse pair while user code may run. Links can be set, unset and read from both ends at any time. They are
/// on disk above the shared memory.
///
/// Each direction has a log of changes; the last change about the same two objects counts. If no side has an order
/// (``isPlain``), a change reads nothing: the valid additions follow from the order of the changes alone. A link is valid if
/// its last change is an addition, neither of its objects was reset since (``reset(_:side:)``), and neither got another partner
/// since on a side on which it can have only one. ``resolve()`` finds the valid links by merging the logs in key order. If a
/// side is ordered, the place of a new link depends on the owner's other links, and the caller has to remove the links that a
/// new link excludes.
final class LinkStore {
    /// The relationship of the pair in which an object is the owner.
    enum Side {
        case first
        case second

        var other: Side { self == .first ? .second : .first }
    }

    /// The index of this link store in ``LinkStores/all``.
    let number: Int
    let first: RelationshipDescription
    /// The inverse; nil for a relationship without a mutual inverse, equal to `first` if the relationship is its own inverse.
    let second: RelationshipDescription?
    /// True if the relationship is its own inverse.
    let isReflexive: Bool
    /// True if no side has an order and no links existed before.
    let isPlain: Bool
    /// The number of words of a change.
    let width: Int
    private let shapes: (first: Shape, second: Shape)

    /// The base: the links that mapping models declare, or the valid links at the last call of ``resolve()``, by their objects
    /// on each side; in plain stores only.
    var resolved: (first: RecordLog, second: RecordLog)
    /// The changes since then.
    let recent: (first: RecordLog, second: RecordLog)
    /// The resets since then: key, sequence.
    let resets: (first: RecordLog, second: RecordLog)
    /// The objects of each side that occur in recent changes and resets.
    @exclusivity(unchecked) var touched: (first: KeyFilter, second: KeyFilter)
    let makeLog: (Int) -> RecordLog
    let makeSorter: (Int) -> RecordSorter
    /// The links of rows that were in the store before the mapping model; nil if there are none.
    var existing: ExistingLinks?
    /// True while the links are left to the load (``DeferredLinks``): the store is empty and must not be read or changed.
    @exclusivity(unchecked) var isDeferred = false
    /// True if a policy set links itself, and did not leave them to its default method.
    @exclusivity(unchecked) var isSetByPolicy = false
    /// True if a policy did so in stage 1. The links that mapping models declare then come in stage 2, mapping by mapping.
    private(set) var isSetEarly = false
    /// The number of changes so far, which is the sequence number of the last change.
    @exclusivity(unchecked) private(set) var sequence: UInt64 = 0
    /// The greatest ordering keys of recently queried owners, by side.
    private var highest: [[Int64: Int64]] = [[:], [:]]
    /// The records written and read, for tests of the cost of changes.
    var statistics = LinkStatistics()
    @exclusivity(unchecked) var gathered: [UInt64] = []
    let record: UnsafeMutablePointer<UInt64>
    /// The two words by which records are looked up.
    let prefix: UnsafeMutablePointer<UInt64>
    /// The cost of reading unresolved changes since the last call of ``resolve()``, in records.
    @exclusivity(unchecked) var debt = 0

    /// The properties of a side that are needed for every link.
    private struct Shape {
        var isExclusive: Bool
        var isOrdered: Bool
    }

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - memory: the memory that all stores of a run share.
    ///   - filterBytes: the size of each of the store's two filters.
    ///   - isOverExisting: true if links of rows that existed before will be laid under the store.
    ///   - makeSorter: makes an external sort of records with the given number of words.
    init(
        number: Int, first: RelationshipDescription, second: RelationshipDescription?, directory: WorkDirectory,
        memory: RecordMemory, filterBytes: Int, isOverExisting: Bool = false,
        makeSorter: @escaping (Int) -> RecordSorter
    ) {
        self.number = number
        self.first = first
        self.second = second
        self.makeSorter = makeSorter
        isReflexive = second == first
        let own = Shape(isExclusive: !first.isToMany, isOrdered: first.isOrdered)
        // Without an inverse, many objects may refer to one; the members of a to-many share the owner's column, so each has one
        // owner.
        let other = Shape(
            isExclusive: second.map { !$0.isToMany } ?? first.isToMany, isOrdered: second?.isOrdered ?? false)
        shapes = (own, isReflexive ? own : other)
        isPlain = !shapes.first.isOrdered && !shapes.second.isOrdered && !isOverExisting
        width = isPlain ? LinkRecord.plainWidth : LinkRecord.orderedWidth
        let name = "links-\(first.name)"
        makeLog = { width in
            RecordLog(directory: directory, name: name, width: width, indexWords: min(2, width), memory: memory)
        }
        recent = (makeLog(width), makeLog(width))
        resolved = (makeLog(width), makeLog(width))
        resets = (makeLog(2), makeLog(2))
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

    /// Returns the relationship of a side. Returns nil on the second side of a relationship without an inverse.
    func relationship(of side: Side) -> RelationshipDescription? { side == .first ? first : second }

    /// Tells whether an object on a side can have only one partner.
    func isExclusive(_ side: Side) -> Bool { side == .first ? shapes.first.isExclusive : shapes.second.isExclusive }

    /// Tells whether an object's partners on a side have places.
    func isOrdered(_ side: Side) -> Bool { side == .first ? shapes.first.isOrdered : shapes.second.isOrdered }

    /// Removes all links.
    func removeAll() {
        resolved.first.removeAll()
        resolved.second.removeAll()
        highest = [[:], [:]]
        forgetRecent()
    }

    /// Notes that stage 2 begins.
    func beginStage2() { isSetEarly = isSetByPolicy }

    /// Traps if the links are deferred: an empty store would be taken for one without links.
    func checkMade() { precondition(!isDeferred, "the links are deferred: LinkStores.use comes first") }

    /// Drops the recent changes after they were resolved.
    func forgetRecent() {
        for log in [recent.first, recent.second, resets.first, resets.second] { log.removeAll() }
        touched.first.removeAll()
        touched.second.removeAll()
        debt = 0
    }

    /// Writes the store, or restores it: this store must be empty. Its part in memory goes to the logs' files before.
    ///
    /// - Complexity: O(1) to write, O(unresolved changes) to restore.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        for log in logs { try log.code(with: &coder) }
        try coder.code(&sequence)
        try coder.code(&isSetByPolicy)
        try coder.code(&isSetEarly)
        guard coder.isReading else { return }
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
        [recent.first, recent.second, resolved.first, resolved.second, resets.first, resets.second]
    }

    /// Makes lookups in an ordered store fast. Call it before many lookups. A plain store resolves its links by itself.
    func compact() throws(MigrationError) {
        guard !isPlain else { return }
        try recent.first.compact()
        try recent.second.compact()
    }

    // MARK: - Changes

    /// Lays a declared link under all changes. Declared links do not exclude each other.
    ///
    /// - Parameter side: the side of the link's object.
    func lay(_ link: LinkView, side: Side) throws(MigrationError) {
        guard isPlain else {
            return try add(
                link.object, link.partner, side: side, orderOfPartner: link.orderOfPartner,
                orderOfObject: link.orderOfObject)
        }
        try write(link, side, isAdded: true, sequence: 0, to: resolved)
    }

    /// Links two objects. In a plain store the new link unlinks the links that it excludes.
    ///
    /// - Parameters:
    ///   - side: the side on which `object` is the owner.
    ///   - orderOfPartner: the partner's place among the object's members.
    ///   - orderOfObject: the object's place among the partner's members.
    func add(
        _ object: LinkEnd, _ partner: LinkEnd, side: Side, orderOfPartner: MemberOrder = .none,
        orderOfObject: MemberOrder = .none
    ) throws(MigrationError) {
        checkMade()
        if !isPlain {
            if isBelowHighest(orderOfPartner, of: object.key, side: side)
                || isBelowHighest(orderOfObject, of: partner.key, side: side.other),
                let before = try link(of: object.key, to: partner.key, side: side)
            {
                // The last member may have moved to another place, so the known greatest key may be wrong.
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
        checkMade()
        if !isPlain, highest[index(side)][object.key] != nil || highest[index(side.other)][partner.key] != nil {
            let link = try link(of: object.key, to: partner.key, side: side)
            forgetHighest(link?.orderOfPartner, of: object.key, side: side)
            forgetHighest(link?.orderOfObject, of: partner.key, side: side.other)
        }
        try write(object, partner, side, isAdded: false, .none, .none)
    }

    /// Unlinks an object of a plain store from all its partners.
    ///
    /// - Complexity: O(log n) amortised, whatever the number of partners.
    func reset(_ object: LinkEnd, side: Side) throws(MigrationError) {
        precondition(isPlain, "what an ordered store's objects lose is removed link by link")
        checkMade()
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

    /// Forgets an owner's greatest key when its last member moves or leaves, because another member then has the greatest key.
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
        let link = LinkView(
            object: object, partner: partner, orderOfPartner: orderOfPartner, orderOfObject: orderOfObject)
        try write(link, side, isAdded: isAdded, sequence: sequence, to: recent)
    }

    private func write(
        _ link: LinkView, _ side: Side, isAdded: Bool, sequence: UInt64, to logs: (first: RecordLog, second: RecordLog)
    ) throws(MigrationError) {
        statistics.writtenRecords += 1
        LinkRecord.encode(link, sequence: sequence, isAdded: isAdded, width: width, into: record)
        try (index(side) == 0 ? logs.first : logs.second).append(record)
        guard !isReflexive || link.object.key != link.partner.key else { return }
        LinkRecord.encode(link.reversed, sequence: sequence, isAdded: isAdded, width: width, into: record)
        try (index(side.other) == 0 ? logs.first : logs.second).append(record)
    }

    private func touch(_ key: Int64, _ side: Side) {
        if index(side) == 0 { touched.first.insert(key) } else { touched.second.insert(key) }
    }

    func isTouched(_ key: Int64, _ side: Side) -> Bool {
        index(side) == 0 ? touched.first.mayContain(key) : touched.second.mayContain(key)
    }

    func recent(_ side: Side) -> RecordLog { index(side) == 0 ? recent.first : recent.second }
    func resolved(_ side: Side) -> RecordLog { index(side) == 0 ? resolved.first : resolved.second }
    func resets(_ index: Int) -> RecordLog { index == 0 ? resets.first : resets.second }

    // MARK: - Places

    /// Returns 0 or 1. Both sides of a relationship that is its own inverse share index 0.
    func index(_ side: Side) -> Int { isReflexive || side == .first ? 0 : 1 }

    private func note(_ order: MemberOrder, of owner: Int64, side: Side) {
        guard case .key(let key) = order, let known = highest[index(side)][owner], known < key else { return }
        highest[index(side)][owner] = key
    }

    /// Returns the place of a member that is added at the end: 1024 after the owner's greatest key.
    ///
    /// - Complexity: O(1) for recently queried owners, else O(the owner's links).
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
}
