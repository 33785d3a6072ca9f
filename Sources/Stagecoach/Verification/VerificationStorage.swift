import Diagnostics
import SpillStorage

/// The objects that a verification expects in the destination, and the tables of its links. Nothing in it comes from the run
/// that is verified.
///
/// Memory: a share of the limit for the keys of each entity mapping, and one for the links of a pair. More than that is in
/// files of the folder.
final class VerificationStorage {
    private let directory: WorkDirectory
    private let memory: Int
    private let keyMemory: Int
    private var tables: LinkTables?
    /// The keys of each entity mapping's objects, by the mapping's index.
    private(set) var keys: [ExpectedKeys?]
    /// The indices of the entity mappings whose objects are compared, by destination table.
    private var makers: [[Int]]

    /// Creates an empty storage.
    ///
    /// - Parameters:
    ///   - folder: an existing folder, removed after the verification.
    ///   - memory: the bytes for keys and links together.
    /// - Throws: `work.create` (73), `spill.permission` (77), `spill.io` (74).
    init(in folder: String, memory: Int, plan: VerificationPlan) throws(MigrationError) {
        directory = try WorkDirectory(path: folder + "/verify")
        self.memory = memory
        keyMemory = memory / 6 / max(1, plan.mappings.count)
        keys = Array(repeating: nil, count: plan.mappings.count)
        makers = plan.destination.schema.tables.map { _ in [] }
        for mapping in plan.mappings {
            if let table = plan.destinationTable(mapping) { makers[table].append(mapping.index) }
        }
    }

    /// Begins the keys of an entity mapping's objects.
    ///
    /// - Parameter isKept: true if each object has its source's key.
    func begin(_ mapping: VerifiedMapping, isKept: Bool) {
        keys[mapping.index] = ExpectedKeys(isKept: isKept) { [directory, keyMemory] name in
            KeyIndex(directory: directory, name: name, memory: keyMemory)
        }
    }

    /// Returns a sorter, one of so many at a time, for the time before links are worked out.
    func sorter(width: Int, concurrent: Int = 2, duplicates: RecordSorter.Duplicates = .kept) -> RecordSorter {
        RecordSorter(
            directory: directory, name: "sort", width: width, memory: max(256 << 10, memory / 3 / concurrent),
            duplicates: duplicates)
    }

    /// Returns an empty list of the source objects that share an object with another one of their mapping.
    func sharedObjects() -> SharedObjects { SharedObjects(directory: directory, memory: keyMemory) }

    /// Forgets the objects of a destination table. They can still be looked up by their sources.
    func forgetObjects(ofTable table: Int) { makers[table] = [] }

    /// Returns the expected objects of a destination table, by ascending key.
    func rows(ofTable table: Int) throws(MigrationError) -> ExpectedRows {
        try ExpectedRows(makers[table].compactMap { index in keys[index].map { (index, $0) } })
    }

    /// Returns the entity mapping that makes the object with a key; nil if none does. If several do, the last one counts.
    func maker(table: Int, key: Int64) throws(MigrationError) -> Int? {
        for index in makers[table].reversed() where try keys[index]?.source(of: key) != nil { return index }
        return nil
    }

    /// Returns the tables for the links of a pair, which have as much memory for a sort as for their pages.
    func linkTables() throws(MigrationError) -> LinkTables {
        if let tables { return tables }
        let made = try LinkTables(in: directory.inside, cacheBytes: memory / 3)
        tables = made
        return made
    }

    func close() {
        keys = keys.map { _ in nil }
        tables = nil
        try? directory.remove()
    }
}

/// The destination keys that an entity mapping gives its source objects, whose keys and destination keys both ascend.
final class ExpectedKeys {
    private let sources: KeyIndex
    /// The destination keys, by the rank of the source's key; nil if each object keeps its source's key.
    private let destinations: KeyIndex?
    /// The source keys of objects that are taken for rejected; nil if there are none.
    private var removed: KeyIndex?
    private let index: (String) -> KeyIndex
    /// The key after the last object's, where a source makes several objects, with keys in a row; nil if each makes one. The
    /// destination keys are then those of each source's first object.
    private(set) var end: Int64?
    /// The source objects that share the object of another one; nil if each makes its own.
    var shared: SharedObjects?

    init(isKept: Bool, index: @escaping (String) -> KeyIndex) {
        self.index = index
        sources = index("sources")
        destinations = isKept ? nil : index("destinations")
    }

    /// Adds an object, whose source's key is greater than those before.
    func append(source: Int64, destination: Int64) throws(MigrationError) {
        try sources.append(source)
        try destinations?.append(destination)
    }

    /// Closes the set: all objects were added.
    ///
    /// - Parameter end: see ``end``.
    func seal(end: Int64? = nil) throws(MigrationError) {
        self.end = end
        try sources.seal()
        try destinations?.seal()
    }

    /// Removes the object of a source, whose key is greater than those removed before. Of several objects of a source none is
    /// removed.
    func remove(source: Int64) throws(MigrationError) {
        guard end == nil else { return }
        let set = removed ?? index("removed")
        removed = set
        try set.append(source)
    }

