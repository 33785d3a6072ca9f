/// The lines of a reject file: every rejected object with the first reason for rejecting it.
struct RejectLines {
    let run: MigrationRun
    /// The map from this step's source objects to the objects of the chain's source; nil if no step ran before.
    let previousStepIDs: PreviousStepIDMap?
    let ledger: RejectLedger
    let origins: ObjectOrigins

    /// Calls a closure with each object once, by entity, then key.
    ///
    /// - Complexity: O(rejected objects), with a lookup of the origin for each.
    func show(_ body: (RejectedObject, RejectLedger.Entry, ObjectOrigin?) throws -> Void) throws {
        let model = run.inputs.destinationSchema.model
        try ledger.forEachEntry(in: run.inputs.destinationSchema) { entry in
            try run.services.checkCancelled()
            let name = model.entity(at: entry.entity).definition.name
            let origin = try origins.origin(table: entry.table, key: entry.key, entity: entry.entity)
            let sources = try origin?.chainSources(previousStepIDs) ?? []
            let others = sources.count > 1 ? Array(sources.dropFirst()) : nil
            let object = RejectedObject(
                entity: name, id: "\(name)/p\(entry.key)", sourceID: sources.first, otherSourceIDs: others,
                property: entry.property, rule: entry.rule, value: entry.value, mapping: origin?.mappingName)
            try body(object, entry, origin)
        }
    }
}
