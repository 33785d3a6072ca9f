import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// The three stages of one destination table, fused. Each source row is read once, its attributes are created, its
/// relationships looked up, the model's rules checked, and the complete row written, in ascending key order. The table may be
/// loaded in several steps, which ascend by key.
struct TableLoad: ModelStage {
    let stage: StageInputs
    let table: PlannedTable
    let keys: PlanKeys
    let links: LinkPlan
    let patches: [ColumnPatches]

    /// The compiled programs of a mapping for this load. A class, so that switching between mappings for each row copies
    /// nothing.
    private final class Compiled {
        let mapping: PlannedMapping
        let attributes: AttributeProgram
        let references: ReferenceProgram
        let rules: RowRules
        let keys: DestinationKeys
        let entity: EntityDescription
        let entityNumber: Int64
        /// The columns that are NULL until a value is found for them.
        let openColumns: [Int]
        var made = 0
        /// The highest key made.
        var highest: Int64 = 0

        init(
            mapping: PlannedMapping, attributes: AttributeProgram, references: ReferenceProgram, rules: RowRules,
            keys: DestinationKeys, entity: EntityDescription, entityNumber: Int64, columns: Int
        ) {
            self.mapping = mapping
            self.attributes = attributes
            self.references = references
            self.rules = rules
            self.keys = keys
            self.entity = entity
            self.entityNumber = entityNumber
            let filled = attributes.filledColumns.union([EntityTable.entityColumn, EntityTable.lockColumn])
            openColumns = (0..<columns).filter { !filled.contains($0) }
        }
    }

    /// Loads a step's rows.
    ///
    /// - Returns: the highest key written, 0 if there was no row.
    /// - Complexity: O(rows); memory is two batches and the memory of the patches' sorts.
    func run(_ step: PlannedStep, writer: any TableWriter) throws -> Int64 {
        var highest: Int64 = 0
        let reading = step.mappings.filter { mappings[$0].isDeclarative }
        let scans = table.keys == .kept ? [reading] : reading.map { [$0] }
        for indices in scans {
            guard let first = indices.first, let sourceTable = mappings[first].sourceTable else { continue }
            try load(
                indices, from: sourceTable, range: step.range, writer: writer, highest: &highest)
        }
        return highest
    }

    private func load(
        _ indices: [Int], from sourceTable: Int, range: SourceKeyRange, writer: any TableWriter,
        highest: inout Int64
    ) throws {
        let model = modelRun.inputs.layout.schema.model
        let schemaTable = modelRun.inputs.layout.schema.tables[sourceTable]
        var slots = SourceColumns(
            entity: model.entity(at: schemaTable.root), schema: modelRun.inputs.layout.schema,
            columns: [.own(EntityTable.entityColumn), .own(EntityTable.lockColumn)])
        let byEntity = try compile(indices, slots: &slots)
        let columns = modelRun.inputs.destinationSchema.tables[table.table].columns.count
        let filling = try RowFill(
            byEntity.values.map(\.keys), run: modelRun.run, slots: slots, table: sourceTable)
        let runs =
            writer is PageTableWriter && filling == nil
            ? copiedRuns(byEntity.values.map { $0 }, slots, schemaTable) : []
        for compiled in byEntity.values { compiled.attributes.copyTogether(runs.map(\.slots)) }
        let reader = try SourceReader(
            run: modelRun.run, slots: slots, table: sourceTable, entities: byEntity.keys.sorted(), range: range,
            streams: true, runs: runs, filling: filling)
        let batch = modelRun.inputs.nearBatch(slots: max(slots.columns.count, columns))
        var source = RowBatch(slots: slots.columns.count, rowCapacity: batch.rows, byteTarget: batch.bytes)
        // Each batch of rows is finished before the next is read, so values may stay in the pages.
        source.borrowsPages = true
        var destination = RowBatch(slots: columns, rowCapacity: batch.rows, byteTarget: batch.bytes)
        let open = UnsafeMutableBufferPointer<Int>.allocate(capacity: source.rowCapacity)
        defer { open.deallocate() }
        var references = ReferenceCounts()
        var number: Int64 = -1
        var current: Compiled?
        let finish = finish(byEntity.values, writer)
        while try reader.next(into: &source) {
            var row = 0
            while row < source.count {
                let entityNumber = source[row, 0].integerValue
                var end = row + 1
                while end < source.count, source[end, 0].integerValue == entityNumber { end += 1 }
                if entityNumber != number {
                    number = entityNumber
                    current = modelRun.inputs.layout.entity(
                        inTable: sourceTable, forFileNumber: Int(truncatingIfNeeded: entityNumber)
                    )
                    .flatMap { byEntity[$0] }
                }
                if let current {
                    try make(
                        current, of: source, row..<end, into: &destination, open: open, counts: &references,
                        whenFull: finish.write)
                    highest = max(highest, current.highest)
                }
                row = end
            }
            // The destination rows borrow their texts from the source batch, so they are written before it is refilled.
            try finish.write(&destination)
            modelRun.services.progress.advance(rows: source.count)
            try modelRun.services.checkCancelled()
        }
        modelRun.tally.add(references)
        try account(for: byEntity.values)
    }

