import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// One run: its inputs, which are fixed, what it counts, and the services that its stages use. The state of a single
/// mapping model is in ``ModelRun``.
final class MigrationRun {
    let inputs: RunInputs
    let tally: RunTally
    let services: RunServices
    /// The changes of source objects by policies; nil if there are none.
    var sourceChanges: SourceObjectChanges?
    /// The pairs of relationships whose links the last load found by lookups alone; set by the load.
    var declared = DeclaredPairs(mappings: [], pairs: [])

    init(_ inputs: RunInputs, progress: ProgressCounter, cancellation: CancellationFlag) {
        self.inputs = inputs
        tally = RunTally(inputs.destinationSchema)
        services = RunServices(inputs, progress: progress, cancellation: cancellation)
    }

    /// Writes the changes of source objects, or restores them and makes those that have not been made yet.
    func codeSourceChanges(with coder: inout StateCoder) throws(MigrationError) {
        var hasChanges = sourceChanges != nil
        try coder.code(&hasChanges)
        guard hasChanges else { return }
        let changes = sourceChanges ?? SourceObjectChanges(inputs)
        sourceChanges = changes
        try changes.code(with: &coder)
    }
}

/// The pairs of relationships whose links a load found by the lookups of mappings alone, without user code.
struct DeclaredPairs {
    /// The mappings, those with a policy marked as related by keys.
    let mappings: [PlannedMapping]
    /// The relationships of the destination, both sides of each pair; nil: all.
    let pairs: Set<PropertyReference>?

    func contains(_ relationship: RelationshipDescription) -> Bool {
        pairs?.contains(relationship.reference) ?? true
    }
}

/// The keys of the destination's rows from before one mapping model.
struct KeysBefore {
    /// The highest key ever given in each table.
    var highestKeys: [Int64]
    /// True for each table that has rows.
    var hasRows: [Bool]

    /// Tells whether a row existed before the mapping model.
    func isExisting(_ key: Int64, table: Int) -> Bool { hasRows[table] && key <= highestKeys[table] }

    /// The lowest key that an object of the mapping model can have, by table.
    var firstKeys: [Int64] {
        hasRows.indices.map { table in
            guard hasRows[table] else { return .min }
            return highestKeys[table] == .max ? .max : highestKeys[table] + 1
        }
    }
}
