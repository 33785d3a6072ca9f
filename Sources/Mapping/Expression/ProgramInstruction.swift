import Diagnostics

/// A value inside a program: 16 bytes, like a cell, but with bytes in one of three places.
struct ProgramRegister {
    enum Kind: UInt8 {
        case null
        case integer
        case real
        /// The value is in the array of decimals, at the register's index.
        case decimal
        /// A key. `length` is the number of the entity.
        case reference
        /// `bits` is an offset into the arena of the source batch.
        case sourceBytes
        /// `bits` is an offset into the arena of the destination batch.
        case scratchBytes
        /// `bits` is an offset into the program's constants.
        case constantBytes
    }

    var bits: UInt64 = 0
    var length: UInt32 = 0
    var kind: Kind = .null
    /// The part of the number that was cut off: in the register of ``ProgramCode/cutRegister``, and in a program's result.
    var cut = NumberCut.none

    static func integer(_ value: Int64) -> ProgramRegister {
        ProgramRegister(bits: UInt64(bitPattern: value), length: 0, kind: .integer)
    }
    static func real(_ value: Double) -> ProgramRegister {
        ProgramRegister(bits: value.bitPattern, length: 0, kind: .real)
    }
    /// Makes the register of a Float. As long as the number is unchanged, it prints with a Float's digits.
    static func float(_ value: Float) -> ProgramRegister {
        ProgramRegister(bits: Double(value).bitPattern, length: floatMark, kind: .real)
    }
    private static let floatMark: UInt32 = 1
    /// True if the number is a Float.
    var isFloat: Bool { kind == .real && length == ProgramRegister.floatMark }
    static func truth(_ value: Bool) -> ProgramRegister { integer(value ? 1 : 0) }
    var integerValue: Int64 { Int64(bitPattern: bits) }
    var realValue: Double { Double(bitPattern: bits) }
    var isNull: Bool { kind == .null }
}

/// The operation of an instruction. `d` is its destination register, `a` and `b` are its operands, `n` is its number.
enum ProgramOperation: UInt8 {
    // Loading: n is a slot, or the index of a constant.
    case loadWhole, loadReal, loadDecimal, loadText, loadBlob, loadReference
    /// Loads a floating-point number in the precision of Float.
    case loadFloat
    case loadConstant, loadNull
    /// Loads a value folded over a collection, as ``CollectionFoldProgram`` stores it. Throws if folding failed.
    case loadFold
    /// Leaves d unchanged. It fills the place of a conversion that was not needed.
    case nothing
    // Jumps to instruction n.
    case jump, jumpUnlessTrue, jumpIfFalse, jumpIfTrue
    // d = a op b; null if either is null. n is an ArithmeticOperator.
    case integerArithmetic, realArithmetic, decimalArithmetic
    /// n is a BitOperation's code.
    case bits
    /// d = f(a); n is a NumberFunction's code.
    case integerFunction, realFunction, decimalFunction
    // d = a in another type. n is 1 if what is cut off is counted.
    case wholeToReal, wholeToDecimal, realToDecimal, decimalToReal, realToInteger, decimalToInteger
    /// Throws if a is outside the range of the AttributeType with code n.
    case checkRange
    /// Rounds to the precision of Float. n is 1 if what is cut off is counted.
    case roundToFloat
    // markFloat marks a floating-point number as a Float; widen turns a Float into a 64-bit number.
    case markFloat, widen
    /// Converts a decimal to its stored form: an integer if it has no fraction, else a real. n is 1 if what is cut off is
    /// counted.
    case storeDecimal
    // Casts between text and other types.
    case wholeToText, realToText, decimalToText, textToReal, textToDecimal, uuidToText, textToUUID
    // Text.
    /// d = the n texts from register a on, concatenated; null if one is null.
    case concatenate
    case uppercase, lowercase, canonical, length
    /// d = the value of the conversion function n of the arguments in the registers from a on.
    case call
    // Predicates: d is 1, 0 or null. n is the index of a ProgramComparison.
    case compareNumbers, compareBytes, compareReferences, search, match, contained
    case isNull, isNotNull
    case not, and, or
    /// Turns null into 0.
    case nullIsFalse
    /// d = the lesser or greater of a and b, or the other one if one is null; n is 1 for the greater.
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

/// The parameters of a comparison instruction: operands, options, and the treatment of nil. It is a class, so that a row counts
/// one reference and not one for each list.
final class ProgramComparison: Sendable {
    let comparison: ComparisonOperator
    let folding: TextFolding
    /// True for SQL's logic, where a comparison with nil is unknown. Otherwise `==` and `!=` accept nil and the others are
    /// false.
    let isThreeValued: Bool
    /// The compiled pattern of `match`.
    let pattern: TextPattern?
    /// The values of `contained`, sorted.
    let integers: [Int64]
    /// The values of `contained`, folded and sorted.
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

/// The reason why an expression cannot be parsed or compiled, or a program cannot continue.
///
/// It is a class, because parser, check and compiler recurse and reserve room for an error in every stack frame.
package final class ProgramFault: Error, Sendable {
    let code: MigrationError.Code
    let message: String
    let remedy: String?
    /// An error of another layer, which is rethrown unchanged.
    let error: MigrationError?
    /// The part of the printed expression that the fault concerns.
    let fragment: String?

    init(
        _ code: MigrationError.Code, _ message: String, at fragment: String? = nil, remedy: String? = nil,
        error: MigrationError? = nil
    ) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.error = error
        self.fragment = fragment
    }

    convenience init(_ error: MigrationError) {
        self.init(error.code, error.message, remedy: error.remedy, error: error)
    }

    /// Returns the fault with the part of the expression that it concerns.
    func at(_ fragment: String) -> ProgramFault {
        ProgramFault(code, message, at: fragment, remedy: remedy, error: error)
    }

    package func described(_ category: MigrationError.Category, in context: MigrationError.Context) -> MigrationError {
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
    static func notA(_ type: String, _ text: String) -> ProgramFault {
        ProgramFault("value.type", "the text '\(text.prefix(80))' is no \(type)")
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
