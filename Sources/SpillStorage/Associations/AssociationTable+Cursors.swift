import Diagnostics

extension AssociationTable {
    /// The distinct destinations in order of first association, each with its first source.
    ///
    /// The cursor shows the pairs as they are now; pairs added later are not seen. If destinations were not associated in
    /// ascending order, they are sorted first.
    ///
    /// Memory of the cursor: a block for each run, or a quarter of the table's allowance.
    package func destinationsInOrderOfFirstAssociation() throws(MigrationError) -> DestinationCursor {
        guard forward != nil else { return DestinationCursor(.walk(orderedWalk())) }
        let reverse = try reversed().scan()
        guard !destinationsAscend else { return DestinationCursor(.reverse(reverse, layout)) }
        let size = layout.referenceWords
        let sorter = newSorter("order")
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: layout.width * 2)
        defer { words.deallocate() }
        let previous = words + layout.width
        var isFirst = true
        while try reverse.next(into: words) {
            if !isFirst, RecordOrder.isEqual(words, previous, words: size) { continue }
            previous.update(from: words, count: size)
            isFirst = false
            record[0] = words[size]
            (record + 1).update(from: words, count: size)
            (record + 1 + size).update(from: words + size + 1, count: size)
            try sorter.append(record)
        }
        return DestinationCursor(.sorted(try sorter.finish(), layout))
    }

    /// Passes the source of every pair to a closure, in order of association.
    ///
    /// If sources were not associated in ascending order, they are sorted first, in a quarter of the table's allowance.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77), and what the closure throws.
    package func forEachSourceInOrderOfAssociation(_ body: (ObjectReference) throws -> Void) throws {
        guard let forward else {
            guard let walk = orderedWalk() else { return }
            while let pair = try walk.next() { try body(pair.source) }
            return
        }
        let size = layout.referenceWords
        let sorter = newSorter("sources")
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: layout.width)
        defer { words.deallocate() }
        let cursor = try forward.scan()
        while try cursor.next(into: words) {
            record[0] = words[size]
            (record + 1).update(from: words, count: size)
            (record + 1 + size).update(repeating: 0, count: size)
            try sorter.append(record)
        }
        let sorted = try sorter.finish()
        while try sorted.next(into: words) { try body(layout.decode(words + 1)) }
    }

    /// All pairs by source (entity, then key); those of a source in order of association.
    ///
    /// The cursor shows the pairs as they are now; pairs added later are not seen.
    ///
    /// Memory of the cursor: a block for each run.
    package func pairs() throws(MigrationError) -> PairWalk {
        try dropDuplicates()
        return try forward.map { log throws(MigrationError) in LogWalk(try log.scan(), layout) }
            ?? orderedWalk() ?? PairWalk()
    }
}

/// Walks over the pairs of a monotonic table in order, as they were when the walk began.
///
/// Memory: 512 keys. It keeps the keys, and so their file, alive.
final class MonotonicWalk: PairWalk {
    private let form: AssociationTable.Monotonic
    private let keys: KeyStream
    private let end: Int
    private var rank = 0

    init(_ form: AssociationTable.Monotonic) {
        self.form = form
        keys = KeyStream(form.keys)
        end = form.keys.count
    }

    package override func next() throws(MigrationError) -> (source: ObjectReference, destination: ObjectReference)? {
        // Keys may have been appended since the walk began: leave them out.
        guard rank < end, let key = try keys.next() else { return nil }
        defer { rank += 1 }
        return (
            ObjectReference(entity: form.sourceEntity, key: key),
            ObjectReference(entity: form.destinationEntity, key: form.destination(rank: rank, source: key))
        )
    }
}

/// Reads the pairs of a log by source.
private final class LogWalk: PairWalk {
    private let log: RecordCursor
    private let layout: PairLayout
    private let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 5)

    init(_ log: RecordCursor, _ layout: PairLayout) {
        self.log = log
        self.layout = layout
    }

    deinit { words.deallocate() }

    override func next() throws(MigrationError) -> (source: ObjectReference, destination: ObjectReference)? {
        guard try log.next(into: words) else { return nil }
        return (layout.decode(words), layout.decode(words + layout.referenceWords + 1))
    }
}

/// Reads the distinct destinations of an ``AssociationTable``, in order of first association.
package final class DestinationCursor {
    enum Origin {
        case walk(PairWalk?)
        case reverse(RecordCursor, PairLayout)
        case sorted(SortedRecords, PairLayout)
    }

    private let origin: Origin
    private let words: UnsafeMutablePointer<UInt64>
    private var previous = ObjectReference.none

    init(_ origin: Origin) {
        self.origin = origin
        words = .allocate(capacity: 5)
    }

    deinit { words.deallocate() }

    /// Returns the next destination and its first source; nil at the end.
    package func next() throws(MigrationError) -> (destination: ObjectReference, firstSource: ObjectReference)? {
        switch origin {
        case .walk(let walk):
            guard let pair = try walk?.next() else { return nil }
            return (pair.destination, pair.source)
        case .reverse(let cursor, let layout):
            while try cursor.next(into: words) {
                let destination = layout.decode(words)
                if destination == previous { continue }
                previous = destination
                return (destination, layout.decode(words + layout.referenceWords + 1))
            }
            return nil
        case .sorted(let sorted, let layout):
            guard try sorted.next(into: words) else { return nil }
            return (layout.decode(words + 1), layout.decode(words + 1 + layout.referenceWords))
        }
    }
}
