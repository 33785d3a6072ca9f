import CoreDataStore
import ManagedModel

/// Describes a mapping model's work and the reasons for it, as a ``MigrationPlan/Model``.
struct PlanDescription {
    let work: PlannedWork
    /// All mappings, each at its index; those of previous mapping models first.
    let mappings: [PlannedMapping]
    let firstOwn: Int
    let source: StoreSchema
    let destination: StoreSchema
    let census: SourceCensus
    let usesRowPath: Bool
    /// True if lookups change objects made by previous mapping models.
    let changesExistingRows: Bool
    /// The size of a row of each mapping in the destination, in bytes, by index.
    let rowBytes: [Int: Double]
    /// The factor for all estimates, used because the source's file is larger than the sampled rows suggest.
    let scale: Double
    let budget: MemoryShares

    private var own: ArraySlice<PlannedMapping> { mappings.dropFirst(firstOwn) }

    /// True for the policy path.
    var isStaged: Bool { !reasons.isEmpty }

    /// The reasons for the policy path.
    var reasons: [String] {
        var reasons = own.compactMap { reasonForObjects(of: $0)?.sentence }
        if !usesRowPath { reasons.append("the row path is turned off (usesStoreSpecificMigrationManager)") }
        if changesExistingRows { reasons.append("relationships change objects that previous mapping models made") }
        return reasons
    }

    /// Returns the description.
    func model() -> MigrationPlan.Model {
        let relationships = relationships()
        return MigrationPlan.Model(
            isStaged: isStaged, reasons: reasons, entityMappings: own.map(entityMapping),
            tables: work.tables.map(table),
            relationships: relationships, groups: work.groups.map { $0.map(rootName) },
            passes: work.passes.indices.map { pass($0, relationships) })
    }

    /// The estimated size of the destination's rows, links and indexes, in bytes: the expected size, and a lower bound.
    /// The bound is half of the estimate, without mappings that have a filter or a policy.
    var destinationBytes: (expected: Double, least: Double) {
        var expected = 0.0
        var least = 0.0
        for mapping in own where mapping.destination != nil {
            let bytes = Double(rows(mapping)) * (rowBytes[mapping.index] ?? 0)
            expected += bytes
            if mapping.filter == nil, !mapping.mayShareObjects { least += bytes }
        }
        return (expected * scale, least * min(1, scale) / 2)
    }

    // MARK: - Entity mappings and tables

    private func entityMapping(_ mapping: PlannedMapping) -> MigrationPlan.EntityMapping {
        let (path, reason) = path(of: mapping)
        return MigrationPlan.EntityMapping(
            name: mapping.name, sourceEntity: mapping.source?.definition.name,
            destinationEntity: mapping.destination?.definition.name, path: path, reason: reason,
            sourceRows: rows(mapping), isFiltered: mapping.filter != nil)
    }

    private func path(of mapping: PlannedMapping) -> (MigrationPlan.Path, String) {
        if let reason = reasonForObjects(of: mapping) { return (.objects, reason.words) }
        if mapping.destination == nil { return (.none, "its objects are removed") }
        if mapping.source == nil { return (.none, "it has neither source objects nor a policy") }
        if let grouping = mapping.grouping {
            return (.rows, "no user code; source objects share objects: \(grouping.keyName)")
        }
        if let matching = mapping.matching {
            return (
                .rows, "no user code; objects become rows of the destination with the same \(matching.keysText)"
            )
        }
        return (.rows, isStaged ? "no user code; rows wait in spills for the last policy" : "no user code")
    }

