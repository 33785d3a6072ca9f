import Diagnostics
import SpillStorage

extension LinkStore {
    /// Finds the valid links of a plain store and drops all other changes.
    ///
    /// The logs of both directions are merged in key order with the resets of each side. A link that is invalid for one of its
    /// objects is noted; the notes are sorted and left out on the other side. Nothing is looked up.
    ///
    /// Memory: a block for each run of the logs, and the memory of the sort.
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    /// - Complexity: O(changes and links), O(n log n) in links that became invalid.
    func resolve() throws(MigrationError) {
        guard isPlain, hasRecent else { return }
        let found = (first: makeLog(width), second: makeLog(width))
        let lost = makeSorter(2)
        if isReflexive {
            let walk = try holding(.first, but: try notHolding(.second, in: lost))
            while let record = try walk.next() { try found.first.append(record) }
        } else {
            let first = try holding(.first, but: try notHolding(.second, in: lost))
            while let record = try first.next() { try found.first.append(record) }
            let second = try holding(.second, but: try notHolding(.first, in: lost))
            while let record = try second.next() { try found.second.append(record) }
            assert(found.first.count == found.second.count, "both directions hold the same links")
        }
        resolved = found
        forgetRecent()
    }

    /// Returns the valid links of a side in order. They are determined while they are read.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    func holding(_ side: Side) throws(MigrationError) -> HoldingLinks {
        try holding(side, but: try notHolding(side.other, in: makeSorter(2)))
    }

    /// Shows the valid links of one object, ascending by partner.
    func forEachHolding(
        of key: Int64, side: Side, _ body: (LinkView) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let prefix = [SortKey.encode(key)]
        let walk = LinkWalk(
            resolved: try resolved(side).scan(prefix: prefix), recent: try recent(side).scan(prefix: prefix),
            resets: try resets(index(side)).scan(prefix: prefix), width: width, isExclusive: isExclusive(side))
        while let (record, holds) = try walk.next() {
            guard holds else { continue }
            let view = LinkRecord.view(record, width: width)
            if try isHolding(view.partner.key, side.other, since: LinkRecord.sequence(record)) { try body(view) }
        }
    }

    private func holding(_ side: Side, but lost: SortedRecords) throws(MigrationError) -> HoldingLinks {
        try HoldingLinks(try walk(side), lost: lost)
    }

    /// Returns the links that are invalid for the objects of a side: (partner, object), ascending.
    private func notHolding(_ side: Side, in sorter: RecordSorter) throws(MigrationError) -> SortedRecords {
        if isExclusive(side) || resets(index(side)).count > 0 {
            let walk = try walk(side)
            while let (record, holds) = try walk.next() {
                if !holds { try sorter.append(record[1], record[0]) }
            }
        }
        return try sorter.finish()
    }

    private func walk(_ side: Side) throws(MigrationError) -> LinkWalk {
        LinkWalk(
            resolved: try resolved(side).scan(), recent: try recent(side).scan(),
            resets: try resets(index(side)).scan(),
            width: width, isExclusive: isExclusive(side))
    }
}

/// The links of one side of a plain ``LinkStore`` that are valid for both their objects, in order.
///
/// Memory: the memory of its cursors, and a block for each run of the sort.
final class HoldingLinks {
    private let walk: LinkWalk
    private let lost: SortedRecords
    /// The next link that is invalid for its partner.
    private let words: UnsafeMutablePointer<UInt64>
    private var hasLost = false

    fileprivate init(_ walk: LinkWalk, lost: SortedRecords) throws(MigrationError) {
        self.walk = walk
        self.lost = lost
        words = .allocate(capacity: 2)
        hasLost = try lost.next(into: words)
    }

    deinit { words.deallocate() }

    /// Returns the next link, or nil at the end. The pointer is valid until the next call.
    func next() throws(MigrationError) -> UnsafePointer<UInt64>? {
        while let (record, holds) = try walk.next() {
            guard holds else { continue }
            while hasLost, (words[0], words[1]) < (record[0], record[1]) { hasLost = try lost.next(into: words) }
            if hasLost, words[0] == record[0], words[1] == record[1] { continue }
            return record
        }
        return nil
    }
}

