/// The lines of a reject file: every rejected object with the first reason for rejecting it.
struct RejectLines {
    let session: MigrationSession
    let ledger: RejectLedger
    let origins: ObjectOrigins

    /// Calls a closure with each object once, by entity, then key.
    ///
    /// - Complexity: O(rejected objects), with a lookup of the origin for each.
    func show(_ body: (RejectedObject, RejectLedger.Entry, ObjectOrigin?) throws -> Void) throws {
        let model = session.destinationSchema.model
        try ledger.forEachEntry(in: session.destinationSchema) { entry in
            try session.checkCancelled()
            let name = model.entity(at: entry.entity).definition.name
            let origin = try origins.origin(table: entry.table, key: entry.key, entity: entry.entity)
            let sources = try session.chainSources(of: origin)
            let others = sources.count > 1 ? Array(sources.dropFirst()) : nil
            let object = RejectedObject(
                entity: name, id: "\(name)/p\(entry.key)", sourceID: sources.first, otherSourceIDs: others,
                property: entry.property, rule: entry.rule, value: entry.value, mapping: origin?.mappingName)
            try body(object, entry, origin)
        }
    }
}
