import Diagnostics
import SpillStorage

/// The association table of a mapping that needs no user code: the source rows that it migrates, and their destination keys.
///
/// Kept keys are the identity over a set of keys; a sequential key is a rank in that set. Both cost about 0.14 bytes per row.
/// Above the index's allowance they are in the work directory.
final class DestinationKeys {
    let mapping: PlannedMapping
    let mode: KeyMode
    /// The source keys of the mapping's rows, ascending.
    let index: KeyIndex
    /// The key before the first one; for sequential keys.
    var base: Int64 = 0
    /// True if the index has every row of the mapping's source entity. A scan of these rows then needs no lookups.
    var holdsEveryRow = false
    /// True as long as the load collects the keys from the rows that it reads; see ``UnaskedKeys``.
    var isFilledByLoad = false
    /// The destination keys of rejected objects, which lookups do not find; nil if there are none.
    var rejected: KeyIndex?
    /// The source objects that share an object that another one of the mapping makes; nil if each makes its own.
    var shared: SharedObjects?
    /// The source objects that became rows which the destination had before; nil if none can.
    var matched: MatchedObjects?

    init(mapping: PlannedMapping, mode: KeyMode, index: KeyIndex) {
        self.mapping = mapping
        self.mode = mode
        self.index = index
    }

    /// Returns the error for a table in which no further key can be given.
    static func exhausted(after key: Int64, _ entity: String?) -> MigrationError {
        MigrationError(
            "plan.exhausted", .data, "There are no keys left after \(key)",
            remedy: "Run with --keys sequential", context: .init(entity: entity))
    }

    /// Returns the key of the object that a source row makes; nil if it makes none, or if the object is rejected.
    ///
    /// - Complexity: O(1) while the index is in memory; else at most one block read.
    func destinationKey(of source: Int64) throws(MigrationError) -> Int64? {
        guard let key = try givenKey(of: source), try rejected?.contains(key) != true else { return nil }
        return key
    }

    /// Returns the key of the object that a reference to a source row finds, which another row may have made; nil if there is
    /// none, or if the object is rejected.
    ///
    /// - Complexity: as ``destinationKey(of:)``; O(log n) for a row that shares an object.
    func foundKey(of source: Int64) throws(MigrationError) -> Int64? {
        guard let key = try heldKey(of: source), try rejected?.contains(key) != true else { return nil }
        return key
    }

    /// Returns the key of the object that a source row makes, shares or became, even if the object is rejected.
    func heldKey(of source: Int64) throws(MigrationError) -> Int64? {
        if let key = try givenKey(of: source) { return key }
        if let row = try matched?.row(of: source) { return row }
        guard let maker = try shared?.maker(of: source) else { return nil }
        return try givenKey(of: maker)
    }

    /// Returns the key that was given to the object that a source row makes, even if the object is rejected.
    func givenKey(of source: Int64) throws(MigrationError) -> Int64? {
        switch mode {
        case .kept: return try index.contains(source) ? source : nil
        case .sequential:
            guard let rank = try index.rank(of: source) else { return nil }
            return base + Int64(rank) + 1
        }
    }
}

/// The keys of one mapping, for loops over many rows. The index is retained once, not for each row as through
/// ``DestinationKeys``.
struct KeyLookup {
    private let index: KeyIndex
    private let isKept: Bool
    private let base: Int64
    private let rejected: KeyIndex?
    /// The keys, if source rows share objects or became rows of the destination; else nil.
    private let sharing: DestinationKeys?

    init(_ keys: DestinationKeys) {
        index = keys.index
        sharing = keys.shared == nil && keys.matched == nil ? nil : keys
        rejected = keys.rejected
        isKept = keys.mode == .kept
        base = keys.base
    }

    /// Returns the key of the object that a reference to a source row finds: see ``DestinationKeys/foundKey(of:)``.
    @inline(__always)
    func foundKey(of source: Int64) throws(MigrationError) -> Int64? {
        if let sharing { return try sharing.foundKey(of: source) }
        return try destinationKey(of: source)
    }

    /// Returns the key of the object that a source row makes; nil if it makes none, or if the object is rejected.
    @inline(__always)
    func destinationKey(of source: Int64) throws(MigrationError) -> Int64? {
        var key = source
        if isKept {
            guard try index.contains(source) else { return nil }
        } else {
            guard let rank = try index.rank(of: source) else { return nil }
            key = base + Int64(rank) + 1
        }
        if let rejected, try rejected.contains(key) { return nil }
        return key
    }

    /// Replaces source keys with the keys of the objects that references to them find.
    ///
    /// - Parameters:
    ///   - keys: source keys, which are replaced if an object is found.
    ///   - found: receives for each key whether an object is found; has room for all of them.
    func findKeys(
        _ keys: UnsafeMutableBufferPointer<Int64>, found: UnsafeMutablePointer<Bool>
    ) throws(MigrationError) {
        if let sharing {
            for place in keys.indices {
                let key = try sharing.foundKey(of: keys[place])
                found[place] = key != nil
                if let key { keys[place] = key }
            }
            return
        }
        if isKept {
            try index.contains(UnsafeBufferPointer(keys), into: found)
        } else if let start = keys.baseAddress {
            // In place: a rank is written after its key was read.
            try index.ranks(of: UnsafeBufferPointer(keys), into: start)
            for place in keys.indices {
                found[place] = keys[place] >= 0
                keys[place] = base &+ keys[place] &+ 1
            }
        }
        guard let rejected else { return }
        for place in keys.indices where found[place] { found[place] = try !rejected.contains(keys[place]) }
    }
}
