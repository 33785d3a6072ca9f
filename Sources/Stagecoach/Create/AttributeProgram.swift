import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import Rows

/// Computes the attributes of a mapping's destination rows: compiled once, then slots only.
///
/// A class: whoever computes row by row copies nothing.
final class AttributeProgram {
    /// A cell as it is stored.
    private struct Copy {
        let from: Int
        let to: Int
        /// How many of the other steps come before it.
        let order: Int
    }

    /// A class: going through the steps row by row copies nothing.
    private final class Computation {
        let program: ExpressionProgram
        let column: Int
        let attribute: String
        /// Whether its values are numbers, which no arena holds.
        let makesNumbers: Bool

        init(_ program: ExpressionProgram, to column: Int, attribute: AttributeDescription) {
            self.program = program
            self.column = column
            self.attribute = attribute.name
            makesNumbers =
                switch attribute.attributeType {
                case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean, .date: true
                default: false
                }
        }
    }

    private enum Step {
        case value(StoredValue, to: Int)
        case compute(Computation)
        /// A binary value that gains the marker byte of inline external storage.
        case addMarker(from: Int, to: Int)
        /// A binary value that loses its marker byte.
        case stripMarker(from: Int, to: Int, attribute: String)
        /// Automatic mapping to a required attribute: nil becomes the model's default.
        case fillNull(StoredValue, at: Int)
        /// An expression that does not fit, of a mapping that was taken to have no source objects.
        case refuse(MigrationError, attribute: String)
    }

    private let mapping: PlannedMapping
    /// What reads external files; nil where there are none.
    private let external: ExternalFiles?
    /// Whether what takes the rows can stream huge values.
    private let streams: Bool
    /// What most attributes are, before all other steps: each column is the work of its own steps only.
    @exclusivity(unchecked) private var copies: [Copy] = []
    /// The copies again, for loops over rows.
    @exclusivity(unchecked) private var moves = CellMoves([])
    @exclusivity(unchecked) private var steps: [Step] = []
    /// Whether rows can be filled step by step: no step reads a file, and none makes bytes whose number a row decides.
    private(set) var fillsRowsTogether = true
    /// Whether values of external storage change their form.
    private(set) var handlesFiles = false
    /// Attributes that are plain copies of a source attribute, by destination column: what a rule check may excuse.
    private(set) var copiedAttributes: [Int: AttributeDescription] = [:]

    /// Compiles the mapping's attribute expressions.
    ///
    /// - Parameters:
    ///   - slots: collects the source columns that the program reads, and says which of them it only copies.
    ///   - indexed: destination columns whose values are needed as a whole, whatever copies them.
    ///   - external: what reads external files.
    ///   - streams: whether what takes the rows can stream huge values.
    /// - Throws: `expression.…` for what does not resolve, type-check or compile.
    init(
        mapping: PlannedMapping, slots: inout SourceSlots, indexed: Set<Int> = [], external: ExternalFiles? = nil,
        streams: Bool = false
    ) throws(MigrationError) {
        self.mapping = mapping
        self.external = external
        self.streams = streams
        for planned in mapping.attributes {
            guard let expression = planned.expression else {
                if let initial = planned.defaultValue { steps.append(.value(initial, to: planned.column)) }
                continue
            }
            // Objects evaluate those, after the row is made.
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
        moves = CellMoves(copies.map { ($0.from, $0.to) })
        handlesFiles = steps.contains {
            switch $0 {
            case .addMarker, .stripMarker: true
            case .value, .compute, .fillNull, .refuse: false
            }
        }
        fillsRowsTogether = steps.allSatisfy {
            switch $0 {
            case .value, .fillNull: true
            case .compute(let computation): computation.makesNumbers
            case .addMarker, .stripMarker, .refuse: false
            }
        }
    }

    /// What the attributes that are plain copies take their values from: column and place among the other steps, by slot. Those
    /// whose column another step looks at, or whose slot is copied twice, are left out.
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
        for step in steps {
            switch step {
            case .addMarker(let slot, _), .stripMarker(let slot, _, _): twice.insert(slot)
            case .value, .compute, .fillNull, .refuse: break
            }
        }
        return found.filter { !twice.contains($0.key) }
    }

