import Diagnostics
import SpillStorage

/// The association table of a mapping that needs no user code: which source rows it migrates, and to which keys.
///
/// Kept keys are the identity over a set of keys; sequential ones are a rank in that set. Both cost about 0.14 bytes a
/// row; above the index's allowance they lie in the work directory.
final class MappingKeys {
    let mapping: PlannedMapping
    let mode: KeyMode
    /// The source keys of the mapping's rows, ascending.
    let index: KeyIndex
    /// For sequential keys: the key before the first one.
    var base: Int64 = 0
    /// Whether the index has every row of the mapping's source entity: a scan of them has no need to look each up.
    var holdsEveryRow = false
    /// Whether the load notes the keys as it reads the rows: see ``UnaskedKeys``.
    var isFilledByLoad = false
    /// Whether the keys are not known, nor of use any more: in a run that goes on, of rows that were read before.
    var isLeftOut = false

    init(mapping: PlannedMapping, mode: KeyMode, index: KeyIndex) {
        self.mapping = mapping
        self.mode = mode
        self.index = index
    }

    /// The destination key of a source row; nil where the mapping does not migrate it.
    ///
    /// - Complexity: O(1) while the index is in memory; else at most one block read.
    func destinationKey(of source: Int64) throws(MigrationError) -> Int64? {
        switch mode {
        case .kept: return try index.contains(source) ? source : nil
        case .sequential:
            guard let rank = try index.rank(of: source) else { return nil }
            return base + Int64(rank) + 1
        }
    }
}

/// The keys of one mapping, for loops over many rows: what ``MappingKeys`` refers to is counted once.
struct OneMappingsKeys {
    private let index: KeyIndex
    private let isKept: Bool
    private let base: Int64

    init(_ keys: MappingKeys) {
        index = keys.index
        isKept = keys.mode == .kept
        base = keys.base
    }

    /// The source key of the row with a destination key, or of one before it; nil where none is known.
    func sourceKey(atOrBefore destination: Int64) throws(MigrationError) -> Int64? {
        if isKept { return destination }
        let (rank, overflow) = destination.subtractingReportingOverflow(base)
        guard !overflow, rank > 0 else { return nil }
        return try index.key(atRank: Int(min(rank, Int64(index.count))) - 1)
    }

    /// The destination key of a source row; nil where the mapping does not migrate it.
    @inline(__always)
    func destinationKey(of source: Int64) throws(MigrationError) -> Int64? {
        if isKept { return try index.contains(source) ? source : nil }
        guard let rank = try index.rank(of: source) else { return nil }
        return base + Int64(rank) + 1
    }

    /// The destination keys of source rows.
    ///
    /// - Parameters:
    ///   - keys: get the rows' destination keys, where there are such.
    ///   - found: room for as many; whether the mapping migrates each.
    func findDestinationKeys(
        _ keys: UnsafeMutableBufferPointer<Int64>, found: UnsafeMutablePointer<Bool>
    ) throws(MigrationError) {
        if isKept { return try index.contains(UnsafeBufferPointer(keys), into: found) }
        guard let start = keys.baseAddress else { return }
        // In place: a rank is written when its key was read.
        try index.ranks(of: UnsafeBufferPointer(keys), into: start)
        for place in keys.indices {
            found[place] = keys[place] >= 0
            keys[place] = base &+ keys[place] &+ 1
        }
    }
}
