import Diagnostics

extension ProgramCompiler {
    /// Compiles a built-in function.
    mutating func builtIn(
        _ selector: String, _ arguments: [ExpressionNode], into d: Int
    ) throws(ProgramFault) -> ExpressionType {
        let name =
            selector.hasSuffix(":") && !selector.dropLast().contains(":") ? String(selector.dropLast()) : selector
        func checked(_ count: Int) throws(ProgramFault) {
            guard arguments.count == count else {
                throw ProgramFault(
                    "expression.type", "'\(name)' takes \(count.counted("argument")), not \(arguments.count)")
            }
        }
        func only() throws(ProgramFault) -> ExpressionNode {
            try checked(1)
            return arguments[0]
        }
        if selector != "negate:", let function = ExpressionEvaluator.numberFunctions[selector] {
            return try numberFunction(function, only(), into: d, name: name)
        }
        if let sign = ArithmeticOperator.bySelector[selector] {
            try checked(2)
            return try arithmetic(sign, arguments[0], arguments[1], into: d)
        }
        if let operation = ExpressionEvaluator.bitOperations[selector] {
            try checked(operation == .complement ? 1 : 2)
            return try bits(operation, arguments, into: d, name: name)
        }
        switch selector {
        case "now":
            emitConstant(.real(now), d)
            return .date
        case "min:": return try extreme(isMaximum: false, only(), into: d, name: name)
        case "max:": return try extreme(isMaximum: true, only(), into: d, name: name)
        case "uppercase:": return try textFunction(.uppercase, only(), into: d, name: name)
        case "lowercase:": return try textFunction(.lowercase, only(), into: d, name: name)
        case "canonical:": return try textFunction(.canonical, only(), into: d, name: name)
        case "length:": return try textFunction(.length, only(), into: d, name: name)
        case "noindex:": return try compile(only(), into: d)
        case "castObject:toType:":
            try checked(2)
            guard case .constant(.string(let type)) = arguments[1] else {
                throw .unsupported("the type of a cast has to be a string")
            }
            return try cast(arguments[0], to: type, into: d)
        case "random", "random:", "randomn:":
            throw .unsupported(
                "'\(name)' gives another value at every run, so an interrupted migration could not be resumed",
                remedy: "Compute the value in a migration policy")
        default:
            throw .unsupported(
                "the function '\(name)' cannot be evaluated per row", remedy: "Compute the value in a migration policy")
        }
    }

    /// Compiles `FUNCTION(target, 'selector:', …)`.
    mutating func message(
        _ selector: String, to target: ExpressionNode, _ arguments: [ExpressionNode], into d: Int
    ) throws(ProgramFault) -> ExpressionType {
        if target == .variable(ConversionFunction.variable) { return try conversion(selector, arguments, into: d) }
        switch (selector, arguments.count) {
        case ("stringByAppendingString:", 1):
            return try concatenation(.function(target: target, selector: selector, arguments: arguments), into: d)
        case ("uppercaseString", 0): return try textFunction(.uppercase, target, into: d, name: selector)
        case ("lowercaseString", 0): return try textFunction(.lowercase, target, into: d, name: selector)
        case ("length", 0): return try textFunction(.length, target, into: d, name: selector)
        default: break
        }
        if case .variable(let name) = target, name != "source" {
            throw .unsupported(
                "FUNCTION($\(name), '\(selector)') is no value that can be computed from the row",
                remedy: name == "entityPolicy"
                    ? "Register the selector with a migration policy" : "Use it in a relationship mapping or a policy")
        }
        throw .unsupported(
            "the selector '\(selector)' is unknown", remedy: "Compute the value in a migration policy")
    }

