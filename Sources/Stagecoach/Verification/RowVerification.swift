import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows

/// A row of the destination and the row of the source that it is made of, in the batches in view.
struct RowMatch {
    let row: Int
    let old: Int
    /// The source's key.
    let source: Int64
    /// The hash of the destination's key.
    let place: UInt64
    /// The number of the row among those that its source row makes.
    let member: Int
}

/// The comparison of one entity mapping's rows: its attributes, and what was found.
final class RowWork {
    /// The checksums of an attribute.
    struct Tally {
        var expected = VerificationChecksum()
        var found = VerificationChecksum()
        var differing = 0
    }

    let mapping: VerifiedMapping
    let attributes: [VerifiedAttribute]
    /// The source's columns of the attributes that are copied and never in files; nil for others.
    let plainColumns: [Int?]
    /// The checksums, in the order of the attributes.
    @exclusivity(unchecked) var tallies: [Tally]
    @exclusivity(unchecked) var found = 0
    /// The Z_ENT of its objects.
    let number: Int64
    /// The rows that are not compared yet.
    @exclusivity(unchecked) var matches: [RowMatch] = []
    /// The source's rows; nil before they are first read.
    var source: SequentialRows?
    /// The source object that expressions are evaluated for.
    var object: EvaluatedSource?
    /// The same with the values of the others that were merged into it; nil if the mapping does not fill nil values.
    var filled: FilledSource?
    /// The evaluation of each computed attribute.
    var evaluations: [Int: ExpressionEvaluation] = [:]
    /// The members that make the mapping's objects, and the links of these; nil if each source object makes one.
    let members: MemberRows?

    init(_ mapping: VerifiedMapping, _ plan: VerificationPlan) {
        self.mapping = mapping
        number = Int64(plan.destination.fileNumber(ofEntity: mapping.destination?.index ?? 0))
        attributes = VerifiedAttribute.all(of: mapping, plan: plan)
        tallies = Array(repeating: Tally(), count: attributes.count)
        members = mapping.forEach.map { MemberRows($0, mapping, plan) }
        plainColumns = attributes.map { attribute in
            guard case .copied(let column, false) = attribute.way, !attribute.isExternal else { return nil }
            return column
        }
    }
}

/// Compares the rows of one destination table with the objects that the mapping model makes, attribute by attribute.
///
/// Expected objects, the destination's rows and the source's rows of each entity mapping are read by ascending keys and merged.
/// Rows that belong together are collected, and compared column by column before one of their batches gives way to the next.
///
/// Memory: a batch of rows of the destination, and one of the source for each entity mapping.
final class RowVerification {
    private let context: VerificationContext
    private let table: Int
    private var rules: [Int: VerifiedRules] = [:]
    private var scratch: RowBatch
    /// The state of each mapping, by index.
    private var works: [RowWork?]
    /// True if the source objects of all mappings come in the order of one table's keys, so that it is read once.
    private let sharesRows: Bool
    private var shared: SequentialRows?
    /// False once a row is missing, is not expected, or has another entity or a key below 1.
    private var isExact = true

    init(_ context: VerificationContext, table: Int) {
        self.context = context
        self.table = table
        scratch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        works = Array(repeating: nil, count: context.plan.mappings.count)
        let plan = context.plan
        sharesRows =
            plan.modelCount == 1 && plan.isKept[table]
            && plan.mappings.count { plan.destinationTable($0) == table } > 1
    }

    private var plan: VerificationPlan { context.plan }
    private var schema: StoreSchema { plan.destination.schema }

    /// Returns the state of a mapping, made on first use.
    func work(_ mapping: VerifiedMapping) -> RowWork {
        if let known = works[mapping.index] { return known }
        let made = RowWork(mapping, plan)
        works[mapping.index] = made
        for attribute in made.attributes {
            if case .skipped(let reason) = attribute.way {
                let isRerun = context.rerun != nil && plan.obstacles[table] != nil
                context.findings.skip("\(mapping.name).\(attribute.attribute.name)", reason, isRerun: isRerun)
            }
        }
        return made
    }

