import Diagnostics
import Rows

import struct Foundation.Decimal

/// One evaluation of a program over one row.
///
/// It holds unsafe pointers lent by the caller; none outlives ``run()``. Memory: the registers, on the stack except for very
/// large programs.
struct ProgramRun {
    /// The caller keeps it alive during the call. Counting references would cost a third of a short program's time.
    unowned(unsafe) let code: ProgramCode
    let source: UnsafePointer<RowBatch>
    let row: Int
    /// The batch whose arena takes new text; nil if the program makes none.
    let scratch: UnsafeMutablePointer<RowBatch>?
    let registers: UnsafeMutablePointer<ProgramRegister>
    let decimals: UnsafeMutablePointer<Decimal>

    /// Runs a program and returns register 0.
    ///
    /// - Parameters:
    ///   - scratch: required if `code.draft.usesScratch`.
    ///   - decimal: receives the value if it is a decimal.
    ///   - cutText: receives the digits of a number of which a conversion cut something off.
    /// - Throws: value errors of the row.
    static func evaluate(
        _ code: ProgramCode, _ source: borrowing RowBatch, row: Int, scratch: UnsafeMutablePointer<RowBatch>?,
        decimal: UnsafeMutablePointer<Decimal>? = nil, cutText: UnsafeMutablePointer<String>? = nil
    ) throws(ProgramFault) -> ProgramRegister {
        let outcome: Result<ProgramRegister, ProgramFault> = withUnsafePointer(to: source) { source in
            withUnsafeTemporaryAllocation(of: ProgramRegister.self, capacity: code.draft.registers) { registers in
                withUnsafeTemporaryAllocation(
                    of: Decimal.self, capacity: code.draft.usesDecimals ? code.draft.registers : 1
                ) { decimals in
                    guard let first = registers.baseAddress, let firstDecimal = decimals.baseAddress else {
                        return .success(ProgramRegister())
                    }
                    first.initialize(repeating: ProgramRegister(), count: registers.count)
                    if code.draft.usesDecimals {
                        firstDecimal.initialize(repeating: Decimal(0), count: decimals.count)
                    }
                    let run = ProgramRun(
                        code: code, source: source, row: row, scratch: scratch, registers: first,
                        decimals: firstDecimal)
                    do throws(ProgramFault) {
                        let value = try run.run()
                        if value.kind == .decimal { decimal?.pointee = firstDecimal.pointee }
                        if value.cut != .none { cutText?.pointee = run.cutText }
                        return .success(value)
                    } catch { return .failure(error) }
                }
            }
        }
        return try outcome.get()
    }

    private func run() throws(ProgramFault) -> ProgramRegister {
        var next = 0
        let count = code.instructions.count
        while next < count {
            let step = code.instructions[next]
            next += 1
            switch step.operation {
            case .jump: next = Int(step.n)
            case .jumpUnlessTrue: if !isTrue(registers[Int(step.d)]) { next = Int(step.n) }
            case .jumpIfTrue: if isTrue(registers[Int(step.d)]) { next = Int(step.n) }
            case .jumpIfFalse:
                let value = registers[Int(step.d)]
                if !value.isNull, value.integerValue == 0 { next = Int(step.n) }
            case .nothing: break
            case .loadConstant:
                let value = code.constants[Int(step.n)]
                if value.kind == .decimal, let decimal = code.draft.decimals[Int(step.n)] {
                    decimals[Int(step.d)] = decimal
                }
                registers[Int(step.d)] = value
            case .loadNull: registers[Int(step.d)] = ProgramRegister()
            default: registers[Int(step.d)] = try apply(step)
            }
        }
        var value = registers[0]
        if code.cutRegister >= 0 { value.cut = registers[code.cutRegister].cut }
        return value
    }

    @inline(__always)
    private func isTrue(_ value: ProgramRegister) -> Bool { !value.isNull && value.integerValue != 0 }

