import Diagnostics

/// The pairs of source and destination objects of one entity mapping: on disk, readable at any time between adds.
///
/// Pairs come in any order, a pair twice counts once, and the order of association is kept. While all pairs have one
/// source entity and one destination entity and sources ascend, a table is sets of keys: of the sources alone where each
/// has one destination, numbered along (first one + rank) or with the source's key, 0 to 0.14 bytes a pair; else
/// ``AscendingPairs`` where destinations ascend too. The first pair that does not fit converts it, once, to a
/// ``RecordLog`` of (source, sequence, destination); the log the other way round is made when it is first asked for.
///
/// Memory: the allowance, and the directories of ``KeyIndex`` or ``RecordLog``. For use by one thread. After an error
/// of writing
/// it is only to be released.
package final class AssociationTable {
    /// The form of pairs whose destinations follow from their sources.
    struct Monotonic {
        var keys: KeyIndex
        var sourceEntity: UInt32
        var destinationEntity: UInt32
        /// The first destination's key.
        var base: Int64
        /// Each destination is base + rank so far.
        var mayBeRanked = true
        /// Each destination has its source's key so far.
        var mayBeIdentity: Bool

        /// The destination's key of the source with a rank.
        func destination(rank: Int, source: Int64) -> Int64 { mayBeRanked ? base &+ Int64(rank) : source }
    }

    private let directory: WorkDirectory
    private let name: String
    private let memory: Int
    private let logMemory: RecordMemory
    private(set) var monotonic: Monotonic?
    private(set) var ascending: AscendingPairs?
    private(set) var forward: RecordLog?
    private var backward: RecordLog?
    private(set) var layout = PairLayout(isWide: false)
    private var sequence: UInt64 = 0
    private var largestSource = ObjectReference.none
    private var largestDestination = ObjectReference.none
    private var lastSource = ObjectReference.none
    private var lastDestination = ObjectReference.none
    private var mayHaveDuplicates = false
    /// Whether destinations never went down so far: the order of their keys is that of first association.
    private(set) var destinationsAscend = true
    let record: UnsafeMutablePointer<UInt64>
    var sequences: [UInt64] = []
    private var probes = 0

    /// An empty table; no file is made until the allowance is used up.
    ///
    /// - Parameters:
    ///   - name: the beginning of its files' names.
    ///   - memory: bytes to use for sets of keys and for sorting; 64 KiB is the least that it keeps to.
    ///   - logs: what it shares with other tables for pairs that fit no such set.
    package init(directory: WorkDirectory, name: String, memory: Int, logs: RecordMemory) {
        self.directory = directory
        self.name = name
        self.memory = max(memory, 64 * 1024)
        logMemory = logs
        record = .allocate(capacity: 5)
        record.initialize(repeating: 0, count: 5)
    }

    /// An empty table with an allowance of its own.
    ///
    /// - Parameter memory: bytes to use; 512 KiB is the least that it keeps to.
    package convenience init(directory: WorkDirectory, name: String, memory: Int) {
        let memory = max(memory, 512 * 1024)
        self.init(directory: directory, name: name, memory: memory / 2, logs: RecordMemory(bytes: memory / 4 * 3))
    }

    deinit { record.deallocate() }

    /// Whether the table is sets of keys.
    package var isMonotonic: Bool { forward == nil }

    /// The pairs in the table.
    ///
    /// Where a pair may have been added twice they are sorted once to find out: O(n log n), then O(1) until the next
    /// such add.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func count() throws(MigrationError) -> Int {
        guard forward != nil else { return ascending?.count ?? monotonic?.keys.count ?? 0 }
        try dropDuplicates()
        return forward?.count ?? 0
    }

    /// Bytes in memory of the sets of keys that the table is, their directories included; what is on disk is not
    /// counted, nor are pairs that fit no such set.
    package var bytesInMemory: Int { ascending?.bytesInMemory ?? monotonic?.keys.bytesInMemory ?? 0 }

    /// The distinct destinations, where they are known without looking at each pair; nil where they are not.
    ///
    /// In sets of keys every pair has a destination of its own.
    package var countOfDestinations: Int? { forward == nil ? ascending?.count ?? monotonic?.keys.count ?? 0 : nil }

    /// Adds a pair, unless it is there.
    ///
    /// - Precondition: neither is ``ObjectReference/none``.
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    /// - Complexity: O(log n) amortised, O(1) while the table is monotonic.
    package func add(source: ObjectReference, destination: ObjectReference) throws(MigrationError) {
        precondition(!source.isNone && !destination.isNone)
        if forward == nil {
            if ascending == nil, try addMonotonic(source: source, destination: destination) { return }
            if try addAscending(source: source, destination: destination) { return }
            try convert()
        }
        try addGeneral(source: source, destination: destination)
    }

    /// The sources of the pairs, where each has one destination and these are numbered along.
    ///
    /// - Parameters:
    ///   - entity: of all sources.
    ///   - destinationEntity: of all destinations.
    /// - Returns: the sources' keys and the key of the first one's destination; nil where the pairs have another form, and
    ///   where there are none. No pair may be added any more.
    /// - Throws: `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func rankedSources(
        entity: Int, destinationEntity: Int
    ) throws(MigrationError) -> (sources: KeyIndex, first: Int64)? {
        guard let form = monotonic, form.mayBeRanked, form.sourceEntity == entity,
            form.destinationEntity == destinationEntity
        else { return nil }
        try form.keys.seal()
        return (form.keys, form.base)
    }

    /// Puts the pairs on disk and gives their memory back, where they are more than some.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func park() throws(MigrationError) {
        try monotonic?.keys.park()
        try forward?.release()
        try backward?.release()
    }

    /// Forgets all pairs and removes the files. Cursors made before keep theirs.
    package func removeAll() {
        monotonic = nil
        ascending = nil
        forward = nil
        backward = nil
        layout = PairLayout(isWide: false)
        sequence = 0
        largestSource = .none
        largestDestination = .none
        lastSource = .none
        lastDestination = .none
        mayHaveDuplicates = false
        destinationsAscend = true
        probes = 0
    }

    /// Joins the runs of pairs into one: worth it once the adds are over and before very many lookups.
    ///
    /// Bulk lookups do it by themselves after as many probes as a sixteenth of the pairs. It changes no answer.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    /// - Complexity: O(n log runs), and the size of the pairs on disk a second time meanwhile.
    package func prepareForLookups() throws(MigrationError) {
        try monotonic?.keys.seal()
        try ascending?.seal()
        try forward?.compact()
    }

    // MARK: Outliving the process

    /// Writes what is in memory to the files, but for what is small, and the table's state.
    ///
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    package func save(to state: inout StateWriter) throws(MigrationError) {
        try state.write(optional: monotonic) { form, state throws(MigrationError) in
            state.write(form.sourceEntity)
            state.write(form.destinationEntity)
            state.write(form.base)
            state.write(form.mayBeRanked)
            state.write(form.mayBeIdentity)
            try form.keys.save(to: &state)
        }
        try state.write(optional: ascending) { pairs, state throws(MigrationError) in try pairs.save(to: &state) }
        state.write(layout.isWide)
        for log in [forward, backward] {
            try state.write(optional: log) { log, state throws(MigrationError) in try log.save(to: &state) }
        }
        state.write(sequence)
        for reference in [largestSource, largestDestination, lastSource, lastDestination] {
            state.write(reference.entity)
            state.write(reference.key)
        }
        state.write(mayHaveDuplicates)
        state.write(destinationsAscend)
    }

    /// Takes over a table that was written; this one is empty.
    ///
    /// - Throws: `journal.damaged`, `spill.io` (74), `spill.permission` (77).
    package func restore(from state: inout StateReader) throws(MigrationError) {
        monotonic = try state.optional { state throws(MigrationError) in
            let form = Monotonic(
                keys: KeyIndex(directory: directory, name: name, memory: memory), sourceEntity: try state.page(),
                destinationEntity: try state.page(), base: try state.integer(), mayBeRanked: try state.flag(),
                mayBeIdentity: try state.flag())
            try form.keys.restore(from: &state)
            return form
        }
        ascending = try state.optional { state throws(MigrationError) in
            try AscendingPairs(restoring: &state, directory: directory, name: name, memory: memory)
        }
        layout = PairLayout(isWide: try state.flag())
        forward = try restoredLog("pairs", &state)
        backward = try restoredLog("reverse", &state)
        sequence = try state.word()
        func reference() throws(MigrationError) -> ObjectReference {
            ObjectReference(entity: try state.page(), key: try state.integer())
        }
        largestSource = try reference()
        largestDestination = try reference()
        lastSource = try reference()
        lastDestination = try reference()
        mayHaveDuplicates = try state.flag()
        destinationsAscend = try state.flag()
    }

    private func restoredLog(_ suffix: String, _ state: inout StateReader) throws(MigrationError) -> RecordLog? {
        guard try state.flag() else { return nil }
        let log = newLog(suffix)
        try log.restore(from: &state)
        return log
    }

    // MARK: Adding

    /// Adds a pair for each of some sources: with the next destination.
    ///
    /// - Parameters:
    ///   - sources: keys, ascending.
    ///   - entity: of the sources.
    ///   - first: the key of the first one's destination; the others' follow it.
    ///   - destinationEntity: of the destinations.
    /// - Throws: `spill.damaged`, `spill.full`, `spill.io` (74), `spill.permission` (77).
    /// - Complexity: O(sources) where they are numbered along, else as ``add(source:destination:)`` for each.
    package func add(
        sources: UnsafeBufferPointer<Int64>, of entity: UInt32, destinations first: Int64, of destinationEntity: UInt32
    ) throws(MigrationError) {
        guard let least = sources.first, let greatest = sources.last else { return }
        if let form = monotonic, form.mayBeRanked, form.sourceEntity == entity,
            form.destinationEntity == destinationEntity, least > form.keys.lastKey,
            first == form.base &+ Int64(form.keys.count)
        {
            // They all have their own keys, or none has: else it is found out one by one.
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

    /// Adds a pair to sets of sources and destinations; false where it does not fit there.
    private func addAscending(
        source: ObjectReference, destination: ObjectReference
    ) throws(MigrationError) -> Bool {
        if let ascending { return try ascending.add(source: source, destination: destination) }
        guard let form = monotonic, source.entity == form.sourceEntity, destination.entity == form.destinationEntity,
            source.key >= form.keys.lastKey,
            destination.key > form.destination(rank: form.keys.count - 1, source: form.keys.lastKey)
        else { return false }
        let pairs = AscendingPairs(
            directory: directory, name: name, memory: memory, sourceEntity: source.entity,
            destinationEntity: destination.entity)
        let walk = MonotonicWalk(form)
        while let pair = try walk.next() { _ = try pairs.add(source: pair.source, destination: pair.destination) }
        guard try pairs.add(source: source, destination: destination) else { return false }
        ascending = pairs
        monotonic = nil
        return true
    }

    /// The pairs of a table that is sets of keys.
    func orderedWalk() -> PairWalk? { ascending?.walk() ?? monotonic.map { MonotonicWalk($0) } }

    private func convert() throws(MigrationError) {
        layout = PairLayout(isWide: false)
        let walk = orderedWalk()
        forward = newLog("pairs")
        let count = ascending?.count ?? monotonic?.keys.count ?? 0
        monotonic = nil
        ascending = nil
        while let pair = try walk?.next() { try addGeneral(source: pair.source, destination: pair.destination) }
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

    /// Goes over to two words a reference, for entities and keys beyond the narrow form.
    private func widen() throws(MigrationError) {
        let narrow = layout
        let old = forward
        layout = PairLayout(isWide: true)
        let new = newLog("pairs")
        if let cursor = try old?.scan() {
            let words = UnsafeMutablePointer<UInt64>.allocate(capacity: narrow.width)
            defer { words.deallocate() }
            while try cursor.next(into: words) {
                try append(narrow.decode(words), words[1], narrow.decode(words + 2), to: new)
            }
        }
        forward = new
        backward = nil
    }

    // MARK: Other forms

    /// The log of (destination, sequence, source), made now where it is missing.
    func reversed() throws(MigrationError) -> RecordLog {
        if let backward { return backward }
        let log = newLog("reverse")
        if let cursor = try forward?.scan() {
            let words = UnsafeMutablePointer<UInt64>.allocate(capacity: layout.width)
            defer { words.deallocate() }
            let size = layout.referenceWords
            while try cursor.next(into: words) {
                for word in 0..<size {
                    record[word] = words[size + 1 + word]
                    record[size + 1 + word] = words[word]
                }
                record[size] = words[size]
                try log.append(record)
            }
        }
        backward = log
        return log
    }

    /// Rewrites the log without the later ones of equal pairs.
    func dropDuplicates() throws(MigrationError) {
        guard mayHaveDuplicates, let old = forward else { return }
        let size = layout.referenceWords
        let sorter = newSorter("distinct")
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: layout.width * 2)
        defer { words.deallocate() }
        let cursor = try old.scan()
        while try cursor.next(into: words) {
            for word in 0..<size {
                record[word] = words[word]
                record[size + word] = words[size + 1 + word]
            }
            record[2 * size] = words[size]
            try sorter.append(record)
        }
        let sorted = try sorter.finish()
        let new = newLog("pairs")
        let previous = words + layout.width
        var isFirst = true
        while try sorted.next(into: words) {
            if !isFirst, RecordOrder.isEqual(words, previous, words: 2 * size) { continue }
            previous.update(from: words, count: layout.width)
            isFirst = false
            for word in 0..<size {
                record[word] = words[word]
                record[size + 1 + word] = words[size + word]
            }
            record[size] = words[2 * size]
            try new.append(record)
        }
        forward = new
        mayHaveDuplicates = false
    }

    /// A sorter for records as wide as the table's.
    func newSorter(_ suffix: String) -> RecordSorter {
        RecordSorter(directory: directory, name: name + "-" + suffix, width: layout.width, memory: memory / 2)
    }

    /// Joins the log's runs once lookups have become many in proportion to its records.
    func prepare(for lookups: Int, in log: RecordLog) throws(MigrationError) {
        probes += lookups
        guard log.runCount > 1, probes > log.count / 16 else { return }
        try log.compact()
        probes = 0
    }
}