    /// Compares all rows. Complexity: O(rows) of the table, and a scan of the source's table for each entity mapping.
    func run() throws {
        let rows = try context.rows(of: context.destination, plan.destination, table: table)
        rows.leave = { [unowned self, unowned rows] in try compareMatches(rows) }
        var wanted = try context.storage.rows(ofTable: table)
        func advance() throws -> Bool {
            guard try rows.advance() else { return false }
            if rows.row == 0 { context.file.add(rows.batch, ofTable: table) }
            return true
        }
        var hasRow = try advance()
        isExact = plan.obstacles[table] == nil && !context.isAppended && !(hasRow && rows.key < 1)
        defer {
            context.objects.pass = nil
            for case let work? in works {
                work.source = nil
                if let entity = work.mapping.destination { context.coverage.count(entity, \.recomputed, work.found) }
            }
        }
        while true {
            if let next = wanted.current, !hasRow || next.key < rows.key {
                try missing(next)
                try wanted.advance()
            } else if hasRow {
                if let next = wanted.current, next.key == rows.key {
                    try match(rows, next)
                    try wanted.advance()
                } else {
                    try extra(rows)
                }
                hasRow = try advance()
            } else {
                break
            }
        }
        if isExact { context.exactTables.insert(table) }
    }

    private func missing(_ wanted: ExpectedRows.Row) throws {
        isExact = false
        if context.mayReject {
            context.findings.report.compared.takenForRejected += 1
            // Without the rejected object no expected link refers to it.
            try context.storage.keys[wanted.mapping]?.remove(source: wanted.source)
            return
        }
        let others = try context.storage.keys[wanted.mapping]?.others(of: wanted.source).count ?? 0
        context.add(
            .missingObject, plan.mappings[wanted.mapping], wanted.key, source: wanted.source,
            expected: others == 0 ? "an object" : "an object, which \((others + 1).counted("source object")) share",
            found: nil)
    }

    /// Returns what an object that is not expected seems to be, if it has the key of a source object.
    private func description(ofExtra key: Int64) throws -> String {
        for mapping in plan.mappings where plan.isKept[table] && plan.destinationTable(mapping) == table {
            guard let maker = try context.storage.keys[mapping.index]?.shared?.maker(of: key) else { continue }
            return "an object; \(mapping.sourceID(key)) is merged into \(mapping.sourceID(maker))"
        }
        return "an object"
    }

    private func extra(_ row: SequentialRows) throws {
        isExact = false
        let place = plan.objectID(table: table, number: row.integer(EntityTable.entityColumn), key: row.key)
        let isOlder = context.isAppended && (row.key <= plan.base[table] || plan.obstacles[table] != nil)
        if !isOlder, plan.obstacles[table] == nil, !context.hasPolicies {
            context.findings.add(.extraObject, place.entity, place.id, found: try description(ofExtra: row.key))
        }
        guard let entity = schema.model.entity(named: place.entity) else { return }
        // An object made by a policy can only be checked against the model's rules.
        guard !isOlder else { return context.coverage.count(entity, \.passedOver, 1) }
        context.coverage.count(entity, context.rerun == nil ? \.checked : \.rerun, because: plan.obstacles[table])
        try check(row, try rules(of: entity), entity, nil, source: 0)
    }

    // MARK: - Rows of both stores

    /// Notes a row for comparison with the source's row.
    private func match(_ rows: SequentialRows, _ wanted: ExpectedRows.Row) throws {
        let work = works[wanted.mapping] ?? self.work(plan.mappings[wanted.mapping])
        work.found += 1
        guard let old = try work.source ?? open(work, rows), try old.advance(to: wanted.source) else { return }
        work.matches.append(
            RowMatch(
                row: rows.row, old: old.row, source: wanted.source,
                place: VerificationChecksum.mix(UInt64(bitPattern: rows.key)), member: wanted.member))
    }

    /// Returns the source's rows of a mapping.
    private func open(_ work: RowWork, _ rows: SequentialRows) throws -> SequentialRows? {
        guard let entity = work.mapping.source, let table = plan.sourceTable(work.mapping) else { return nil }
        let old =
            try shared
            ?? context.rows(of: context.source, plan.source, table: table, entities: sharesRows ? nil : [entity.index])
        old.leave = { [unowned self, unowned rows] in try compareMatches(rows) }
        if sharesRows { shared = old }
        work.source = old
        let object = EvaluatedSource(entity: entity, table: table, key: 0, objects: context.objects)
        work.object = object
        if work.mapping.fills { work.filled = FilledSource([object.another]) }
        return old
    }

