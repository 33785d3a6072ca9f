import Diagnostics
import SpillStorage

/// The source objects of a mapping with `matchBy` that became rows which the destination had before, each with the key of its row.
///
/// Memory: that of a ``KeyMap``, and a ``KeyIndex`` for each subentity that has rows.
final class MatchedObjects {
    /// The highest key that a row had before: greater keys are those of new rows.
    let lastKey: Int64
    /// The number of rows that source objects became.
    private(set) var rowCount = 0
    private let rows: KeyMap
    /// The keys of the rows of subentities, by Z_ENT.
    private let ofSubentities: [(number: Int64, keys: KeyIndex)]

    /// The number of source objects.
    var count: Int { rows.count }

    /// - Parameters:
    ///   - memory: the allowance in bytes.
    ///   - ofSubentities: the keys of the rows that are of subentities of the mapping's destination entity, by Z_ENT.
    init(
        directory: WorkDirectory, memory: Int, lastKey: Int64, ofSubentities: [(number: Int64, keys: KeyIndex)]
    ) {
        self.lastKey = lastKey
        self.ofSubentities = ofSubentities
        rows = KeyMap(directory: directory, name: "matched", memory: memory)
    }

    /// Adds a source object. Keys must ascend.
    func add(_ source: Int64, becoming row: Int64) throws(MigrationError) { try rows.append(source, row) }

    /// Ends the additions.
    ///
    /// - Parameter rowCount: the number of distinct rows.
    func finish(rowCount: Int) throws(MigrationError) {
        self.rowCount = rowCount
        try rows.seal()
    }

    /// Returns the key of the row that a source object became; nil if it became none.
    func row(of source: Int64) throws(MigrationError) -> Int64? { try rows.value(of: source) }

    /// Tells whether a key of the mapping's table is that of a row that was there before.
    func isStanding(_ key: Int64) -> Bool { key <= lastKey }

    /// Returns the Z_ENT of an object of the mapping, given that of its destination entity.
    func entityNumber(of key: Int64, unlessOfSubentity number: Int64) throws(MigrationError) -> Int64 {
        guard isStanding(key) else { return number }
        for entity in ofSubentities where try entity.keys.contains(key) { return entity.number }
        return number
    }

    /// Returns a walk over the source objects, ascending, each with its row.
    func walk() -> KeyMap.Walk { rows.walk() }

    /// Moves the keys to disk.
    func park() throws(MigrationError) {
        try rows.park()
        for entity in ofSubentities { try entity.keys.park() }
    }
}
