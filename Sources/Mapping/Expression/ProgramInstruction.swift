import Diagnostics
import Rows

/// A value on its way through a program: 16 bytes, like a cell, but its bytes may lie in three places.
struct ProgramRegister {
    enum Kind: UInt8 {
        case null
        case integer
        case real
        /// The value stands in the register's place of the decimal file.
        case decimal
        /// A key, with the entity's number in `length`.
        case reference
        /// `bits` is an offset in the source batch's arena.
        case sourceBytes
        /// `bits` is an offset in the destination batch's arena.
        case scratchBytes
        /// `bits` is an offset in the program's constants.
        case constantBytes
    }

    var bits: UInt64 = 0
    var length: UInt32 = 0
    var kind: Kind = .null

    static func integer(_ value: Int64) -> ProgramRegister {
        ProgramRegister(bits: UInt64(bitPattern: value), length: 0, kind: .integer)
    }
    static func real(_ value: Double) -> ProgramRegister {
        ProgramRegister(bits: value.bitPattern, length: 0, kind: .real)
    }
    /// A Float's number, which prints with a Float's digits wherever it goes unchanged.
    static func float(_ value: Float) -> ProgramRegister {
        ProgramRegister(bits: Double(value).bitPattern, length: floatMark, kind: .real)
    }
    private static let floatMark: UInt32 = 1
    /// Whether the number is a Float's.
    var isFloat: Bool { kind == .real && length == ProgramRegister.floatMark }
    static func truth(_ value: Bool) -> ProgramRegister { integer(value ? 1 : 0) }
    var integerValue: Int64 { Int64(bitPattern: bits) }
    var realValue: Double { Double(bitPattern: bits) }
    var isNull: Bool { kind == .null }
}

/// What an instruction does. `d` is its destination register, `a` and `b` its operands, `n` its number.
enum ProgramOperation: UInt8 {
    // Loading: n is a slot, or the index of a constant.
    case loadWhole, loadReal, loadDecimal, loadText, loadBlob, loadReference
    /// A floating number in the precision of Float.
    case loadFloat
    case loadConstant, loadNull
    /// A value folded over a collection, as ``CollectionFoldProgram`` stores it; throws where folding failed.
    case loadFold
    /// d stays as it is: room for a conversion that turned out not to be needed.
    case nothing
    // Jumps to instruction n.
    case jump, jumpUnlessTrue, jumpIfFalse, jumpIfTrue
    // d = a op b; null where either is null. n is an ArithmeticOperator's code.
    case integerArithmetic, realArithmetic, decimalArithmetic
    /// n is a BitOperation's code.
    case bits
    /// d = f(a); n is a NumberFunction's code.
    case integerFunction, realFunction, decimalFunction
    // d = a in another type.
    case wholeToReal, wholeToDecimal, realToDecimal, decimalToReal, realToInteger, decimalToInteger
    /// Throws where a is not in the range of the AttributeType with code n.
    case checkRange
    /// Rounds to the precision of Float.
    case roundToFloat
    // A floating number as a Float's, and a Float's as one of 64 bits.
    case markFloat, widen
    /// Writes a decimal as it is stored: integer where it is whole, else real.
    case storeDecimal
    // Casts between text and other types.
    case wholeToText, realToText, decimalToText, textToReal, textToDecimal, uuidToText, textToUUID
    // Text.
    /// d = the n texts from register a on, one after the other; null where one is null.
    case concatenate
    case uppercase, lowercase, length
    // Predicates: d is 1, 0 or null. n is the index of a ProgramComparison.
    case compareNumbers, compareBytes, compareReferences, search, match, contained
    case isNull, isNotNull
    case not, and, or
    /// null becomes 0.
    case nullIsFalse
    /// d = the smaller or larger of a and b, the other one where one is null; n is 1 for the larger.
    case extreme
}

/// One step of a program.
struct ProgramInstruction {
    var operation: ProgramOperation
    var d: UInt16
    var a: UInt16 = 0
    var b: UInt16 = 0
    var n: Int32 = 0
}

/// What a comparison instruction compares, and what it makes of nil. A class, so that a row takes one reference to it
/// and not one to each list.
final class ProgramComparison: Sendable {
    let comparison: ComparisonOperator
    let folding: TextFolding
    /// SQL's logic: a comparison with nil is unknown. Otherwise `==` and `!=` know nil and the others are false.
    let isThreeValued: Bool
    /// Of `match`: the compiled pattern.
    let pattern: TextPattern?
    /// Of `contained`: the values, sorted.
    let integers: [Int64]
    /// Of `contained`: the values, folded and sorted.
    let texts: [[UInt8]]

    init(
        _ comparison: ComparisonOperator, _ folding: TextFolding, isThreeValued: Bool, pattern: TextPattern? = nil,
        integers: [Int64] = [], texts: [[UInt8]] = []
    ) {
        self.comparison = comparison
        self.folding = folding
        self.isThreeValued = isThreeValued
        self.pattern = pattern
        self.integers = integers.sorted()
        self.texts = texts.sorted { $0.lexicographicallyPrecedes($1) }
    }
}

enum BitOperation: Int32 {
    case and, or, exclusiveOr, shiftLeft, shiftRight, complement
}

enum NumberFunction: Int32 {
    case negate, absolute, ceiling, floor, truncate, squareRoot, naturalLogarithm, decimalLogarithm, exponential
}

extension ArithmeticOperator {
    /// The operator as an instruction's number.
    var code: Int32 {
        switch self {
        case .add: 0
        case .subtract: 1
        case .multiply: 2
        case .divide: 3
        case .modulus: 4
        case .power: 5
        }
    }
}

/// Why an expression cannot be compiled, or a program not go on.
///
/// A class, because the compiler recurses and keeps room for it in every stack frame.
final class ProgramFault: Error, Sendable {
    let code: MigrationError.Code
    let message: String
    let remedy: String?
    /// Another layer's error, which goes out as it is.
    let error: MigrationError?

    init(_ code: MigrationError.Code, _ message: String, remedy: String? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        error = nil
    }

    init(_ error: MigrationError) {
        code = error.code
        message = error.message
        remedy = error.remedy
        self.error = error
    }

    func described(_ category: MigrationError.Category, in context: MigrationError.Context) -> MigrationError {
        if let error { return error.inside(context) }
        return MigrationError(code, category, message, remedy: remedy, context: context)
    }

    static func unsupported(_ message: String, remedy: String? = nil) -> ProgramFault {
        ProgramFault("expression.unsupported", message, remedy: remedy)
    }
    static func type(_ message: String, remedy: String? = nil) -> ProgramFault {
        ProgramFault("expression.type", message, remedy: remedy)
    }
    static func range(_ value: String, _ type: String, remedy: String? = nil) -> ProgramFault {
        ProgramFault("value.outOfRange", "the value \(value) is out of the range of \(type)", remedy: remedy)
    }
    static func overflow(_ text: String) -> ProgramFault {
        ProgramFault("value.outOfRange", "\(text) is out of range")
    }
    static var divisionByZero: ProgramFault {
        ProgramFault(
            "value.divisionByZero", "division by zero",
            remedy: "Guard it: TERNARY(<divisor> == 0, nil, <quotient>)")
    }
}