    private func compareMatches(_ rows: SequentialRows) throws {
        for case let work? in works where !work.matches.isEmpty {
            defer { work.matches.removeAll(keepingCapacity: true) }
            guard let old = work.source else { continue }
            let places = (rows.row, old.row)
            defer {
                rows.show(places.0)
                old.show(places.1)
            }
            try compare(work, rows, old)
        }
    }

    private func compare(_ work: RowWork, _ rows: SequentialRows, _ old: SequentialRows) throws {
        compareEntities(work, rows)
        compareLocks(work, rows, old)
        for position in work.attributes.indices {
            if let column = work.plainColumns[position] {
                try comparePlain(work, position, column, rows, old)
            } else {
                for match in work.matches { try compare(work, match, position, rows, old) }
            }
        }
        for link in context.links.columns[work.mapping.index] {
            try link.compare(work.matches, rows, old)
        }
        for link in work.members?.links ?? [] {
            for match in work.matches { try compare(link, work, match, rows, old) }
        }
        // A value copied under a rule of the source model may have been only a warning of the run.
        guard let entity = work.mapping.destination, !work.mapping.excuses || context.options.strictValidation else {
            return
        }
        let rules = try rules(of: entity)
        guard !rules.isEmpty else { return }
        for match in work.matches {
            rows.show(match.row)
            try check(rows, rules, entity, work.mapping, source: match.source)
        }
    }

    private func compareEntities(_ work: RowWork, _ rows: SequentialRows) {
        for match in work.matches {
            let cell = rows.batch[match.row, EntityTable.entityColumn]
            if cell.kind == .integer, cell.integerValue == work.number { continue }
            isExact = false
            let found = rows.integer(match.row, EntityTable.entityColumn)
            guard found != work.number else { continue }
            context.add(
                .entity, work.mapping, rows.batch.key(match.row), source: match.source, "Z_ENT",
                expected: String(work.number), found: found.map(String.init))
        }
    }

    private func compareLocks(_ work: RowWork, _ rows: SequentialRows, _ old: SequentialRows) {
        let (isKept, isKnown) = (plan.isKept[table], plan.modelCount == 1 && !context.hasPolicies)
        for match in work.matches {
            let lock = VerifiedCell(rows.batch[match.row, EntityTable.lockColumn], rows.batch)
            let before = VerifiedCell(old.batch[match.old, EntityTable.lockColumn], old.batch)
            var expected = VerifiedCell.integer(1)
            if isKept, case .integer = before { expected = before }
            if VerifiedCell.areEqual(expected, lock) { continue }
            if !isKnown {
                if case .integer(let number) = lock, number >= 1 { continue }
                if isKept, VerifiedCell.areEqual(before, lock) { continue }
            }
            context.add(
                .lock, work.mapping, rows.batch.key(match.row), source: match.source, "Z_OPT",
                expected: isKnown ? expected.shown : "1 or more", found: lock.shown)
        }
    }

    private func comparePlain(
        _ work: RowWork, _ position: Int, _ copied: Int, _ rows: SequentialRows, _ old: SequentialRows
    ) throws {
        let column = work.attributes[position].column
        let takesNil = work.attributes[position].standard == nil && work.filled == nil
        var sum: UInt64 = 0
        for match in work.matches {
            let expected = VerifiedCell(old.batch[match.old, copied], old.batch)
            let found = VerifiedCell(rows.batch[match.row, column], rows.batch)
            if VerifiedCell.areEqual(expected, found), takesNil || !expected.isNull {
                sum &+= VerificationChecksum.mix(found.hash ^ match.place)
            } else {
                try compare(work, match, position, rows, old)
            }
        }
        work.tallies[position].found.add(sum)
        work.tallies[position].expected.add(sum)
    }

