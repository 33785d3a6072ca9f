import Diagnostics

/// Lookups of many keys. References to objects come in clusters, so the range found for the key before mostly serves the next
/// key too.
extension KeyIndex {
    /// A range of keys that one lookup covers: the keys of a range in one chunk in memory or in the chunk being filled, or keys
    /// without a gap.
    struct DenseRange {
        /// The smallest and the largest key that it covers.
        let first: Int64
        let last: Int64
        /// The chunk's payload; nil if all keys from the first to the last are in the set.
        let payload: UnsafeMutableRawPointer?
        /// The rank of the first key in it that is in the set.
        let rank: Int
        let keys: Int
        let kind: KeyContainer
        /// The number of keys before each word, if the payload is a bitmap made beside holes.
        var wordRanks: UnsafePointer<UInt16>?

        @inline(__always)
        func holds(_ key: Int64) -> Bool { key >= first && key <= last }

        /// Tells whether a key is in the set. Sets `span` to the keys around it that need no lookup then.
        @inline(__always)
        func contains(_ key: Int64, _ span: inout Span) -> Bool {
            guard let payload else {
                span = Span(first: first, last: last, rank: rank)
                return true
            }
            let offset = Int(key & 0xFFFF)
            switch kind {
            case .bitmap:
                let word = payload.assumingMemoryBound(to: UInt64.self)[offset >> 6]
                return word >> UInt64(offset & 63) & 1 != 0
            case .holes:
                let (before, isMissing) = KeyContainer.holesBefore(payload, offset: offset)
                if !isMissing { span = self.span(payload, offset, before) }
                return !isMissing
            default: return rank(of: key, &span) >= 0
            }
        }

        /// The rank of a key, or -1. Sets `span` to the keys around it that need no lookup then.
        @inline(__always)
        func rank(of key: Int64, _ span: inout Span) -> Int {
            guard let payload else {
                span = Span(first: first, last: last, rank: rank)
                return rank + Int(key - first)
            }
            let offset = Int(key & 0xFFFF)
            if let wordRanks {
                let word = payload.assumingMemoryBound(to: UInt64.self)[offset >> 6]
                let bit = UInt64(1) << UInt64(offset & 63)
                guard word & bit != 0 else { return -1 }
                return rank &+ Int(wordRanks[offset >> 6]) &+ (word & (bit &- 1)).nonzeroBitCount
            }
            if kind == .holes {
                let (before, isMissing) = KeyContainer.holesBefore(payload, offset: offset)
                guard !isMissing else { return -1 }
                span = self.span(payload, offset, before)
                return rank + offset - before
            }
            if kind == .runs {
                guard let run = KeyContainer.run(payload, count: keys, offset: offset) else { return -1 }
                let base = first & ~0xFFFF
                span = Span(
                    first: base | Int64(run.offsets.lowerBound), last: base | Int64(run.offsets.upperBound),
                    rank: rank + run.rank)
                return span.rank(of: key)
            }
            let found = KeyContainer.bitmapRank(payload, offset: offset)
            return found < 0 ? -1 : rank + found
        }

        @inline(__always)
        private func span(_ payload: UnsafeMutableRawPointer, _ offset: Int, _ before: Int) -> Span {
            let offsets = KeyContainer.gapless(payload, around: offset, before: before)
            let base = first & ~0xFFFF
            return Span(
                first: base | Int64(offsets.lowerBound), last: base | Int64(offsets.upperBound),
                rank: rank + offsets.lowerBound - before)
        }
    }

    /// Consecutive keys that are all in the set. Keys that are added later leave it valid.
    struct Span {
        private let first: Int64
        private let last: Int64
        private let rank: Int

        /// Makes an empty span.
        init() { (first, last, rank) = (1, 0, 0) }

        init(first: Int64, last: Int64, rank: Int) {
            self.first = first
            self.last = last
            self.rank = rank
        }

        @inline(__always)
        func holds(_ key: Int64) -> Bool { key >= first && key <= last }

        /// The rank of a key in the span.
        @inline(__always)
        func rank(of key: Int64) -> Int { rank + Int(key - first) }
    }

    /// The range of all keys, if none is missing between the first and the last (as in a table without deleted rows); else nil.
    private var gapless: DenseRange? {
        let hot = hot.pointee
        guard hot.count > 0 else { return nil }
        let first = hot.chunkCount > 0 ? hot.chunks[0].firstKey : hot.farCount > 0 ? hot.far?[0] : hot.liveFirst
        guard let first, UInt64(bitPattern: hot.lastKey &- first) == UInt64(hot.count - 1) else { return nil }
        return DenseRange(first: first, last: hot.lastKey, payload: nil, rank: 0, keys: hot.count, kind: .full)
    }

