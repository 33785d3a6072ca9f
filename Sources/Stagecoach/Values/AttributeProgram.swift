import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows

/// A program that computes the attributes of a mapping's destination rows. It is compiled once and then works on slots only.
///
/// It is a class, so that callers that compute row by row copy nothing.
final class AttributeProgram {
    /// A copy of a cell as it is stored.
    private struct Copy {
        let from: Int
        let to: Int
        /// The number of other steps that come before the copy.
        let order: Int
    }

    /// A class, so that iterating over the steps for each row copies nothing.
    private final class Computation {
        let program: ExpressionProgram
        let column: Int
        let attribute: String
        /// `Entity.attribute`, with the entity that declares it.
        let label: String
        /// True if the values are numbers, which need no space in an arena.
        let makesNumbers: Bool

        init(_ program: ExpressionProgram, to column: Int, attribute: AttributeDescription) {
            self.program = program
            self.column = column
            self.attribute = attribute.name
            label = attribute.label
            makesNumbers = attribute.attributeType.isNumeric || attribute.attributeType == .date
        }
    }

    private enum Step {
        case value(ColumnValue, to: Int)
        case compute(Computation)
        /// A binary value that gets the marker byte of inline external storage.
        case addMarker(from: Int, to: Int)
        /// A binary value that loses its marker byte.
        case stripMarker(from: Int, to: Int, attribute: String)
        /// An automatic mapping to a required attribute: nil becomes the model's default.
        case fillNull(ColumnValue, at: Int)
        /// An expression of the wrong type, in a mapping that was expected to have no source objects.
        case refuse(MigrationError, attribute: String)

        /// The source slot and the column of a value whose marker changes; nil for other steps.
        var marked: (from: Int, to: Int)? {
            switch self {
            case .addMarker(let from, let to), .stripMarker(let from, let to, _): (from, to)
            case .value, .compute, .fillNull, .refuse: nil
            }
        }
    }

    private let mapping: PlannedMapping
    /// The reader of external files; nil if there are none.
    private let external: ExternalFiles?
    /// True if the receiver of the rows can stream huge values.
    private let streams: Bool
    /// Counts the numbers of which a conversion cuts something off.
    private let tally: RunTally?
    /// True if a conversion may cut something off.
    private(set) var mayCut = false
    /// The copies, which are the most common step. They can run before all other steps, because the steps of a column touch no
    /// other column.
    @exclusivity(unchecked) private var copies: [Copy] = []
    /// The same copies, in the form for loops over rows.
    @exclusivity(unchecked) private var moves = ColumnCopies([])
    @exclusivity(unchecked) private var steps: [Step] = []
    /// True if rows can be filled step by step: no step reads a file, and none makes bytes whose number depends on the row.
    private(set) var fillsRowsTogether = true
    /// True if values of external storage change their form.
    private(set) var handlesFiles = false
    /// The attributes that are plain copies of a source attribute, by destination column. A rule check may excuse their values.
    private(set) var copiedAttributes: [Int: AttributeDescription] = [:]

