import Diagnostics

/// The pairs of source and destination objects of one entity mapping: on disk, readable at any time between adds.
///
/// Pairs come in any order, a pair added twice counts once, and the order of association is kept. The table has one of two
/// forms.
///
/// 1. The set of the sources' keys. It serves while all pairs have one source entity and one destination entity, sources
///   ascend, each source has one destination, and the destinations' keys follow from the sources: the first one + rank, or the
///   source's own key. It takes 0 to 0.14 bytes a pair.
/// 2. A ``RecordLog`` of (source, sequence, destination). The first pair that does not fit the other form converts the table,
///   once. The reversed log is made when it is first asked for.
///
/// Memory: the allowance, and the directories of ``KeyIndex`` or ``RecordLog``. For use by one thread. After an error of
/// writing the table must only be released.
package final class AssociationTable {
    /// Pairs whose destinations follow from their sources.
    struct Monotonic {
        var keys: KeyIndex
        var sourceEntity: UInt32
        var destinationEntity: UInt32
        var base: Int64
        /// True while each destination is base + rank.
        var mayBeRanked = true
        /// True while each destination has its source's key.
        var mayBeIdentity: Bool

        /// The key of the destination of the source with a rank.
        func destination(rank: Int, source: Int64) -> Int64 { mayBeRanked ? base &+ Int64(rank) : source }
    }

    private let directory: WorkDirectory
    private let name: String
    private let memory: Int
    private let logMemory: RecordMemory
    private(set) var monotonic: Monotonic?
    private(set) var forward: RecordLog?
    private var backward: RecordLog?
    private(set) var layout = PairLayout(isWide: false)
    private var sequence: UInt64 = 0
    private var largestSource = ObjectReference.none
    private var largestDestination = ObjectReference.none
    private var lastSource = ObjectReference.none
    private var lastDestination = ObjectReference.none
    private var mayHaveDuplicates = false
    /// True while destinations never went down: the order of their keys is then that of first association.
    private(set) var destinationsAscend = true
    let record: UnsafeMutablePointer<UInt64>
    var sequences: [UInt64] = []

    /// Makes an empty table. It makes no file until the allowance is used up.
    ///
    /// - Parameters:
    ///   - memory: the allowance in bytes for sets of keys and for sorting; 64 KiB are used at least.
    ///   - logs: the memory shared with other tables, for pairs that fit no set of keys.
    package init(directory: WorkDirectory, name: String, memory: Int, logs: RecordMemory) {
        self.directory = directory
        self.name = name
        self.memory = max(memory, 64 * 1024)
        logMemory = logs
        record = .allocate(capacity: 5)
        record.initialize(repeating: 0, count: 5)
    }

    deinit { record.deallocate() }

    /// The memory that the table's ``KeyIndex`` takes, in bytes: its chunks in memory, and the list of all its chunks. 0 if the
    /// table keeps its pairs in a log. Bytes on disk and the memory of logs are not counted.
    package var bytesInMemory: Int { monotonic?.keys.bytesInMemory ?? 0 }

    /// The number of distinct destinations, if it is known without a look at each pair; otherwise nil.
    ///
    /// In a set of keys every pair has a destination of its own.
    package var countOfDestinations: Int? { forward == nil ? monotonic?.keys.count ?? 0 : nil }

    /// Adds a pair, unless the table has it.
    ///
    /// - Precondition: neither is ``ObjectReference/none``.
    /// - Complexity: O(log n) amortised, O(1) while the table is monotonic.
    package func add(source: ObjectReference, destination: ObjectReference) throws(MigrationError) {
        precondition(!source.isNone && !destination.isNone)
        if forward == nil {
            if try addMonotonic(source: source, destination: destination) { return }
            try convert()
        }
        try addGeneral(source: source, destination: destination)
    }

    /// The sources of the pairs, if each has one destination and the destinations' keys are the first one + rank.
    ///
    /// - Returns: the sources' keys and the key of the first destination; nil if the pairs have another form, or if there are
    ///   none. No pair may be added afterwards.
    package func rankedSources(
        entity: Int, destinationEntity: Int
    ) throws(MigrationError) -> (sources: KeyIndex, first: Int64)? {
        guard let form = monotonic, form.mayBeRanked, form.sourceEntity == entity,
            form.destinationEntity == destinationEntity
        else { return nil }
        try form.keys.seal()
        return (form.keys, form.base)
    }

    /// Writes the pairs to disk and frees their memory. A small set of keys stays in memory, see ``KeyIndex/park()``.
    package func park() throws(MigrationError) {
        try monotonic?.keys.park()
        try forward?.release()
        try backward?.release()
    }

    /// Merges the runs of pairs into one. This pays once the adds are over and before very many lookups.
    ///
    /// It changes no answer.
    ///
    /// - Complexity: O(n log runs). The pairs take twice their size on disk meanwhile.
    package func prepareForLookups() throws(MigrationError) {
        try monotonic?.keys.seal()
        try forward?.compact()
    }

    // MARK: Outliving the process

    /// Writes the table's state, or restores it: this table must be empty. Pairs in memory go to the files before, except for
    /// small sets.
    package func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(
            optional: &monotonic,
            empty: Monotonic(
                keys: KeyIndex(directory: directory, name: name, memory: memory), sourceEntity: 0,
                destinationEntity: 0, base: 0, mayBeIdentity: false)
        ) { coder, form throws(MigrationError) in
            try coder.code(
                &form, \.sourceEntity, \.destinationEntity, \.base, \.mayBeRanked, \.mayBeIdentity)
            try form.keys.code(with: &coder)
        }
        try coder.code(&layout.isWide)
        try coder.code(optional: &forward, empty: newLog("pairs")) { coder, log throws(MigrationError) in
            try log.code(with: &coder)
        }
        try coder.code(optional: &backward, empty: newLog("reverse")) { coder, log throws(MigrationError) in
            try log.code(with: &coder)
        }
        var table = self
        try coder.code(
            &table, \.sequence, \.largestSource, \.largestDestination, \.lastSource, \.lastDestination,
            \.mayHaveDuplicates, \.destinationsAscend)
    }

    // MARK: Adding

    /// Adds a pair for each of some sources; their destinations have consecutive keys.
    ///
    /// - Complexity: O(sources) if the pairs keep the form base + rank, else as ``add(source:destination:)`` for each.
    package func add(
        sources: UnsafeBufferPointer<Int64>, of entity: UInt32, destinations first: Int64, of destinationEntity: UInt32
    ) throws(MigrationError) {
        guard let least = sources.first, let greatest = sources.last else { return }
        if let form = monotonic, form.mayBeRanked, form.sourceEntity == entity,
            form.destinationEntity == destinationEntity, least > form.keys.lastKey,
            first == form.base &+ Int64(form.keys.count)
        {
            // If only some pairs had the sources' own keys, the flag would have to be decided pair by pair, below.
            let isIdentity = least == first && greatest &- least == Int64(sources.count) - 1
            if !form.mayBeIdentity || isIdentity { return try form.keys.append(contentsOf: sources) }
        }
        for (place, source) in sources.enumerated() {
            try add(
                source: ObjectReference(entity: entity, key: source),
                destination: ObjectReference(entity: destinationEntity, key: first &+ Int64(place)))
        }
    }

    private func addMonotonic(
        source: ObjectReference, destination: ObjectReference
    ) throws(MigrationError) -> Bool {
        guard let form = monotonic else {
            let keys = KeyIndex(directory: directory, name: name, memory: memory)
            try keys.append(source.key)
            monotonic = Monotonic(
                keys: keys, sourceEntity: source.entity, destinationEntity: destination.entity,
                base: destination.key, mayBeIdentity: source.key == destination.key)
            return true
        }
        guard source.entity == form.sourceEntity, destination.entity == form.destinationEntity else { return false }
        if source.key > form.keys.lastKey {
            let isRanked = form.mayBeRanked && destination.key == form.base &+ Int64(form.keys.count)
            let isIdentity = form.mayBeIdentity && destination.key == source.key
            guard isRanked || isIdentity else { return false }
            try form.keys.append(source.key)
            if isRanked != form.mayBeRanked { monotonic?.mayBeRanked = isRanked }
            if isIdentity != form.mayBeIdentity { monotonic?.mayBeIdentity = isIdentity }
            return true
        }
        guard let rank = try form.keys.rank(of: source.key) else { return false }
        return form.destination(rank: rank, source: source.key) == destination.key
    }

    /// A walk over the pairs of a table of a set of keys; over none for other tables.
    ///
    /// It holds a ``KeyWalk``.
    func orderedWalk() -> PairWalk {
        guard let form = monotonic else { return PairWalk { nil } }
        let keys = KeyWalk(form.keys)
        return PairWalk { () throws(MigrationError) in
            guard let (key, rank) = try keys.next() else { return nil }
            return (
                ObjectReference(entity: form.sourceEntity, key: key),
                ObjectReference(entity: form.destinationEntity, key: form.destination(rank: rank, source: key))
            )
        }
    }

    private func convert() throws(MigrationError) {
        layout = PairLayout(isWide: false)
        let walk = orderedWalk()
        forward = newLog("pairs")
        let count = monotonic?.keys.count ?? 0
        monotonic = nil
        while let pair = try walk.next() { try addGeneral(source: pair.source, destination: pair.destination) }
        assert(forward?.count == count && sequence == UInt64(count), "every pair goes over once")
    }

    private func addGeneral(source: ObjectReference, destination: ObjectReference) throws(MigrationError) {
        if source == lastSource && destination == lastDestination { return }
        if !layout.isWide && !(PairLayout.isNarrow(source) && PairLayout.isNarrow(destination)) { try widen() }
        let newSource = Self.isLarger(source, than: largestSource)
        let newDestination = Self.isLarger(destination, than: largestDestination)
        if !newSource && !newDestination { mayHaveDuplicates = true }
        if newSource { largestSource = source }
        if newDestination {
            largestDestination = destination
        } else if destination != largestDestination {
            destinationsAscend = false
        }
        lastSource = source
        lastDestination = destination
        if let forward { try append(source, sequence, destination, to: forward) }
        if let backward { try append(destination, sequence, source, to: backward) }
        sequence += 1
    }

    private static func isLarger(_ left: ObjectReference, than right: ObjectReference) -> Bool {
        if right.isNone { return true }
        return left.entity != right.entity ? left.entity > right.entity : left.key > right.key
    }

    private func append(
        _ first: ObjectReference, _ sequence: UInt64, _ second: ObjectReference, to log: RecordLog
    ) throws(MigrationError) {
        let words = layout.referenceWords
        layout.encode(first, into: record)
        record[words] = sequence
        layout.encode(second, into: record + words + 1)
        try log.append(record)
    }

    private func newLog(_ suffix: String) -> RecordLog {
        RecordLog(
            directory: directory, name: name + "-" + suffix, width: layout.width,
            indexWords: layout.referenceWords, memory: logMemory, runsOfLevel: 12)
    }

    /// Converts the log to two words a reference, for entities and keys beyond the narrow form.
    private func widen() throws(MigrationError) {
        let narrow = layout
        let old = forward
        layout = PairLayout(isWide: true)
        let new = newLog("pairs")
        try old?.forEachRecord { words throws(MigrationError) in
            try append(narrow.decode(words), words[1], narrow.decode(words + 2), to: new)
        }
        forward = new
        backward = nil
    }

    // MARK: Other forms

    /// The log of (destination, sequence, source). It is made now if it is missing.
    func reversed() throws(MigrationError) -> RecordLog {
        if let backward { return backward }
        let log = newLog("reverse")
        let size = layout.referenceWords
        try forward?.forEachRecord { words throws(MigrationError) in
            record.update(from: words + size + 1, count: size)
            record[size] = words[size]
            (record + size + 1).update(from: words, count: size)
            try log.append(record)
        }
        backward = log
        return log
    }

    /// Rewrites the log so that only the first of equal pairs remains.
    func dropDuplicates() throws(MigrationError) {
        guard mayHaveDuplicates, let old = forward else { return }
        let size = layout.referenceWords
        let sorter = newSorter("distinct")
        try old.forEachRecord { words throws(MigrationError) in
            record.update(from: words, count: size)
            (record + size).update(from: words + size + 1, count: size)
            record[2 * size] = words[size]
            try sorter.append(record)
        }
        let sorted = try sorter.finish()
        let new = newLog("pairs")
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: layout.width * 2)
        defer { words.deallocate() }
        let previous = words + layout.width
        var isFirst = true
        while try sorted.next(into: words) {
            if !isFirst, RecordOrder.isEqual(words, previous, words: 2 * size) { continue }
            previous.update(from: words, count: layout.width)
            isFirst = false
            record.update(from: words, count: size)
            record[size] = words[2 * size]
            (record + size + 1).update(from: words + size, count: size)
            try new.append(record)
        }
        forward = new
        mayHaveDuplicates = false
    }

    func newSorter(_ suffix: String) -> RecordSorter {
        RecordSorter(directory: directory, name: name + "-" + suffix, width: layout.width, memory: memory / 2)
    }
}
