import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows

/// Compares the rows of one destination table with the objects that the mapping model makes, attribute by attribute.
///
/// Expected objects, the destination's rows and the source's rows of each entity mapping are read by ascending keys and merged.
/// Memory: a batch of rows of the destination, and one of the source for each entity mapping.
final class RowVerification {
    /// The checksums of an attribute of an entity mapping.
    struct Tally {
        var expected = VerificationChecksum()
        var found = VerificationChecksum()
        var differing = 0
    }

    private let scene: VerificationContext
    private let table: Int
    private var rules: [Int: VerifiedRules] = [:]
    private var scratch: RowBatch
    /// The state of each mapping, by index.
    private var works: [Work?]
    /// True if the source objects of all mappings come in the order of one table's keys, so that it is read once.
    private let sharesRows: Bool
    private var shared: SequentialRows?

    /// The state and the counts of one entity mapping.
    final class Work {
        /// The places of a value that both rows have in a column, or else of one that takes more to compare.
        struct Step {
            /// True for a column that is copied, whose values are never in files.
            let isPlain: Bool
            let column: Int
            let slot: Int
        }

        let mapping: VerifiedMapping
        let attributes: [VerifiedAttribute]
        /// The slots of the source's rows that are compared, in the order of the attributes; those of other attributes are 0.
        let steps: [Step]
        /// The columns of the source's rows.
        let columns: [Int]
        let lockSlot: Int
        /// The checksums, in the order of the attributes.
        @exclusivity(unchecked) var tallies: [Tally]
        @exclusivity(unchecked) var found = 0
        /// The Z_ENT of its objects.
        let number: Int64?
        /// True if a row can break a rule of the model; nil before the rules are known.
        var hasRules: Bool?
        /// The source's rows; nil before they are first read.
        var source: SequentialRows?
        /// The source object that expressions are evaluated for.
        var object: EvaluatedSource?
        /// The variables of each attribute's expression.
        var variables: [Int: [String: Any?]] = [:]

        /// - Parameter sharesRows: true to read the source's rows with all columns, so that other mappings can use them too.
        init(_ mapping: VerifiedMapping, _ plan: VerificationPlan, sharesRows: Bool) {
            self.mapping = mapping
            number = mapping.destination.map { Int64(plan.destination.fileNumber(ofEntity: $0.index)) }
            attributes = VerifiedAttribute.all(of: mapping, plan: plan)
            tallies = Array(repeating: Tally(), count: attributes.count)
            // Expressions may read any column, so the slots are then those of the table.
            let readsAll =
                sharesRows || attributes.contains { if case .computed = $0.way { true } else { false } }
            var columns = [EntityTable.lockColumn]
            if readsAll, let table = plan.sourceTable(mapping) {
                columns = Array(plan.source.schema.tables[table].columns.indices)
            }
            lockSlot = readsAll ? EntityTable.lockColumn : 0
            steps = attributes.map { attribute in
                guard case .copied(let column, let isExternal) = attribute.way else {
                    return Step(isPlain: false, column: attribute.column, slot: 0)
                }
                if !readsAll { columns.append(column) }
                return Step(
                    isPlain: !isExternal && !attribute.isExternal, column: attribute.column,
                    slot: readsAll ? column : columns.count - 1)
            }
            self.columns = columns
        }
    }

    init(_ scene: VerificationContext, table: Int) {
        self.scene = scene
        self.table = table
        scratch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        works = Array(repeating: nil, count: scene.plan.mappings.count)
        let plan = scene.plan
        sharesRows =
            plan.turns == 1 && plan.isKept[table]
            && plan.mappings.count { plan.destinationTable($0) == table } > 1
    }

    private var plan: VerificationPlan { scene.plan }
    private var schema: StoreSchema { plan.destination.schema }

    /// Returns the state of a mapping, made on first use.
    func work(_ mapping: VerifiedMapping) -> Work {
        if let known = works[mapping.index] { return known }
        let made = Work(mapping, plan, sharesRows: sharesRows)
        works[mapping.index] = made
        for attribute in made.attributes {
            if case .skipped(let reason) = attribute.way {
                let isRerun = scene.rerun != nil && plan.obstacles[table] != nil
                scene.findings.skip("\(mapping.name).\(attribute.attribute.name)", reason, isRerun: isRerun)
            }
        }
        return made
    }