    /// Compiles the mapping's attribute expressions.
    ///
    /// - Parameters:
    ///   - slots: collects the source columns that the program reads, and marks those that it only copies.
    ///   - indexed: the destination columns whose values are needed as a whole, even if they are copied.
    ///   - external: the reader of external files.
    ///   - streams: true if the receiver of the rows can stream huge values.
    ///   - tally: counts the numbers of which a conversion cuts something off.
    /// - Throws: `expression.…` if an expression does not resolve, type-check or compile.
    init(
        mapping: PlannedMapping, slots: inout SourceColumns, indexed: Set<Int> = [], external: ExternalFiles? = nil,
        streams: Bool = false, tally: RunTally?
    ) throws(MigrationError) {
        self.mapping = mapping
        self.external = external
        self.streams = streams
        self.tally = tally
        for planned in mapping.attributes {
            guard let expression = planned.expression else {
                if let initial = planned.defaultValue { steps.append(.value(initial, to: planned.column)) }
                continue
            }
            // Expressions over objects are evaluated after the row is made.
            if planned.needsObjects { continue }
            if let refusal = planned.refusal {
                steps.append(.refuse(refusal, attribute: planned.attribute.name))
                continue
            }
            let (known, streamed, copied) = (slots.columns.count, slots.streamed, copies.count)
            try compile(planned, expression, slots: &slots)
            guard !indexed.contains(planned.column) else { continue }
            if copies.count > copied {
                slots.stream(copies[copied].from, known: known, streamed: streamed)
                continue
            }
            if let slot = markedSlot(for: planned.column) {
                slots.stream(slot, known: known, streamed: streamed)
            }
        }
        moves = ColumnCopies(copies.map { ($0.from, $0.to) })
        handlesFiles = steps.contains { $0.marked != nil }
        mayCut = steps.contains { step in
            if case .compute(let computation) = step { computation.program.mayCut } else { false }
        }
        fillsRowsTogether = steps.allSatisfy {
            switch $0 {
            case .value, .fillNull: true
            case .compute(let computation): computation.makesNumbers
            case .addMarker, .stripMarker, .refuse: false
            }
        }
    }

    /// The destination column and the place among the other steps of each plain copy, by source slot. Copies are left out if
    /// another step uses their column or if their slot is copied twice.
    var plainCopies: [Int: (column: Int, order: Int)] {
        let touched = Set(
            steps.compactMap { step -> Int? in
                switch step {
                case .value(_, let column), .addMarker(_, let column), .stripMarker(_, let column, _),
                    .fillNull(_, let column):
                    column
                case .compute(let computation): computation.column
                case .refuse: nil
                }
            })
        var found: [Int: (column: Int, order: Int)] = [:]
        var twice: Set<Int> = []
        for copy in copies where !touched.contains(copy.to) {
            if found.updateValue((copy.to, copy.order), forKey: copy.from) != nil { twice.insert(copy.from) }
        }
        twice.formUnion(steps.compactMap(\.marked?.from))
        return found.filter { !twice.contains($0.key) }
    }

    /// The columns to which ``run(_:rows:into:from:)`` gives a value or NULL in every row.
    var filledColumns: Set<Int> {
        var columns = Set(copies.map(\.to))
        for case .value(_, let column) in steps { columns.insert(column) }
        return columns
    }

    /// The columns that hold values as the source has them, of any kind.
    var copiedColumns: Set<Int> {
        Set(copies.map(\.to)).union(steps.compactMap(\.marked?.to))
    }

    /// Copies the values of each run of slots in one move. All slots of a run must be copied, to consecutive columns.
    func copyTogether(_ runs: [[Int]]) {
        let grouped = Set(runs.joined())
        let bySlot = Dictionary(copies.map { ($0.from, $0) }, uniquingKeysWith: { first, _ in first })
        let together = runs.joined().compactMap { bySlot[$0] }
        precondition(together.count == grouped.count)
        moves = ColumnCopies((together + copies.filter { !grouped.contains($0.from) }).map { ($0.from, $0.to) })
    }

    /// Returns the slot from which a column is filled with a changed marker. Returns nil if there is none.
    private func markedSlot(for column: Int) -> Int? {
        steps.lazy.compactMap(\.marked).first { $0.to == column }?.from
    }

    private func compile(
        _ planned: PlannedAttribute, _ expression: ValueExpression, slots: inout SourceColumns
    ) throws(MigrationError) {
        var context = mapping.context
        context.property = planned.attribute.name
        context.expression = expression.format
        let program = try ExpressionProgram(
            compiling: expression, to: planned.attribute.attributeType, resolver: &slots, context: context)
        if let slot = program.copiedSlot {
            let (original, isDirect) = sourceAttribute(of: expression, slots)
            if isDirect { copiedAttributes[planned.column] = original }
            let here = planned.attribute.definition.allowsExternalBinaryDataStorage
            let there = original?.definition.allowsExternalBinaryDataStorage ?? false
            switch (there, here) {
            case (true, false):
                steps.append(.stripMarker(from: slot, to: planned.column, attribute: planned.attribute.name))
            case (false, true): steps.append(.addMarker(from: slot, to: planned.column))
            default: copies.append(Copy(from: slot, to: planned.column, order: steps.count))
            }
        } else {
            steps.append(.compute(Computation(program, to: planned.column, attribute: planned.attribute)))
        }
        if planned.replacesNil, let initial = planned.defaultValue {
            steps.append(.fillNull(initial, at: planned.column))
        }
    }

