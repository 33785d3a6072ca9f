import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows

/// Compares the rows of one destination table with the objects that the mapping model makes, attribute by attribute.
///
/// Both sides are read in ascending order of keys and merged; a source row is fetched by its key. Memory: a row of
/// each.
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

    /// The state and the counts of one entity mapping.
    final class Work {
        let attributes: [VerifiedAttribute]
        /// The column of each copied attribute in the source statement, else 0.
        let slots: [Int32]
        /// The checksums, in the order of the attributes.
        var tallies: [Tally]
        var found = 0
        var source: Statement?

        init(_ attributes: [VerifiedAttribute]) {
            self.attributes = attributes
            tallies = Array(repeating: Tally(), count: attributes.count)
            var next: Int32 = 0
            slots = attributes.map { attribute in
                guard case .copied = attribute.way else { return 0 }
                next += 1
                return next
            }
        }
    }

    init(_ scene: VerificationContext, table: Int) {
        self.scene = scene
        self.table = table
        scratch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        works = Array(repeating: nil, count: scene.plan.mappings.count)
    }

    private var plan: VerificationPlan { scene.plan }
    private var schema: StoreSchema { plan.destination.schema }

    /// Returns the state of a mapping, made on first use.
    func work(_ mapping: VerifiedMapping) -> Work {
        if let known = works[mapping.index] { return known }
        let made = Work(VerifiedAttribute.all(of: mapping, plan: plan))
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
    /// - Complexity: O(rows) of the table, with a lookup of a source row for each.
    func run() throws {
        let actual = plan.destination.tables[table]
        let columns = actual.columns.map(SQLName.quoted).joined(separator: ", ")
        // Column 0 is the key, column i + 1 the table's column i.
        let rows = try scene.destination.query(
            "SELECT Z_PK, \(columns) FROM \(SQLName.quoted(actual.name)) NOT INDEXED ORDER BY Z_PK")
        let wanted = try scene.ledger.connection.prepare("SELECT d, m, s FROM t\(table) ORDER BY d")
        var hasRow = try rows.step()
        var hasWanted = try wanted.step()
        var count = 0
        while hasRow || hasWanted {
            count += 1
            if count % 1024 == 0 { try scene.checkCancelled() }
            let key = hasRow ? rows.integer(0) : Int64.max
            let next = hasWanted ? wanted.integer(0) : Int64.max
            if hasWanted, !hasRow || next < key {
                try missing(wanted)
                hasWanted = try wanted.step()
            } else if hasRow, !hasWanted || key < next {
                try extra(rows, key)
                hasRow = try rows.step()
            } else {
                try compare(rows, key, mapping: Int(wanted.integer(1)), source: wanted.integer(2))
                hasRow = try rows.step()
                hasWanted = try wanted.step()
            }
        }
        for work in works { work?.source = nil }
        try scene.ledger.execute("DELETE FROM t\(table) WHERE d IN (SELECT d FROM gone); DELETE FROM gone")
    }

    private func missing(_ wanted: Statement) throws {
        let mapping = plan.mappings[Int(wanted.integer(1))]
        let key = wanted.integer(0)
        if scene.mayReject {
            scene.findings.report.compared.takenForRejected += 1
            // Remove the pair of a rejected object, so that no expected link refers to it.
            try scene.ledger.run("DELETE FROM m\(mapping.index) WHERE s=?1", wanted.integer(2))
            try scene.ledger.run("INSERT INTO gone VALUES(?1)", key)
            return
        }
        scene.findings.add(
            .init(
                kind: .missingObject, entity: mapping.destination?.definition.name,
                objectID: plan.objectID(mapping.index, key), expected: "an object",
                sourceID: mapping.sourceID(wanted.integer(2)),
                mapping: mapping.name))
    }

    private func extra(_ row: Statement, _ key: Int64) throws {
        let number = row.isNull(1) ? nil : row.integer(1)
        let place = plan.objectID(table: table, number: number, key: key)
        let isOlder = scene.isAppended && (key <= plan.base[table] || plan.obstacles[table] != nil)
        if !isOlder, plan.obstacles[table] == nil, !scene.hasPolicies {
            scene.findings.add(
                .init(kind: .extraObject, entity: place.entity, objectID: place.id, found: "an object"))
        }
        guard let entity = schema.model.entity(named: place.entity) else { return }
        // An object made by a policy can only be checked against the model's rules.
        guard !isOlder else { return scene.coverage.count(entity, \.passedOver) }
        scene.coverage.count(
            entity, scene.rerun == nil ? \.checked : \.rerun, because: plan.obstacles[table])
        try check(row, key, entity: entity, number: number, mapping: nil, sourceID: nil)
    }

    private func check(
        _ row: Statement, _ key: Int64, entity: EntityDescription, number: Int64?, mapping: VerifiedMapping?,
        sourceID: String?
    ) throws {
        let rules: VerifiedRules
        if let known = self.rules[entity.index] {
            rules = known
        } else {
            rules = try VerifiedRules(entity: entity, schema: schema)
            self.rules[entity.index] = rules
        }
        // A value copied under a rule of the source model may have been only a warning of the run.
        if let mapping, mapping.excuses, !scene.options.strictValidation { return }
        for broken in try rules.broken(row) {
            scene.findings.add(
                .init(
                    kind: .rule, entity: entity.definition.name, objectID: "\(entity.definition.name)/p\(key)",
                    property: broken.property, expected: broken.expected, found: broken.found, sourceID: sourceID,
                    mapping: mapping?.name))
        }
    }

    private func compare(_ row: Statement, _ key: Int64, mapping index: Int, source: Int64) throws {
        let mapping = plan.mappings[index]
        guard let entity = mapping.destination else { return }
        let work = work(mapping)
        work.found += 1
        scene.coverage.count(entity, \.recomputed)
        let id = plan.objectID(index, key)
        func difference(_ kind: VerificationReport.Kind, _ property: String?, _ expected: String?, _ found: String?) {
            scene.findings.add(
                .init(
                    kind: kind, entity: entity.definition.name, objectID: id, property: property, expected: expected,
                    found: found, sourceID: mapping.sourceID(source), mapping: mapping.name))
        }
        let number = Int64(plan.destination.fileNumber(ofEntity: entity.index))
        let foundNumber = row.isNull(1) ? nil : row.integer(1)
        if foundNumber != number {
            difference(.entity, "Z_ENT", String(number), foundNumber.map(String.init))
        }
        guard let old = try open(source, of: mapping, work) else { return }
        compareLock(row, old, difference)
        for position in work.attributes.indices {
            try compare(work, position, row, old, key, mapping, source, difference)
        }
        try check(
            row, key, entity: entity, number: foundNumber, mapping: mapping, sourceID: mapping.sourceID(source))
    }

    /// Opens a source row. Column 0 is Z_OPT, followed by the columns of the copied attributes.
    private func open(_ key: Int64, of mapping: VerifiedMapping, _ work: Work) throws -> Statement? {
        guard let table = plan.sourceTable(mapping) else { return nil }
        let statement: Statement
        if let known = work.source {
            statement = known
        } else {
            let found = plan.source.tables[table]
            var columns = [found.columns[EntityTable.lockColumn]]
            for case .copied(let column, _) in work.attributes.map(\.way) { columns.append(found.columns[column]) }
            statement = try scene.source.query(
                "SELECT \(columns.map(SQLName.quoted).joined(separator: ", ")) FROM \(SQLName.quoted(found.name)) WHERE Z_PK=?1"
            )
            work.source = statement
        }
        statement.reset()
        statement.bind(key, at: 1)
        return try statement.step() ? statement : nil
    }

    private typealias Report = (VerificationReport.Kind, String?, String?, String?) -> Void

    private func compareLock(_ row: Statement, _ old: Statement, _ difference: Report) {
        let lock = VerifiedCell(row, 2)
        let before = VerifiedCell(old, 0)
        guard plan.turns == 1, !scene.hasPolicies else {
            if case .integer(let number) = lock, number >= 1 { return }
            if plan.isKept[table], VerifiedCell.areEqual(before, lock) { return }
            return difference(.lock, "Z_OPT", "1 or more", lock.shown)
        }
        var expected = VerifiedCell.integer(1)
        if plan.isKept[table], case .integer = before { expected = before }
        if !VerifiedCell.areEqual(expected, lock) { difference(.lock, "Z_OPT", expected.shown, lock.shown) }
    }

    private func compare(
        _ work: Work, _ position: Int, _ row: Statement, _ old: Statement, _ key: Int64, _ mapping: VerifiedMapping,
        _ source: Int64, _ difference: Report
    ) throws {
        let attribute = work.attributes[position]
        let cell = VerifiedCell(row, Int32(attribute.column + 1))
        func compareCell(_ expected: VerifiedCell) {
            let hash = cell.hash
            work.tallies[position].found.add(key: key, hash)
            guard !VerifiedCell.areEqual(expected, cell) else {
                return work.tallies[position].expected.add(key: key, hash)
            }
            work.tallies[position].expected.add(key: key, expected.hash)
            work.tallies[position].differing += 1
            difference(.value, attribute.attribute.name, expected.shown, cell.shown)
        }
        /// Compares a value that may be in a file. If the expected value is nil, the attribute's default takes its
        /// place.
        func compareAny(_ expected: VerifiedCell) throws {
            if expected.isNull, let standard = attribute.standard { return try withCell(of: standard, compareCell) }
            guard attribute.isExternal else { return compareCell(expected) }
            let outcome = try scene.external.compare(expected, cell)
            work.tallies[position].expected.add(key: key, outcome.expected)
            work.tallies[position].found.add(key: key, outcome.found)
            guard let problem = outcome.problem else { return }
            work.tallies[position].differing += 1
            difference(problem.isFile ? .external : .value, attribute.attribute.name, problem.expected, problem.found)
        }
        switch attribute.way {
        case .copied: try compareAny(VerifiedCell(old, work.slots[position]))
        case .initial(let value):
            guard let value else { return compareCell(.null) }
            if attribute.isExternal {
                emptyScratch()
                value.store(in: &scratch, row: 0, slot: 0)
                try compareAny(VerifiedCell(scratch[0, 0], scratch))
            } else {
                try withCell(of: value, compareCell)
            }
        case .computed(let expression, let property):
            do {
                try compute(expression, property, attribute, mapping, source)
            } catch let error as MigrationError where error.category == .io {
                throw error
            } catch {
                return scene.findings.skip(
                    "\(mapping.name).\(attribute.attribute.name)", VerificationObstacle.reason(of: error))
            }
            if try isCarried(row, cell, attribute, by: expression) { return compareCell(cell) }
            try compareAny(VerifiedCell(scratch[0, 0], scratch))
        case .derived, .skipped: work.tallies[position].found.add(key: key, cell.hash)
        }
    }

    /// Tells whether a stored value, carried unchanged, equals the computed one in the scratch row, as an object would
    /// show it. They may differ in form: a URL escapes characters that a stored text need not, and a Float has only 32
    /// of the bits that its column may hold.
    private func isCarried(
        _ row: Statement, _ cell: VerifiedCell, _ attribute: VerifiedAttribute, by expression: ValueExpression
    ) throws -> Bool {
        if attribute.attribute.attributeType == .float, expression.node.sourceKeyPath != nil {
            guard let expected = VerifiedCell(scratch[0, 0], scratch).realValue, let found = cell.realValue else {
                return false
            }
            return Float(expected) == Float(found)
        }
        guard attribute.attribute.attributeType == .uri else { return false }
        let expected = VerifiedCell(scratch[0, 0], scratch)
        guard !VerifiedCell.areEqual(expected, cell), let text = row.text(Int32(attribute.column + 1)),
            let url = URL(string: text)
        else { return false }
        var other = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        _ = other.appendRow(key: 0)
        try ValueBridge.store(url, type: .uri, isExternal: false, in: &other, row: 0, slot: 0)
        return VerifiedCell.areEqual(expected, VerifiedCell(other[0, 0], other))
    }

    /// Passes a value as a cell.
    private func withCell(of value: ColumnValue, _ body: (VerifiedCell) -> Void) throws {
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
        _ expression: ValueExpression, _ property: PropertyMapping?, _ attribute: VerifiedAttribute,
        _ mapping: VerifiedMapping, _ key: Int64
    ) throws {
        guard let entity = mapping.source, let table = plan.sourceTable(mapping) else { return }
        emptyScratch()
        let object = EvaluatedSource(entity: entity, table: table, key: key, objects: scene.objects)
        scene.manager.enter(mapping)
        let variables: [String: Any?] = [
            "source": object, "manager": scene.manager, "entityMapping": mapping.mapping, "propertyMapping": property,
        ]
        let value = try expression.evaluate(with: object, variables: variables)
        try ValueBridge.store(
            value, type: attribute.attribute.attributeType, isExternal: attribute.isExternal, in: &scratch, row: 0,
            slot: 0)
    }
}
