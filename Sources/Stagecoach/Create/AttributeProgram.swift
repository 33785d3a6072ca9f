import Diagnostics
import ManagedModel
import Mapping
import PersistentStore
import Rows

/// Computes the attributes of a mapping's destination rows: compiled once, then slots only.
struct AttributeProgram {
    private enum Step {
        /// The cell as it is stored.
        case copy(from: Int, to: Int)
        case value(StoredValue, to: Int)
        case compute(ExpressionProgram, to: Int, attribute: String)
        /// A binary value that gains the marker byte of inline external storage.
        case addMarker(from: Int, to: Int)
        /// A binary value that loses its marker byte.
        case stripMarker(from: Int, to: Int, attribute: String)
        /// Automatic mapping to a required attribute: nil becomes the model's default.
        case fillNull(StoredValue, at: Int)

        var isFilling: Bool {
            if case .fillNull = self { true } else { false }
        }
    }

    private let mapping: PlannedMapping
    private var steps: [Step] = []
    /// Attributes that are plain copies of a source attribute, by destination column: what a rule check may excuse.
    private(set) var copiedAttributes: [Int: AttributeDescription] = [:]

    /// Compiles the mapping's attribute expressions.
    ///
    /// - Parameters:
    ///   - slots: collects the source columns that the program reads, and says which of them it only copies.
    ///   - indexed: destination columns whose values are needed as a whole, whatever copies them.
    /// - Throws: `expression.…` for what does not resolve, type-check or compile.
    init(
        mapping: PlannedMapping, slots: inout SourceSlots, indexed: Set<Int> = []
    ) throws(MigrationError) {
        self.mapping = mapping
        for planned in mapping.attributes {
            guard let expression = planned.expression else {
                if let initial = planned.defaultValue { steps.append(.value(initial, to: planned.column)) }
                continue
            }
            // Objects evaluate those, after the row is made.
            if planned.needsObjects { continue }
            let (known, streamed) = (slots.columns.count, slots.streamed)
            try compile(planned, expression, slots: &slots)
            if case .copy(let slot, _)? = steps.last(where: { !$0.isFilling }), !indexed.contains(planned.column) {
                slots.stream(slot, known: known, streamed: streamed)
            }
        }
    }

    private mutating func compile(
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
            default: steps.append(.copy(from: slot, to: planned.column))
            }
        } else {
            steps.append(.compute(program, to: planned.column, attribute: planned.attribute.name))
        }
        if planned.replacesNil, let initial = planned.defaultValue {
            steps.append(.fillNull(initial, at: planned.column))
        }
    }

    /// The attribute that an expression copies, and whether it is the source object's own.
    private func sourceAttribute(
        of expression: ValueExpression, _ slots: SourceSlots
    ) -> (attribute: AttributeDescription?, isDirect: Bool) {
        guard let path = expression.node.sourceKeyPath else { return (nil, false) }
        return (slots.attribute(forKeyPath: path), path.count == 1)
    }

    /// Fills the attribute columns of one destination row.
    ///
    /// - Throws: `value.…` with the mapping, object and property named.
    func run(
        _ source: borrowing RowBatch, row: Int, into destination: inout RowBatch, destinationRow: Int
    ) throws(MigrationError) {
        for step in steps {
            switch step {
            case .copy(let from, let to):
                destination.copy(source[row, from], from: source, row: destinationRow, slot: to)
            case .value(let value, let to):
                value.store(in: &destination, row: destinationRow, slot: to)
            case .compute(let program, let to, let attribute):
                do {
                    try program.evaluate(
                        source, row: row, into: &destination, destinationRow: destinationRow, slot: to)
                } catch {
                    throw located(error, source.key(row), attribute)
                }
            case .addMarker(let from, let to):
                AttributeProgram.addMarker(source[row, from], source, &destination, destinationRow, to)
            case .stripMarker(let from, let to, let attribute):
                let cell = source[row, from]
                guard AttributeProgram.stripMarker(cell, source, &destination, destinationRow, to) else {
                    throw located(
                        MigrationError(
                            "value.externalData", .data,
                            "The value lies in an external file, and the destination attribute does not allow external storage",
                            remedy: "Let the destination attribute allow external storage"),
                        source.key(row), attribute)
                }
            case .fillNull(let value, let slot):
                if destination[destinationRow, slot].isNull {
                    value.store(in: &destination, row: destinationRow, slot: slot)
                }
            }
        }
    }

    private func located(_ error: MigrationError, _ key: Int64, _ attribute: String) -> MigrationError {
        var context = mapping.context(ofSource: key)
        context.property = attribute
        return error.inside(context)
    }

    private static func addMarker(
        _ cell: Cell, _ source: borrowing RowBatch, _ destination: inout RowBatch, _ row: Int, _ slot: Int
    ) {
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

    private static func stripMarker(
        _ cell: Cell, _ source: borrowing RowBatch, _ destination: inout RowBatch, _ row: Int, _ slot: Int
    ) -> Bool {
        guard cell.kind == .blob, cell.length > 0 else {
            destination.copy(cell, from: source, row: row, slot: slot)
            return true
        }
        let bytes = source.bytes(cell)
        guard bytes[0] == 1 else { return false }
        destination.setBytes(UnsafeRawBufferPointer(rebasing: bytes[1...]), kind: .blob, row: row, slot: slot)
        return true
    }
}
