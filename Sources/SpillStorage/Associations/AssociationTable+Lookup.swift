import Diagnostics

extension AssociationTable {
    /// Appends the destinations of a source to an array, in order of association, each once.
    ///
    /// - Throws: `spill.damaged`, `spill.io` (74).
    /// - Complexity: O(log n) and the size of the answer.
    package func destinations(
        of source: ObjectReference, into found: inout [ObjectReference]
    ) throws(MigrationError) {
        if let forward {
            try partners(of: source, in: forward, into: &found)
        } else if let ascending {
            for number in try ascending.pairs(of: source) ?? 0..<0 {
                if let destination = try ascending.destination(number) { found.append(destination) }
            }
        } else if let destination = try monotonicDestination(of: source) {
            found.append(destination)
        }
    }

    /// Appends the sources of a destination to an array, in order of association, each once.
    ///
    /// The first call on a table that is not monotonic sorts its pairs by destination.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    /// - Complexity: O(log n) and the size of the answer.
    package func sources(of destination: ObjectReference, into found: inout [ObjectReference]) throws(MigrationError) {
        guard forward == nil else {
            try partners(of: destination, in: try reversed(), into: &found)
            return
        }
        if let ascending {
            if let source = try ascending.source(of: destination) { found.append(source) }
            return
        }
        guard let form = monotonic, destination.entity == form.destinationEntity else { return }
        if form.mayBeRanked {
            let (rank, overflow) = destination.key.subtractingReportingOverflow(form.base)
            guard !overflow, rank >= 0, rank < form.keys.count, let key = try form.keys.key(atRank: Int(rank))
            else { return }
            found.append(ObjectReference(entity: form.sourceEntity, key: key))
        } else if try form.keys.contains(destination.key) {
            found.append(ObjectReference(entity: form.sourceEntity, key: destination.key))
        }
    }

    /// The destination that was associated first with a source; nil if there is none.
    ///
    /// - Throws: `spill.damaged`, `spill.io` (74).
    /// - Complexity: O(log n) and the source's pairs.
    package func firstDestination(of source: ObjectReference) throws(MigrationError) -> ObjectReference? {
        guard let forward else { return try monotonicDestination(of: source) }
        guard layout.isWide || PairLayout.isNarrow(source) else { return nil }
        let (layout, size) = (self.layout, self.layout.referenceWords)
        var first = UInt64.max
        var destination: ObjectReference?
        layout.encode(source, into: record)
        try forward.forEach(prefix: record, words: size) { words in
            guard destination == nil || words[size] < first else { return }
            first = words[size]
            destination = layout.decode(words + size + 1)
        }
        return destination
    }

    /// Finds the first destination of each of many sources of one entity; `ObjectReference.none` if there is none.
    ///
    /// This is the fast way for large tables: each block is read once for all sources in it.
    ///
    /// Memory: 16 to 24 bytes a key during the call, if the table is not monotonic.
    ///
    /// - Parameters:
    ///   - keys: the sources' keys, ascending; equal ones are allowed.
    ///   - found: room for as many references.
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func firstDestinations(
        entity: UInt32, sortedKeys keys: UnsafeBufferPointer<Int64>,
        into found: UnsafeMutablePointer<ObjectReference>
    ) throws(MigrationError) {
        found.initialize(repeating: .none, count: keys.count)
        guard let forward else {
            if ascending != nil {
                for (index, key) in keys.enumerated() {
                    let source = ObjectReference(entity: entity, key: key)
                    if let first = try monotonicDestination(of: source) { found[index] = first }
                }
                return
            }
            guard let form = monotonic, form.sourceEntity == entity else { return }
            for (index, key) in keys.enumerated() {
                guard let rank = try form.keys.rank(of: key) else { continue }
                found[index] = ObjectReference(
                    entity: form.destinationEntity, key: form.destination(rank: rank, source: key))
            }
            return
        }
        try prepare(for: keys.count, in: forward)
        let (layout, size) = (self.layout, self.layout.referenceWords)
        let firsts = UnsafeMutablePointer<UInt64>.allocate(capacity: max(1, keys.count))
        firsts.initialize(repeating: .max, count: keys.count)
        defer { firsts.deallocate() }
        try forEachPair(entity: entity, sortedKeys: keys, in: forward) { index, words in
            guard found[index].isNone || words[size] < firsts[index] else { return }
            firsts[index] = words[size]
            found[index] = layout.decode(words + size + 1)
        }
    }

