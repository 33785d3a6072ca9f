import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The source objects of a mapping that makes one object for each distinct value: for each the first one of its group, whose
/// object it shares.
///
///     each source row that passes the filter → (hash of its values, key)   sorted
///     each row of a group → (key, first key)                               sorted by key, read along with the rows
///     each of them but the first → (key, key of the shared object)         associated when all objects are made
///
/// A resumed run makes the groups again: they depend on the source and on what policies of mappings before this one changed.
/// Memory: a share of the memory for sorts, at most two at a time.
final class SourceGroups {
    /// The place of a source object.
    enum Place {
        /// It makes the group's object.
        case first
        /// It shares the object of the first one.
        case other
        /// It makes no object: it does not pass the filter, or its values are all nil.
        case none
    }

    private let modelRun: ModelRun
    private let mapping: PlannedMapping
    private let associations: MappingAssociations
    private let members: SortedRecords
    /// The record read last: a source key and another key.
    private let record = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
    /// The source objects that share an object, each with the object's key.
    private let others: RecordSorter
    /// The next record of ``members``; nil at the end.
    @exclusivity(unchecked) private var next: (source: Int64, first: Int64)?
    @exclusivity(unchecked) private var found: [ObjectReference] = []

    /// Finds the groups.
    ///
    /// - Parameter variables: the values of `$manager` and the other variables of the filter.
    /// - Throws: the errors of reading and sorting; `value.…` (65) with the object whose value cannot be computed.
    /// - Complexity: one pass over the source rows, and O(n log n) for two sorts of them.
    init(_ mapping: PlannedMapping, runtime: PolicyRuntime, variables: [String: Any?]) throws {
        modelRun = runtime.modelRun
        self.mapping = mapping
        associations = runtime.associations[mapping.index]
        let values = Self.sorter(modelRun, width: 3)
        try GroupScan(mapping: mapping, runtime: runtime, variables: variables).forEachRow { key, value in
            try values.append(value.first, value.second, SortKey.encode(key))
        }
        members = try Self.members(of: values.finish(), modelRun)
        others = Self.sorter(modelRun, width: 2)
        try advance()
    }

    deinit { record.deallocate() }

    /// Returns a sorter with a third of the memory for sorts: at most two of them, and the log of pairs, are in use at a time.
    private static func sorter(_ modelRun: ModelRun, width: Int) -> RecordSorter {
        modelRun.services.sorter(width: width, concurrent: 3)
    }

    /// Returns for each member of each group its key with that of the group's first, sorted.
    private static func members(of values: SortedRecords, _ modelRun: ModelRun) throws -> SortedRecords {
        let sorter = sorter(modelRun, width: 2)
        try withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 3) { words in
            guard let record = words.baseAddress else { return }
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

    private func advance() throws(MigrationError) {
        next = try members.next(into: record) ? (SortKey.decode(record[0]), SortKey.decode(record[1])) : nil
    }

    /// Returns the place of a source object, and notes the object that it shares. The keys given must ascend, and the objects of
    /// the firsts before it must be made.
    ///
    /// - Complexity: O(1), and a lookup of the shared object.
    func place(of key: Int64) throws(MigrationError) -> Place {
        while let member = next, member.source <= key {
            try advance()
            if member.source == member.first {
                // Before a resumed run's first row, all objects are made.
                if member.source == key { return .first }
                continue
            }
            try noteOther(member.source, first: member.first)
            if member.source == key { return .other }
        }
        return .none
    }

    private func noteOther(_ source: Int64, first: Int64) throws(MigrationError) {
        guard let table = mapping.sourceTable else { return }
        found.removeAll(keepingCapacity: true)
        // No pair of another one was added yet: as long as each source object has its own object, a lookup is a rank.
        try associations.pairs.destinations(of: ObjectReference(entity: UInt32(table), key: first), into: &found)
        if let object = found.first { try others.append(SortKey.encode(source), SortKey.encode(object.key)) }
    }

    /// Associates all source objects that share an object with it. All objects have to be made.
    ///
    /// - Complexity: O(log n) for each.
    func associateOthers() throws {
        _ = try place(of: .max)
        guard let table = mapping.sourceTable, let entity = mapping.destination else { return }
        let pairs = try others.finish()
        while try pairs.next(into: record) {
            try associations.add(
                source: ObjectReference(entity: UInt32(table), key: SortKey.decode(record[0])),
                destination: ObjectReference(entity: UInt32(entity.index), key: SortKey.decode(record[1])))
        }
    }
}

/// A hash of a row's values, 128 bits by two keyed functions: different values have different hashes, but for one chance in
/// 10^20 with a billion rows.
private struct GroupValue: Equatable {
    let first: UInt64
    let second: UInt64

    init(first: UInt64, second: UInt64) { (self.first, self.second) = (first, second) }

    init(_ bytes: [UInt8]) {
        first = Self.hash(bytes, 1)
        second = Self.hash(bytes, 2)
    }

    private static func hash(_ bytes: [UInt8], _ number: UInt8) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(number)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

/// The source rows of a grouped mapping that pass its filter and have a value, as policies changed them so far.
private struct GroupScan {
    let mapping: PlannedMapping
    let runtime: PolicyRuntime
    let variables: [String: Any?]

    func forEachRow(_ body: (_ key: Int64, _ value: GroupValue) throws -> Void) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable, let grouping = mapping.grouping else {
            return
        }
        let run = runtime.modelRun
        var slots = SourceColumns(entity: entity, schema: run.inputs.layout.schema)
        let program = try GroupingProgram(grouping, resolver: &slots) {
            mapping.mapping.groupingContext($0, mapping.modelPath)
        }
        let filter = try mapping.filter.map { predicate throws(MigrationError) in
            try SourceFilter(predicate, of: mapping, slots: &slots)
        }
        var value: [UInt8] = []
        func show(_ batch: borrowing RowBatch, _ row: Int, _ key: Int64) throws {
            let object = { runtime.sourceContext.object(at: ObjectPlace(entity: entity, key: key, table: table)) }
            if let filter, try !filter.passes(batch, row, object: object, variables: variables) { return }
            do throws(MigrationError) {
                guard try program.writeKey(of: batch, row: row, to: &value) else { return }
            } catch {
                throw error.inside(mapping.context(ofSource: key))
            }
            try body(key, GroupValue(value))
        }
        let reader = try SourceReader(run: run.run, slots: slots, table: table, entities: [entity.index])
        var batch = run.inputs.sourceBatch(slots: slots.columns.count)
        var changed = RowBatch(slots: slots.columns.count, rowCapacity: 1, byteTarget: 4096)
        let changedRows = try SourceRowReader(run: run.run, slots: slots, table: table)
        while try reader.next(into: &batch) {
            try run.services.checkCancelled()
            for row in 0..<batch.count {
                let key = batch.key(row)
                if runtime.isCurrent(key, table, slots) {
                    try show(batch, row, key)
                } else if try runtime.sources.exists(ObjectPlace(entity: entity, key: key, table: table)),
                    try changedRows.fetch(key, into: &changed)
                {
                    try show(changed, 0, key)
                }
            }
        }
    }
}