    /// Returns the reason why a mapping's objects are made as such, in a sentence of its own and in words; nil if they are not.
    private func reasonForObjects(of mapping: PlannedMapping) -> (sentence: String, words: String)? {
        let name = mapping.name
        if mapping.mapping.hasPolicy {
            let policy = "migration policy \(mapping.mapping.entityMigrationPolicyClassName ?? "")"
            return ("\(name) has the \(policy)", policy)
        }
        if mapping.sourceExpression != nil {
            return ("a source expression gives the objects of \(name)", "a source expression gives its objects")
        }
        if let forEach = mapping.forEach {
            return (
                "\(name) makes an object for each member of \(forEach.format)",
                "it makes an object for each member of \(forEach.format)"
            )
        }
        if mapping.hasPolicy {
            return ("the manager's class sees the associations of \(name)", "the manager's class sees its associations")
        }
        let dynamic = mapping.relationships.first { if case .dynamic? = $0.value { true } else { false } }
        guard let property = mapping.dynamicAttributes.first?.attribute.name ?? dynamic?.name else { return nil }
        return ("\(name) evaluates \(property) with objects", "\(property) is evaluated with objects")
    }

    private func rows(_ mapping: PlannedMapping) -> Int { mapping.source.map(census.count(of:)) ?? 0 }

    private func table(_ table: PlannedTable) -> MigrationPlan.Table {
        MigrationPlan.Table(
            rootEntity: rootName(table.table), entityMappings: table.mappings.map { mappings[$0].name },
            keys: table.keys, reason: table.reason,
            sourceRows: table.mappings.reduce(0) { $0 + rows(mappings[$1]) })
    }

    private func rootName(_ table: Int) -> String {
        destination.model.entity(at: destination.tables[table].root).definition.name
    }

    // MARK: - Relationships

    private func relationships() -> [MigrationPlan.Relationship] {
        let planner = LinkPlanner(mappings: Array(own), source: source, destination: destination)
        let links = planner.plan()
        let direct = Set(links.direct.values.flatMap { $0 }.map { $0.planned.relationship.label })
        var tasks: [String: LinkPlan.ColumnTask] = [:]
        for task in links.columns {
            switch task {
            case .oneToMany(let relationship, _, _), .hidden(let relationship): tasks[relationship.label] = task
            case .oneToOne(let first, let second):
                tasks[first.label] = task
                tasks[second.label] = task
            }
        }
        return planner.declaredRelationships().map { relationship in
            let inverse = LinkPlanner.mutualInverse(of: relationship)
            var line = MigrationPlan.Relationship(
                entity: relationship.entity.definition.name, name: relationship.name,
                destinationEntity: relationship.destination.definition.name,
                rootEntity: rootName(destination.tableIndex(of: relationship.entity)),
                destinationRootEntity: rootName(destination.tableIndex(of: relationship.destination)),
                inverse: inverse?.label,
                isToMany: relationship.isToMany, carrier: nil, resolution: .untouched, pass: nil, isDeferred: false)
            switch destination.storage(of: relationship) {
            case .none: return line
            case .toOne(let table, _, _, _):
                line.carrier = relationship.label
                setColumn(&line, relationship, inverse, table: table, task: tasks[relationship.label], direct)
            case .toManyHidden(let table, _, _):
                line.carrier = relationship.label
                setColumn(&line, relationship, nil, table: table, task: tasks[relationship.label], direct)
            case .toManyByInverse(let table, _, _, _):
                line.carrier = relationship.inverseRelationship?.label
                guard let inverse = relationship.inverseRelationship else { return line }
                var other = line
                setColumn(&other, inverse, relationship, table: table, task: tasks[inverse.label], direct)
                line.pass = other.pass
                line.resolution = other.pass == nil ? .untouched : .inverse
            case .join(let index, _):
                line.carrier = destination.joinTables[index].name
                guard isSet(relationship) || inverse.map(isSet) == true else { return line }
                line.resolution = isStaged ? .logged : .join
                let pass = work.passes.firstIndex { $0.joinTables.contains(index) } ?? 0
                line.pass = pass + 1
                line.isDeferred = destination.joinTables[index].sides.contains { side in
                    work.passes(ofTable: destination.tableByEntity[side.relationship.entity]).last < pass
                }
            }
            return line
        }
    }