    /// Compiles a call of a conversion function.
    private mutating func conversion(
        _ selector: String, _ arguments: [ExpressionNode], into d: Int
    ) throws(ProgramFault) -> ExpressionType {
        guard let function = ConversionFunction.all[selector], function.arguments.count == arguments.count else {
            throw .unsupported("$\(ConversionFunction.variable) has no function '\(selector)'")
        }
        for (index, (argument, wanted)) in zip(arguments, function.arguments).enumerated() {
            let type = try compile(argument, into: d + index)
            if type == .null { continue }
            if wanted == .decimal, type.isNumber {
                convert(d + index, from: type, to: .decimal)
            } else if type != wanted {
                throw .type("'\(selector)' does not take a value of type \(type.label)")
            }
        }
        if function.arguments.contains(.decimal) || function.result == .decimal { code.usesDecimals = true }
        code.conversions.append(function)
        emit(.call, d, d, n: code.conversions.count - 1)
        return function.result
    }

    private mutating func textFunction(
        _ operation: ProgramOperation, _ argument: ExpressionNode, into d: Int, name: String
    ) throws(ProgramFault) -> ExpressionType {
        let type = try compile(argument, into: d)
        if type == .null { return .null }
        guard type == .text else { throw .type("'\(name)' does not take a value of type \(type.label)") }
        emit(operation, d, d)
        return operation == .length ? .integer : .text
    }

    /// Compiles a chain of `stringByAppendingString:` into one instruction, so that no part is copied twice.
    private mutating func concatenation(_ node: ExpressionNode, into d: Int) throws(ProgramFault) -> ExpressionType {
        var parts: [ExpressionNode] = []
        var rest = node
        while case .function(let target?, "stringByAppendingString:", let arguments) = rest, arguments.count == 1 {
            parts.append(arguments[0])
            rest = target
        }
        parts.append(rest)
        parts.reverse()
        var isNull = false
        for (index, part) in parts.enumerated() {
            let type = try compile(part, into: d + index)
            if type == .null { isNull = true }
            guard type == .text || type == .null else {
                throw .type(
                    "'stringByAppendingString:' does not take a value of type \(type.label)",
                    remedy: "Values are not formatted silently: use CAST(…, 'NSString')")
            }
        }
        if isNull {
            emit(.loadNull, d)
            return .null
        }
        emit(.concatenate, d, d, n: parts.count)
        return .text
    }

    /// Compiles `CAST(value, 'type')`.
    mutating func cast(_ node: ExpressionNode, to name: String, into d: Int) throws(ProgramFault) -> ExpressionType {
        let type = try compile(node, into: d)
        if type == .null { return .null }
        guard var target = ExpressionType.castTargets[name] else {
            throw .unsupported("a cast to '\(name)' cannot be evaluated per row")
        }
        if name == "NSNumber", type.isNumber { target = type }
        if target == .real, type.isFloating, name != "NSNumber" {
            // The value no longer has the digits of a Float.
            emit(.widen, d, d)
            return target
        }
        if type == target { return target }
        switch (type, target) {
        case (_, .boolean) where type.isNumber:
            narrow(d, from: type, to: .integer)
            emit(.checkRange, d, d, n: 800)
        case _ where type.isNumber && target.isNumber: narrow(d, from: type, to: target)
        case (_, .date) where type.isNumber: convert(d, from: type, to: .real)
        case (.date, _) where target.isNumber && target != .boolean: narrow(d, from: .real, to: target)
        case (.text, .decimal): emit(.textToDecimal, d, d)
        case (.text, .integer):
            emit(.textToDecimal, d, d)
            emitCounted(.decimalToInteger, d)
        case (.text, .real): emit(.textToReal, d, d)
        case (.text, .uuid): emit(.textToUUID, d, d)
        case (.text, .uri), (.uri, .text), (.uuid, .data), (.transformable, .data): break
        case (_, .text) where type.isNumber || type == .uuid:
            let operation: ProgramOperation =
                switch type {
                case .uuid: .uuidToText
                case .float, .real: .realToText
                case .decimal: .decimalToText
                default: .wholeToText
                }
            emit(operation, d, d)
        default: throw .type("a value of type \(type.label) cannot be cast to '\(name)'")
        }
        if let range = ExpressionType.range(ofCastTo: name) { emit(.checkRange, d, d, n: Int(range.rawValue)) }
        return target
    }
}
