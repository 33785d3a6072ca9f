import Diagnostics
import ManagedModel

import struct Foundation.Decimal

/// Turns a syntax tree into a flat program over registers.
///
/// Registers form a stack: a node leaves its value in the register it is given and uses those above it for its operands. Types
/// are known at compile time, so every instruction works on one type. Forms that a program cannot evaluate are refused here and
/// not at some row.
struct ProgramCompiler<Resolver: KeyPathResolver> {
    var resolver: Resolver
    /// True if bare key paths and SELF mean the source object and comparisons follow SQL's logic, as in filters.
    let isFilter: Bool
    /// The value of `now()`, in seconds since 2001.
    let now: Double
    var code = ProgramDraft()
    var depth = 0
    /// True if conversions count what they cut off. Those of a predicate do not: no number is stored.
    var countsCuts: Bool
    /// True if a conversion may cut something off that is counted.
    private var mayCut = false

    init(resolver: Resolver, isFilter: Bool, now: Double) {
        self.resolver = resolver
        self.isFilter = isFilter
        self.now = now
        countsCuts = !isFilter
    }

    /// Returns the finished program.
    func finish() -> ProgramCode {
        var code = code
        if mayCut {
            code.cutRegister = code.registers
            code.registers += 1
        }
        return ProgramCode(code)
    }

    // MARK: Emitting

    mutating func emit(_ operation: ProgramOperation, _ d: Int, _ a: Int = 0, _ b: Int = 0, n: Int = 0) {
        switch operation {
        case .loadWhole, .loadReal, .loadFloat, .loadText, .loadBlob, .loadReference, .loadFold: code.readsRow = true
        case .loadDecimal: (code.readsRow, code.usesDecimals) = (true, true)
        case .wholeToDecimal, .realToDecimal, .textToDecimal: code.usesDecimals = true
        case .wholeToText, .realToText, .decimalToText, .uuidToText, .textToUUID, .concatenate, .uppercase, .lowercase,
            .canonical, .call:
            code.usesScratch = true
        default: break
        }
        code.instructions.append(
            ProgramInstruction(
                operation: operation, d: UInt16(truncatingIfNeeded: d), a: UInt16(truncatingIfNeeded: a),
                b: UInt16(truncatingIfNeeded: b), n: Int32(truncatingIfNeeded: n)))
    }

    /// The index of the next instruction, as the target of a jump.
    var here: Int { code.instructions.count }

    mutating func jumpHere(from index: Int) { code.instructions[index].n = Int32(truncatingIfNeeded: here) }

    /// Descends one node. Trees built in code may be deeper than the stack allows.
    mutating func enter() throws(ProgramFault) {
        depth += 1
        guard depth <= 2 * ExpressionParser.maximumDepth else {
            throw .unsupported("the expression has more than \(ExpressionParser.maximumDepth) levels")
        }
    }

    mutating func leave() { depth -= 1 }

    /// Ensures that a register exists.
    private mutating func use(_ register: Int) throws(ProgramFault) {
        guard register < 16_000, here < 4_000_000 else {
            throw .unsupported("the expression is too large to be compiled")
        }
        code.registers = max(code.registers, register + 1)
    }

    mutating func emitConstant(_ value: ProgramRegister, _ d: Int) {
        code.constants.append(value)
        emit(.loadConstant, d, n: code.constants.count - 1)
    }

    mutating func emitBytes(_ bytes: [UInt8], _ d: Int) {
        let offset = code.bytes.count
        code.bytes.append(contentsOf: bytes)
        emitConstant(
            ProgramRegister(
                bits: UInt64(offset), length: UInt32(truncatingIfNeeded: bytes.count), kind: .constantBytes), d)
    }

    // MARK: Values

    /// Compiles a value into a register and returns its type.
    mutating func compile(_ node: ExpressionNode, into d: Int) throws(ProgramFault) -> ExpressionType {
        try enter()
        defer { leave() }
        try use(d)
        if let (path, level) = rowPath(node) { return try load(path, level: level, into: d) }
        if let (fold, level) = try fold(of: node) { return try load(fold, level: level, into: d) }
        switch node {
        case .constant(let constant): return constantValue(constant, into: d)
        case .arithmetic(let sign, let left, let right): return try arithmetic(sign, left, right, into: d)
        case .negation(let inner): return try numberFunction(.negate, inner, into: d, name: "-")
        case .ternary(let condition, let then, let otherwise):
            return try ternary(condition, then, otherwise, into: d)
        case .cast(let value, let type): return try cast(value, to: type, into: d)
        case .predicate(let predicate):
            try compile(predicate, into: d)
            return .boolean
        case .function(nil, let selector, let arguments): return try builtIn(selector, arguments, into: d)
        case .function(let target?, let selector, let arguments):
            return try message(selector, to: target, arguments, into: d)
        default: throw refusal(of: node)
        }
    }

