import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The scan that finds which source objects of a mapping with `matchBy` become rows that the destination had before.
///
///     each row of the destination's entity and its subentities → (hash of its keys, 0, key)
///     each source row that passes the filter                   → (hash of its keys, 1, key)      sorted together
///     each source row → (key, key of the row with the same hash, or none)                        sorted by key
///
/// A run that resumes finds the same: only rows from before the run are read, and their values do not change. Memory: the run's
/// share for sorting, half of it for each sort.
struct MatchScan {
    let run: MigrationRun
    let mapping: PlannedMapping
    let matching: ObjectMatching
    /// The keys of the source rows that pass the mapping's filter; nil if it has none.
    let passing: KeyIndex?
    let keysBefore: KeysBefore
    /// The store that is appended to.
    let destination: DestinationStore

    private static let row: UInt64 = 0
    private static let source: UInt64 = 1

    /// Finds the rows.
    ///
    /// - Parameters:
    ///   - makers: receives the keys of the source objects that become no row and make objects, ascending.
    ///   - directory: the folder of the result's files.
    /// - Returns: the other source objects.
    /// - Throws: `match.ambiguous` (65) if several rows have the keys of a source object; the errors of reading and sorting;
    ///   `value.…` (65) with the object whose key cannot be computed.
    /// - Complexity: one pass over the source rows and one over the destination's, and O(n log n) for two sorts of them.
    func find(makers: KeyIndex, in directory: WorkDirectory) throws -> MatchedObjects? {
        guard let target = mapping.destination, let table = mapping.destinationTable else { return nil }
        let expressions = try mapping.mapping.keyExpressions(matching, of: target, mapping.modelPath)
        let values = run.services.sorter(width: 4, concurrent: 2)
        let members = run.services.sorter(width: 3, concurrent: 2)
        var ofSubentities: [(number: Int64, keys: KeyIndex)] = []
        if keysBefore.hasRows[table] {
            ofSubentities = try readRows(of: target, table, expressions.row, directory) { key, value in
                try values.append(value.first, value.second, Self.row, SortKey.encode(key))
            }
        }
        try readSource(expressions.source) { key, value in
            guard let value else { return try members.append(SortKey.encode(key), 0, 0) }
            try values.append(value.first, value.second, Self.source, SortKey.encode(key))
        }
        let matched = MatchedObjects(
            directory: directory, memory: run.inputs.budget.keys / 4,
            lastKey: keysBefore.hasRows[table] ? keysBefore.highestKeys[table] : .min, ofSubentities: ofSubentities)
        let rowCount = try match(try values.finish(), into: members)
        let found = try members.finish()
        try withRecords(3) { record, _ in
            while try found.next(into: record) {
                let key = SortKey.decode(record[0])
                if record[1] == 0 {
                    try makers.append(key)
                } else {
                    try matched.add(key, becoming: SortKey.decode(record[2]))
                }
            }
        }
        try makers.seal()
        try matched.finish(rowCount: rowCount)
        return matched
    }

    /// Adds each source object, with the row that has its keys.
    ///
    /// - Returns: the number of rows that have the keys of a source object.
    private func match(_ values: SortedRecords, into members: RecordSorter) throws -> Int {
        var rowCount = 0
        var ambiguous: (source: Int64, rows: [Int64])?
        try withRecords(4) { record, _ in
            var (value, rows, isCounted) = (GroupValue?.none, [Int64](), false)
            while try values.next(into: record) {
                let next = GroupValue(first: record[0], second: record[1])
                if value != next { (value, rows, isCounted) = (next, [], false) }
                guard record[2] == Self.source else {
                    if rows.count < 2 { rows.append(SortKey.decode(record[3])) }
                    continue
                }
                guard let row = rows.first else {
                    try members.append(record[3], 0, 0)
                    continue
                }
                let source = SortKey.decode(record[3])
                // Of several the first source object is named, whatever the order of the hashes.
                if rows.count > 1, ambiguous.map({ source < $0.source }) ?? true { ambiguous = (source, rows) }
                if !isCounted { rowCount += 1 }
                isCounted = true
                try members.append(record[3], 1, SortKey.encode(row))
            }
        }
        if let ambiguous { throw error(ofSource: ambiguous.source, rows: ambiguous.rows) }
        return rowCount
    }

