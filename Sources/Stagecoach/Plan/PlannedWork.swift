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

/// Source rows of some mappings that are loaded into one table together: all, or those of a range of source keys.
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

/// A part of a mapping model's load: the rows of one step, or the links of a join table. The units of a load are numbered
/// from 0 in the order in which they are loaded; a resumed run begins in one of them.
struct LoadUnit: Equatable {
    enum Content: Equatable {
        case step(PlannedStep)
        /// A join table, by index.
        case join(Int)
    }

    /// The number of the pass, from 0.
    let pass: Int
    let content: Content

    /// The destination table of the step; nil for a join table.
    var table: Int? { if case .step(let step) = content { step.table } else { nil } }
}

/// The engine's work for one mapping model, in order. It is never changed. ``MigrationPlan`` describes it.
struct PlannedWork: Equatable {
    /// The tables, in the destination's order.
    let tables: [PlannedTable]
    let passes: [PlannedPass]
    /// Groups of tables that refer to each other in a circle or share links, in the order in which they are loaded.
    let groups: [[Int]]
    /// The units of a load that reads the source step by step.
    let units: [LoadUnit]
    /// The units of a load of rows that were made before: each table is loaded in the pass in which it closes.
    var closingUnits: [LoadUnit] {
        units.compactMap { unit in
            guard case .step(var step) = unit.content else { return unit }
            guard step.isLast else { return nil }
            (step.isFirst, step.mappings) = (true, tables[step.table].mappings)
            return LoadUnit(pass: unit.pass, content: .step(step))
        }
    }

    init(tables: [PlannedTable], passes: [PlannedPass], groups: [[Int]]) {
        self.tables = tables
        self.passes = passes
        self.groups = groups
        units = passes.enumerated().flatMap { number, pass in
            pass.steps.map { LoadUnit(pass: number, content: .step($0)) }
                + pass.joinTables.map { LoadUnit(pass: number, content: .join($0)) }
        }
    }

    /// Returns the ranges of source keys into which stage 1 cuts a mapping's objects, ascending; one range without
    /// bounds if it is not cut.
    func ranges(ofMapping index: Int) -> [SourceKeyRange] {
        let ranges = passes.flatMap(\.steps).filter { $0.mappings.contains(index) }.map(\.range)
        return ranges.isEmpty ? [.all] : ranges
    }

    /// Tells whether the objects of a table keep their keys.
    func keepsKeys(ofTable table: Int) -> Bool { tables.contains { $0.table == table && $0.keys == .kept } }

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