    /// The key path without collection operators that a node is, and the level of its object; nil for other nodes.
    func rowPath(_ node: ExpressionNode) -> (path: [String], level: Int)? {
        guard let (root, path) = node.keyPathParts, let level = level(of: root),
            !path.contains(where: { $0.hasPrefix("@") })
        else { return nil }
        return (path, level)
    }

    /// Returns an error that says why a form cannot run in a program.
    private func refusal(of node: ExpressionNode) -> ProgramFault {
        let form: String
        if case .opaque(let constant) = node, let error = constant.failure { return ProgramFault(error) }
        switch node {
        case .variable(let name): form = "the variable $\(name)"
        case .evaluatedObject: form = "SELF"
        case .anyKey: form = "ANYKEY"
        case .keyPath(let target, let components):
            if let sign = components.first(where: { $0.hasPrefix("@") }) {
                form = "the collection operator \(sign)"
            } else if target == nil || target == .evaluatedObject {
                return .unsupported(
                    "the key path \(components.joined(separator: ".")) does not say of which object",
                    remedy: "Write $source.\(components.joined(separator: "."))")
            } else {
                form = "a key path from something else than $source"
            }
        case .aggregate: form = "a list of values"
        case .subquery: form = "SUBQUERY"
        case .setOperation(let sign, _, _): form = sign.rawValue
        case .element: form = "an index"
        case .fetch: form = "FETCH"
        case .assignment: form = "an assignment"
        default: form = "this form"
        }
        return .unsupported(
            "\(form) cannot be evaluated per row", remedy: "Compute the value in a migration policy")
    }

    private mutating func load(
        _ path: [String], level: Int, into d: Int
    ) throws(ProgramFault) -> ExpressionType {
        if path.isEmpty, depth == 1 {
            throw .unsupported("the source object itself is no value", remedy: "Name one of its attributes")
        }
        guard resolver.collectionLength(of: path, level: level) == nil else {
            throw .unsupported(
                "\(path.joined(separator: ".")) gives the values of several objects",
                remedy: "Use a collection operator: @sum, @count …")
        }
        let found = try slot(path, level)
        guard let type = ExpressionType(found.type) else {
            throw .unsupported(
                "\(path.joined(separator: ".")) has the type \(found.type.label), which has no values here")
        }
        switch type {
        case .boolean, .integer: emit(.loadWhole, d, n: found.slot)
        case .float: emit(.loadFloat, d, n: found.slot)
        case .real, .date: emit(.loadReal, d, n: found.slot)
        case .decimal: emit(.loadDecimal, d, n: found.slot)
        case .text, .uri: emit(.loadText, d, n: found.slot)
        case .uuid, .data, .transformable: emit(.loadBlob, d, n: found.slot)
        case .reference: emit(.loadReference, d, n: found.slot)
        case .null: emit(.loadNull, d)
        }
        return type
    }

    mutating func slot(_ path: [String], _ level: Int) throws(ProgramFault) -> (slot: Int, type: AttributeType) {
        do throws(MigrationError) { return try resolver.slot(forKeyPath: path, level: level) } catch {
            throw ProgramFault(error)
        }
    }

    private mutating func constantValue(_ constant: ExpressionConstant, into d: Int) -> ExpressionType {
        switch constant {
        case .null: emit(.loadNull, d)
        case .boolean(let value): emitConstant(.truth(value), d)
        case .integer(let value): emitConstant(.integer(value), d)
        case .double(let value), .date(let value): emitConstant(.real(value), d)
        case .decimal(let value):
            code.usesDecimals = true
            code.decimals[code.constants.count] = value
            emitConstant(ProgramRegister(kind: .decimal), d)
        case .string(let value): emitBytes(Array(value.utf8), d)
        case .data(let value): emitBytes(Array(value), d)
        }
        return EvaluatedValue(constant).scalarType ?? .null
    }