    /// Compares all rows.
    ///
    /// - Complexity: O(rows) of the table, and a scan of the source's table for each entity mapping.
    func run() throws {
        // The slots are the table's columns.
        let rows = try scene.rows(
            of: scene.destination, plan.destination, table: table, columns: Array(schema.tables[table].columns.indices))
        var wanted = try scene.storage.rows(ofTable: table)
        var hasRow = try rows.advance()
        defer {
            scene.objects.pass = nil
            for case let work? in works {
                work.source = nil
                if let entity = work.mapping.destination { scene.coverage.count(entity, \.recomputed, work.found) }
            }
        }
        while true {
            if let next = wanted.current, !hasRow || next.key < rows.key {
                try missing(next)
                try wanted.advance()
            } else if hasRow {
                if let next = wanted.current, next.key == rows.key {
                    try compare(rows, next)
                    try wanted.advance()
                } else {
                    try extra(rows)
                }
                hasRow = try rows.advance()
            } else {
                break
            }
        }
    }

    private func missing(_ wanted: ExpectedRows.Row) throws {
        if scene.mayReject {
            scene.findings.report.compared.takenForRejected += 1
            // Without the rejected object no expected link refers to it.
            try scene.storage.keys[wanted.mapping]?.remove(source: wanted.source)
            return
        }
        let mapping = plan.mappings[wanted.mapping]
        scene.findings.add(
            .init(
                kind: .missingObject, entity: mapping.destination?.definition.name,
                objectID: plan.objectID(mapping.index, wanted.key), expected: "an object",
                sourceID: mapping.sourceID(wanted.source),
                mapping: mapping.name))
    }

    private func extra(_ row: SequentialRows) throws {
        let place = plan.objectID(table: table, number: row.integer(EntityTable.entityColumn), key: row.key)
        let isOlder = scene.isAppended && (row.key <= plan.base[table] || plan.obstacles[table] != nil)
        if !isOlder, plan.obstacles[table] == nil, !scene.hasPolicies {
            scene.findings.add(
                .init(kind: .extraObject, entity: place.entity, objectID: place.id, found: "an object"))
        }
        guard let entity = schema.model.entity(named: place.entity) else { return }
        // An object made by a policy can only be checked against the model's rules.
        guard !isOlder else { return scene.coverage.count(entity, \.passedOver, 1) }
        scene.coverage.count(
            entity, scene.rerun == nil ? \.checked : \.rerun, because: plan.obstacles[table])
        try check(row, entity, nil, source: 0)
    }

    private func rules(of entity: EntityDescription) throws -> VerifiedRules {
        if let known = rules[entity.index] { return known }
        let made = try VerifiedRules(entity: entity, schema: schema)
        rules[entity.index] = made
        return made
    }

    private func check(
        _ row: SequentialRows, _ entity: EntityDescription, _ mapping: VerifiedMapping?, source: Int64
    ) throws {
        let rules = try rules(of: entity)
        // A value copied under a rule of the source model may have been only a warning of the run.
        if let mapping, mapping.excuses, !scene.options.strictValidation { return }
        for broken in try rules.broken(row) {
            scene.findings.add(
                .init(
                    kind: .rule, entity: entity.definition.name, objectID: "\(entity.definition.name)/p\(row.key)",
                    property: broken.property, expected: broken.expected, found: broken.found,
                    sourceID: mapping?.sourceID(source), mapping: mapping?.name))
        }
    }

    /// The object whose values are compared.
    private struct Comparison {
        let work: Work
        let row: SequentialRows
        let old: SequentialRows
        let source: Int64
        /// The hash of its key.
        let place: UInt64
    }

