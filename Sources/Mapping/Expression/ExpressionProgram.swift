import Diagnostics
import ManagedModel
import Rows

/// A constant as the store keeps it.
package enum ProgramConstant: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8.
    case text([UInt8])
    case blob([UInt8])
}

/// A value expression, compiled for the row path: it computes one attribute of a destination row from a source row.
///
/// Types are checked at compile time; at run time only values can be wrong. Evaluation allocates only for decimals and for text
/// beyond ASCII.
package final class ExpressionProgram: Sendable {
    /// The slot whose cell is copied unchanged; nil if a value is computed.
    package let copiedSlot: Int?
    /// The value if it is the same for all rows.
    package let constant: ProgramConstant?
    /// The part that a conversion cuts off the constant.
    private let constantCut: NumberCut
    /// The instructions; nil if a cell is copied.
    let code: ProgramCode?
    private let bytesKind: CellKind
    private let context: MigrationError.Context

    /// Compiles a value expression.
    ///
    /// - Parameters:
    ///   - destination: the type of the attribute that takes the value.
    ///   - resolver: gives slots to the key paths from `$source`.
    ///   - context: the place of the expression; its text is filled in here.
    ///   - now: the value of `now()`, in seconds since 2001: the journaled start of the run.
    /// - Throws: `expression.unsupported` for forms that no row path can evaluate, `expression.type` for types that do not fit,
    ///   the resolver's errors, and the value errors of constants; all of category configuration.
    package init(
        compiling expression: ValueExpression, to destination: AttributeType, resolver: inout some KeyPathResolver,
        context: MigrationError.Context, now: Double = EvaluationScope.time
    ) throws(MigrationError) {
        var context = context
        context.expression = context.expression ?? ExpressionLexer.excerpt(expression.format)
        self.context = context
        bytesKind = destination == .string || destination == .uri ? .text : .blob
        if let path = expression.node.withoutBytesCast.sourceKeyPath, !path.isEmpty {
            let found: (slot: Int, type: AttributeType)
            do { found = try resolver.slot(forKeyPath: path, level: 0) } catch { throw error.inside(context) }
            if found.type.isStoredLike(destination),
                expression.node.withoutBytesCast == expression.node || found.type.isBytes
            {
                copiedSlot = found.slot
                (constant, constantCut) = (nil, .none)
                code = nil
                return
            }
        }
        var compiler = ProgramCompiler(resolver: resolver, isFilter: false, now: now)
        do throws(ProgramFault) {
            let type = try compiler.compile(expression.node, into: 0)
            try compiler.store(type, as: destination)
            resolver = compiler.resolver
            let finished = compiler.finish()
            code = finished
            copiedSlot = nil
            (constant, constantCut) =
                finished.draft.readsRow ? (nil, .none) : try Self.constant(of: finished, bytesKind)
        } catch {
            throw error.described(.configuration, in: context)
        }
    }

    /// Compiles an expression whose value is compared with those of other rows: it keeps its own type.
    ///
    /// - Returns: the program, and the type of its values.
    /// - Throws: as ``init(compiling:to:resolver:context:now:)``; `expression.type` if the value cannot be compared.
    static func comparing(
        _ expression: ValueExpression, resolver: inout some KeyPathResolver, context: MigrationError.Context
    ) throws(MigrationError) -> (program: ExpressionProgram, type: AttributeType) {
        var placed = context
        placed.expression = placed.expression ?? ExpressionLexer.excerpt(expression.format)
        var compiler = ProgramCompiler(resolver: resolver, isFilter: false, now: EvaluationScope.time)
        let type: AttributeType
        do throws(ProgramFault) {
            let found = try compiler.compile(expression.node, into: 0)
            guard let stored = found.stored else {
                throw .type("the expression gives \(found.label), and only values can be compared")
            }
            type = stored
        } catch {
            throw error.described(.configuration, in: placed)
        }
        let program = try ExpressionProgram(compiling: expression, to: type, resolver: &resolver, context: context)
        return (program, type)
    }

    /// True if a row's number may lose something by a conversion that is counted.
    package var mayCut: Bool { constant == nil ? code?.cutRegister ?? -1 >= 0 : constantCut != .none }

    /// Returns the value of a program that reads no row, and what a conversion cuts off it.
    private static func constant(
        of code: ProgramCode, _ bytesKind: CellKind
    ) throws(ProgramFault) -> (ProgramConstant, NumberCut) {
        var batch = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
        let empty = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
        let value = try withUnsafeMutablePointer(to: &batch) { batch throws(ProgramFault) in
            try ProgramRun.evaluate(code, empty, row: 0, scratch: batch)
        }
        switch value.kind {
        case .integer: return (.integer(value.integerValue), value.cut)
        case .real: return (.real(value.realValue), value.cut)
        case .scratchBytes, .constantBytes:
            let bytes =
                value.kind == .scratchBytes
                ? Array(batch.bytes(Cell(bits: value.bits, length: value.length, kind: .blob)))
                : Array(code.bytes[Int(value.bits)..<Int(value.bits) + Int(value.length)])
            return (bytesKind == .text ? .text(bytes) : .blob(bytes), value.cut)
        default: return (.null, value.cut)
        }
    }

    /// Computes the value for a source row and puts it into a slot of a destination row.
    ///
    /// Text that the expression makes is written directly into the destination's arena.
    ///
    /// - Returns: what a conversion cut off.
    /// - Throws: `value.outOfRange`, `value.divisionByZero`, `value.type` (65) with the expression and the context; the caller
    ///   adds the object.
    @discardableResult
    package func evaluate(
        _ source: borrowing RowBatch, row: Int, into destination: inout RowBatch, destinationRow: Int, slot: Int
    ) throws(MigrationError) -> NumberCut {
        if let copiedSlot {
            destination.copy(source[row, copiedSlot], from: source, row: destinationRow, slot: slot)
            return .none
        }
        if let constant {
            store(constant, into: &destination, row: destinationRow, slot: slot)
            return constantCut
        }
        guard let code else { return .none }
        let value: ProgramRegister
        do throws(ProgramFault) {
            value = try withUnsafeMutablePointer(to: &destination) { scratch throws(ProgramFault) in
                try ProgramRun.evaluate(code, source, row: row, scratch: scratch)
            }
        } catch {
            throw error.described(.data, in: context)
        }
        switch value.kind {
        case .null, .decimal: destination[destinationRow, slot] = .null
        case .integer: destination[destinationRow, slot] = .integer(value.integerValue)
        case .real: destination[destinationRow, slot] = .real(value.realValue)
        case .reference:
            destination[destinationRow, slot] = Cell(bits: value.bits, length: value.length, kind: .reference)
        case .scratchBytes:
            destination[destinationRow, slot] = Cell(bits: value.bits, length: value.length, kind: bytesKind)
        case .sourceBytes:
            destination.copy(
                Cell(bits: value.bits, length: value.length, kind: bytesKind), from: source, row: destinationRow,
                slot: slot)
        case .constantBytes:
            let start = Int(value.bits)
            destination.setBytes(
                UnsafeRawBufferPointer(rebasing: code.bytes[start..<start + Int(value.length)]),
                kind: bytesKind, row: destinationRow, slot: slot)
        }
        return value.cut
    }

    /// Returns the digits of the row's number of which a conversion cuts something off; nil if there is none, or no value.
    ///
    /// - Parameter scratch: takes texts that the expression makes.
    package func cutNumber(
        _ source: borrowing RowBatch, row: Int, scratch: inout RowBatch
    ) -> String? {
        guard mayCut, let code else { return nil }
        var text = ""
        let value = try? withUnsafeMutablePointer(to: &scratch) { scratch throws(ProgramFault) in
            try ProgramRun.evaluate(code, source, row: row, scratch: scratch, cutText: &text)
        }
        return value?.cut == NumberCut.none ? nil : text
    }

    private func store(_ constant: ProgramConstant, into destination: inout RowBatch, row: Int, slot: Int) {
        switch constant {
        case .null: destination[row, slot] = .null
        case .integer(let value): destination[row, slot] = .integer(value)
        case .real(let value): destination[row, slot] = .real(value)
        case .text(let bytes): bytes.withUnsafeBytes { destination.setBytes($0, kind: .text, row: row, slot: slot) }
        case .blob(let bytes): bytes.withUnsafeBytes { destination.setBytes($0, kind: .blob, row: row, slot: slot) }
        }
    }
}

extension ExpressionNode {
    /// The operand of a cast to NSData; every other node itself. For a binary or transformable operand the bytes are the same.
    package var withoutBytesCast: ExpressionNode {
        switch self {
        case .cast(let value, "NSData"), .cast(let value, "Data"): value
        default: self
        }
    }
}

extension AttributeType {
    /// True if the values are bytes that no expression inspects.
    package var isBytes: Bool { self == .binaryData || self == .transformable }
}
