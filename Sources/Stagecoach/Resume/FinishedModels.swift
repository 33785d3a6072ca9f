import Diagnostics
import SpillStorage

/// The encoding of everything that finished mapping models leave for later ones, so that a killed run resumes at the mapping
/// model that was running.
enum FinishedModels {
    /// Encodes the associations and the unmigrated references. Flushes their in-memory parts to their files.
    static func bytes(_ previous: PreviousModels) throws(MigrationError) -> [UInt8] {
        var state = StateWriter()
        state.write(previous.archive.tables.count)
        for table in previous.archive.tables {
            state.write(table.mapping.index)
            try state.write(optional: table.keys) { keys, state throws(MigrationError) in
                state.write(keys.mode == .kept)
                state.write(keys.holdsEveryRow)
                try keys.index.save(to: &state)
            }
            try table.save(to: &state)
        }
        state.write(previous.unmigrated.count)
        for references in previous.unmigrated { try references.save(to: &state) }
        return state.bytes
    }

    /// Restores the finished models of a run from their encoding.
    ///
    /// - Parameter mappings: the entity mappings of all mapping models, each at its index.
    /// - Throws: `journal.damaged`, `spill.io` (74).
    static func restore(
        _ bytes: [UInt8], _ turns: JournalRecord.Turns, in previous: PreviousModels, mappings: [PlannedMapping]
    ) throws(MigrationError) {
        var state = StateReader(bytes)
        let inputs = previous.run.inputs
        var tables: [MappingAssociations] = []
        // Finished models get no further pairs, so the logs need little memory.
        let logs = RecordMemory(bytes: inputs.budget.keys / 4)
        let share = inputs.budget.keys / 2 / max(1, inputs.mappingCount)
        for number in 0..<(try state.count(upTo: mappings.count)) {
            guard try state.count(upTo: mappings.count) == number else { throw StateReader.damaged("a mapping") }
            let mapping = mappings[number]
            let keys = try state.optional { state throws(MigrationError) in
                let isKept = try state.flag()
                let holdsEveryRow = try state.flag()
                let made = DestinationKeys(
                    mapping: mapping, mode: isKept ? .kept : .sequential,
                    index: KeyIndex(directory: previous.archive.directory, name: "keys", memory: share))
                made.holdsEveryRow = holdsEveryRow
                try made.index.restore(from: &state)
                return made
            }
            let table = MappingAssociations(
                mapping: mapping, keys: keys, directory: previous.archive.directory, memory: share, logs: logs)
            try table.restore(from: &state)
            tables.append(table)
        }
        var references: [UnmigratedReferences] = []
        for _ in 0..<(try state.count(upTo: turns.done)) {
            let made = UnmigratedReferences(previous.run)
            try made.restore(from: &state, model: inputs.destinationSchema.model)
            references.append(made)
        }
        try state.finish()
        let keys = KeysBefore(
            highestKeys: turns.highestKeys, hasRows: turns.hasRows.last ?? previous.keys.hasRows)
        previous.restore(
            tables, keys: keys, hasDeletions: turns.hasDeletions, rejectingTables: turns.rejectingTables,
            unmigrated: references)
    }
}