    /// Returns the value of an instruction that is not a jump.
    private func apply(_ step: ProgramInstruction) throws(ProgramFault) -> ProgramRegister {
        let a = registers[Int(step.a)]
        switch step.operation {
        case .loadWhole, .loadReal, .loadFloat, .loadDecimal, .loadText, .loadBlob, .loadReference:
            return try load(step)
        case .loadFold: return try loadFold(step)
        // These operations accept nil.
        case .isNull: return .truth(a.isNull)
        case .isNotNull: return .truth(!a.isNull)
        case .nullIsFalse: return a.isNull ? .truth(false) : a
        case .and, .or: return logic(step, a, registers[Int(step.b)])
        case .compareNumbers, .compareBytes, .compareReferences, .search:
            return compare(step, a, registers[Int(step.b)])
        case .match, .contained: return try test(step, a)
        case .extreme:
            let b = registers[Int(step.b)]
            if b.isNull { return a }
            if a.isNull || order(b, step.b, a, step.a) == (step.n == 1 ? 1 : -1) {
                return b.kind == .decimal ? decimal(decimals[Int(step.b)], into: step.d) : b
            }
            return a
        case .concatenate: return try concatenation(step)
        case .call: return try call(step)
        default: break
        }
        // Every other operation is nil if an operand is nil.
        if a.isNull { return a }
        switch step.operation {
        case .not: return .truth(a.integerValue == 0)
        case .integerArithmetic, .realArithmetic, .decimalArithmetic, .bits:
            let b = registers[Int(step.b)]
            if b.isNull { return b }
            return try arithmetic(step, a, b)
        case .uppercase, .lowercase: return try changingCase(a, toUpper: step.operation == .uppercase)
        case .canonical: return try made(TextFolding.canonical(String(decoding: bytes(a), as: UTF8.self)))
        case .length: return .integer(Int64(units(bytes(a))))
        case .wholeToText, .realToText, .decimalToText, .uuidToText, .textToUUID, .textToReal, .textToDecimal:
            return try textCast(step, a)
        default: return try number(step, a)
        }
    }

    private func load(_ step: ProgramInstruction) throws(ProgramFault) -> ProgramRegister {
        let cell = source.pointee[row, Int(step.n)]
        switch (step.operation, cell.kind) {
        case (_, .null), (_, .absent), (_, .rawRecord): return ProgramRegister()
        case (.loadWhole, .integer): return .integer(cell.integerValue)
        case (.loadReal, .real): return .real(cell.realValue)
        case (.loadReal, .integer): return .real(Double(cell.integerValue))
        case (.loadFloat, .real): return .float(Float(cell.realValue))
        case (.loadFloat, .integer): return .float(Float(cell.integerValue))
        case (.loadWhole, .real):
            // A damaged or foreign store; an integral real number still has the same value.
            guard let value = Int64(exactly: cell.realValue) else { throw damaged(cell) }
            return .integer(value)
        case (.loadDecimal, .integer): return decimal(Decimal(cell.integerValue), into: step.d)
        case (.loadDecimal, .real):
            guard let value = Decimal(printed: cell.realValue) else { throw damaged(cell) }
            return decimal(value, into: step.d)
        case (.loadDecimal, .text):
            // NaN is stored as text: under NUMERIC affinity every value that is not a number is.
            let text = String(decoding: source.pointee.bytes(cell), as: UTF8.self)
            guard text == "NaN" else { throw damaged(cell) }
            return decimal(.nan, into: step.d)
        case (.loadText, .text), (.loadBlob, .blob):
            return ProgramRegister(bits: cell.bits, length: cell.length, kind: .sourceBytes)
        case (.loadReference, .reference), (.loadReference, .integer):
            return ProgramRegister(bits: cell.bits, length: cell.length, kind: .reference)
        default: throw damaged(cell)
        }
    }

    private func damaged(_ cell: Cell) -> ProgramFault {
        let found =
            switch cell.kind {
            case .integer: "the integer \(cell.integerValue)"
            case .real: "the number \(cell.realValue)"
            case .text: "text"
            case .blob: "a blob"
            default: "a reference"
            }
        return ProgramFault("value.type", "the store holds \(found) where the attribute's type does not allow it")
    }

    /// Returns the bytes of a value. Making text may move them.
    func bytes(_ value: ProgramRegister) -> UnsafeRawBufferPointer {
        switch value.kind {
        case .sourceBytes: return source.pointee.bytes(Cell(bits: value.bits, length: value.length, kind: .blob))
        case .scratchBytes:
            guard let scratch else { return UnsafeRawBufferPointer(start: nil, count: 0) }
            return scratch.pointee.bytes(Cell(bits: value.bits, length: value.length, kind: .blob))
        case .constantBytes:
            let start = Int(value.bits)
            return UnsafeRawBufferPointer(rebasing: code.bytes[start..<start + Int(value.length)])
        default: return UnsafeRawBufferPointer(start: nil, count: 0)
        }
    }
}