    /// Returns the attribute that an expression copies, and whether it belongs to the source object itself.
    private func sourceAttribute(
        of expression: ValueExpression, _ slots: SourceColumns
    ) -> (attribute: AttributeDescription?, isDirect: Bool) {
        guard let path = expression.node.withoutBytesCast.sourceKeyPath else { return (nil, false) }
        return (
            slots.attribute(forKeyPath: path), mapping.source.map { $0.joiningElements(in: path).count == 1 } ?? true
        )
    }

    /// Fills the attribute columns of one destination row.
    ///
    /// - Parameter borrows: true to leave copied bytes in the source batch, which must then stay unchanged until the
    ///   destination batch is cleared.
    /// - Throws: `value.…` that names the mapping, object and property.
    func run(
        _ source: borrowing RowBatch, row: Int, into destination: inout RowBatch, destinationRow: Int,
        borrows: Bool = false
    ) throws(MigrationError) {
        if borrows {
            destination.borrow(moves, from: source, sourceRow: row, row: destinationRow)
        } else {
            for copy in copies {
                destination.copy(source[row, copy.from], from: source, row: destinationRow, slot: copy.to)
            }
        }
        guard !steps.isEmpty else { return }
        for (index, step) in steps.enumerated() {
            switch step {
            case .value(let value, let to):
                value.store(in: &destination, row: destinationRow, slot: to)
            case .compute(let computation):
                do {
                    let cut = try computation.program.evaluate(
                        source, row: row, into: &destination, destinationRow: destinationRow, slot: computation.column)
                    if cut != .none { note(cut, computation, source, row) }
                } catch {
                    clear(after: index, &destination, destinationRow)
                    throw located(error, source.key(row), computation.attribute)
                }
            case .addMarker(let from, let to):
                AttributeProgram.addMarker(source[row, from], source, &destination, destinationRow, to)
            case .stripMarker(let from, let to, let attribute):
                let cell = source[row, from]
                do {
                    try stripMarker(cell, source, &destination, destinationRow, to)
                } catch {
                    clear(after: index, &destination, destinationRow)
                    throw located(error, source.key(row), attribute)
                }
            case .refuse(let refusal, let attribute):
                throw located(refusal.ofRow, source.key(row), attribute)
            case .fillNull(let value, let slot):
                if destination[destinationRow, slot].isNull {
                    value.store(in: &destination, row: destinationRow, slot: slot)
                }
            }
        }
    }

    /// Fills the attribute columns of neighbouring destination rows, step by step.
    ///
    /// - Precondition: ``fillsRowsTogether``.
    /// - Parameters:
    ///   - rows: the source rows; they must stay unchanged until the destination batch is cleared.
    ///   - first: the first destination row.
    /// - Returns: false if a value cannot be computed. The contents of the rows are then undefined.
    func run(
        _ source: borrowing RowBatch, rows: Range<Int>, into destination: inout RowBatch, from first: Int
    ) -> Bool {
        precondition(fillsRowsTogether)
        destination.borrow(moves, from: source, sourceRows: rows, firstRow: first)
        let targets = first..<first + rows.count
        // If a value cannot be computed, the rows are counted one by one.
        let known = mayCut ? tally?.counts.valuesCut : nil
        for step in steps {
            switch step {
            case .value(let value, let slot):
                guard first < targets.upperBound else { continue }
                // All rows refer to the same bytes.
                value.store(in: &destination, row: first, slot: slot)
                destination.fill(targets, slot: slot, with: destination[first, slot])
            case .compute(let computation):
                let (program, column) = (computation.program, computation.column)
                var cuts: [(row: Int, cut: NumberCut)] = []
                let isComputed = program.evaluate(
                    source, rows: rows, into: &destination, from: first, slot: column,
                    foundCut: { cuts.append((row: $0, cut: $1)) })
                guard isComputed else {
                    if mayCut { tally?.counts.valuesCut = known }
                    return false
                }
                for (row, cut) in cuts { note(cut, computation, source, row) }
            case .fillNull(let value, let slot):
                var cell: Cell?
                for target in targets where destination[target, slot].isNull {
                    if let cell {
                        destination[target, slot] = cell
                    } else {
                        value.store(in: &destination, row: target, slot: slot)
                        cell = destination[target, slot]
                    }
                }
            case .addMarker, .stripMarker, .refuse: preconditionFailure("these are seen to row by row")
            }
        }
        return true
    }