    private func finish(_ programs: some Sequence<Compiled>, _ writer: any TableWriter) -> RowFinish {
        let rules = programs.filter { !$0.rules.isEmpty }.map { ($0.entityNumber, $0.rules) }
        return RowFinish(
            modelRun: modelRun, table: table.table, patches: patches,
            rules: Dictionary(rules, uniquingKeysWith: { first, _ in first }), writer: writer)
    }

    /// Ends the collection of keys, and counts the rows that were made.
    private func account(for programs: some Sequence<Compiled>) throws {
        for compiled in programs {
            if compiled.keys.isFilledByLoad {
                try compiled.keys.index.seal()
                compiled.keys.isFilledByLoad = false
            }
            modelRun.tally.counts.mappings[compiled.mapping.index].created += compiled.made
            guard let entity = compiled.mapping.destination else { continue }
            modelRun.tally.counts.created[entity.definition.name, default: 0] += compiled.made
        }
    }

    /// Returns the columns that are copied from page to page in their stored form. There are none if the destination is
    /// appended to, because its columns may differ.
    private func copiedRuns(_ programs: [Compiled], _ slots: SourceColumns, _ source: EntityTable) -> [RowSelection.Run]
    {
        guard !programs.isEmpty, !modelRun.inputs.options.appendsToExisting, !modelRun.keysBefore.hasRows.contains(true)
        else { return [] }
        let patched = patches.flatMap { [$0.column, $0.entityColumn, $0.orderColumn].compactMap { $0 } }
        let external = modelRun.inputs.destinationSchema.externalColumns(ofTable: table.table).map(\.column)
        return CopiedColumns(
            copies: programs.map { program in
                let checked = program.rules.columns
                return program.attributes.plainCopies.filter { !checked.contains($0.value.column) }
            }, slots: slots, source: source, destination: modelRun.inputs.destinationSchema.tables[table.table],
            watched: Set(patched + external)
        ).find()
    }

    /// Makes the destination rows of some source rows of one entity, without those of rejected objects.
    ///
    /// - Parameter open: a buffer for the numbers of the source rows whose references are still to be looked up.
    private func make(
        _ compiled: Compiled, of source: borrowing RowBatch, _ rows: Range<Int>, into destination: inout RowBatch,
        open: UnsafeMutableBufferPointer<Int>, counts: inout ReferenceCounts,
        whenFull flush: (inout RowBatch) throws -> Void
    ) throws {
        guard let rejected = compiled.keys.rejected else {
            return try makeAll(
                compiled, of: source, rows, into: &destination, open: open, counts: &counts, whenFull: flush)
        }
        var first = rows.lowerBound
        for row in rows {
            guard let key = try compiled.keys.givenKey(of: source.key(row)), try rejected.contains(key) else {
                continue
            }
            try makeAll(
                compiled, of: source, first..<row, into: &destination, open: open, counts: &counts, whenFull: flush)
            first = row + 1
            compiled.made += 1
            compiled.highest = max(compiled.highest, key)
            modelRun.validation.rejected?.skippedRows += 1
        }
        try makeAll(
            compiled, of: source, first..<rows.upperBound, into: &destination, open: open, counts: &counts,
            whenFull: flush)
    }

    private func makeAll(
        _ compiled: Compiled, of source: borrowing RowBatch, _ rows: Range<Int>, into destination: inout RowBatch,
        open: UnsafeMutableBufferPointer<Int>, counts: inout ReferenceCounts,
        whenFull flush: (inout RowBatch) throws -> Void
    ) throws {
        let keys = compiled.keys
        if keys.isFilledByLoad { try keys.index.append(contentsOf: source.keys(rows)) }
        var next = rows.lowerBound
        // Every source row makes a row, under its own key or under consecutive keys.
        let fillsTogether = keys.holdsEveryRow && compiled.attributes.fillsRowsTogether
        while fillsTogether, next < rows.upperBound {
            if destination.isFull { try flush(&destination) }
            let some = next..<min(rows.upperBound, next + destination.freeRows)
            guard try makeTogether(compiled, of: source, some, into: &destination, open: open, counts: &counts)
            else { break }
            next = some.upperBound
        }
        guard next < rows.upperBound else { return }
        try makeSingly(
            compiled, of: source, next..<rows.upperBound, into: &destination, open: open, counts: &counts,
            whenFull: flush)
    }

