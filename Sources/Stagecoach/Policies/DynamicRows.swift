import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// Stage 1 of a mapping without a policy that has attributes with expressions over objects. Rows are made in batches, as for
/// every mapping without a policy; the expressions are evaluated for each row once it is made.
struct DynamicRows {
    let modelRun: ModelRun
    let runtime: PolicyRuntime
    let mapping: PlannedMapping
    let keys: DestinationKeys

    /// Makes the mapping's rows.
    ///
    /// - Complexity: O(rows); memory is the window of source rows and the open batch.
    func create(in rows: DestinationRows, _ run: DestinationRows.Run) throws {
        guard let entity = mapping.destination, let source = mapping.source else { return }
        let program = try runtime.creation.program(of: mapping)
        let number = Int64(modelRun.inputs.destinationSchema.number(of: entity))
        var made = 0
        runtime.creation.scanning = program
        defer { runtime.creation.scanning = nil }
        var slots = program.slots
        let changed = try ChangedSourceRows(runtime: runtime, mapping: mapping, keys: keys, slots: &slots)
        try runtime.scan(mapping, slots) { sourceKey, row in
            guard let key = try keys.destinationKey(of: sourceKey),
                try changed?.passes(runtime.sources.window, row) ?? true
            else { return }
            if run.open.isFull { try rows.flush(run) }
            let target = run.open.appendRow(key: key)
            run.open[target, EntityTable.entityColumn] = .integer(number)
            let lock = runtime.sources.window[row, EntityTable.lockColumn]
            run.open[target, EntityTable.lockColumn] =
                keys.mode == .kept && lock.kind == .integer ? lock : .integer(1)
            let subject = ValueSubject(table: rows.table, key: key, entity: entity)
            try modelRun.validation.noting(subject) { () throws(MigrationError) in
                try program.attributes.run(runtime.sources.window, row: row, into: &run.open, destinationRow: target)
            }
            made += 1
            let object = runtime.sourceContext.object(
                at: ObjectPlace(entity: source, key: sourceKey, table: mapping.sourceTable ?? 0))
            let destination = runtime.destinationContext.object(
                at: runtime.objects.place(entity: entity, key: key))
            try modelRun.validation.notingAny(subject) {
                try runtime.dynamicValues?.setAttributes(
                    mapping.dynamicAttributes, in: mapping, source: object, destination: destination)
            }
        }
        modelRun.tally.counts.mappings[mapping.index].created += made
        modelRun.tally.counts.created[entity.definition.name, default: 0] += made
        try changed?.finish()
    }
}

extension PolicyRuntime {
    /// Shows the source rows of a mapping one by one, with a window of them open, so that the data their objects need is read
    /// for many rows at once.
    ///
    /// - Parameters:
    ///   - slots: the window's slots, beginning with all own columns of the table.
    ///   - body: receives the row's key and its place in the window.
    func scan(
        _ mapping: PlannedMapping, _ slots: SourceColumns, _ body: (Int64, Int) throws -> Void
    ) throws {
        guard let source = mapping.source, let table = mapping.sourceTable else { return }
        let reader = try SourceReader(
            run: modelRun.run, slots: slots, table: table, entities: [source.index], streams: true)
        sources.openWindow(modelRun.inputs.sourceBatch(slots: slots.columns.count), table: table)
        defer { sources.closeWindow() }
        while try reader.next(into: &sources.window) {
            try modelRun.services.checkCancelled()
            for row in 0..<sources.window.count { try body(sources.window.key(row), row) }
            modelRun.services.progress.advance(rows: sources.window.count)
        }
    }
}
