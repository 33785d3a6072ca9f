import Diagnostics

/// The scan of a source table by a filter with parts that only objects can evaluate.
struct ObjectFilterScan {
    let modelRun: ModelRun
    /// The value of `$manager`.
    let manager: MigrationManager

    /// Collects the keys of the rows that pass a mapping's filter.
    ///
    /// - Parameter slots: the columns that the filter reads, after all own columns of the table.
    func collect(_ keys: DestinationKeys, _ passing: SourceFilter, _ slots: SourceColumns) throws {
        let mapping = keys.mapping
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        let inputs = modelRun.inputs
        let reader = try SourceReader(run: modelRun.run, slots: slots, table: table, entities: [entity.index])
        let objects = SourceObjects(modelRun: modelRun)
        let failures = FailureRecord()
        let context = PolicyRuntime.context(
            of: objects, inputs, storeUUID: inputs.source.metadata.uuid, failures: failures)
        objects.context = context
        defer { context.close() }
        objects.openWindow(inputs.sourceBatch(slots: slots.columns.count), table: table)
        defer { objects.closeWindow() }
        let variables: [String: Any?] = ["manager": manager, "entityMapping": mapping.mapping]
        let notes = UserCodeNotes()
        notes.begin("the source filter", in: mapping, entity: entity)
        defer { notes.end() }
        let before = manager.mappingAtWork
        manager.enter(mapping.mapping)
        manager.filtering = context
        defer {
            manager.filtering = nil
            manager.enter(before)
        }
        while try reader.next(into: &objects.window) {
            try modelRun.services.checkCancelled()
            for row in 0..<objects.window.count {
                let key = objects.window.key(row)
                UserCodeNotes.enter(key: key)
                let isWanted = try passing.passes(
                    objects.window, row,
                    object: { context.object(at: ObjectPlace(entity: entity, key: key, table: table)) },
                    variables: variables)
                try failures.rethrow()
                if isWanted { try keys.index.append(key) }
            }
        }
    }
}