    /// The range around a key; nil if it has none. It is valid until a key is added or another chunk is loaded.
    @inline(never)
    func range(of key: Int64) throws(MigrationError) -> DenseRange? {
        if let gapless { return gapless }
        let hot = hot.pointee
        let range = key >> KeyContainer.rangeBits
        var last = range << KeyContainer.rangeBits | 0xFFFF
        guard key <= hot.lastKey else { return nil }
        if hot.liveCount > 0, key >= hot.liveFirst {
            guard let live = hot.live, range == hot.liveRange else { return nil }
            return DenseRange(
                first: hot.liveFirst, last: last, payload: live, rank: hot.chunkedKeys + hot.farCount,
                keys: hot.liveCount, kind: .bitmap)
        }
        if hot.farCount > 0, let far = hot.far, key >= far[0] { return nil }
        // If the set was sealed meanwhile, the keys of one range may be in several chunks.
        let number = chunkCount > 0 ? chunkHolding(key, range: range) : -1
        guard number >= 0, hot.chunks[number].kind != .sparse,
            hot.chunks[number].firstKey >> KeyContainer.rangeBits == range
        else { return nil }
        // Larger keys are in the next chunk, among the far keys, or in the chunk being filled.
        if number + 1 < hot.chunkCount {
            last = min(last, hot.chunks[number + 1].firstKey - 1)
        } else if hot.farCount > 0, let far = hot.far {
            last = min(last, far[0] - 1)
        } else if hot.liveCount > 0 {
            last = min(last, hot.liveFirst - 1)
        }
        if hot.chunks[number].slot >= 0 || hot.chunks[number].payload == nil { try load(number) }
        let chunk = hot.chunks[number]
        if chunk.kind == .full {
            return DenseRange(
                first: chunk.firstKey, last: last, payload: nil, rank: chunk.rank, keys: keysIn(number), kind: .full)
        }
        guard let payload = chunk.payload else { return nil }
        if chunk.kind == .holes, let bitmap = bitmap(ofHoles: number, payload) {
            return DenseRange(
                first: chunk.firstKey, last: last, payload: bitmap, rank: chunk.rank, keys: keysIn(number),
                kind: .bitmap, wordRanks: KeyContainer.wordRanks(ofBitmap: bitmap))
        }
        return DenseRange(
            first: chunk.firstKey, last: last, payload: payload, rank: chunk.rank, keys: keysIn(number),
            kind: chunk.kind)
    }

    /// Tells whether a key is in the set.
    package func contains(_ key: Int64) throws(MigrationError) -> Bool {
        if hot.pointee.span.holds(key) { return true }
        // A bitmap or holes, the usual forms, tell this without the key's rank.
        var range: DenseRange?
        if try advance(to: key, &range), let range { return range.contains(key, &hot.pointee.span) }
        return try findFar(key) >= 0
    }

    /// The rank of a key: the number of smaller keys; nil if the key is not in the set. Neighbouring keys looked up in turn
    /// cost one lookup.
    package func rank(of key: Int64) throws(MigrationError) -> Int? {
        if hot.pointee.span.holds(key) { return hot.pointee.span.rank(of: key) }
        var range: DenseRange?
        let rank: Int
        if try advance(to: key, &range), let range {
            rank = range.rank(of: key, &hot.pointee.span)
        } else {
            rank = try findFar(key)
        }
        return rank >= 0 ? rank : nil
    }

    /// Tells for each of many keys whether it is in the set.
    ///
    /// - Precondition: `found` has room for as many.
    package func contains(
        _ keys: UnsafeBufferPointer<Int64>, into found: UnsafeMutablePointer<Bool>
    ) throws(MigrationError) {
        var last: DenseRange?
        // References to one object, or to its neighbours, often come together.
        var span = Span()
        for index in 0..<keys.count {
            let key = keys[index]
            if span.holds(key) {
                found[index] = true
            } else if last == nil, index > 0, key == keys[index - 1] {
                found[index] = found[index - 1]
            } else if try advance(to: key, &last), let last {
                found[index] = last.contains(key, &span)
            } else {
                found[index] = try findFar(key) >= 0
            }
        }
    }

    /// Tells whether a range covers a key, and finds another range if `last` does not.
    @inline(__always)
    private func advance(to key: Int64, _ last: inout DenseRange?) throws(MigrationError) -> Bool {
        if let last, last.holds(key) { return true }
        last = try range(of: key)
        if let last, last.holds(key) { return true }
        // The caller asks for another chunk next, which may free this one's memory.
        last = nil
        return false
    }

    /// Finds the ranks of many keys, -1 for those that are not in the set. If the keys are sorted, each chunk is read once.
    ///
    /// - Precondition: `ranks` has room for as many; it may be the memory of the keys.
    package func ranks(
        of keys: UnsafeBufferPointer<Int64>, into ranks: UnsafeMutablePointer<Int64>
    ) throws(MigrationError) {
        var last: DenseRange?
        var span = Span()
        for index in 0..<keys.count {
            let key = keys[index]
            if span.holds(key) {
                ranks[index] = Int64(span.rank(of: key))
            } else if try advance(to: key, &last), let last {
                ranks[index] = Int64(last.rank(of: key, &span))
            } else {
                ranks[index] = Int64(try findFar(key))
            }
        }
    }
}
