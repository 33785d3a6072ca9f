import Diagnostics
import Rows
import SpillStorage

/// The keys of rejected objects. A load leaves their rows out, and lookups do not find them, as if a source filter had left
/// them out.
///
/// Memory: about 0.14 bytes a key; keys beyond the allowance are on disk.
final class RejectedKeys {
    /// The keys by destination table; nil if nothing is rejected there.
    private let keys: [KeyIndex?]
    /// The number of rows left out.
    var skippedRows = 0

    init(_ keys: [KeyIndex?]) { self.keys = keys }

    /// The keys in a destination table; nil if nothing is rejected there.
    subscript(table: Int) -> KeyIndex? { keys[table] }

    /// Tells whether an object is rejected.
    func contains(_ key: Int64, table: Int) throws(MigrationError) -> Bool {
        try keys[table]?.contains(key) ?? false
    }

    /// Hides the rejected objects from lookups.
    func hide(in keys: some Sequence<DestinationKeys>) {
        for own in keys { own.rejected = own.mapping.destinationTable.flatMap { self[$0] } }
    }

    /// Removes rejected rows from a batch.
    func filter(_ batch: inout RowBatch, table: Int) throws(MigrationError) {
        guard let own = keys[table] else { return }
        let before = batch.count
        try batch.keepRows { key throws(MigrationError) in try !own.contains(key) }
        skippedRows += before - batch.count
    }
}