    private mutating func ternary(
        _ condition: PredicateNode, _ then: ExpressionNode, _ otherwise: ExpressionNode, into d: Int
    ) throws(ProgramFault) -> ExpressionType {
        try compile(condition, into: d)
        let toOtherwise = here
        emit(.jumpUnlessTrue, d)
        let first = try compile(then, into: d)
        // Both types are known only after the second branch, so leave room for a conversion.
        let room = here
        emit(.nothing, d)
        let toEnd = here
        emit(.jump, d)
        jumpHere(from: toOtherwise)
        let second = try compile(otherwise, into: d)
        let type: ExpressionType
        if first == second || second == .null {
            type = first
        } else if first == .null {
            type = second
        } else if first.takes(second), !first.isNumber {
            // A transformable value is its bytes.
            type = .data
        } else if first.isNumber, second.isNumber {
            type = ExpressionType.common(first, second)
            let end = here
            convert(d, from: first, to: type)
            if here > end { code.instructions[room] = code.instructions.removeLast() }
            convert(d, from: second, to: type)
        } else {
            throw .type("the two results of TERNARY have different types, \(first.label) and \(second.label)")
        }
        jumpHere(from: toEnd)
        return type
    }

    // MARK: Conversions

    /// Emits a conversion that may cut something off, and counts it unless it belongs to a predicate.
    mutating func emitCounted(_ operation: ProgramOperation, _ d: Int) {
        if countsCuts { mayCut = true }
        emit(operation, d, d, n: countsCuts ? 1 : 0)
    }

    /// Converts a number to the type of an attribute or a cast, with at most one instruction. What is cut off is counted.
    mutating func narrow(_ d: Int, from: ExpressionType, to: ExpressionType) {
        switch (from, to) {
        case (.integer, .real): emitCounted(.wholeToReal, d)
        case (.decimal, .real): emitCounted(.decimalToReal, d)
        case (.real, .integer), (.float, .integer): emitCounted(.realToInteger, d)
        case (.decimal, .integer): emitCounted(.decimalToInteger, d)
        default: convert(d, from: from, to: to)
        }
    }

    /// Converts a number to the common type of two, with at most one instruction.
    mutating func convert(_ d: Int, from: ExpressionType, to: ExpressionType) {
        switch (from, to) {
        case (.integer, .real), (.boolean, .real): emit(.wholeToReal, d, d)
        case (.integer, .decimal), (.boolean, .decimal): emit(.wholeToDecimal, d, d)
        case (.real, .decimal), (.float, .decimal): emit(.realToDecimal, d, d)
        case (.decimal, .real): emit(.decimalToReal, d, d)
        case (.real, .integer), (.float, .integer): emit(.realToInteger, d, d)
        case (.decimal, .integer): emit(.decimalToInteger, d, d)
        default: break
        }
    }

    /// Converts the value in register 0 to the form that an attribute of the type stores.
    mutating func store(_ type: ExpressionType, as destination: AttributeType) throws(ProgramFault) {
        // Nil fits every type.
        if type == .null { return }
        guard let wanted = ExpressionType(destination), destination != .objectID, destination != .transformable else {
            throw .unsupported("an attribute of type \(destination.label) cannot be computed, only copied")
        }
        guard wanted.takes(type) else { throw .misfit(type, destination) }
        switch destination {
        case .integer16, .integer32, .integer64, .boolean:
            narrow(0, from: type, to: .integer)
            if destination != .integer64, type != .boolean { emit(.checkRange, 0, 0, n: Int(destination.rawValue)) }
        case .double: narrow(0, from: type, to: .real)
        case .float:
            narrow(0, from: type, to: .real)
            emitCounted(.roundToFloat, 0)
        case .decimal where !type.isWhole:
            convert(0, from: type, to: .decimal)
            emitCounted(.storeDecimal, 0)
        default: break
        }
    }
}

extension ProgramFault {
    /// Returns an error for a value whose type the attribute does not take.
    static func misfit(_ type: ExpressionType, _ destination: AttributeType) -> ProgramFault {
        let remedy: String?
        switch (type, destination) {
        case (.text, _): remedy = "Text is not parsed silently: use CAST(…, '<type>') or a migration policy"
        case (_, .string): remedy = "Values are not formatted silently: use CAST(…, 'NSString') or a migration policy"
        case (_, .date): remedy = "Use CAST(…, 'NSDate') for seconds since 2001"
        case (.date, _): remedy = "Use CAST(…, 'NSNumber') for seconds since 2001"
        default: remedy = nil
        }
        return .type(
            "a value of type \(type.label) does not fit an attribute of type \(destination.label)", remedy: remedy)
    }
}
