import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The scan that finds the groups of a mapping with `distinctBy`: the first source object of each makes the group's object, the
/// others share it.
///
///     each source row that passes the filter → (hash of its values, key)   sorted
///     each row of a group → (key, key of the first)                        sorted by key
///
/// Values are those of the source, before any policy runs. Memory: the run's share for sorting, half of it for each sort.
struct GroupScan {
    let run: MigrationRun
    let mapping: PlannedMapping
    let grouping: ObjectGrouping
    /// The keys of the rows that pass the mapping's filter; nil if it has none.
    let passing: KeyIndex?

    /// Finds the groups.
    ///
    /// - Parameters:
    ///   - firsts: receives the keys of the source objects that make objects, ascending.
    ///   - shared: receives the other source objects of the groups, ascending.
    /// - Throws: the errors of reading and sorting; `value.…` (65) with the object whose value cannot be computed.
    /// - Complexity: one pass over the source rows, and O(n log n) for two sorts of them.
    func find(firsts: KeyIndex, shared: SharedObjects) throws {
        let values = run.services.sorter(width: 3, concurrent: 2)
        try forEachRow { key, value in try values.append(value.first, value.second, SortKey.encode(key)) }
        let members = try members(of: values.finish())
        try withRecords(2) { record, _ in
            while try members.next(into: record) {
                let (key, first) = (SortKey.decode(record[0]), SortKey.decode(record[1]))
                if key == first { try firsts.append(key) } else { try shared.add(key, sharingWith: first) }
            }
        }
        try firsts.seal()
        try shared.finish()
    }

    /// Returns for each member of each group its key with that of the group's first, sorted.
    private func members(of values: SortedRecords) throws -> SortedRecords {
        let sorter = run.services.sorter(width: 2, concurrent: 2)
        try withRecords(3) { record, _ in
            var group: (value: GroupValue, first: UInt64)?
            while try values.next(into: record) {
                let value = GroupValue(first: record[0], second: record[1])
                let first = if let group, group.value == value { group.first } else { record[2] }
                group = (value, first)
                try sorter.append(record[2], first)
            }
        }
        return try sorter.finish()
    }

    /// Shows the rows that pass the filter and have a value.
    private func forEachRow(_ body: (_ key: Int64, _ value: GroupValue) throws -> Void) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        var slots = SourceColumns(entity: entity, schema: run.inputs.layout.schema)
        let program = try GroupingProgram(grouping, resolver: &slots) {
            mapping.mapping.groupingContext($0, mapping.modelPath)
        }
        let reader = try SourceReader(run: run, slots: slots, table: table, entities: [entity.index])
        var batch = run.inputs.sourceBatch(slots: slots.columns.count)
        var value: [UInt8] = []
        while try reader.next(into: &batch) {
            try run.services.checkCancelled()
            for row in 0..<batch.count {
                let key = batch.key(row)
                if let passing, try !passing.contains(key) { continue }
                do throws(MigrationError) {
                    guard try program.writeKey(of: batch, row: row, to: &value) else { continue }
                } catch {
                    throw error.inside(mapping.context(ofSource: key))
                }
                try body(key, GroupValue(value))
            }
        }
    }
}

/// A hash of a row's values, 128 bits of one keyed function: different values have different hashes, but for one chance in
/// 10^20 with a billion rows.
private struct GroupValue: Equatable {
    let first: UInt64
    let second: UInt64

    init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    init(_ bytes: [UInt8]) {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        // The function's state has 256 bits, from which both halves come.
        var again = hasher
        again.combine(UInt8(1))
        first = UInt64(bitPattern: Int64(hasher.finalize()))
        second = UInt64(bitPattern: Int64(again.finalize()))
    }
}
