import Diagnostics
import SpillStorage

/// The encoding of everything that finished mapping models leave for later ones, so that a killed run resumes at the mapping
/// model that was running.
enum FinishedModels {
    /// Encodes the associations and the unmigrated references. Flushes their in-memory parts to their files.
    static func bytes(_ previous: PreviousModels) throws(MigrationError) -> [UInt8] {
        var coder = StateCoder()
        var (tables, references) = (previous.archive.tables, previous.unmigrated)
        try code(&tables, &references, previous, mappings: [], with: &coder)
        return coder.bytes
    }

    /// Restores the finished models of a run from their encoding.
    ///
    /// - Parameter mappings: the entity mappings of all mapping models, each at its index.
    /// - Throws: `journal.damaged`, `spill.io` (74).
    static func restore(
        _ bytes: [UInt8], _ progress: JournalRecord.ModelProgress, in previous: PreviousModels,
        mappings: [PlannedMapping]
    ) throws(MigrationError) {
        var coder = StateCoder(reading: bytes)
        var tables: [MappingAssociations] = []
        var references: [UnmigratedReferences] = []
        try code(&tables, &references, previous, mappings: mappings, with: &coder)
        try coder.finish()
        let keys = KeysBefore(
            highestKeys: progress.highestKeys, hasRows: progress.hasRows.last ?? previous.keys.hasRows)
        previous.restore(
            tables, keys: keys, hasDeletions: progress.hasDeletions, rejectingTables: progress.rejectingTables,
            unmigrated: references)
    }

    /// Writes or reads tables and references.
    ///
    /// - Parameter mappings: the entity mappings of the tables that are read.
    private static func code(
        _ tables: inout [MappingAssociations], _ references: inout [UnmigratedReferences], _ previous: PreviousModels,
        mappings: [PlannedMapping], with coder: inout StateCoder
    ) throws(MigrationError) {
        let inputs = previous.run.inputs
        try previous.run.codeSourceChanges(with: &coder)
        let directory = previous.archive.directory
        // Finished models get no further pairs, so the logs need little memory.
        let logs = RecordMemory(bytes: inputs.budget.keys / 4)
        let share = inputs.budget.keys / 2 / max(1, inputs.mappingCount)
        var next = mappings[...]
        try coder.code(objects: &tables, upTo: mappings.count) { coder, known throws(MigrationError) in
            guard let mapping = known?.mapping ?? next.popFirst() else { throw StateReader.damaged("a mapping") }
            var keys = known?.keys
            var (hasKeys, isKept, holdsEveryRow) = (keys != nil, keys?.mode == .kept, keys?.holdsEveryRow ?? false)
            try coder.code(&hasKeys)
            try coder.code(&isKept)
            try coder.code(&holdsEveryRow)
            if hasKeys, keys == nil {
                keys = DestinationKeys(
                    mapping: mapping, mode: isKept ? .kept : .sequential,
                    index: KeyIndex(directory: directory, name: "keys", memory: share))
                keys?.holdsEveryRow = holdsEveryRow
            }
            try keys?.index.code(with: &coder)
            let table =
                known
                ?? MappingAssociations(mapping: mapping, keys: keys, directory: directory, memory: share, logs: logs)
            try table.code(with: &coder)
            return table
        }
        try coder.code(objects: &references, upTo: 1 << 16) { coder, known throws(MigrationError) in
            let references = known ?? UnmigratedReferences(previous.run)
            try references.code(with: &coder, model: inputs.destinationSchema.model)
            return references
        }
    }
}
