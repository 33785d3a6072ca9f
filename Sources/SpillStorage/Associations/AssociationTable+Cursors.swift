import Diagnostics

extension AssociationTable {
    /// The distinct destinations in order of first association, each with its first source.
    ///
    /// The cursor shows the pairs as they are now; pairs added later are not seen. If destinations were not associated in
    /// ascending order, they are sorted first.
    ///
    /// Memory of the cursor: a block for each run, or a quarter of the table's allowance.
    package func destinationsInOrderOfFirstAssociation() throws(MigrationError) -> PairWalk {
        guard forward != nil else { return orderedWalk() }
        let (layout, size) = (layout, layout.referenceWords)
        var previous = ObjectReference.none
        guard !destinationsAscend else {
            let reverse = try reversed().scan()
            let words = RecordBlock(words: layout.width)
            return PairWalk { () throws(MigrationError) in
                while try reverse.next(into: words.records) {
                    let destination = layout.decode(words.records)
                    if destination == previous { continue }
                    previous = destination
                    return (layout.decode(words.records + size + 1), destination)
                }
                return nil
            }
        }
        let sorter = newSorter("order")
        try reversed().forEachRecord { words throws(MigrationError) in
            let destination = layout.decode(words)
            if destination == previous { return }
            previous = destination
            record[0] = words[size]
            (record + 1).update(from: words, count: size)
            (record + 1 + size).update(from: words + size + 1, count: size)
            try sorter.append(record)
        }
        let sorted = try sorter.finish()
        let next = RecordBlock(words: layout.width)
        return PairWalk { () throws(MigrationError) in
            guard try sorted.next(into: next.records) else { return nil }
            return (layout.decode(next.records + 1 + size), layout.decode(next.records + 1))
        }
    }

    /// Passes the source of every pair to a closure, in order of association.
    ///
    /// If sources were not associated in ascending order, they are sorted first, in a quarter of the table's allowance.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77), and what the closure throws.
    package func forEachSourceInOrderOfAssociation(_ body: (ObjectReference) throws -> Void) throws {
        guard let forward else {
            let walk = orderedWalk()
            while let pair = try walk.next() { try body(pair.source) }
            return
        }
        let size = layout.referenceWords
        let sorter = newSorter("sources")
        try forward.forEachRecord { words throws(MigrationError) in
            record[0] = words[size]
            (record + 1).update(from: words, count: size)
            (record + 1 + size).update(repeating: 0, count: size)
            try sorter.append(record)
        }
        let sorted = try sorter.finish()
        let words = RecordBlock(words: layout.width)
        while try sorted.next(into: words.records) { try body(layout.decode(words.records + 1)) }
    }

    /// All pairs by source (entity, then key); those of a source in order of association.
    ///
    /// The cursor shows the pairs as they are now; pairs added later are not seen.
    ///
    /// Memory of the cursor: a block for each run.
    package func pairs() throws(MigrationError) -> PairWalk {
        try dropDuplicates()
        guard let log = try forward?.scan() else { return orderedWalk() }
        let (layout, words) = (layout, RecordBlock(words: layout.width))
        return PairWalk { () throws(MigrationError) in
            guard try log.next(into: words.records) else { return nil }
            return (layout.decode(words.records), layout.decode(words.records + layout.referenceWords + 1))
        }
    }
}

/// Reads pairs in order.
package final class PairWalk {
    private let body: () throws(MigrationError) -> (source: ObjectReference, destination: ObjectReference)?

    init(_ body: @escaping () throws(MigrationError) -> (source: ObjectReference, destination: ObjectReference)?) {
        self.body = body
    }

    /// Returns the next pair; nil at the end.
    package func next() throws(MigrationError) -> (source: ObjectReference, destination: ObjectReference)? {
        try body()
    }
}
