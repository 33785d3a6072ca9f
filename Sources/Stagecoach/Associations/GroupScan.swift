import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The scan that finds the groups of a mapping with `distinctBy` or `mergeBy`: one source object of each, its maker, makes the
/// group's object, the others share it.
///
///     each source row that passes the filter → (hash of its values, its place in the group, key)   sorted
///     each row of a group → (key, key of the maker)                                                sorted by key
///
/// Values are those of the source, before any policy runs. Memory: the run's share for sorting, half of it for each sort.
struct GroupScan {
    let run: MigrationRun
    let mapping: PlannedMapping
    let grouping: ObjectGrouping
    /// The keys of the rows that pass the mapping's filter; nil if it has none.
    let passing: KeyIndex?

    /// True if the first row of a group is its maker, so that rows need no place but their key.
    private var keepsFirst: Bool { grouping.merge.map { $0.keep == .first } ?? true }

    /// Finds the groups.
    ///
    /// - Parameters:
    ///   - makers: receives the keys of the source objects that make objects, ascending.
    ///   - shared: receives the other source objects of the groups, ascending.
    /// - Throws: the errors of reading and sorting; `value.…` (65) with the object whose value cannot be computed.
    /// - Complexity: one pass over the source rows, and O(n log n) for two sorts of them.
    func find(makers: KeyIndex, shared: SharedObjects) throws {
        let values = run.services.sorter(width: keepsFirst ? 3 : 5, concurrent: 2)
        let members = run.services.sorter(width: 2, concurrent: 2)
        try forEachRow { key, value, place in
            let key = SortKey.encode(key)
            // A row without a group makes an object if rows are merged, and none if they have to be distinct.
            guard let value else {
                if grouping.merge != nil { try members.append(key, key) }
                return
            }
            if keepsFirst {
                try values.append(value.first, value.second, key)
            } else {
                try values.append(value.first, value.second, place.isNil, place.order, key)
            }
        }
        try find(in: values.finish(), into: members)
        let found = try members.finish()
        try withRecords(2) { record, _ in
            while try found.next(into: record) {
                let (key, maker) = (SortKey.decode(record[0]), SortKey.decode(record[1]))
                if key == maker { try makers.append(key) } else { try shared.add(key, sharingWith: maker) }
            }
        }
        try makers.seal()
        try shared.finish()
    }

    /// Adds each member of each group, with the key of the group's maker.
    private func find(in values: SortedRecords, into members: RecordSorter) throws {
        let width = keepsFirst ? 3 : 5
        try withRecords(width) { record, _ in
            var group: (value: GroupValue, maker: UInt64)?
            while try values.next(into: record) {
                let value = GroupValue(first: record[0], second: record[1])
                let key = record[width - 1]
                let maker = if let group, group.value == value { group.maker } else { key }
                group = (value, maker)
                try members.append(key, maker)
            }
        }
    }

    /// Shows the rows that pass the filter: the key, the hash of its values or nil if it belongs to no group, and its place among
    /// the rows of its group.
    private func forEachRow(_ body: (Int64, GroupValue?, KeepProgram.Place) throws -> Void) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        var slots = SourceColumns(entity: entity, schema: run.inputs.layout.schema)
        func context(_ item: GroupingExpression) -> MigrationError.Context {
            mapping.mapping.groupingContext(item, mapping.modelPath)
        }
        let program = try GroupingProgram(grouping, resolver: &slots, context: context)
        let keep = try grouping.merge.flatMap { rule throws(MigrationError) in
            try KeepProgram(rule.keep, resolver: &slots, context: context)
        }
        let keepsLast = grouping.merge?.keep == .last
        let reader = try SourceReader(run: run, slots: slots, table: table, entities: [entity.index])
        var batch = run.inputs.sourceBatch(slots: slots.columns.count)
        var value: [UInt8] = []
        while try reader.next(into: &batch) {
            try run.services.checkCancelled()
            for row in 0..<batch.count {
                let key = batch.key(row)
                if let passing, try !passing.contains(key) { continue }
                var place: KeepProgram.Place = (0, keepsLast ? ~SortKey.encode(key) : 0)
                let hasGroup: Bool
                do throws(MigrationError) {
                    hasGroup = try program.writeKey(of: batch, row: row, to: &value)
                    if hasGroup, let keep { place = try keep.place(of: batch, row: row) }
                } catch {
                    throw error.inside(mapping.context(ofSource: key))
                }
                try body(key, hasGroup ? GroupValue(value) : nil, place)
            }
        }
    }
}

/// A hash of a row's values, 128 bits of one keyed function: different values have different hashes, but for one chance in
/// 10^20 with a billion rows.
struct GroupValue: Equatable {
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
