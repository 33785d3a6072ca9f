import CoreDataStore
import Diagnostics
import Rows

extension Validation {
    /// Prepares a table for rows. If rejects are collected, it also takes rows that break a uniqueness constraint.
    func prepare(_ table: Int, expecting rows: Int, in destination: DestinationStore) throws {
        try destination.prepareRows(table: table, expecting: rows)
        guard let ledger, rejected == nil || ledger.hasDuplicates, rows > 0 else { return }
        // A table without rows may have its constraints already, in an appended store.
        guard try !destination.prepareDuplicates(table: table) else { return }
        // Without the index nothing tells whether there are duplicates, so assume that there are.
        try destination.loosen(table: table)
        ledger.hasDuplicates = true
    }

    /// Checks the rows of a batch that is about to be written.
    ///
    /// - Throws: `validation.…` (65) if broken rules end the run: one error for those of the whole batch.
    func check(_ batch: borrowing RowBatch, _ rules: [Int64: RowRules], _ tally: RunTally) throws {
        guard !rules.isEmpty else { return }
        var errors = BrokenRuleErrors()
        var row = 0
        while row < batch.count {
            // Neighbouring rows mostly have the same entity.
            let number = batch[row, EntityTable.entityColumn].integerValue
            var end = row + 1
            while end < batch.count, batch[end, EntityTable.entityColumn].integerValue == number { end += 1 }
            defer { row = end }
            guard let current = rules[number] else { continue }
            var next = current.firstToCheck(batch, row..<end)
            while let found = next {
                try current.check(batch, row: found) { broken, isExcused in
                    guard isExcused else { return try errors.keep { try note(broken) } }
                    tally.counts.warnings[broken.label, default: 0] += 1
                    count(broken, isWarning: true)
                }
                next = current.firstToCheck(batch, found + 1..<end)
            }
        }
        try errors.end()
    }

    /// Adds the object's source and entity mapping to an error about equal values.
    private func located(_ error: MigrationError, inTable table: Int, of schema: StoreSchema) throws -> MigrationError {
        guard let key = error.context.objectID?.split(separator: "/p").last.flatMap({ Int64($0) }) else { return error }
        for entity in schema.tables[table].entities {
            guard let origin = try origins?.origin(key: key, entity: entity) else { continue }
            var error = error.inside(.init(entityMapping: origin.mappingName))
            if let source = origin.sources.first {
                error.message += " (the latter made of source object \(source))"
                error.context.sourceObjectID = source
            }
            return error
        }
        return error
    }

    /// Builds a table's indexes.
    ///
    /// If rejects are collected, a uniqueness constraint that rows break is noted and its index left out. Such a store
    /// is never published.
    func createIndexes(of table: Int, in destination: DestinationStore) throws {
        guard let ledger else {
            do throws(MigrationError) {
                return try destination.createIndexes(table: table)
            } catch {
                throw error.code == ValidationRule.unique.code
                    ? try located(error, inTable: table, of: destination.schema) : error
            }
        }
        try destination.createIndexes(table: table) { ledger.hasDuplicates = true }
    }
}
