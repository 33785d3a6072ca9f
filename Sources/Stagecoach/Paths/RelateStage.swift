import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// Stages 2 and 3 on the policy path: first the links of mappings without a policy, then each policy for each of its objects;
/// then each policy's validation and end. In pairs whose links a policy has set itself, mappings without a policy set theirs
/// when the stage reaches them, as if their policy called the default method.
struct RelateStage: ModelStage {
    let stage: StageInputs
    let policies: Policies
    let runtime: PolicyRuntime
    let keys: PlanKeys
    let stages: PolicyCheckpoint

    private var caller: PolicyCaller { PolicyCaller(modelRun: modelRun, runtime: runtime) }

    /// Runs both stages: all of stage 2, then all of stage 3.
    ///
    /// - Parameter start: the position from which a killed run resumes; nil if the stages begin.
    func run(from start: StagePosition?) throws {
        if start.map({ $0.phase == .create || $0.phase == .relate && $0.mapping == nil }) ?? true {
            stages.position = StagePosition(phase: .relate)
            try runtime.linkSetter.beginLinks(keys: isUnchanged ? keys : nil)
        }
        for mapping in mappings {
            guard let part = StagePosition.part(of: mapping.index, in: .relate, from: start) else { continue }
            try stages.reach(part)
            try relate(mapping, from: part)
        }
        runtime.linkSetter.finish()
        for mapping in mappings {
            modelRun.services.begin(.validate, [mapping.name])
            guard let part = StagePosition.part(of: mapping.index, in: .validate, from: start) else {
                policies.release(mapping)
                continue
            }
            try stages.reach(part)
            try validate(mapping)
        }
        try runtime.objects.checkDenied()
    }

    /// True if policies have changed neither source objects nor mappings: the load reads the same as stage 2 would.
    private var isUnchanged: Bool {
        get throws {
            guard runtime.sources.changes == nil else { return false }
            return try mappings.allSatisfy { try !$0.hasPolicy || runtime.current($0) === $0 }
        }
    }

    private func relate(_ mapping: PlannedMapping, from part: StagePosition) throws {
        try modelRun.services.checkCancelled()
        guard mapping.hasPolicy, let policy = policies[mapping] else {
            return try runtime.linkSetter.relateAll(of: mapping)
        }
        stage.manager.enter(mapping.mapping)
        runtime.objects.creating = mapping.index
        defer { runtime.objects.creating = nil }
        let pairs = runtime.associations[mapping.index]
        if runtime.linkSetter.isDeferred(mapping), !policy.overridesRelationshipCreation {
            // Nobody can see whether the default method is called.
            try runtime.linkSetter.begin(mapping, after: .max)
            modelRun.services.progress.advance(rows: try pairs.countOfDestinations())
        } else {
            modelRun.services.begin(.relate, [mapping.name])
            for relationship in mapping.destination?.relationships ?? [] {
                try runtime.objects.links.store(of: relationship)?.store.compact()
            }
            try runtime.linkSetter.begin(mapping, after: part.related)
            let cursor = try pairs.pairs.destinationsInOrderOfFirstAssociation()
            try caller.inScope { try relateObjects(cursor, mapping, policy, from: part.related) }
        }
        runtime.relatedNow = nil
        runtime.linkSetter.end()
        try caller.call(mapping, .endRelationshipCreation) {
            try policy.endRelationshipCreation(forMapping: mapping.mapping, manager: stage.manager)
        }
    }

    private func relateObjects(
        _ cursor: PairWalk, _ mapping: PlannedMapping, _ policy: EntityMigrationPolicy, from start: Int
    ) throws {
        let associations = runtime.associations[mapping.index]
        let additions = associations.additions
        let every = min(64, modelRun.inputs.options.batchSize ?? 64)
        var related = 0
        while related < start, try cursor.next() != nil { related += 1 }
        // Pairs mostly come entity by entity, so keep the last one.
        var last: (index: UInt32, entity: EntityDescription, table: Int)?
        var held: ManagedObject?
        caller.begin(mapping, .createRelationships, mapping.destination)
        defer { runtime.userCode.end() }
        while let pair = try cursor.next() {
            // Pairs added meanwhile are not related, so a cursor made later would give another sequence: take no
            // checkpoint then.
            if related % every == every - 1, associations.additions == additions {
                try stages.reach(
                    StagePosition(phase: .relate, mapping: mapping.index, hasBegun: true, related: related))
            }
            related += 1
            if last?.index != pair.destination.entity {
                let entity = modelRun.inputs.destinationSchema.model.entity(at: Int(pair.destination.entity))
                last = (pair.destination.entity, entity, modelRun.inputs.destinationSchema.tableIndex(of: entity))
                runtime.userCode.enter(entity)
            }
            guard let (_, entity, table) = last else { continue }
            if runtime.objects.hasDeletions,
                try !runtime.objects.exists(ObjectPlace(entity: entity, key: pair.destination.key, table: table))
            {
                continue
            }
            runtime.relatedNow = nil
            runtime.destinationContext.renew(&held, entity: entity, table: table, key: pair.destination.key)
            guard let object = held else { continue }
            runtime.relatedNow = (mapping.index, object, pair.source.key, place: related - 1)
            UserCodeNotes.enter(key: pair.destination.key)
            try caller.call(mapping, .createRelationships, object: object) {
                try policy.createRelationships(forDestination: object, in: mapping.mapping, manager: stage.manager)
            }
            try runtime.linkSetter.endObject(at: related - 1, of: mapping)
            modelRun.services.progress.advance(rows: 1)
        }
    }

    private func validate(_ mapping: PlannedMapping) throws {
        try modelRun.services.checkCancelled()
        guard let policy = policies[mapping] else { return }
        stage.manager.enter(mapping.mapping)
        runtime.objects.creating = mapping.index
        defer { runtime.objects.creating = nil }
        try caller.call(mapping, .performCustomValidation) {
            try policy.performCustomValidation(forMapping: mapping.mapping, manager: stage.manager)
        }
        try caller.call(mapping, .end) { try policy.end(mapping.mapping, manager: stage.manager) }
        policies.release(mapping)
    }
}