    /// The columns that every row gets a value or NULL for from ``run(_:rows:into:from:)``.
    var filledColumns: Set<Int> {
        var columns = Set(copies.map(\.to))
        for case .value(_, let column) in steps { columns.insert(column) }
        return columns
    }

    /// The columns that hold values as the source has them, whatever their kind.
    var copiedColumns: Set<Int> {
        var columns = Set(copies.map(\.to))
        for case .addMarker(_, let column) in steps { columns.insert(column) }
        for case .stripMarker(_, let column, _) in steps { columns.insert(column) }
        return columns
    }

    /// Lets the values of some slots come together: of each of them all are copied, to columns that follow each other.
    func copyTogether(_ runs: [[Int]]) {
        let grouped = Set(runs.joined())
        let bySlot = Dictionary(copies.map { ($0.from, $0) }, uniquingKeysWith: { first, _ in first })
        let together = runs.joined().compactMap { bySlot[$0] }
        precondition(together.count == grouped.count)
        moves = CellMoves((together + copies.filter { !grouped.contains($0.from) }).map { ($0.from, $0.to) })
    }

    /// The slot from which a column is filled with another marker; nil where it is not.
    private func markedSlot(for column: Int) -> Int? {
        for case .addMarker(let slot, column) in steps { return slot }
        for case .stripMarker(let slot, column, _) in steps { return slot }
        return nil
    }

    private func compile(
        _ planned: PlannedAttribute, _ expression: ValueExpression, slots: inout SourceSlots
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

    /// The attribute that an expression copies, and whether it is the source object's own.
    private func sourceAttribute(
        of expression: ValueExpression, _ slots: SourceSlots
    ) -> (attribute: AttributeDescription?, isDirect: Bool) {
        guard let path = expression.node.withoutBytesCast.sourceKeyPath else { return (nil, false) }
        return (
            slots.attribute(forKeyPath: path), mapping.source.map { $0.joiningElements(in: path).count == 1 } ?? true
        )
    }

    /// Fills the attribute columns of one destination row.
    ///
    /// - Parameter borrows: whether copied bytes stay in the source batch, which then has to stay as it is until the
    ///   destination batch is cleared.
    /// - Throws: `value.…` with the mapping, object and property named.
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
                    try computation.program.evaluate(
                        source, row: row, into: &destination, destinationRow: destinationRow, slot: computation.column)
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
    ///   - rows: the source rows that they come from; they stay as they are until the destination batch is cleared.
    ///   - first: the first destination row.
    /// - Returns: false where a value cannot be computed: what the rows hold then is worth nothing.
    func run(
        _ source: borrowing RowBatch, rows: Range<Int>, into destination: inout RowBatch, from first: Int
    ) -> Bool {
        precondition(fillsRowsTogether)
        destination.borrow(moves, from: source, sourceRows: rows, firstRow: first)
        let targets = first..<first + rows.count
        for step in steps {
            switch step {
            case .value(let value, let slot):
                guard first < targets.upperBound else { continue }
                // All rows refer to the same bytes.
                value.store(in: &destination, row: first, slot: slot)
                destination.fill(targets, slot: slot, with: destination[first, slot])
            case .compute(let computation):
                let (program, column) = (computation.program, computation.column)
                guard program.evaluate(source, rows: rows, into: &destination, from: first, slot: column) else {
                    return false
                }
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

    /// Takes copies back that come after a step that failed: its object has no values from there on.
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
            destination.copy(cell, from: source, row: row, slot: slot)
            return
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
            destination.copy(cell, from: source, row: row, slot: slot)
            return
        }
        let bytes = source.bytes(cell)
        switch bytes[0] {
        case ExternalReference.inlineMarker:
            destination.setBytes(UnsafeRawBufferPointer(rebasing: bytes[1...]), kind: .blob, row: row, slot: slot)
        case ExternalReference.referenceMarker:
            guard let external else { preconditionFailure("references need what reads their files") }
            try external.inline(
                StoredReference(bytes), streams: streams, into: &destination, row: row, slot: slot)
        default:
            throw MigrationError(
                "external.marker", .data, "A value of external storage does not begin with its marker byte",
                remedy: "The store is damaged: the byte is 1 before a value and 2 before the name of a file")
        }
    }
}
