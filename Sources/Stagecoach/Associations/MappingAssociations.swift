import Diagnostics
import ManagedModel
import SpillStorage

/// The association table of one entity mapping on the policy path: the keys of its own rows if no user code makes them, and the
/// pairs that policies associate.
final class MappingAssociations {
    private(set) var mapping: PlannedMapping
    /// The keys of the mapping's rows; nil if the mapping has a policy.
    let keys: DestinationKeys?
    /// True once stage 1 has reached the mapping. Before that, nothing is associated.
    var isCreated = false
    private let table: AssociationTable
    /// Associates prepared rows that were taken for objects; called when the pairs are next read.
    @exclusivity(unchecked) var putTaken: (() throws(MigrationError) -> Void)?

    /// The pairs that policies associated. A source's `entity` is its table, a destination's `entity` its entity index.
    var pairs: AssociationTable {
        get throws(MigrationError) {
            if let putTaken { try putTaken() }
            return table
        }
    }

    init(mapping: PlannedMapping, keys: DestinationKeys?, directory: WorkDirectory, memory: Int, logs: RecordMemory) {
        self.mapping = mapping
        self.keys = keys
        table = AssociationTable(directory: directory, name: "pairs-\(mapping.index)", memory: memory, logs: logs)
    }

    /// Marks the mapping as one of a model that has run.
    func retire() { mapping = mapping.ofPreviousModel }

    /// Moves the keys and pairs to disk.
    func park() throws(MigrationError) {
        try keys?.index.park()
        try keys?.shared?.park()
        try keys?.matched?.park()
        try pairs.park()
    }

    private var probe: [ObjectReference] = []
    /// True if policies associated anything for the mapping.
    @exclusivity(unchecked) private(set) var hasPairs = false

    /// True if a source object was associated outside its own creation call.
    var hasLatePairs = false
    /// The number of pairs that policies have associated for the mapping in this process.
    @exclusivity(unchecked) private(set) var additions = 0

