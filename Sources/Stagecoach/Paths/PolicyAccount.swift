import CoreDataStore
import ManagedModel
import SpillStorage

/// The counts of a mapping model whose policies have ended.
struct PolicyAccount {
    let modelRun: ModelRun
    let mappings: [PlannedMapping]
    let runtime: PolicyRuntime

    /// Counts the objects that policies created or dropped.
    func run() throws {
        for (index, made) in runtime.objects.createdByEntity.enumerated() where made != 0 {
            let name = modelRun.inputs.destinationSchema.model.entity(at: index).definition.name
            modelRun.tally.counts.created[name, default: 0] += made
        }
        for (index, made) in runtime.objects.createdByMapping.enumerated() where made != 0 {
            modelRun.tally.counts.mappings[index].created += made
            let associated = try runtime.associations[index].countOfDestinations()
            modelRun.tally.counts.mappings[index].createdByPolicy = max(0, made - associated)
        }
        for mapping in mappings where mapping.hasPolicy && mapping.source != nil {
            guard runtime.objects.hasDeletions || runtime.associations[mapping.index].hasLatePairs else { continue }
            try recount(mapping)
        }
    }

    /// Counts the source objects that have a destination object in the end. Policies may associate later, and delete.
    private func recount(_ mapping: PlannedMapping) throws {
        guard let table = mapping.sourceTable else { return }
        let isShared = modelRun.inputs.layout.schema.tables[table].entities.count > 1
        let model = modelRun.inputs.destinationSchema.model
        var migrated = 0
        func exists(_ reference: ObjectReference) throws -> Bool {
            guard runtime.objects.hasDeletions else { return true }
            return try runtime.objects.exists(
                runtime.objects.place(entity: model.entity(at: Int(reference.entity)), key: reference.key))
        }
        try runtime.associations[mapping.index].forEachSource(inTable: table, whereExists: exists) { key in
            guard try !isShared || mapping.reads(runtime.sources.entity(table: table, key: key)) else { return }
            migrated += 1
        }
        let fetched =
            modelRun.tally.counts.mappings[mapping.index].sourceObjects
            - modelRun.tally.counts.mappings[mapping.index].filtered
        migrated = min(migrated, fetched)
        modelRun.tally.counts.mappings[mapping.index].correct(associated: migrated)
        modelRun.tally.counts.mappings[mapping.index].migrated = migrated
    }
}