/// A cursor over the links of one side of a plain ``LinkStore``, in order, that tells which of them are valid for the side's
/// objects.
///
/// A link is valid for an object if three conditions hold: the last change of the link is an addition, the object was not reset
/// since, and the object got no other partner since if it can have only one.
///
/// Memory: the memory of its cursors.
private final class LinkWalk {
    private let resolved: RecordCursor
    private let recent: RecordCursor
    private let resets: RecordCursor
    private let width: Int
    private let isExclusive: Bool
    /// The buffers: the heads of both link cursors, the current pair, the partner that an exclusive object may keep, two links
    /// to return, and the next reset.
    private let words: UnsafeMutablePointer<UInt64>
    // Only one thread uses this object. Dynamic checks of exclusive access would cost as much as the walk itself.
    @exclusivity(unchecked) private var hasResolved = false
    @exclusivity(unchecked) private var hasRecent = false
    @exclusivity(unchecked) private var hasReset = false
    @exclusivity(unchecked) private var isStarted = false
    @exclusivity(unchecked) private var hasPair = false
    @exclusivity(unchecked) private var hasBest = false
    /// The number of links that are ready to return, and how many of them were returned.
    @exclusivity(unchecked) private var ready = 0
    @exclusivity(unchecked) private var shown = 0
    @exclusivity(unchecked) private var holds = (false, false)
    /// The sequence number of the last addition to the current object.
    @exclusivity(unchecked) private var lastAddition: UInt64 = 0
    /// The last reset of the object that was queried last.
    @exclusivity(unchecked) private var lastReset: (key: UInt64, sequence: UInt64)?

    init(resolved: RecordCursor, recent: RecordCursor, resets: RecordCursor, width: Int, isExclusive: Bool) {
        self.resolved = resolved
        self.recent = recent
        self.resets = resets
        self.width = width
        self.isExclusive = isExclusive
        words = .allocate(capacity: width * 6 + 2)
        words.initialize(repeating: 0, count: width * 6 + 2)
    }

    deinit { words.deallocate() }

    private var pair: UnsafeMutablePointer<UInt64> { words + width * 2 }
    private var best: UnsafeMutablePointer<UInt64> { words + width * 3 }
    private var shownLinks: UnsafeMutablePointer<UInt64> { words + width * 4 }
    private var reset: UnsafeMutablePointer<UInt64> { words + width * 6 }

    /// Returns the next pair whose last change is an addition, and whether it is valid. Returns nil at the end.
    ///
    /// The valid links come in order. The record is valid until the next call.
    func next() throws(MigrationError) -> (record: UnsafePointer<UInt64>, holds: Bool)? {
        let (old, new) = (words, words + width)
        if !isStarted {
            isStarted = true
            hasResolved = try resolved.next(into: old)
            hasRecent = try recent.next(into: new)
            hasReset = try resets.next(into: reset)
        }
        while true {
            if shown < ready {
                defer { shown += 1 }
                return (UnsafePointer(shownLinks + shown * width), shown == 0 ? holds.0 : holds.1)
            }
            ready = 0
            shown = 0
            guard hasResolved || hasRecent else {
                guard hasPair else { return nil }
                hasPair = false
                try endPair()
                try endObject()
                continue
            }
            // A resolved link is older than all its recent changes.
            let isOld = hasResolved && (!hasRecent || (old[0], old[1]) <= (new[0], new[1]))
            let head = isOld ? old : new
            if hasPair {
                let isSameObject = pair[0] == head[0]
                if !isSameObject || pair[1] != head[1] { try endPair() }
                if !isSameObject { try endObject() }
            }
            pair.update(from: head, count: width)
            hasPair = true
            if LinkRecord.isAdded(head) { lastAddition = max(lastAddition, LinkRecord.sequence(head)) }
            if isOld { hasResolved = try resolved.next(into: old) } else { hasRecent = try recent.next(into: new) }
        }
    }

    private func show(_ link: UnsafePointer<UInt64>, holds isHolding: Bool) {
        (shownLinks + ready * width).update(from: link, count: width)
        if ready == 0 { holds.0 = isHolding } else { holds.1 = isHolding }
        ready += 1
    }

    private func endPair() throws(MigrationError) {
        guard LinkRecord.isAdded(pair) else { return }
        if !isExclusive {
            show(pair, holds: LinkRecord.sequence(pair) >= (try reset(of: pair[0])))
        } else if !hasBest {
            best.update(from: pair, count: width)
            hasBest = true
        } else if LinkRecord.sequence(pair) > LinkRecord.sequence(best) {
            show(best, holds: false)
            best.update(from: pair, count: width)
        } else {
            show(pair, holds: false)
        }
    }

    private func endObject() throws(MigrationError) {
        if hasBest {
            let since = max(lastAddition, try reset(of: best[0]))
            show(best, holds: LinkRecord.sequence(best) >= since)
        }
        hasBest = false
        lastAddition = 0
    }

    /// Returns the sequence number of an object's last reset, or 0 if there was none. Objects must be queried in ascending
    /// order.
    private func reset(of key: UInt64) throws(MigrationError) -> UInt64 {
        if let lastReset, lastReset.key == key { return lastReset.sequence }
        var last: UInt64 = 0
        while hasReset, reset[0] <= key {
            if reset[0] == key { last = max(last, reset[1]) }
            hasReset = try resets.next(into: reset)
        }
        lastReset = (key, last)
        return last
    }
}
