import Diagnostics
import SpillStorage

/// The encoding of everything that finished mapping models leave for later ones, so that a killed run resumes at the mapping
/// model that was running.
enum FinishedModels {
    /// Encodes the associations and the unmigrated references. Flushes their in-memory parts to their files.
    static func bytes(_ session: MigrationSession) throws(MigrationError) -> [UInt8] {
        var state = StateWriter()
        state.write(session.associations.tables.count)
        for table in session.associations.tables {
            state.write(table.mapping.index)
            try state.write(optional: table.keys) { keys, state throws(MigrationError) in
                state.write(keys.mode == .kept)
                state.write(keys.holdsEveryRow)
                try keys.index.save(to: &state)
            }
            try table.save(to: &state)
        }
        state.write(session.earlierUnmigrated.count)
        for references in session.earlierUnmigrated { try references.save(to: &state) }
        return state.bytes
    }

    /// Restores the finished models of a session from their encoding.
    ///
    /// - Parameter mappings: the entity mappings of all mapping models, each at its index.
    /// - Throws: `journal.damaged`, `spill.io` (74).
    static func restore(
        _ bytes: [UInt8], _ turns: JournalRecord.Turns, in session: MigrationSession, mappings: [PlannedMapping]
    ) throws(MigrationError) {
        var state = StateReader(bytes)
        var tables: [MappingAssociations] = []
        // Finished models get no further pairs, so the logs need little memory.
        let logs = RecordMemory(bytes: session.budget.keys / 4)
        let share = session.budget.keys / 2 / max(1, session.mappingCount)
        for number in 0..<(try state.count(upTo: mappings.count)) {
            guard try state.count(upTo: mappings.count) == number else { throw StateReader.damaged("a mapping") }
            let mapping = mappings[number]
            let keys = try state.optional { state throws(MigrationError) in
                let isKept = try state.flag()
                let holdsEveryRow = try state.flag()
                let made = DestinationKeys(
                    mapping: mapping, mode: isKept ? .kept : .sequential,
                    index: KeyIndex(directory: session.associations.directory, name: "keys", memory: share))
                made.holdsEveryRow = holdsEveryRow
                try made.index.restore(from: &state)
                return made
            }
            let table = MappingAssociations(
                mapping: mapping, keys: keys, directory: session.associations.directory, memory: share, logs: logs)
            try table.restore(from: &state)
            tables.append(table)
        }
        var references: [UnmigratedReferences] = []
        for _ in 0..<(try state.count(upTo: turns.done)) {
            let made = UnmigratedReferences(session: session)
            try made.restore(from: &state, model: session.destinationSchema.model)
            references.append(made)
        }
        try state.finish()
        session.restoreModels(turns, tables, references)
    }
}
