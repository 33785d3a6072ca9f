import Diagnostics
import SpillStorage

// Queries of the links of one object, and cursors over all.
extension LinkStore {
    /// Tells whether an object's links were changed since the mapping model began. Only for stores over existing links.
    func hasChanged(_ key: Int64, side: Side) throws(MigrationError) -> Bool {
        guard isTouched(key, side) else { return false }
        var prefix = SortKey.encode(key)
        var isFound = false
        try recent(side).forEach(prefix: &prefix, words: 1) { _ in isFound = true }
        return isFound
    }

    /// True if there are unresolved changes.
    var hasRecent: Bool { recent.first.count > 0 || resets.first.count > 0 || resets.second.count > 0 }

    /// Returns the links of an object, ascending by the partner's key.
    ///
    /// - Complexity: O(unresolved changes of the object's links and of its partners' links); memory likewise. Reading resolves
    ///   the store once it has read about twice as many records as there are.
    func partners(of key: Int64, side: Side) throws(MigrationError) -> [LinkView] {
        try views(of: key, to: nil, side)
    }

    /// The number of an object's links from which they are read one after the other, not held together.
    static let mostHeld = 8192

    /// Tells whether an object has, or had before recent changes, more links than are held in memory.
    func hasMany(_ key: Int64, side: Side) throws(MigrationError) -> Bool {
        checkMade()
        prefix[0] = SortKey.encode(key)
        var count = 0
        for log in [resolved(side), recent(side)] where log.count > LinkStore.mostHeld - count {
            try log.forFirst(LinkStore.mostHeld, prefixWords: 1, from: prefix, startWords: 1) { _ in count += 1 }
        }
        return count >= LinkStore.mostHeld
    }

    /// Shows the links of an object, ascending by the partner's key, whatever their number. Changes made by the body are not
    /// seen.
    ///
    /// - Complexity: as ``partners(of:side:)``; memory is ``mostHeld`` links, or a block for each run of the logs. The links
    ///   under a store that is laid over an existing destination are held.
    func forEachPartner(
        of key: Int64, side: Side, _ body: (LinkView) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        guard existing == nil, try hasMany(key, side: side) else {
            for view in try partners(of: key, side: side) { try body(view) }
            return
        }
        // A cursor copies the records that are in memory.
        for log in [resolved(side), recent(side)] { try log.release() }
        if isPlain { return try forEachHolding(of: key, side: side, body) }
        let links = try livePartners(of: key, side: side)
        while let view = try links.next() { try body(view) }
    }

    /// Returns the link of two objects. Returns nil if there is none.
    ///
    /// - Complexity: O(changes of the link); in a plain store, for an object that can have only one partner, O(changes of its
    ///   links).
    func link(of key: Int64, to partner: Int64, side: Side) throws(MigrationError) -> LinkView? {
        // The validity of the link depends on the object's other partners.
        if isPlain, isExclusive(side) { return try partners(of: key, side: side).first { $0.partner.key == partner } }
        return try views(of: key, to: partner, side).first
    }

    /// - Parameter partner: the partner to look for; nil for all partners.
    private func views(of key: Int64, to partner: Int64?, _ side: Side) throws(MigrationError) -> [LinkView] {
        checkMade()
        if isPlain, hasRecent, debt > 1024 + 2 * (resolved.first.count + recent.first.count) { try resolve() }
        let before: [LinkView]
        if let partner {
            before = try existing?.view(of: key, to: partner, side: side).map { [$0] } ?? []
        } else {
            before = try existing?.views(of: key, side: side) ?? []
        }
        let isOwnTouched = isTouched(key, side)
        var found = gathered
        gathered = []
        found.removeAll(keepingCapacity: true)
        defer { gathered = found.capacity <= LinkStore.keptWords ? found : [] }
        // An existing link counts as an addition before the first change.
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
        if resolved.first.count > 0 { try gather(resolved(side)) }
        if isOwnTouched { try gather(recent(side)) }
        statistics.readRecords += found.count / width
        guard !found.isEmpty else { return [] }
        var views: [LinkView] = []
        var sequences: [UInt64] = []
        let isUnresolved = isPlain && hasRecent
        found.withUnsafeMutableBufferPointer { words in
            guard let base = words.baseAddress else { return }
            LinkStore.forEachLast(base, count: words.count / width, width: width) { record in
                guard LinkRecord.isAdded(record) else { return }
                views.append(LinkRecord.view(record, width: width))
                if isUnresolved { sequences.append(LinkRecord.sequence(record)) }
            }
        }
        guard isUnresolved, !views.isEmpty else { return views }
        debt += found.count / width + 1
        var last: UInt64 = 0
        if isOwnTouched { last = try lastReset(of: key, side: side) }
        if isExclusive(side) {
            found.withUnsafeBufferPointer { last = max(last, LinkStore.lastAddition($0, width: width)) }
        }
        return try holding(views, sequences, since: last, side)
    }

