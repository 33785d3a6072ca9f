/// One destination table's part of a mapping model's work: which mappings fill it, and with which keys.
struct PlannedTable: Equatable {
    /// Table index in the destination schema.
    let table: Int
    /// The mappings that fill it, by index, in mapping order; add and remove mappings are not among them.
    let mappings: [Int]
    let keys: KeyMode
    /// Why the keys are not kept; nil where they are.
    let reason: String?
}

/// Source rows of some mappings that go into one table at a time: all of them, or those of a range of source keys.
struct PlannedStep: Equatable {
    /// Table index in the destination schema.
    let table: Int
    /// By index, in mapping order.
    var mappings: [Int]
    /// Only source rows with a greater key; nil: from the first.
    var after: Int64?
    /// Only source rows up to this key, itself included; nil: to the last.
    var through: Int64?
    /// Source rows, as far as they are known before the run: of a range its share.
    var rows: Int
    /// Whether it is the first of its table: the table is made ready for rows.
    var isFirst = true
    /// Whether it is the last of its table: the table closes, and its indexes are built.
    var isLast = true

    /// The range of source keys.
    var range: SourceKeyRange { SourceKeyRange(after: after, through: through) }
}

/// A range of source keys; open where a bound is nil.
struct SourceKeyRange: Equatable {
    var after: Int64?
    var through: Int64?

    static let all = SourceKeyRange(after: nil, through: nil)
}

/// One part of a mapping model's load.
struct PlannedPass: Equatable {
    var steps: [PlannedStep]
    /// Join tables loaded at the pass's end, when both sides are closed; by index.
    var joinTables: [Int] = []
}

/// What the engine does for one mapping model, in order: decided once, run as it stands, and described by ``MigrationPlan``.
struct PlannedWork: Equatable {
    /// In the destination's order.
    let tables: [PlannedTable]
    let passes: [PlannedPass]
    /// Tables that refer to each other in a circle, or share links: groups in the order in which they are loaded.
    let groups: [[Int]]

    /// The ranges of source keys into which stage 1 cuts a mapping's objects, ascending; one without bounds where it is
    /// not cut.
    func ranges(ofMapping index: Int) -> [SourceKeyRange] {
        let ranges = passes.flatMap(\.steps).filter { $0.mappings.contains(index) }.map(\.range)
        return ranges.isEmpty ? [.all] : ranges
    }

    /// The pass of a table's first step, and that of its last.
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