    /// Counts a number of which a conversion cut something off.
    @inline(never)
    private func note(_ cut: NumberCut, _ computation: Computation, _ source: borrowing RowBatch, _ row: Int) {
        guard let tally, let line = tally.add(cut, of: computation.label), let entity = mapping.source?.definition.name
        else { return }
        var scratch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 4096)
        let number = computation.program.cutNumber(source, row: row, scratch: &scratch)
        tally.name(.init(object: "\(entity)/p\(source.key(row))", value: number ?? ""), inLine: line)
    }

    /// Clears the copies that come after a failed step, because the object has no values from that step on.
    private func clear(after step: Int, _ destination: inout RowBatch, _ row: Int) {
        for copy in copies where copy.order > step { destination[row, copy.to] = .null }
    }

    private func located(_ error: MigrationError, _ key: Int64, _ attribute: String) -> MigrationError {
        var context = mapping.context(ofSource: key)
        context.property = attribute
        return error.inside(context)
    }

    private static func addMarker(
        _ cell: Cell, _ source: borrowing RowBatch, _ destination: inout RowBatch, _ row: Int, _ slot: Int
    ) {
        if cell.kind == .huge {
            destination[row, slot] = destination.store(MarkedValue.marked(source.huge(cell)))
            return
        }
        guard cell.kind == .blob else {
            return destination.copy(cell, from: source, row: row, slot: slot)
        }
        let bytes = source.bytes(cell)
        let space = destination.reserve(bytes.count + 1)
        space.storeBytes(of: 1, as: UInt8.self)
        if let base = bytes.baseAddress, !bytes.isEmpty { (space + 1).copyMemory(from: base, byteCount: bytes.count) }
        destination[row, slot] = Cell(
            bits: UInt64(destination.arenaCount - bytes.count - 1), length: UInt32(bytes.count + 1), kind: .blob)
    }

    private func stripMarker(
        _ cell: Cell, _ source: borrowing RowBatch, _ destination: inout RowBatch, _ row: Int, _ slot: Int
    ) throws(MigrationError) {
        if cell.kind == .huge {
            destination[row, slot] = destination.store(MarkedValue.unmarked(source.huge(cell)))
            return
        }
        guard cell.kind == .blob, cell.length > 0 else {
            return destination.copy(cell, from: source, row: row, slot: slot)
        }
        let bytes = source.bytes(cell)
        switch bytes[0] {
        case ExternalReference.inlineMarker:
            destination.setBytes(UnsafeRawBufferPointer(rebasing: bytes[1...]), kind: .blob, row: row, slot: slot)
        case ExternalReference.referenceMarker:
            guard let external else { preconditionFailure("references need what reads their files") }
            try external.inline(
                ExternalFileReference(bytes), streams: streams, into: &destination, row: row, slot: slot)
        default:
            throw MigrationError(
                "external.marker", .data, "A value of external storage does not begin with its marker byte",
                remedy: "The store is damaged: the byte is 1 before a value and 2 before the name of a file")
        }
    }
}
