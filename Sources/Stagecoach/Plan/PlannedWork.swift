/// The planned work for one destination table: the mappings that fill it, and its keys.
struct PlannedTable: Equatable {
    /// Table index in the destination schema.
    let table: Int
    /// The mappings that fill it, by index, in mapping order; add and remove mappings are left out.
    let mappings: [Int]
    let keys: KeyMode
    /// The reason why the keys are not kept; nil if they are.
    let reason: String?
}

/// Source rows of some mappings that are loaded into one table together: all of them, or those of a range of source
/// keys.
struct PlannedStep: Equatable {
    /// Table index in the destination schema.
    let table: Int
    /// The mappings, by index, in mapping order.
    var mappings: [Int]
    /// The source key after which the rows begin; nil: from the first.
    var after: Int64?
    /// The source key of the last row; nil: to the last.
    var through: Int64?
    /// The number of source rows, as far as it is known before the run; for a range, its share.
    var rows: Int
    /// True for the first step of its table: the table is prepared for rows.
    var isFirst = true
    /// True for the last step of its table: the table closes, and its indexes are built.
    var isLast = true

    /// The range of source keys.
    var range: SourceKeyRange { SourceKeyRange(after: after, through: through) }
}

/// A range of source keys; a nil bound is open.
struct SourceKeyRange: Equatable {
    var after: Int64?
    var through: Int64?

    static let all = SourceKeyRange(after: nil, through: nil)
}

/// A pass of a mapping model's load.
struct PlannedPass: Equatable {
    var steps: [PlannedStep]
    /// The join tables loaded at the pass's end, when both sides are closed; by index.
    var joinTables: [Int] = []
}

/// The engine's work for one mapping model, in order. It is decided once, run without change, and described by
/// ``MigrationPlan``.
struct PlannedWork: Equatable {
    /// The tables, in the destination's order.
    let tables: [PlannedTable]
    let passes: [PlannedPass]
    /// Groups of tables that refer to each other in a circle or share links, in the order in which they are loaded.
    let groups: [[Int]]

    /// Returns the ranges of source keys into which stage 1 cuts a mapping's objects, ascending; one range without
    /// bounds if it is not cut.
    func ranges(ofMapping index: Int) -> [SourceKeyRange] {
        let ranges = passes.flatMap(\.steps).filter { $0.mappings.contains(index) }.map(\.range)
        return ranges.isEmpty ? [.all] : ranges
    }

    /// Returns the passes of a table's first and last step.
    func passes(ofTable table: Int) -> (first: Int, last: Int) {
        var first: Int?
        var last = 0
        for (number, pass) in passes.enumerated() where pass.steps.contains(where: { $0.table == table }) {
            if first == nil { first = number }
            last = number
        }
        return (first ?? 0, last)
    }
}