    /// The maximum size of the buffer of ``partners(of:side:)`` that is kept between calls.
    private static let keptWords = 8192

    /// Returns the valid links of an object: those added after the last reset of the object and of their partners.
    private func holding(
        _ views: [LinkView], _ sequences: [UInt64], since last: UInt64, _ side: Side
    ) throws(MigrationError) -> [LinkView] {
        var holding: [LinkView] = []
        for (view, sequence) in zip(views, sequences) where sequence >= last {
            if try isHolding(view.partner.key, side.other, since: sequence) { holding.append(view) }
        }
        return holding
    }

    /// Tells whether a link is still valid for its partner.
    ///
    /// - Parameters:
    ///   - side: the partner's side.
    ///   - sequence: the number of the change that made the link.
    func isHolding(_ partner: Int64, _ side: Side, since sequence: UInt64) throws(MigrationError) -> Bool {
        guard isTouched(partner, side) else { return true }
        debt += 1
        if try lastReset(of: partner, side: side) > sequence { return false }
        guard isExclusive(side) else { return true }
        return try lastAddition(to: partner, side: side) <= sequence
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

    /// Shows the last record about each partner, ascending by partner. The records lie one after the other in memory.
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

    /// Returns all current links, ascending by object, then partner. Later changes are not seen.
    ///
    /// - Complexity: O(changes).
    func live(side: Side) throws(MigrationError) -> LiveLinks {
        checkMade()
        guard isPlain else { return LiveLinks(.changes(try recent(side).scan()), width: width) }
        guard hasRecent else { return LiveLinks(.changes(try resolved(side).scan()), width: width) }
        return LiveLinks(.holding(try holding(side)), width: width)
    }

    /// True if ``livePartners(of:side:)`` may be called: the store is not plain, and there are no links under it.
    var canStreamPartners: Bool { !isPlain && existing == nil }

    /// Returns the current links of one object, ascending by partner, for owners with very many. Later changes are not seen.
    ///
    /// - Complexity: O(changes of the object's links) time, O(runs) memory.
    func livePartners(of key: Int64, side: Side) throws(MigrationError) -> LiveLinks {
        precondition(canStreamPartners, "a plain store's links depend on their partners'")
        checkMade()
        return LiveLinks(.changes(try recent(side).scan(prefix: [SortKey.encode(key)])), width: width)
    }

    /// Returns all changed links, including removed ones, ascending by object, then partner. Only for stores over existing
    /// links.
    func changes(side: Side) throws(MigrationError) -> LiveLinks {
        precondition(!isPlain, "a plain store does not say what is gone")
        return LiveLinks(.changes(try recent(side).scan()), width: width, showsRemoved: true)
    }

    /// A cursor over live links.
    final class LiveLinks {
        fileprivate enum Source {
            /// A cursor over changes; the last change of each link counts.
            case changes(RecordCursor)
            case holding(HoldingLinks)
        }

        private let source: Source
        private let width: Int
        private let words: UnsafeMutablePointer<UInt64>
        private var has = false
        private let showsRemoved: Bool
        /// True if the link returned last exists, false if it was removed.
        private(set) var isLive = true

        fileprivate init(_ source: Source, width: Int, showsRemoved: Bool = false) {
            self.source = source
            self.width = width
            self.showsRemoved = showsRemoved
            words = .allocate(capacity: width * 2)
        }

        deinit { words.deallocate() }

        /// Returns the next link. Returns nil at the end.
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

    /// Encodes an existing link as an addition before every change.
    private func words(of view: LinkView) -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: width) { words, count in
            count = width
            guard let base = words.baseAddress else { return }
            LinkRecord.encode(view, sequence: 0, isAdded: true, width: width, into: base)
        }
    }
}
