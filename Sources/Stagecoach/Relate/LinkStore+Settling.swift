import Diagnostics
import SpillStorage

extension LinkStore {
    /// Finds the links of a plain store that hold, and forgets all other changes.
    ///
    /// The logs of both directions are merged in key order, with each side's resets: a link that does not hold for one of
    /// its objects is noted, the notes are sorted and left out on the other side. Nothing is looked up.
    ///
    /// Memory: a block for each run of the logs, and the sort's.
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    /// - Complexity: O(changes and links), O(n log n) in links that do not hold any more.
    func settle() throws(MigrationError) {
        guard isPlain, hasRecent else { return }
        let found = (first: makeLog(width), second: makeLog(width))
        let lost = makeSorter(2)
        if isReflexive {
            try forEachLink(.first, lost: lost, in: nil, but: nil)
            try forEachLink(.first, lost: nil, in: found.first, but: try lost.finish())
        } else {
            try forEachLink(.second, lost: lost, in: nil, but: nil)
            let lostBySecond = try lost.finish()
            try forEachLink(.first, lost: lost, in: found.first, but: lostBySecond)
            try forEachLink(.second, lost: nil, in: found.second, but: try lost.finish())
            assert(found.first.count == found.second.count, "both directions hold the same links")
        }
        settled = found
        forgetRecent()
    }

    /// Goes over the links of a side in order.
    ///
    /// - Parameters:
    ///   - lost: gets (partner, object) of each link that does not hold for the object.
    ///   - target: gets the links that do.
    ///   - others: (object, partner) of links that do not hold for their partners, ascending.
    private func forEachLink(
        _ side: Side, lost: RecordSorter?, in target: RecordLog?, but others: SortedRecords?
    ) throws(MigrationError) {
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
        defer { words.deallocate() }
        var hasOther = try others?.next(into: words) ?? false
        let walk = LinkWalk(
            settled: try settled(side).scan(), recent: try recent(side).scan(), resets: try resets(index(side)).scan(),
            width: width, isExclusive: isExclusive(side))
        try walk.forEachLink { record, holds throws(MigrationError) in
            guard holds else {
                try lost?.append(record[1], record[0])
                return
            }
            guard let target else { return }
            while hasOther, let others, (words[0], words[1]) < (record[0], record[1]) {
                hasOther = try others.next(into: words)
            }
            if hasOther, words[0] == record[0], words[1] == record[1] { return }
            try target.append(record)
        }
    }
}

/// Walks over the links of one side of a plain ``LinkStore`` in order, and tells which hold for the side's objects.
///
/// A link holds for an object where its last change is an addition, since which the object was not reset, and got no
/// other partner where it can have only one.
///
/// Memory: what its cursors hold.
private final class LinkWalk {
    private let settled: RecordCursor
    private let recent: RecordCursor
    private let resets: RecordCursor
    private let width: Int
    private let isExclusive: Bool
    /// Heads of both cursors of links, the pair at hand, the partner that an exclusive object may keep, and the next reset.
    private let words: UnsafeMutablePointer<UInt64>
    private var hasSettled = false
    private var hasRecent = false
    private var hasReset = false
    private var hasPair = false
    private var hasBest = false
    /// The last addition to the object at hand.
    private var lastAddition: UInt64 = 0
    /// The last reset of an object that was asked for.
    private var lastReset: (key: UInt64, sequence: UInt64)?

    init(settled: RecordCursor, recent: RecordCursor, resets: RecordCursor, width: Int, isExclusive: Bool) {
        self.settled = settled
        self.recent = recent
        self.resets = resets
        self.width = width
        self.isExclusive = isExclusive
        words = .allocate(capacity: width * 4 + 2)
        words.initialize(repeating: 0, count: width * 4 + 2)
    }

    deinit { words.deallocate() }

    private var pair: UnsafeMutablePointer<UInt64> { words + width * 2 }
    private var best: UnsafeMutablePointer<UInt64> { words + width * 3 }
    private var reset: UnsafeMutablePointer<UInt64> { words + width * 4 }

    /// Shows every pair whose last change is an addition, and whether it holds.
    ///
    /// Those that hold come in order. The record stands inside the closure only.
    func forEachLink(
        _ body: (UnsafePointer<UInt64>, Bool) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let (old, new) = (words, words + width)
        hasSettled = try settled.next(into: old)
        hasRecent = try recent.next(into: new)
        hasReset = try resets.next(into: reset)
        while hasSettled || hasRecent {
            // A settled link is older than every recent change of it.
            let isOld = hasSettled && (!hasRecent || (old[0], old[1]) <= (new[0], new[1]))
            let head = isOld ? old : new
            if hasPair {
                let isSameObject = pair[0] == head[0]
                if !isSameObject || pair[1] != head[1] { try endPair(body) }
                if !isSameObject { try endObject(body) }
            }
            pair.update(from: head, count: width)
            hasPair = true
            if LinkRecord.isAdded(head) { lastAddition = max(lastAddition, LinkRecord.sequence(head)) }
            if isOld { hasSettled = try settled.next(into: old) } else { hasRecent = try recent.next(into: new) }
        }
        guard hasPair else { return }
        try endPair(body)
        try endObject(body)
    }

    private func endPair(
        _ body: (UnsafePointer<UInt64>, Bool) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        guard LinkRecord.isAdded(pair) else { return }
        if !isExclusive {
            try body(pair, LinkRecord.sequence(pair) >= reset(of: pair[0]))
        } else if !hasBest {
            best.update(from: pair, count: width)
            hasBest = true
        } else if LinkRecord.sequence(pair) > LinkRecord.sequence(best) {
            try body(best, false)
            best.update(from: pair, count: width)
        } else {
            try body(pair, false)
        }
    }

    private func endObject(
        _ body: (UnsafePointer<UInt64>, Bool) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        if hasBest {
            let since = max(lastAddition, try reset(of: best[0]))
            try body(best, LinkRecord.sequence(best) >= since)
        }
        hasBest = false
        lastAddition = 0
    }

    /// When an object was reset last; 0 where it was not. Objects are asked for in ascending order.
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