    /// Writes the table, or restores it: this table must be empty. Its part in memory goes to its files before.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        try coder.code(&isCreated)
        try coder.code(&hasPairs)
        try coder.code(&hasLatePairs)
        var base = keys?.base ?? 0
        try coder.code(&base)
        keys?.base = base
        try pairs.code(with: &coder)
    }

    /// Associates a pair for a policy.
    func add(source: ObjectReference, destination: ObjectReference) throws(MigrationError) {
        noteAddition()
        try pairs.add(source: source, destination: destination)
    }

    /// Records that a pair is about to be added.
    func noteAddition() {
        hasPairs = true
        additions += 1
    }

    /// Adds pairs that were announced with ``noteAddition()``: source objects of a table, in ascending order, and destination
    /// objects with consecutive keys.
    func addNoted(
        _ sources: UnsafeBufferPointer<Int64>, table source: Int, destinations first: Int64,
        of entity: EntityDescription
    ) throws(MigrationError) {
        try table.add(sources: sources, of: UInt32(source), destinations: first, of: UInt32(entity.index))
    }

    /// Returns the key of the row that the mapping itself made of a source row, that this one shares or that it became, even if it is rejected.
    func ownDestination(ofKey key: Int64, table: Int) throws(MigrationError) -> Int64? {
        guard let keys, isCreated, mapping.sourceTable == table else { return nil }
        return try keys.heldKey(of: key)
    }

    /// Shows the objects that policies associated with a source object, in order of association, without the mapping's own row.
    func forEachPair(ofKey key: Int64, table: Int, _ body: (ObjectReference) throws -> Void) throws {
        var found = probe
        probe = []
        found.removeAll(keepingCapacity: true)
        defer { probe = found }
        try pairs.destinations(of: ObjectReference(entity: UInt32(table), key: key), into: &found)
        guard !found.isEmpty else { return }
        let own = try ownDestination(ofKey: key, table: table)
        for reference in found {
            if let own, own == reference.key, Int(reference.entity) == mapping.destination?.index { continue }
            try body(reference)
        }
    }

    /// Appends the destination objects of a source object, in order of association.
    func destinations(ofKey key: Int64, table: Int, into found: inout [ObjectReference]) throws(MigrationError) {
        if let entity = mapping.destination, let made = try ownDestination(ofKey: key, table: table) {
            found.append(ObjectReference(entity: UInt32(entity.index), key: made))
        }
        try append(to: &found) { found throws(MigrationError) in
            try pairs.destinations(of: ObjectReference(entity: UInt32(table), key: key), into: &found)
        }
    }

    /// Appends the source objects of a destination object, in order of association. Their `entity` is their table.
    func sources(of destination: ObjectReference, into found: inout [ObjectReference]) throws(MigrationError) {
        if let keys, isCreated, let entity = mapping.destination, Int(destination.entity) == entity.index,
            let table = mapping.sourceTable, let source = try keys.sourceKey(of: destination.key)
        {
            found.append(ObjectReference(entity: UInt32(table), key: source))
            for other in try keys.shared?.others(of: source) ?? [] {
                found.append(ObjectReference(entity: UInt32(table), key: other))
            }
        }
        try append(to: &found) { found throws(MigrationError) in try pairs.sources(of: destination, into: &found) }
    }

    /// Appends the objects of pairs that are not there yet.
    private func append(
        to found: inout [ObjectReference], _ read: (inout [ObjectReference]) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        guard hasPairs else { return }
        guard !found.isEmpty else { return try read(&found) }
        var more: [ObjectReference] = []
        try read(&more)
        for reference in more where !found.contains(reference) { found.append(reference) }
    }

    /// Shows all destination objects, each once: first those of the mapping's own rows by source key, then those that policies
    /// associated, in order of first association.
    ///
    /// - Parameter body: gets a destination object, and the key of the first source object associated with it.
    func forEachDestination(_ body: (ObjectReference, Int64) throws -> Void) throws {
        let own = isCreated ? keys : nil
        let entity = mapping.destination.map { UInt32($0.index) }
        if let own, let entity {
            try own.forEachPair { source, key in try body(ObjectReference(entity: entity, key: key), source) }
        }
        let cursor = try pairs.destinationsInOrderOfFirstAssociation()
        while let pair = try cursor.next() {
            if let own, pair.destination.entity == entity, try own.sourceKey(of: pair.destination.key) != nil {
                continue
            }
            try body(pair.destination, pair.source.key)
        }
    }

    /// Returns the number of distinct destination objects, deleted ones included.
    func countOfDestinations() throws -> Int {
        if let known = try pairs.countOfDestinations { return known }
        var count = 0
        let cursor = try pairs.destinationsInOrderOfFirstAssociation()
        while try cursor.next() != nil { count += 1 }
        return count
    }

    /// Shows all source objects: first those of the mapping's own rows, then those that policies associated, in order of
    /// association and as often as they were associated. Their `entity` is their table.
    func forEachSource(_ body: (ObjectReference) throws -> Void) throws {
        if let keys, isCreated, let table = mapping.sourceTable {
            try keys.forEachPair { key, _ in try body(ObjectReference(entity: UInt32(table), key: key)) }
            let others = keys.shared?.walk()
            while let other = try others?.next() { try body(ObjectReference(entity: UInt32(table), key: other.key)) }
            let matched = keys.matched?.walk()
            while let one = try matched?.next() { try body(ObjectReference(entity: UInt32(table), key: one.key)) }
        }
        try pairs.forEachSourceInOrderOfAssociation(body)
    }

    /// Returns the source object and the member that an object of a mapping with `forEach` was made of. They are its first two
    /// source objects; a source object that is a member of its own is both.
    func origin(
        of destination: ObjectReference
    ) throws(MigrationError) -> (source: ObjectReference, member: ObjectReference)? {
        var found: [ObjectReference] = []
        try sources(of: destination, into: &found)
        guard let first = found.first else { return nil }
        return (first, found.count > 1 ? found[1] : first)
    }

    /// Shows the distinct source objects of a table that policies associated with an object that still exists, ascending. The
    /// members of a `forEach` are left out.
    func forEachSource(
        inTable table: Int, whereExists exists: (ObjectReference) throws -> Bool, _ body: (Int64) throws -> Void
    ) throws {
        let cursor = try pairs.pairs()
        var last: Int64?
        while let pair = try cursor.next() {
            guard Int(pair.source.entity) == table, pair.source.key != last, try exists(pair.destination),
                try mapping.forEach == nil || origin(of: pair.destination)?.source == pair.source
            else { continue }
            last = pair.source.key
            try body(pair.source.key)
        }
    }
}

extension DestinationKeys {
    /// Shows all pairs of source and destination key, ascending.
    func forEachPair(_ body: (Int64, Int64) throws -> Void) throws {
        var rank: Int64 = 0
        try index.forEachKey { key in
            rank += 1
            try body(key, mode == .kept ? key : base + rank)
        }
    }

    /// Returns the source key of a destination row. Returns nil if the mapping did not make it.
    func sourceKey(of destination: Int64) throws(MigrationError) -> Int64? {
        switch mode {
        case .kept: return try index.contains(destination) ? destination : nil
        case .sequential:
            guard destination > base, destination <= base + Int64(index.count) else { return nil }
            return try index.key(atRank: Int(destination - base - 1))
        }
    }
}