    private func compare(
        _ work: RowWork, _ match: RowMatch, _ position: Int, _ rows: SequentialRows, _ old: SequentialRows
    ) throws {
        let attribute = work.attributes[position]
        let cell = VerifiedCell(rows.batch[match.row, attribute.column], rows.batch)
        func differs(_ kind: VerificationReport.Kind, _ expected: String?, _ found: String?) {
            work.tallies[position].differing += 1
            context.add(
                kind, work.mapping, rows.batch.key(match.row), source: match.source, attribute.attribute.name,
                expected: expected, found: found)
        }
        func expect(_ expected: VerifiedCell) {
            let isEqual = VerifiedCell.areEqual(expected, cell)
            note(cell.hash, isEqual ? cell.hash : expected.hash)
            if !isEqual { differs(.value, expected.shown, cell.shown) }
        }
        func note(_ found: UInt64, _ expected: UInt64?) {
            work.tallies[position].found.add(VerificationChecksum.mix(found ^ match.place))
            if let expected { work.tallies[position].expected.add(VerificationChecksum.mix(expected ^ match.place)) }
        }
        /// Compares a value that may be in a file. For an expected nil the attribute's default counts.
        func expectAny(_ expected: VerifiedCell) throws {
            if expected.isNull, let standard = attribute.standard { return expect(stored(standard)) }
            guard attribute.isExternal else { return expect(expected) }
            let outcome = try context.external.compare(expected, cell)
            note(outcome.found, outcome.expected)
            guard let problem = outcome.problem else { return }
            differs(problem.isFile ? .external : .value, problem.expected, problem.found)
        }
        switch attribute.way {
        case .copied(let column, _):
            let value = VerifiedCell(old.batch[match.old, column], old.batch)
            guard value.isNull, let object = work.filled else { return try expectAny(value) }
            try forFilledCell(column, work.mapping, match, table: object.table, expectAny)
        case .initial(let value):
            guard let value else { return expect(.null) }
            if attribute.isExternal { try expectAny(stored(value)) } else { expect(stored(value)) }
        case .computed(let expression, let property):
            do {
                try compute(expression, property, work, match, position, old)
            } catch let error as MigrationError where error.category == .io {
                throw error
            } catch {
                return context.findings.skip(
                    "\(work.mapping.name).\(attribute.attribute.name)", VerificationObstacle.reason(of: error))
            }
            let expected = VerifiedCell(scratch[0, 0], scratch)
            if !VerifiedCell.areEqual(expected, cell), try isCarried(cell, attribute, by: expression) {
                return expect(cell)
            }
            try expectAny(expected)
        case .derived, .skipped: note(cell.hash, nil)
        }
    }

    /// Calls a closure with the first value that the others have which were merged into a source object; with nil if none has one.
    private func forFilledCell(
        _ column: Int, _ mapping: VerifiedMapping, _ match: RowMatch, table: Int?, _ body: (VerifiedCell) throws -> Void
    ) throws {
        for other in try context.storage.keys[mapping.index]?.others(of: match.source) ?? [] {
            guard let table else { break }
            let isThere: Void? = try context.objects.read(table: table, key: other) { batch, row in
                let value = VerifiedCell(batch[row, column], batch)
                return value.isNull ? nil : try body(value)
            }
            if isThere != nil { return }
        }
        try body(.null)
    }

    /// Tells whether a stored value, carried unchanged, equals the computed one in the scratch row, as an object would
    /// show it. They may differ in form: a URL escapes characters that a stored text need not, and a Float has only 32
    /// of the bits that its column may hold.
    private func isCarried(
        _ cell: VerifiedCell, _ attribute: VerifiedAttribute, by expression: ValueExpression
    ) throws -> Bool {
        let expected = VerifiedCell(scratch[0, 0], scratch)
        if attribute.attribute.attributeType == .float,
            expression.node.sourceKeyPath != nil || expression.node.isMemberAttribute
        {
            guard let expected = expected.realValue, let found = cell.realValue else { return false }
            return Float(expected) == Float(found)
        }
        guard attribute.attribute.attributeType == .uri, case .text(let bytes) = cell,
            let url = URL(string: String(decoding: bytes, as: UTF8.self))
        else { return false }
        var other = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        _ = other.appendRow(key: 0)
        try ValueBridge.store(url, type: .uri, isExternal: false, in: &other, row: 0, slot: 0)
        return VerifiedCell.areEqual(expected, VerifiedCell(other[0, 0], other))
    }

    /// Puts a value into the scratch row.
    private func stored(_ value: ColumnValue) -> VerifiedCell {
        scratch.removeAll()
        scratch.appendRow(key: 0)
        value.store(in: &scratch, row: 0, slot: 0)
        return VerifiedCell(scratch[0, 0], scratch)
    }