    private func error(ofSource key: Int64, rows: [Int64]) -> MigrationError {
        let entity = mapping.destination?.definition.name ?? ""
        let names = rows.map { "\(entity)/p\($0)" }.joined(separator: " and ")
        return MigrationError(
            "match.ambiguous", .data,
            "The object could become either of several rows of the destination: \(names) have the same \(matching.keysText)",
            remedy: "Make them one row, or match by more keys", context: mapping.context(ofSource: key))
    }

    /// Shows the source rows that pass the filter, each with the hash of its keys; nil if one of them is nil.
    private func readSource(_ keys: ObjectGrouping, _ body: (Int64, GroupValue?) throws -> Void) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        var slots = SourceColumns(entity: entity, schema: run.inputs.layout.schema)
        let program = try program(keys, &slots)
        let reader = try SourceReader(run: run, slots: slots, table: table, entities: [entity.index])
        var batch = run.inputs.sourceBatch(slots: slots.columns.count)
        var bytes: [UInt8] = []
        while try reader.next(into: &batch) {
            try run.services.checkCancelled()
            for row in 0..<batch.count {
                let key = batch.key(row)
                if let passing, try !passing.contains(key) { continue }
                let hasKeys: Bool
                do throws(MigrationError) {
                    hasKeys = try program.writeKey(of: batch, row: row, to: &bytes)
                } catch {
                    throw error.inside(mapping.context(ofSource: key))
                }
                try body(key, hasKeys ? GroupValue(bytes) : nil)
            }
        }
    }

    /// Shows the rows of an entity and its subentities that the destination had before and that have all keys, each with their
    /// hash.
    ///
    /// - Returns: the keys of all rows of subentities, by Z_ENT.
    private func readRows(
        of entity: EntityDescription, _ table: Int, _ keys: ObjectGrouping, _ directory: WorkDirectory,
        _ body: (Int64, GroupValue) throws -> Void
    ) throws -> [(number: Int64, keys: KeyIndex)] {
        let schema = run.inputs.destinationSchema
        let columns = schema.tables[table].columns.count
        var slots = SourceColumns(entity: entity, schema: schema, columns: (0..<columns).map { .own($0) })
        let program = try program(keys, &slots)
        let read =
            [EntityTable.entityColumn]
            + matching.keys.compactMap { key in
                entity.attribute(named: key.name).flatMap { schema.column(of: $0) }
            }
        let number = Int64(schema.number(of: entity))
        let subentities = entity.withDescendants.filter { $0 != entity }.map { subentity in
            (
                number: Int64(schema.number(of: subentity)),
                keys: KeyIndex(directory: directory, name: "standing", memory: KeyScan.leastAllowance)
            )
        }
        let scan = try StoredRowScan(
            destination, table: table, columns: read, from: .min, through: keysBefore.highestKeys[table])
        var batch = run.inputs.destinationBatch(slots: columns)
        var bytes: [UInt8] = []
        while true {
            try run.services.checkCancelled()
            batch.removeAll()
            try scan.next(into: &batch)
            guard !batch.isEmpty else { break }
            for row in 0..<batch.count {
                let found = batch[row, EntityTable.entityColumn].integerValue
                let subentity = subentities.first { $0.number == found }
                guard found == number || subentity != nil else { continue }
                let key = batch.key(row)
                try subentity?.keys.append(key)
                if try program.writeKey(of: batch, row: row, to: &bytes) { try body(key, GroupValue(bytes)) }
            }
        }
        for subentity in subentities { try subentity.keys.seal() }
        return subentities.filter { $0.keys.count > 0 }
    }

    private func program(
        _ keys: ObjectGrouping, _ slots: inout SourceColumns
    ) throws(MigrationError) -> GroupingProgram {
        try GroupingProgram(keys, resolver: &slots) { mapping.mapping.groupingContext($0, mapping.modelPath) }
    }
}