    /// Returns the key of the object that a lookup of a source finds, which another source may have made; nil if there is none.
    func found(of source: Int64) throws(MigrationError) -> Int64? {
        if let key = try destination(of: source) { return key }
        guard let maker = try shared?.maker(of: source) else { return nil }
        return try destination(of: maker)
    }

    /// Returns the keys of the sources that share the object of a source, ascending.
    func others(of source: Int64) throws(MigrationError) -> [Int64] { try shared?.others(of: source) ?? [] }

    /// Returns the key of the object that a source makes; nil if it makes none.
    func destination(of source: Int64) throws(MigrationError) -> Int64? {
        if let removed, try removed.contains(source) { return nil }
        guard let destinations else { return try sources.contains(source) ? source : nil }
        return try sources.rank(of: source).flatMap { rank throws(MigrationError) in try destinations.key(atRank: rank)
        }
    }

    /// Returns the key of an object's source; nil if there is no object with the key.
    func source(of destination: Int64) throws(MigrationError) -> Int64? {
        let source: Int64?
        if let destinations {
            source = try destinations.rank(of: destination).flatMap { rank throws(MigrationError) in
                try sources.key(atRank: rank)
            }
        } else {
            source = try sources.contains(destination) ? destination : nil
        }
        guard let source, try removed?.contains(source) != true else { return nil }
        return source
    }

    func pairs() -> Pairs { Pairs(self) }

    /// The objects of an entity mapping, by ascending key.
    ///
    /// Memory: 512 keys of each side.
    final class Pairs {
        private let keys: ExpectedKeys
        private let block = UnsafeMutableBufferPointer<Int64>.allocate(capacity: 1024)
        private var rank = 0
        private var count = 0
        private var place = 0
        /// The current source object, and destination keys of its objects: the first, the one to return next, and the one after the
        /// last. Nil before the first source object, and if each source object makes one object.
        private var run: (source: Int64, first: Int64, next: Int64, end: Int64)?
        /// The source after it; nil before the first and after the last.
        private var following: (source: Int64, destination: Int64)?

        init(_ keys: ExpectedKeys) { self.keys = keys }

        deinit { block.deallocate() }

        /// Returns the next object, and its number among those of its source; nil at the end.
        func next() throws(MigrationError) -> (source: Int64, destination: Int64, member: Int)? {
            guard let end = keys.end else { return try nextSource().map { ($0.source, $0.destination, 0) } }
            if run.map({ $0.next == $0.end }) ?? true {
                guard let source = try run == nil ? nextSource() : following else { return nil }
                following = try nextSource()
                run = (source.source, source.destination, source.destination, following?.destination ?? end)
            }
            guard let shown = run else { return nil }
            run?.next += 1
            return (shown.source, shown.next, Int(shown.next - shown.first))
        }

        /// Returns the next source and its first object; nil at the end.
        private func nextSource() throws(MigrationError) -> (source: Int64, destination: Int64)? {
            while true {
                if place == count {
                    rank += count
                    place = 0
                    count = try keys.sources.keys(fromRank: rank, into: .init(rebasing: block[..<512]))
                    guard count > 0 else { return nil }
                    _ = try keys.destinations?.keys(fromRank: rank, into: .init(rebasing: block[512...]))
                }
                let source = block[place]
                let destination = keys.destinations == nil ? source : block[512 + place]
                place += 1
                if let removed = keys.removed, try removed.contains(source) { continue }
                return (source, destination)
            }
        }
    }
}

/// The expected objects of a destination table, by ascending key. If two have the same key, the later entity mapping's counts.
struct ExpectedRows {
    struct Row {
        /// The index of the entity mapping that makes the object.
        let mapping: Int
        let source: Int64
        let key: Int64
        /// The number of the object among those of its source object.
        let member: Int
    }

    private var heads: [(row: Row, pairs: ExpectedKeys.Pairs)] = []
    /// The object in view; nil at the end.
    private(set) var current: Row?

    init(_ mappings: [(index: Int, keys: ExpectedKeys)]) throws(MigrationError) {
        for mapping in mappings {
            let pairs = mapping.keys.pairs()
            if let row = try Self.next(pairs, mapping.index) { heads.append((row, pairs)) }
        }
        try advance()
    }

    private static func next(_ pairs: ExpectedKeys.Pairs, _ mapping: Int) throws(MigrationError) -> Row? {
        try pairs.next().map { Row(mapping: mapping, source: $0.source, key: $0.destination, member: $0.member) }
    }

    /// Moves to the next object.
    mutating func advance() throws(MigrationError) {
        current = nil
        guard var key = heads.first?.row.key else { return }
        for head in heads where head.row.key < key { key = head.row.key }
        for index in heads.indices.reversed() where heads[index].row.key == key {
            if current == nil { current = heads[index].row }
            if let row = try Self.next(heads[index].pairs, heads[index].row.mapping) {
                heads[index].row = row
            } else {
                heads.remove(at: index)
            }
        }
    }

    /// Moves to the object with a key, or to the first one after it.
    ///
    /// - Returns: the object with the key; nil if there is none.
    mutating func advance(to key: Int64) throws(MigrationError) -> Row? {
        while let row = current, row.key < key { try advance() }
        return current?.key == key ? current : nil
    }
}
