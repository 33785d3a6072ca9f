import Diagnostics
import Rows

/// Runs programs of floating-point arithmetic over many rows at once, one instruction over all rows at a time. Run row by row,
/// such a program costs ten times its arithmetic.
///
/// If a value is refused or not finite, the rows are left to ``ProgramRun``, which makes the error.
enum FloatingProgram {
    /// The number of rows processed at a time: one bit each of a word.
    private static let most = 64

    /// Tells whether a program consists only of floating-point arithmetic.
    static func fits(_ code: ProgramDraft) -> Bool {
        code.registers <= 64
            && code.instructions.allSatisfy { step in
                switch step.operation {
                case .loadReal, .loadFloat, .loadNull, .nothing, .widen: true
                case .realArithmetic: step.n <= ArithmeticOperator.divide.rawValue
                case .loadConstant:
                    code.constants[Int(step.n)].kind == .real || code.constants[Int(step.n)].kind == .null
                default: false
                }
            }
    }

    /// Fills a slot of neighbouring rows.
    ///
    /// - Precondition: ``fits(_:)`` is true for the code.
    /// - Parameter first: the destination row for the first source row.
    /// - Returns: false if a row has to be computed alone.
    static func run(
        _ code: ProgramCode, _ source: borrowing RowBatch, rows: Range<Int>, into destination: inout RowBatch,
        from first: Int, slot: Int
    ) -> Bool {
        precondition(code.isFloating)
        return withUnsafeTemporaryAllocation(of: Double.self, capacity: code.draft.registers * most) { values in
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: code.draft.registers) { nulls in
                values.initialize(repeating: 0)
                var start = rows.lowerBound
                while start < rows.upperBound {
                    let count = min(most, rows.upperBound - start)
                    // Registers that no instruction sets are null.
                    nulls.initialize(repeating: .max)
                    guard compute(code, source, start..<start + count, values, nulls) else { return false }
                    let target = first + start - rows.lowerBound
                    for place in 0..<count {
                        destination[target + place, slot] =
                            nulls[0] >> UInt64(place) & 1 != 0 ? .null : .real(values[place])
                    }
                    start += count
                }
                return true
            }
        }
    }

    /// Computes some rows and leaves their values in the first register.
    private static func compute(
        _ code: ProgramCode, _ source: borrowing RowBatch, _ rows: Range<Int>,
        _ values: UnsafeMutableBufferPointer<Double>, _ nulls: UnsafeMutableBufferPointer<UInt64>
    ) -> Bool {
        for step in code.instructions {
            let d = Int(step.d)
            let target = UnsafeMutableBufferPointer(rebasing: values[d * most..<d * most + rows.count])
            switch step.operation {
            case .loadReal, .loadFloat:
                var missing: UInt64 = 0
                for (place, row) in rows.enumerated() {
                    let cell = source[row, Int(step.n)]
                    switch cell.kind {
                    case .real: target[place] = cell.realValue
                    case .integer: target[place] = Double(cell.integerValue)
                    case .null, .absent, .rawRecord:
                        target[place] = 0
                        missing |= 1 << UInt64(place)
                    default: return false
                    }
                }
                if step.operation == .loadFloat {
                    for place in 0..<rows.count { target[place] = Double(Float(target[place])) }
                }
                nulls[d] = missing
            case .loadConstant:
                let constant = code.constants[Int(step.n)]
                target.update(repeating: constant.isNull ? 0 : constant.realValue)
                nulls[d] = constant.isNull ? .max : 0
            case .loadNull:
                target.update(repeating: 0)
                nulls[d] = .max
            case .realArithmetic:
                let missing = nulls[Int(step.a)] | nulls[Int(step.b)]
                let a = UnsafePointer(values.baseAddress.unsafelyUnwrapped) + Int(step.a) * most
                let b = UnsafePointer(values.baseAddress.unsafelyUnwrapped) + Int(step.b) * most
                switch step.n {
                case ArithmeticOperator.add.rawValue:
                    for place in 0..<rows.count { target[place] = a[place] + b[place] }
                case ArithmeticOperator.subtract.rawValue:
                    for place in 0..<rows.count { target[place] = a[place] - b[place] }
                case ArithmeticOperator.multiply.rawValue:
                    for place in 0..<rows.count { target[place] = a[place] * b[place] }
                default: for place in 0..<rows.count { target[place] = a[place] / b[place] }
                }
                for place in 0..<rows.count where !target[place].isFinite {
                    guard missing >> UInt64(place) & 1 != 0 else { return false }
                    target[place] = 0
                }
                nulls[d] = missing
            default: break
            }
        }
        return true
    }
}

extension ExpressionProgram {
    /// Computes the values for neighbouring source rows, as ``evaluate(_:row:into:destinationRow:slot:)`` does for one.
    ///
    /// - Parameters:
    ///   - first: the destination row for the first source row.
    ///   - foundCut: called with each source row of whose number a conversion cut something off.
    /// - Returns: false if a value cannot be computed. The contents of the rows' slot are then undefined.
    package func evaluate(
        _ source: borrowing RowBatch, rows: Range<Int>, into destination: inout RowBatch, from first: Int, slot: Int,
        foundCut: (Int, NumberCut) -> Void = { _, _ in }
    ) -> Bool {
        if let code = floating,
            FloatingProgram.run(code, source, rows: rows, into: &destination, from: first, slot: slot)
        {
            return true
        }
        for row in rows {
            do throws(MigrationError) {
                let cut = try evaluate(
                    source, row: row, into: &destination, destinationRow: first + row - rows.lowerBound, slot: slot)
                if cut != .none { foundCut(row, cut) }
            } catch {
                return false
            }
        }
        return true
    }

    /// The program if it reads the row and consists only of floating-point arithmetic.
    private var floating: ProgramCode? {
        guard constant == nil, let code, code.isFloating else { return nil }
        return code
    }
}