    /// Describes a relationship whose links are stored in a column of a table.
    private func setColumn(
        _ line: inout MigrationPlan.Relationship, _ relationship: RelationshipDescription,
        _ inverse: RelationshipDescription?, table: Int, task: LinkPlan.ColumnTask?, _ direct: Set<String>
    ) {
        let passes = work.passes(ofTable: table)
        if isStaged {
            guard isSet(relationship) || inverse.map(isSet) == true else { return }
            line.resolution = .logged
            line.pass = passes.last + 1
        } else if let task {
            let first = task.tables(in: destination).map { work.passes(ofTable: $0).first }.min() ?? 0
            line.resolution = .table
            line.pass = first + 1
            line.isDeferred = passes.first > first
        } else if direct.contains(relationship.label) {
            line.resolution = .row
            line.pass = passes.last + 1
        }
    }

    /// Tells whether an entity mapping looks up members, or a policy may set them.
    private func isSet(_ relationship: RelationshipDescription) -> Bool {
        own.contains { mapping in
            guard let made = mapping.destination, made.isKindOf(entity: relationship.entity) else { return false }
            return mapping.hasPolicy || mapping.relationship(named: relationship.name)?.findsMembers == true
        }
    }

    // MARK: - Passes

    private func pass(_ number: Int, _ relationships: [MigrationPlan.Relationship]) -> MigrationPlan.Pass {
        let pass = work.passes[number]
        let resolved = relationships.filter {
            $0.pass == number + 1 && ($0.resolution == .table || $0.resolution == .join)
        }
        var bytes = 0.0
        for step in pass.steps {
            let all = step.mappings.reduce(0) { $0 + rows(mappings[$1]) }
            let share = all == 0 ? 0 : Double(step.rows) / Double(all)
            for index in step.mappings { bytes += share * Double(rows(mappings[index])) * (rowBytes[index] ?? 0) }
        }
        // A record of a sort has 40 to 64 bytes, and takes about two thirds of that on disk. A spilled row is
        // compressed if that saves more than a third.
        var work = Double(pass.steps.reduce(0) { $0 + $1.rows }) * 0.25
        for line in resolved { work += 40 * Double(holders(line)) }
        if isStaged { work += bytes * scale }
        let sorted = resolved.reduce(0) { $0 + 64 * holders($1) }
        return MigrationPlan.Pass(
            steps: pass.steps.map(step), joinTables: pass.joinTables.map { destination.joinTables[$0].name },
            resolves: resolved.map { "\($0.entity).\($0.name)" }, destinationBytes: Int(clamping: Int64(bytes * scale)),
            workBytes: Int(clamping: Int64(work)), memoryBytes: memory(sorting: sorted))
    }

    /// Returns the memory that a pass takes. SQLite needs a second cache to sort an index. The keys of all mappings are
    /// in memory in every pass.
    private func memory(sorting bytes: Int) -> Int {
        let keyed = own.reduce(0) { $0 + 4096 + rows($1) / 3 }
        let stages = isStaged ? budget.spill + budget.links : 0
        return 2 * budget.destinationCache + budget.sourceCache + 2 * budget.batch + min(budget.keys, keyed)
            + min(budget.sorts, bytes) + stages
    }

    /// Returns the number of rows of the entity that declares a relationship: that of its links, if each row has one.
    private func holders(_ line: MigrationPlan.Relationship) -> Int {
        own.reduce(0) { sum, mapping in
            guard let made = mapping.destination, let entity = destination.model.entity(named: line.entity),
                made.isKindOf(entity: entity)
            else { return sum }
            return sum + rows(mapping)
        }
    }

    private func step(_ step: PlannedStep) -> MigrationPlan.Step {
        MigrationPlan.Step(
            rootEntity: rootName(step.table), entityMappings: step.mappings.map { mappings[$0].name },
            afterKey: step.after, throughKey: step.through, sourceRows: step.rows, closes: step.isLast)
    }
}