    /// Computes a value into the scratch row.
    private func compute(
        _ expression: ValueExpression, _ property: PropertyMapping?, _ work: RowWork, _ match: RowMatch,
        _ position: Int, _ old: SequentialRows
    ) throws {
        guard let object = work.object else { return }
        try show(match, work, object, old)
        scratch.removeAll()
        scratch.appendRow(key: 0)
        let type = work.attributes[position].attribute.attributeType
        let value = try evaluation(of: expression, property, work, object, match, position).value()
        if type == .double, let number = value.real {
            return ColumnValue.real(number).store(in: &scratch, row: 0, slot: 0)
        }
        if type == .string, let text = value.text { return ColumnValue.text(text).store(in: &scratch, row: 0, slot: 0) }
        try ValueBridge.store(
            try TransformableBridge.columnValue(
                value.object, work.attributes[position].attribute, transforms: context.options.transformsValues),
            type: type, isExternal: work.attributes[position].isExternal, in: &scratch, row: 0, slot: 0)
    }

    /// Shows a source row to the expressions of a mapping.
    private func show(_ match: RowMatch, _ work: RowWork, _ object: EvaluatedSource, _ old: SequentialRows) throws {
        object.key = match.source
        if let filled = work.filled, filled.keys.first != match.source {
            filled.show(
                [match.source] + (try context.storage.keys[work.mapping.index]?.others(of: match.source) ?? []))
        }
        old.show(match.old)
        context.objects.pass = (object.table, old)
        context.manager.enter(work.mapping)
    }

    /// Returns the evaluation of an attribute: one for all rows, or one for each where members make the objects.
    private func evaluation(
        of expression: ValueExpression, _ property: PropertyMapping?, _ work: RowWork, _ object: EvaluatedSource,
        _ match: RowMatch, _ position: Int
    ) throws -> ExpressionEvaluation {
        if let members = work.members {
            return try members.evaluation(
                of: expression, property, for: object, member: match.member, context.manager)
        }
        if let known = work.evaluations[position] { return known }
        let shown: NSObject = work.filled ?? object
        let made = ExpressionEvaluation(
            of: expression, with: shown,
            variables: [
                "source": shown, "manager": context.manager, "entityMapping": work.mapping.mapping,
                "propertyMapping": property,
            ])
        work.evaluations[position] = made
        return made
    }

    // MARK: - Links of objects that members make

    private func compare(
        _ link: MemberRows.Link, _ work: RowWork, _ match: RowMatch, _ rows: SequentialRows, _ old: SequentialRows
    ) throws {
        guard let object = work.object, let members = work.members else { return }
        let found = rows.integer(match.row, link.column)
        var tally = context.memberLinks[link.pair] ?? MemberRows.Tally()
        defer { context.memberLinks[link.pair] = tally }
        do {
            try show(match, work, object, old)
            let expected = try members.target(of: link, for: object, member: match.member, plan, context.manager)
            let key = rows.batch.key(match.row)
            if let expected { tally.expected.add(link: (key, expected)) }
            if let found { tally.found.add(link: (key, found)) }
            guard expected != found else { return }
            tally.differing += 1
            func name(_ key: Int64?) -> String? { key.map { "\(link.relationship.destination)/p\($0)" } }
            context.add(
                .relationship, work.mapping, key, source: match.source, link.relationship.name,
                expected: name(expected), found: name(found))
        } catch let error as MigrationError where error.category == .io {
            throw error
        } catch {
            tally.isKnown = false
            context.findings.skip(
                "\(work.mapping.name).\(link.relationship.name)", VerificationObstacle.reason(of: error))
        }
    }

    // MARK: - Rules

    private func rules(of entity: EntityDescription) throws -> VerifiedRules {
        if let known = rules[entity.index] { return known }
        let made = try VerifiedRules(entity: entity, schema: schema)
        rules[entity.index] = made
        return made
    }

    private func check(
        _ row: SequentialRows, _ rules: VerifiedRules, _ entity: EntityDescription, _ mapping: VerifiedMapping?,
        source: Int64
    ) throws {
        for broken in try rules.broken(row) {
            context.findings.add(
                .rule, entity.definition.name, "\(entity.definition.name)/p\(row.key)", property: broken.property,
                expected: broken.expected, found: broken.found, sourceID: mapping?.sourceID(source),
                mapping: mapping?.name)
        }
    }
}