    /// Finds all destinations of many sources of one entity: those of a source in order of association, each once.
    ///
    /// Memory: the answer, 24 bytes for each of its references while it is put in order, and 16 bytes a key.
    ///
    /// - Parameters:
    ///   - keys: the sources' keys, ascending; equal ones are allowed.
    ///   - found: receives the destinations of all sources, one source after the other; its content is replaced.
    ///   - ends: receives for each key the end of its destinations in `found`; its content is replaced.
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func destinations(
        entity: UInt32, sortedKeys keys: UnsafeBufferPointer<Int64>, into found: inout [ObjectReference],
        ends: inout [Int]
    ) throws(MigrationError) {
        found.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        guard let forward else {
            for key in keys {
                try destinations(of: ObjectReference(entity: entity, key: key), into: &found)
                ends.append(found.count)
            }
            return
        }
        try prepare(for: keys.count, in: forward)
        let (layout, size) = (self.layout, self.layout.referenceWords)
        var hits: [(index: Int, sequence: UInt64, destination: ObjectReference)] = []
        try forEachPair(entity: entity, sortedKeys: keys, in: forward) { index, words in
            hits.append((index, words[size], layout.decode(words + size + 1)))
        }
        hits.sort { $0.index != $1.index ? $0.index < $1.index : $0.sequence < $1.sequence }
        var next = 0
        for index in 0..<keys.count {
            let start = found.count
            while next < hits.count && hits[next].index == index {
                found.append(hits[next].destination)
                next += 1
            }
            Self.dropRepeats(&found, from: start)
            ends.append(found.count)
        }
    }

    private func forEachPair(
        entity: UInt32, sortedKeys keys: UnsafeBufferPointer<Int64>, in log: RecordLog,
        _ body: (Int, UnsafePointer<UInt64>) -> Void
    ) throws(MigrationError) {
        let (layout, size) = (self.layout, self.layout.referenceWords)
        // A narrow table cannot hold keys beyond the narrow form: skip them at both ends.
        var (first, last) = (0, keys.count)
        if !layout.isWide {
            while first < last, !PairLayout.isNarrow(ObjectReference(entity: entity, key: keys[first])) { first += 1 }
            while last > first, !PairLayout.isNarrow(ObjectReference(entity: entity, key: keys[last - 1])) { last -= 1 }
        }
        let prefixes = UnsafeMutablePointer<UInt64>.allocate(capacity: max(1, (last - first) * size))
        defer { prefixes.deallocate() }
        for index in first..<last {
            layout.encode(ObjectReference(entity: entity, key: keys[index]), into: prefixes + (index - first) * size)
        }
        try log.forEach(sortedPrefixes: prefixes, count: last - first, words: size) { body($0 + first, $1) }
    }

    private func monotonicDestination(of source: ObjectReference) throws(MigrationError) -> ObjectReference? {
        if let ascending {
            guard let first = try ascending.pairs(of: source)?.first else { return nil }
            return try ascending.destination(first)
        }
        guard let form = monotonic, source.entity == form.sourceEntity,
            let rank = try form.keys.rank(of: source.key)
        else { return nil }
        return ObjectReference(
            entity: form.destinationEntity, key: form.destination(rank: rank, source: source.key))
    }

    private func partners(
        of reference: ObjectReference, in log: RecordLog, into found: inout [ObjectReference]
    ) throws(MigrationError) {
        guard layout.isWide || PairLayout.isNarrow(reference) else { return }
        let (layout, size) = (self.layout, self.layout.referenceWords)
        let start = found.count
        sequences.removeAll(keepingCapacity: true)
        var isInOrder = true
        layout.encode(reference, into: record)
        // Local copies, so that the closure holds no reference to the table.
        var gathered = sequences
        sequences = []
        var partners = found
        found = []
        defer {
            sequences = gathered
            found = partners
        }
        try log.forEach(prefix: record, words: size) { words in
            if let last = gathered.last, words[size] < last { isInOrder = false }
            gathered.append(words[size])
            partners.append(layout.decode(words + size + 1))
        }
        if !isInOrder {
            let added = Array(zip(gathered, partners[start...])).sorted { $0.0 < $1.0 }
            for (index, pair) in added.enumerated() { partners[start + index] = pair.1 }
        }
        Self.dropRepeats(&partners, from: start)
    }

    /// Keeps the first of equal references, from an index on.
    private static func dropRepeats(_ references: inout [ObjectReference], from start: Int) {
        guard references.count - start > 1 else { return }
        var kept = start
        if references.count - start <= 16 {
            for index in start..<references.count where !references[start..<kept].contains(references[index]) {
                references[kept] = references[index]
                kept += 1
            }
        } else {
            var seen = Set<ObjectReference>(minimumCapacity: references.count - start)
            for index in start..<references.count where seen.insert(references[index]).inserted {
                references[kept] = references[index]
                kept += 1
            }
        }
        references.removeLast(references.count - kept)
    }
}
