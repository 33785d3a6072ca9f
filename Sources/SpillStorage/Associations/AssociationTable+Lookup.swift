import Diagnostics

extension AssociationTable {
    /// Appends the destinations of a source to an array, in order of association, each once.
    ///
    /// - Complexity: O(log n) and the size of the answer.
    package func destinations(
        of source: ObjectReference, into found: inout [ObjectReference]
    ) throws(MigrationError) {
        if let forward {
            try partners(of: source, in: forward, into: &found)
        } else if let destination = try monotonicDestination(of: source) {
            found.append(destination)
        }
    }

    /// Appends the sources of a destination to an array, in order of association, each once.
    ///
    /// The first call on a table that is not monotonic sorts its pairs by destination.
    ///
    /// - Complexity: O(log n) and the size of the answer.
    package func sources(of destination: ObjectReference, into found: inout [ObjectReference]) throws(MigrationError) {
        guard forward == nil else {
            try partners(of: destination, in: try reversed(), into: &found)
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

    private func monotonicDestination(of source: ObjectReference) throws(MigrationError) -> ObjectReference? {
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
        var seen = Set<ObjectReference>(minimumCapacity: references.count - start)
        for index in start..<references.count where seen.insert(references[index]).inserted {
            references[kept] = references[index]
            kept += 1
        }
        references.removeLast(references.count - kept)
    }
}