    private func difference(
        _ work: Work, _ key: Int64, _ source: Int64, _ kind: VerificationReport.Kind, _ property: String?,
        _ expected: String?, _ found: String?
    ) {
        let mapping = work.mapping
        scene.findings.add(
            .init(
                kind: kind, entity: mapping.destination?.definition.name, objectID: plan.objectID(mapping.index, key),
                property: property, expected: expected, found: found, sourceID: mapping.sourceID(source),
                mapping: mapping.name))
    }

    private func compare(_ row: SequentialRows, _ wanted: ExpectedRows.Row) throws {
        let work = works[wanted.mapping] ?? self.work(plan.mappings[wanted.mapping])
        guard let number = work.number else { return }
        work.found += 1
        let foundNumber = row.integer(EntityTable.entityColumn)
        if foundNumber != number {
            difference(
                work, row.key, wanted.source, .entity, "Z_ENT", String(number), foundNumber.map(String.init))
        }
        guard let old = try open(work), try old.advance(to: wanted.source) else { return }
        compareLock(work, row, old, wanted.source)
        let comparison = Comparison(
            work: work, row: row, old: old, source: wanted.source,
            place: VerificationChecksum.mix(UInt64(bitPattern: row.key)))
        for position in 0..<work.steps.count {
            let step = work.steps[position]
            if step.isPlain {
                let (expected, cell) = (old.cell(step.slot), row.cell(step.column))
                if VerifiedCell.areEqual(expected, cell), !expected.isNull || work.attributes[position].standard == nil
                {
                    let sum = VerificationChecksum.mix(cell.hash ^ comparison.place)
                    work.tallies[position].found.add(sum)
                    work.tallies[position].expected.add(sum)
                    continue
                }
            }
            try compare(comparison, position)
        }
        guard work.hasRules != false, let entity = work.mapping.destination else { return }
        work.hasRules = try !rules(of: entity).isEmpty
        try check(row, entity, work.mapping, source: wanted.source)
    }

    /// Returns the source's rows of a mapping.
    private func open(_ work: Work) throws -> SequentialRows? {
        if let known = work.source { return known }
        guard let entity = work.mapping.source, let table = plan.sourceTable(work.mapping) else { return nil }
        let rows =
            try shared
            ?? scene.rows(
                of: scene.source, plan.source, table: table, columns: work.columns,
                entities: sharesRows ? nil : [entity.index])
        if sharesRows { shared = rows }
        work.source = rows
        work.object = EvaluatedSource(entity: entity, table: table, key: 0, objects: scene.objects)
        return work.source
    }

    private func compareLock(_ work: Work, _ row: SequentialRows, _ old: SequentialRows, _ source: Int64) {
        let lock = row.cell(EntityTable.lockColumn)
        let before = old.cell(work.lockSlot)
        guard plan.turns == 1, !scene.hasPolicies else {
            if case .integer(let number) = lock, number >= 1 { return }
            if plan.isKept[table], VerifiedCell.areEqual(before, lock) { return }
            return difference(work, row.key, source, .lock, "Z_OPT", "1 or more", lock.shown)
        }
        var expected = VerifiedCell.integer(1)
        if plan.isKept[table], case .integer = before { expected = before }
        if !VerifiedCell.areEqual(expected, lock) {
            difference(work, row.key, source, .lock, "Z_OPT", expected.shown, lock.shown)
        }
    }