    /// Makes the destination rows of source rows that fit the batch, column by column.
    ///
    /// - Returns: false if a value cannot be computed; no row is made then.
    private func makeTogether(
        _ compiled: Compiled, of source: borrowing RowBatch, _ rows: Range<Int>, into destination: inout RowBatch,
        open: UnsafeMutableBufferPointer<Int>, counts: inout ReferenceCounts
    ) throws -> Bool {
        let isKept = table.keys == .kept
        let first: Int
        if isKept {
            first = destination.appendRows(keys: source.keys(rows), clearing: compiled.openColumns)
        } else {
            guard let key = try compiled.keys.destinationKey(of: source.key(rows.lowerBound)) else { return false }
            first = destination.appendRows(rows.count, from: key, clearing: compiled.openColumns)
        }
        guard compiled.attributes.run(source, rows: rows, into: &destination, from: first) else {
            destination.removeRows(from: first)
            return false
        }
        destination.fill(
            first..<first + rows.count, slot: EntityTable.entityColumn, with: .integer(compiled.entityNumber))
        for (place, row) in rows.enumerated() {
            let lock = source[row, 1]
            destination[first + place, EntityTable.lockColumn] = isKept && lock.kind == .integer ? lock : .integer(1)
            open[place] = row
        }
        try compiled.references.run(
            source, rows: UnsafeBufferPointer(rebasing: open[..<rows.count]), into: &destination, from: first,
            counts: &counts)
        compiled.made += rows.count
        // Keys ascend.
        compiled.highest = max(compiled.highest, destination.key(first + rows.count - 1))
        return true
    }

    /// Makes the destination rows of some source rows one by one.
    private func makeSingly(
        _ compiled: Compiled, of source: borrowing RowBatch, _ rows: Range<Int>, into destination: inout RowBatch,
        open: UnsafeMutableBufferPointer<Int>, counts: inout ReferenceCounts,
        whenFull flush: (inout RowBatch) throws -> Void
    ) throws {
        // Hoisted out of the loop: each read would retain and release.
        let (attributes, references, keys) = (compiled.attributes, compiled.references, compiled.keys)
        let entityNumber = Cell.integer(compiled.entityNumber)
        let isKept = table.keys == .kept
        var made = 0
        var highest = compiled.highest
        let (holdsEveryRow, isIdentity) = (keys.holdsEveryRow, keys.holdsEveryRow && keys.mode == .kept)
        // Neighbouring rows of one entity have consecutive keys.
        var following: Int64?
        var opened = 0
        for row in rows {
            let key: Int64
            if isIdentity {
                key = source.key(row)
            } else if let following {
                key = following
            } else {
                guard let found = try keys.destinationKey(of: source.key(row)) else { continue }
                key = found
            }
            if holdsEveryRow, !isIdentity { following = key &+ 1 }
            if destination.isFull {
                try references.run(
                    source, rows: UnsafeBufferPointer(rebasing: open[..<opened]), into: &destination,
                    from: destination.count - opened, counts: &counts)
                opened = 0
                try flush(&destination)
            }
            let target = destination.appendRow(key: key)
            destination[target, EntityTable.entityColumn] = entityNumber
            let lock = source[row, 1]
            destination[target, EntityTable.lockColumn] = isKept && lock.kind == .integer ? lock : .integer(1)
            do throws(MigrationError) {
                try attributes.run(source, row: row, into: &destination, destinationRow: target, borrows: true)
            } catch {
                try modelRun.validation.note(
                    error, ValueSubject(table: table.table, key: key, entity: compiled.entity))
            }
            open[opened] = row
            opened += 1
            made += 1
            highest = max(highest, key)
        }
        try references.run(
            source, rows: UnsafeBufferPointer(rebasing: open[..<opened]), into: &destination,
            from: destination.count - opened, counts: &counts)
        compiled.made += made
        compiled.highest = highest
    }

    /// Compiles the programs of mappings of one source table, by source entity.
    ///
    /// - Parameter slots: collects the source columns that the programs read.
    private func compile(_ indices: [Int], slots: inout SourceColumns) throws(MigrationError) -> [Int: Compiled] {
        var byEntity: [Int: Compiled] = [:]
        for index in indices {
            guard let compiled = try compile(mappings[index], slots: &slots), let entity = mappings[index].source
            else { continue }
            byEntity[entity.index] = compiled
        }
        return byEntity
    }

    private func compile(_ mapping: PlannedMapping, slots: inout SourceColumns) throws(MigrationError) -> Compiled? {
        guard let entity = mapping.destination, let source = mapping.source, let own = keys.byMapping[mapping.index]
        else { return nil }
        // Key paths are resolved from the mapping's own entity; the slots are shared by all mappings of the scan.
        var mine = slots.seen(from: source)
        let attributes = try AttributeProgram(
            mapping: mapping, slots: &mine, indexed: modelRun.inputs.indexedColumns(of: mapping),
            external: modelRun.external,
            streams: true, tally: modelRun.tally)
        let references = ReferenceProgram(
            mapping: mapping, direct: links.direct[mapping.index] ?? [], keys: keys,
            missing: modelRun.missing, in: modelRun.inputs.destinationSchema, slots: &mine)
        slots = mine.seen(from: slots.entity)
        let rules = try RowRules(
            entity: entity, schema: modelRun.inputs.destinationSchema, mapping: mapping,
            copied: attributes.copiedAttributes,
            typed: attributes.copiedColumns, excuses: stage.excuses)
        return Compiled(
            mapping: mapping, attributes: attributes, references: references, rules: rules, keys: own,
            entity: entity, entityNumber: Int64(modelRun.inputs.destinationSchema.number(of: entity)),
            columns: modelRun.inputs.destinationSchema.tables[table.table].columns.count)
    }
}
