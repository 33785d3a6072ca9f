import Diagnostics
import ManagedModel
import Rows

import struct Foundation.Decimal

/// The intermediate result of a fold over one object's collection.
package struct FoldState {
    /// The number of members, or of values that are not nil, so far. For `any` and `every`, the number of members that decide
    /// the result.
    fileprivate var count: Int64 = 0
    fileprivate var whole: Int64 = 0
    fileprivate var real = 0.0
    fileprivate var exact = Decimal(0)
    /// The first failure. It is thrown only if the value is used, because a TERNARY may guard against it.
    fileprivate var fault: ProgramFault?

    package init() {}
}

/// A compiled fold over a collection. It takes the members one after the other and keeps a few words for each owner.
///
/// The results are those of Core Data's collection operators: nil is skipped (`@avg` takes it for zero); the sum and the
/// average of nothing are 0, its least and greatest value nil. Whole numbers add up to a whole number, decimals exactly.
package struct CollectionFoldProgram: Sendable {
    /// The type of the folded value.
    package let type: AttributeType
    /// True if the folded value of a missing owner is nil, as a message to nil is nil. A filter follows SQL, so there a
    /// missing owner has no members.
    package let isNilWithoutOwner: Bool
    private let operation: CollectionFold.Operation
    private let condition: ProgramCode?
    /// The program of the folded value. Nil if members are counted or tested.
    private let operand: ProgramCode?
    private let operandType: ExpressionType
    /// True if nil counts as zero, as in the average of key-value coding.
    private let countsNil: Bool

    /// Compiles a fold over the member's slots.
    ///
    /// - Parameters:
    ///   - resolver: gives slots of the member's row; its scope names the member and the objects around it.
    ///   - now: the value of `now()`, in seconds since 2001.
    /// - Throws: as ``ExpressionProgram``, without context.
    package init(
        compiling fold: CollectionFold, resolver: inout some KeyPathResolver,
        now: Double = EvaluationScope.time
    ) throws(MigrationError) {
        operation = fold.operation
        countsNil = fold.countsNil
        isNilWithoutOwner = !fold.isFilter && fold.operation != .any && fold.operation != .every
        do throws(ProgramFault) {
            if let node = fold.condition {
                var compiler = ProgramCompiler(resolver: resolver, isFilter: fold.isFilter, now: now)
                try compiler.compile(node, into: 0)
                resolver = compiler.resolver
                condition = compiler.finish()
            } else {
                condition = nil
            }
            guard let node = fold.operand else {
                guard fold.operation == .count || fold.operation == .any || fold.operation == .every else {
                    throw .type(
                        "objects have no \(fold.operation.rawValue)", remedy: "Name an attribute of the members")
                }
                (operand, operandType) = (nil, .null)
                type = fold.operation == .count ? .integer64 : .boolean
                return
            }
            var compiler = ProgramCompiler(resolver: resolver, isFilter: fold.isFilter, now: now)
            let found = try compiler.compile(node, into: 0)
            resolver = compiler.resolver
            operand = compiler.finish()
            operandType = found
            type = try Self.type(of: fold.operation, over: found)
        } catch {
            throw error.described(.configuration, in: .init())
        }
    }

    private static func type(
        of operation: CollectionFold.Operation, over operand: ExpressionType
    ) throws(ProgramFault) -> AttributeType {
        switch (operation, operand) {
        case (.count, _): return .integer64
        case (.any, _), (.every, _), (.minimum, .boolean), (.maximum, .boolean): return .boolean
        case (.sum, .boolean), (.sum, .integer), (.sum, .null), (.minimum, .integer), (.maximum, .integer):
            return .integer64
        case (_, .decimal): return .decimal
        case (.average, .integer), (.average, .boolean), (.average, .null), (.average, .float), (.sum, .float),
            (_, .real):
            return .double
        case (_, .float): return .float
        case (.minimum, .date), (.maximum, .date): return .date
        case (.minimum, .text), (.maximum, .text):
            throw .unsupported("the \(operation.rawValue) of texts cannot be evaluated per row")
        default: throw .type("values of type \(operand.label) have no \(operation.rawValue)")
        }
    }

    /// Adds a member to a fold.
    ///
    /// - Parameter batch: the members' rows.
    package func fold(_ batch: borrowing RowBatch, row: Int, into state: inout FoldState) {
        guard state.fault == nil else { return }
        do throws(ProgramFault) {
            switch operation {
            case .any, .every:
                guard state.count == 0 else { return }
                if try holds(batch, row) == (operation == .any) { state.count = 1 }
            default:
                guard try holds(batch, row) else { return }
                guard let operand else {
                    state.count += 1
                    return
                }
                var decimal = Decimal(0)
                let value = try ProgramRun.evaluate(operand, batch, row: row, decimal: &decimal)
                guard !value.isNull else {
                    if countsNil { state.count += 1 }
                    return
                }
                try add(value, decimal, to: &state)
            }
        } catch { state.fault = error }
    }

    /// Tells whether the condition holds for a member.
    ///
    /// - Throws: value errors of the member's row, without context.
    package func admits(_ batch: borrowing RowBatch, row: Int) throws(MigrationError) -> Bool {
        do throws(ProgramFault) { return try holds(batch, row) } catch {
            throw error.described(.data, in: .init())
        }
    }

    private func holds(_ batch: borrowing RowBatch, _ row: Int) throws(ProgramFault) -> Bool {
        guard let condition else { return true }
        return try ProgramRun.truth(condition, batch, row: row)
    }

    private func add(
        _ value: ProgramRegister, _ decimal: Decimal, to state: inout FoldState
    ) throws(ProgramFault) {
        state.count += 1
        switch (operation, value.kind) {
        case (.count, _), (.any, _), (.every, _): break
        case (.sum, .integer), (.average, .integer):
            let (sum, overflow) = state.whole.addingReportingOverflow(value.integerValue)
            guard !overflow else { throw .overflow("the sum of the values") }
            state.whole = sum
        case (.sum, .real), (.average, .real): state.real += value.realValue
        case (.sum, .decimal), (.average, .decimal):
            guard let sum = Decimal.apply(.add, state.exact, decimal) else {
                throw .overflow("the sum of the values")
            }
            state.exact = sum
        case (.minimum, .integer):
            state.whole = state.count == 1 ? value.integerValue : min(state.whole, value.integerValue)
        case (.maximum, .integer):
            state.whole = state.count == 1 ? value.integerValue : max(state.whole, value.integerValue)
        case (.minimum, .real): state.real = state.count == 1 ? value.realValue : min(state.real, value.realValue)
        case (.maximum, .real): state.real = state.count == 1 ? value.realValue : max(state.real, value.realValue)
        case (.minimum, .decimal):
            if state.count == 1 || Decimal.compare(decimal, state.exact) == -1 { state.exact = decimal }
        case (.maximum, .decimal):
            if state.count == 1 || Decimal.compare(decimal, state.exact) == 1 { state.exact = decimal }
        default: break
        }
    }

    /// Writes the folded value into an owner's slot.
    ///
    /// - Parameter batch: the owners' rows.
    package func store(_ state: FoldState, into batch: inout RowBatch, row: Int, slot: Int) {
        let fault = state.fault ?? failure(state)
        if let fault {
            fault.foldFailure.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
            return
        }
        switch operation {
        case .count, .any: batch[row, slot] = .integer(state.count)
        case .every: batch[row, slot] = .integer(1 - state.count)
        case .minimum where state.count == 0, .maximum where state.count == 0: batch[row, slot] = .null
        case .average where type == .decimal:
            let count = Decimal(max(1, state.count))
            store(Decimal.apply(.divide, state.exact, count) ?? state.exact, into: &batch, row: row, slot: slot)
        case .average:
            let sum = operandType.isWhole ? Double(state.whole) : state.real
            batch[row, slot] = .real(state.count == 0 ? 0 : sum / Double(state.count))
        case .sum, .minimum, .maximum:
            switch type {
            case .decimal: store(state.exact, into: &batch, row: row, slot: slot)
            case .double, .float, .date: batch[row, slot] = .real(state.real)
            default: batch[row, slot] = .integer(state.whole)
            }
        }
    }

    private func store(_ value: Decimal, into batch: inout RowBatch, row: Int, slot: Int) {
        var text = value.description
        text.withUTF8 { batch.setBytes(UnsafeRawBufferPointer($0), kind: .text, row: row, slot: slot) }
    }

    private func failure(_ state: FoldState) -> ProgramFault? {
        guard operation == .sum || operation == .average, type == .double, !state.real.isFinite else { return nil }
        return .overflow("the sum of the values")
    }
}