    private func compare(_ comparison: Comparison, _ position: Int) throws {
        let (work, row) = (comparison.work, comparison.row)
        let attribute = work.attributes[position]
        let cell = row.cell(attribute.column)
        func settle(_ expected: VerifiedCell) {
            let sum = VerificationChecksum.mix(cell.hash ^ comparison.place)
            work.tallies[position].found.add(sum)
            guard !VerifiedCell.areEqual(expected, cell) else {
                return work.tallies[position].expected.add(sum)
            }
            work.tallies[position].expected.add(key: row.key, expected.hash)
            work.tallies[position].differing += 1
            difference(
                work, row.key, comparison.source, .value, attribute.attribute.name, expected.shown, cell.shown)
        }
        /// Compares a value that may be in a file. If the expected value is nil, the attribute's default takes its
        /// place.
        func settleAny(_ expected: VerifiedCell) throws {
            if expected.isNull, let standard = attribute.standard { return try self.settle(standard, settle) }
            guard attribute.isExternal else { return settle(expected) }
            let outcome = try scene.external.compare(expected, cell)
            work.tallies[position].expected.add(key: row.key, outcome.expected)
            work.tallies[position].found.add(key: row.key, outcome.found)
            guard let problem = outcome.problem else { return }
            work.tallies[position].differing += 1
            difference(
                work, row.key, comparison.source, problem.isFile ? .external : .value, attribute.attribute.name,
                problem.expected, problem.found)
        }
        switch attribute.way {
        case .copied: try settleAny(comparison.old.cell(work.steps[position].slot))
        case .initial(let value):
            guard let value else { return settle(.null) }
            if attribute.isExternal {
                emptyScratch()
                value.store(in: &scratch, row: 0, slot: 0)
                try settleAny(VerifiedCell(scratch[0, 0], scratch))
            } else {
                try self.settle(value, settle)
            }
        case .computed(let expression, let property):
            do {
                try compute(expression, property, position, comparison)
            } catch let error as MigrationError where error.category == .io {
                throw error
            } catch {
                return scene.findings.skip(
                    "\(work.mapping.name).\(attribute.attribute.name)", VerificationObstacle.reason(of: error))
            }
            if try isCarried(cell, attribute, by: expression) { return settle(cell) }
            try settleAny(VerifiedCell(scratch[0, 0], scratch))
        case .derived, .skipped: work.tallies[position].found.add(key: row.key, cell.hash)
        }
    }

    /// Tells whether a stored value, carried unchanged, equals the computed one in the scratch row, as an object would
    /// show it. They may differ in form: a URL escapes characters that a stored text need not, and a Float has only 32
    /// of the bits that its column may hold.
    private func isCarried(
        _ cell: VerifiedCell, _ attribute: VerifiedAttribute, by expression: ValueExpression
    ) throws -> Bool {
        if attribute.attribute.attributeType == .float, expression.node.sourceKeyPath != nil {
            guard let expected = VerifiedCell(scratch[0, 0], scratch).realValue, let found = cell.realValue else {
                return false
            }
            return Float(expected) == Float(found)
        }
        guard attribute.attribute.attributeType == .uri else { return false }
        let expected = VerifiedCell(scratch[0, 0], scratch)
        guard !VerifiedCell.areEqual(expected, cell), case .text(let bytes) = cell,
            let url = URL(string: String(decoding: bytes, as: UTF8.self))
        else { return false }
        var other = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        _ = other.appendRow(key: 0)
        try ValueBridge.store(url, type: .uri, isExternal: false, in: &other, row: 0, slot: 0)
        return VerifiedCell.areEqual(expected, VerifiedCell(other[0, 0], other))
    }

    private func settle(_ value: ColumnValue, _ body: (VerifiedCell) -> Void) throws {
        emptyScratch()
        value.store(in: &scratch, row: 0, slot: 0)
        body(VerifiedCell(scratch[0, 0], scratch))
    }

    private func emptyScratch() {
        scratch.removeAll()
        _ = scratch.appendRow(key: 0)
        scratch[0, 0] = .null
    }

    /// Computes a value into the scratch row.
    private func compute(
        _ expression: ValueExpression, _ property: PropertyMapping?, _ position: Int, _ comparison: Comparison
    ) throws {
        let work = comparison.work
        guard let object = work.object else { return }
        emptyScratch()
        object.key = comparison.source
        scene.objects.pass = (object.table, comparison.old)
        scene.manager.enter(work.mapping)
        let variables =
            work.variables[position] ?? [
                "source": object, "manager": scene.manager, "entityMapping": work.mapping.mapping,
                "propertyMapping": property,
            ]
        work.variables[position] = variables
        let attribute = work.attributes[position]
        let value = try expression.evaluate(with: object, variables: variables)
        try ValueBridge.store(
            value, type: attribute.attribute.attributeType, isExternal: attribute.isExternal, in: &scratch, row: 0,
            slot: 0)
    }
}
