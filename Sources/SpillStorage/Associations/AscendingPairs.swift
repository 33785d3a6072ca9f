import Diagnostics

/// The pairs of an ``AssociationTable`` whose sources never go down and whose destinations go up with every pair. Policies that
/// create one, several or no objects of each source object make such pairs.
///
/// Three sets hold them: the sources, the destinations, and the numbers of the pairs at which a source begins.
///
/// Memory: its allowance; 0 to 0.5 bytes a pair beyond it on disk.
final class AscendingPairs {
    let sourceEntity: UInt32
    let destinationEntity: UInt32
    private let sources: KeyIndex
    private let destinations: KeyIndex
    private let starts: KeyIndex

    init(directory: WorkDirectory, name: String, memory: Int, sourceEntity: UInt32, destinationEntity: UInt32) {
        self.sourceEntity = sourceEntity
        self.destinationEntity = destinationEntity
        sources = KeyIndex(directory: directory, name: name + "-sources", memory: memory / 3)
        destinations = KeyIndex(directory: directory, name: name + "-destinations", memory: memory / 3)
        starts = KeyIndex(directory: directory, name: name + "-starts", memory: memory / 3)
    }

    /// Writes the sets' state.
    func save(to state: inout StateWriter) throws(MigrationError) {
        state.write(sourceEntity)
        state.write(destinationEntity)
        for set in [sources, destinations, starts] { try set.save(to: &state) }
    }

    /// Restores saved pairs.
    convenience init(
        restoring state: inout StateReader, directory: WorkDirectory, name: String, memory: Int
    ) throws(MigrationError) {
        let (source, destination) = (try state.page(), try state.page())
        self.init(
            directory: directory, name: name, memory: memory, sourceEntity: source, destinationEntity: destination)
        for set in [sources, destinations, starts] { try set.restore(from: &state) }
        guard sources.count == starts.count, destinations.count >= sources.count else {
            throw StateReader.damaged("pairs")
        }
    }

    /// The number of pairs.
    var count: Int { destinations.count }

    /// The size in bytes of the sets in memory.
    var bytesInMemory: Int { sources.bytesInMemory + destinations.bytesInMemory + starts.bytesInMemory }

    /// Adds a pair if it keeps the order, or is in the table already.
    ///
    /// - Returns: false if this form cannot hold the pair.
    func add(source: ObjectReference, destination: ObjectReference) throws(MigrationError) -> Bool {
        guard source.entity == sourceEntity, destination.entity == destinationEntity else { return false }
        guard count > 0, source.key <= sources.lastKey else {
            guard count == 0 || destination.key > destinations.lastKey else { return false }
            try starts.append(Int64(count))
            try sources.append(source.key)
            try destinations.append(destination.key)
            return true
        }
        if source.key == sources.lastKey, destination.key > destinations.lastKey {
            try destinations.append(destination.key)
            return true
        }
        guard let range = try pairs(of: source), let number = try destinations.rank(of: destination.key) else {
            return false
        }
        return range.contains(number)
    }

    /// Writes the sets to disk and frees their memory, unless they are small.
    func park() throws(MigrationError) { for set in [sources, destinations, starts] { try set.park() } }

    /// Puts the sets into their smallest form.
    func seal() throws(MigrationError) {
        try sources.seal()
        try destinations.seal()
        try starts.seal()
        assert(sources.count == starts.count && destinations.count >= sources.count, "each source begins at a pair")
    }

    /// The range of the numbers of a source's pairs; nil if it has none.
    func pairs(of source: ObjectReference) throws(MigrationError) -> Range<Int>? {
        guard source.entity == sourceEntity, let rank = try sources.rank(of: source.key) else { return nil }
        return try pairs(ofRank: rank)
    }

