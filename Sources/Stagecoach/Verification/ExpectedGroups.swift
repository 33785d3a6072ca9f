import Diagnostics
import Mapping
import SpillStorage

/// Works out which source objects of a mapping with `distinctBy` or `mergeBy` share an object, and which of them makes it, its
/// maker. The values are evaluated object by object; nothing comes from the groups that a run finds.
///
///     each source object that passes the filter → (hash of its values, its place, key)   sorted
///     each object of a group → (key, key of the maker)                                   sorted by key
///
/// The hash has 128 bits: different values have the same one by a chance in 10^20 with a billion objects.
/// Memory: that of two sorters.
struct ExpectedGroups {
    private let grouping: ObjectGrouping
    private let values: [GroupedValue]
    private let keep: GroupedValue?
    private let isGreatest: Bool
    private let groups: RecordSorter
    private let members: RecordSorter

    private static let width = 6

    /// - Parameters:
    ///   - object: the source object, which shows one after the other.
    ///   - variables: the variables of the expressions.
    init(
        _ grouping: ObjectGrouping, of object: EvaluatedSource, _ plan: VerificationPlan, _ variables: [String: Any?],
        _ storage: VerificationStorage
    ) {
        self.grouping = grouping
        values = grouping.expressions.map {
            GroupedValue($0, of: object, plan.source.schema, variables, comparison: grouping.comparison)
        }
        keep = grouping.merge?.keep.expression.map { GroupedValue($0, of: object, plan.source.schema, variables) }
        if case .greatest = grouping.merge?.keep { isGreatest = true } else { isGreatest = false }
        groups = storage.sorter(width: Self.width)
        members = storage.sorter(width: 2)
    }

    /// Adds the source object in view.
    ///
    /// - Parameter scratch: a buffer.
    /// - Returns: false if the object makes none and shares none, because its values are nil.
    /// - Throws: the errors of evaluation and sorting.
    func add(_ key: Int64, _ row: SequentialRows, scratch: inout [UInt8]) throws -> Bool {
        scratch.removeAll(keepingCapacity: true)
        var nils = 0
        for value in values where try !value.write(row.cell, to: &scratch) { nils += 1 }
        let word = SortKey.encode(key)
        if !grouping.nilIsAValue, grouping.merge == nil ? nils == values.count : nils > 0 {
            guard grouping.merge != nil else { return false }
            try members.append(word, word)
            return true
        }
        var place: GroupedValue.Place = (0, grouping.merge?.keep == .last ? ~word : 0, 0)
        if let keep { place = try keep.place(row.cell, isGreatest: isGreatest) }
        let hash = scratch.withUnsafeBytes {
            (VerificationChecksum.hash($0, isText: false), VerificationChecksum.hash($0, isText: true))
        }
        try groups.append(hash.0, hash.1, place.isNil, place.order, place.exact, word)
        return true
    }

    /// Calls a closure with the source objects that make or share an object, by ascending key, each with its maker.
    ///
    /// - Complexity: O(n log n) in the source objects.
    func finish(_ body: (_ key: Int64, _ maker: Int64) throws -> Void) throws {
        let sorted = try groups.finish()
        try withRecords(Self.width) { record, first in
            var hasFirst = false
            while try sorted.next(into: record) {
                if !hasFirst || record[0] != first[0] || record[1] != first[1] {
                    first.update(from: record, count: Self.width)
                }
                hasFirst = true
                try members.append(record[Self.width - 1], first[Self.width - 1])
            }
        }
        let found = try members.finish()
        try withRecords(2) { record, _ in
            while try found.next(into: record) {
                try body(SortKey.decode(record[0]), SortKey.decode(record[1]))
            }
        }
    }
}
