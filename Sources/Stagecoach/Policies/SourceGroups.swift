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
///     each source row that passes the filter → (value, key)   sorted by value, then by key
///     each row of a group → (key, first key)                  sorted by key, read along with the rows
///     each of them but the first → (key, first key)           associated when all objects are made
///
/// A resumed run makes the groups again: they depend on the source and on what policies of mappings before this one changed.
/// Memory: a share of the memory for sorts, at most two at a time, and the value of one group.
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
    private let members: SortedRecords
    /// The record read last: a source key and the key of the group's first.
    private let record = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
    private let others: RecordSorter
    /// The next record of ``members``; nil at the end.
    private var next: (source: Int64, first: Int64)?

    /// Finds the groups.
    ///
    /// - Parameter variables: the values of `$manager` and the other variables of the filter.
    /// - Throws: the errors of reading and sorting; `value.…` (65) with the object whose value cannot be computed.
    /// - Complexity: one pass over the source rows, and O(n log n) for two sorts of them.
    init(_ mapping: PlannedMapping, runtime: PolicyRuntime, variables: [String: Any?]) throws {
        modelRun = runtime.modelRun
        self.mapping = mapping
        let values = modelRun.services.entrySorter("groups", order: GroupOrder())
        try GroupScan(mapping: mapping, runtime: runtime, variables: variables).forEachRow { key, value in
            try values.append(GroupEntry(value), source: key)
        }
        members = try Self.members(of: values.finish(), modelRun.services)
        others = modelRun.services.sorter(width: 2)
        try advance()
    }

    deinit { record.deallocate() }

    /// Returns for each member of each group its key with that of the group's first, sorted.
    private static func members(
        of entries: SortedEntries, _ services: RunServices
    ) throws -> SortedRecords {
        let sorter = services.sorter(width: 2)
        var group: [UInt8] = []
        var first: UInt64 = 0
        while let entry = try entries.next() {
            let value = GroupEntry.value(of: entry)
            let key = GroupEntry.source(of: entry)
            if !value.elementsEqual(group) {
                group = Array(value)
                first = key
                try services.checkCancelled()
            }
            try sorter.append(key, first)
        }
        return try sorter.finish()
    }

    private func advance() throws(MigrationError) {
        next = try members.next(into: record) ? (SortKey.decode(record[0]), SortKey.decode(record[1])) : nil
    }

    /// Returns the place of a source object. The keys given must ascend.
    func place(of key: Int64) throws(MigrationError) -> Place {
        while let member = next, member.source <= key {
            try advance()
            if member.source == member.first {
                // Before a resumed run's first row, all objects are made.
                if member.source == key { return .first }
                continue
            }
            try others.append(SortKey.encode(member.source), SortKey.encode(member.first))
            if member.source == key { return .other }
        }
        return .none
    }

    /// Associates all source objects that share an object with it. All objects have to be made.
    ///
    /// - Complexity: O(log n) for each.
    func associateOthers(in associations: MappingAssociations) throws {
        _ = try place(of: .max)
        guard let table = mapping.sourceTable, let entity = mapping.destination else { return }
        // The objects are looked up before a pair is added: as long as each source object has its own, a lookup is a rank.
        let found = modelRun.services.sorter(width: 2)
        let pending = try others.finish()
        var objects: [ObjectReference] = []
        while try pending.next(into: record) {
            objects.removeAll(keepingCapacity: true)
            let first = ObjectReference(entity: UInt32(table), key: SortKey.decode(record[1]))
            try associations.pairs.destinations(of: first, into: &objects)
            guard let object = objects.first else { continue }
            try found.append(record[0], SortKey.encode(object.key))
        }
        let pairs = try found.finish()
        while try pairs.next(into: record) {
            try associations.add(
                source: ObjectReference(entity: UInt32(table), key: SortKey.decode(record[0])),
                destination: ObjectReference(entity: UInt32(entity.index), key: SortKey.decode(record[1])))
        }
    }
}

/// The source rows of a grouped mapping that pass its filter and have a value, as policies changed them so far.
private struct GroupScan {
    let mapping: PlannedMapping
    let runtime: PolicyRuntime
    let variables: [String: Any?]

    func forEachRow(_ body: (_ key: Int64, _ value: [UInt8]) throws -> Void) throws {
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
            try body(key, value)
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

/// An entry of the sort by value: a hash of the value, the value, and the source key, most significant bytes first. The hash
/// makes a prefix that tells most values apart.
private struct GroupEntry {
    let value: [UInt8]
    let hash: UInt64

    init(_ value: [UInt8]) {
        self.value = value
        // FNV-1a.
        hash = value.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    var size: Int { value.count + 16 }

    /// Returns the hash and the value of an entry.
    static func value(of entry: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: entry.dropLast(8))
    }

    /// Returns the source key of an entry, encoded by ``SortKey``.
    static func source(of entry: UnsafeRawBufferPointer) -> UInt64 {
        UInt64(bigEndian: entry.loadUnaligned(fromByteOffset: entry.count - 8, as: UInt64.self))
    }
}

extension EntrySorter {
    fileprivate func append(_ entry: GroupEntry, source: Int64) throws(MigrationError) {
        try append(size: entry.size) { bytes in
            bytes.storeBytes(of: entry.hash.bigEndian, as: UInt64.self)
            entry.value.withUnsafeBytes { value in
                if let start = value.baseAddress { (bytes + 8).copyMemory(from: start, byteCount: value.count) }
            }
            bytes.storeBytes(of: SortKey.encode(source).bigEndian, toByteOffset: 8 + entry.value.count, as: UInt64.self)
        }
    }
}

/// The order of a ``GroupEntry``: byte by byte.
private final class GroupOrder: EntryOrder {
    func prefix(of entry: UnsafeRawBufferPointer) -> UInt64 { UInt64(bigEndian: entry.loadUnaligned(as: UInt64.self)) }

    func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        guard let one = left.baseAddress, let other = right.baseAddress else { return left.count - right.count }
        let found = memcmp(one, other, min(left.count, right.count))
        return found == 0 ? left.count - right.count : Int(found)
    }
}