    private func pairs(ofRank rank: Int) throws(MigrationError) -> Range<Int>? {
        var bounds: (Int64, Int64) = (0, Int64(count))
        let wanted = rank + 1 < sources.count ? 2 : 1
        let found = try withUnsafeMutablePointer(to: &bounds) { pointer throws(MigrationError) in
            try pointer.withMemoryRebound(to: Int64.self, capacity: 2) { keys throws(MigrationError) in
                try starts.keys(fromRank: rank, into: UnsafeMutableBufferPointer(start: keys, count: wanted))
            }
        }
        guard found == wanted, bounds.0 < bounds.1 else { return nil }
        return Int(bounds.0)..<Int(bounds.1)
    }

    /// The destination of the pair with a number.
    func destination(_ number: Int) throws(MigrationError) -> ObjectReference? {
        guard let key = try destinations.key(atRank: number) else { return nil }
        return ObjectReference(entity: destinationEntity, key: key)
    }

    /// The source of a destination; nil if the destination is in no pair.
    ///
    /// - Complexity: O(log n).
    func source(of destination: ObjectReference) throws(MigrationError) -> ObjectReference? {
        guard destination.entity == destinationEntity, let number = try destinations.rank(of: destination.key) else {
            return nil
        }
        // Find the last source that begins at this pair or before. It is mostly near.
        var low = 0
        var high = sources.count
        var near = number
        while near >= max(0, number - 3) {
            if let rank = try starts.rank(of: Int64(near)) {
                (low, high) = (rank, rank + 1)
                break
            }
            near -= 1
        }
        while high - low > 1 {
            let middle = (low + high) / 2
            guard let start = try starts.key(atRank: middle) else { return nil }
            if start <= Int64(number) { low = middle } else { high = middle }
        }
        guard let key = try sources.key(atRank: low) else { return nil }
        return ObjectReference(entity: sourceEntity, key: key)
    }

    /// A walk over the pairs, in order of association, as they are now.
    func walk() -> PairWalk { AscendingWalk(self, sources: sources, destinations: destinations, starts: starts) }
}

/// Reads pairs in order; a walk of its own has none.
package class PairWalk {
    /// Returns the next pair; nil at the end.
    package func next() throws(MigrationError) -> (source: ObjectReference, destination: ObjectReference)? { nil }
}

/// Walks over the pairs of ``AscendingPairs``, as they were when the walk began.
///
/// Memory: 1,536 keys. It keeps the sets, and so their files, alive.
private final class AscendingWalk: PairWalk {
    private let pairs: AscendingPairs
    private let sources: KeyStream
    private let destinations: KeyStream
    private let starts: KeyStream
    private let end: Int
    private var number = 0
    private var source: Int64 = 0
    private var nextStart: Int64?

    init(_ pairs: AscendingPairs, sources: KeyIndex, destinations: KeyIndex, starts: KeyIndex) {
        self.pairs = pairs
        self.sources = KeyStream(sources)
        self.destinations = KeyStream(destinations)
        self.starts = KeyStream(starts)
        end = pairs.count
        nextStart = 0
    }

    package override func next() throws(MigrationError) -> (source: ObjectReference, destination: ObjectReference)? {
        guard number < end, let key = try destinations.next() else { return nil }
        if Int64(number) == nextStart {
            guard let first = try sources.next() else { return nil }
            source = first
            if number == 0 { _ = try starts.next() }
            nextStart = try starts.next()
        }
        number += 1
        return (
            ObjectReference(entity: pairs.sourceEntity, key: source),
            ObjectReference(entity: pairs.destinationEntity, key: key)
        )
    }
}

/// Reads the keys of a ``KeyIndex`` one after the other, including keys that are appended meanwhile.
///
/// Memory: 512 keys.
final class KeyStream {
    private let index: KeyIndex
    private let keys: UnsafeMutableBufferPointer<Int64>
    private var rank = 0
    private var position = 0
    private var count = 0

    init(_ index: KeyIndex) {
        self.index = index
        keys = .allocate(capacity: 512)
    }

    deinit { keys.deallocate() }

    func next() throws(MigrationError) -> Int64? {
        if position == count {
            rank += count
            position = 0
            count = try index.keys(fromRank: rank, into: keys)
            if count == 0 { return nil }
        }
        position += 1
        return keys[position - 1]
    }
}
