import Diagnostics
import Foundation

/// NSExpression's built-in functions.
extension ExpressionEvaluator {
    func builtIn(_ selector: String, _ nodes: [ExpressionNode]) throws -> EvaluatedValue {
        let name = String(selector.prefix { $0 != ":" })
        let shown = selector.hasSuffix(":") && selector.dropLast().contains(":") ? selector : name
        // The members of a list are evaluated only if the function uses them, so an unknown name costs no evaluation.
        if let function = Self.numberFunctions[selector], nodes.count == 1 {
            return try EvaluatedNumbers.apply(function, evaluate(nodes[0]), name: shown)
        }
        if let sign = ArithmeticOperator.bySelector[selector], nodes.count == 2 {
            return try EvaluatedNumbers.apply(sign, evaluate(nodes[0]), evaluate(nodes[1]))
        }
        if let operation = Self.bitOperations[selector], nodes.count == (operation == .complement ? 1 : 2) {
            return try EvaluatedNumbers.bits(operation, nodes.map { try evaluate($0) }, name: shown)
        }
        if let function = Self.listFunctions[name], selector == name + String(repeating: ":", count: nodes.count) {
            return try members(of: nodes).map(function) ?? .null
        }
        switch (selector, nodes.count) {
        case ("now", 0): return .date(EvaluationScope.time)
        case ("random", 0): return .real(Double.random(in: 0..<1))
        case ("random:", 1), ("randomn:", 1): return try random(evaluate(nodes[0]), name: name)
        case ("uppercase:", 1): return try text(nodes[0], name) { .text($0.uppercased()) }
        case ("lowercase:", 1): return try text(nodes[0], name) { .text($0.lowercased()) }
        case ("canonical:", 1): return try text(nodes[0], name) { .text(TextFolding.canonical($0)) }
        case ("length:", 1): return try text(nodes[0], name) { .integer(Int64($0.utf16.count)) }
        case ("noindex:", 1): return try evaluate(nodes[0])
        case ("first:", 1): return try evaluate(nodes[0]).ordered(for: "first").first ?? .null
        case ("last:", 1): return try evaluate(nodes[0]).ordered(for: "last").last ?? .null
        case ("size:", 1):
            let collection = try evaluate(nodes[0])
            return collection.isNull && !isFilter ? .null : .integer(try collection.memberCount(of: "size"))
        case ("distinct:", 1): return try distinct(evaluate(nodes[0]))
        case ("objectFrom:withIndex:", 2):
            let collection = try evaluate(nodes[0])
            return collection.isNull ? .null : try collection.element(at: evaluate(nodes[1]))
        case ("castObject:toType:", 2):
            let value = try evaluate(nodes[0])
            guard case .text(let type) = try evaluate(nodes[1]) else {
                throw ProgramFault.type("the type of a cast has to be a string")
            }
            return try value.cast(to: type)
        case ("distanceToLocation:fromLocation:", _):
            throw ProgramFault.unsupported("'\(selector)' needs locations, which no store holds")
        default: throw wrongCall(selector, shown, nodes.count)
        }
    }

    static let numberFunctions: [String: NumberFunction] = [
        "abs:": .absolute, "ceiling:": .ceiling, "floor:": .floor, "trunc:": .truncate, "sqrt:": .squareRoot,
        "ln:": .naturalLogarithm, "log:": .decimalLogarithm, "exp:": .exponential, "negate:": .negate,
    ]

    static let bitOperations: [String: BitOperation] = [
        "bitwiseAnd:with:": .and, "bitwiseOr:with:": .or, "bitwiseXor:with:": .exclusiveOr,
        "leftshift:by:": .shiftLeft, "rightshift:by:": .shiftRight, "onesComplement:": .complement,
    ]

    private static let listFunctions: [String: @Sendable ([EvaluatedValue]) throws -> EvaluatedValue] = [
        "sum": { try CollectionFunction.sum($0, name: "sum") },
        "count": { .integer(Int64($0.count)) },
        "average": { try CollectionFunction.average($0, name: "average") },
        "min": { try CollectionFunction.extreme($0, isMaximum: false) },
        "max": { try CollectionFunction.extreme($0, isMaximum: true) },
        "median": { try CollectionFunction.median($0) },
        "mode": { try CollectionFunction.mode($0) },
        "stddev": { try CollectionFunction.deviation($0) },
    ]

    /// Returns the values that a function of a list takes: the members of its only argument, or its arguments. Nil if the only
    /// argument is nil; a filter treats that as an empty collection.
    private func members(of nodes: [ExpressionNode]) throws -> [EvaluatedValue]? {
        guard nodes.count == 1 else { return try nodes.map { try evaluate($0) } }
        switch try evaluate(nodes[0]) {
        case .null: return isFilter ? [] : nil
        case .collection(let collection): return collection.members
        case .dictionary(let dictionary): return dictionary.values
        case let value: return [value]
        }
    }

    static func isListFunction(_ name: String) -> Bool { listFunctions[name] != nil }

    /// Tells whether a built-in function takes the given number of arguments.
    static func isBuiltIn(_ selector: String, arguments: Int) -> Bool {
        let name = String(selector.prefix { $0 != ":" })
        if isListFunction(name) {
            return selector == name + String(repeating: ":", count: arguments)
        }
        let isKnown =
            numberFunctions[selector] != nil || ArithmeticOperator.bySelector[selector] != nil
            || bitOperations[selector] != nil || otherBuiltIns.contains(selector)
        return isKnown && selector.count(where: { $0 == ":" }) == arguments
    }

    private static let otherBuiltIns: Set<String> = [
        "now", "random", "random:", "randomn:", "uppercase:", "lowercase:", "canonical:", "length:", "noindex:",
        "first:", "last:", "size:", "distinct:", "objectFrom:withIndex:", "castObject:toType:",
    ]

    /// The names of the built-in functions, without what follows a colon.
    static var builtInNames: [String] {
        let selectors =
            Array(numberFunctions.keys) + ArithmeticOperator.bySelector.keys + bitOperations.keys + otherBuiltIns
        return Set(selectors.map { String($0.prefix { $0 != ":" }) }).union(listFunctions.keys).sorted()
    }

    private func wrongCall(_ selector: String, _ shown: String, _ count: Int) -> ProgramFault {
        let name = String(selector.prefix { $0 != ":" })
        if (0...3).contains(where: { Self.isBuiltIn(selector, arguments: $0) }) {
            return .type("'\(shown)' does not take \(count.counted("argument"))")
        }
        // The parser gave a name without colons one colon for each argument.
        let isKnown = [name, name + ":"].enumerated().contains {
            Self.isBuiltIn($0.element, arguments: $0.offset)
        }
        return isKnown
            ? .type("'\(shown)' does not take \(count.counted("argument"))")
            : .unsupported("the function '\(shown)' is unknown")
    }

    private func text(
        _ node: ExpressionNode, _ name: String, _ change: (String) -> EvaluatedValue
    ) throws -> EvaluatedValue {
        switch try evaluate(node) {
        case .null: return .null
        case .text(let text): return change(text)
        case let value: throw ProgramFault.type("'\(name)' does not take a value of type \(value.label)")
        }
    }

    /// Returns a collection without duplicates.
    private func distinct(_ value: EvaluatedValue) throws -> EvaluatedValue {
        if value.isNull { return .null }
        guard case .collection(let collection) = value else {
            throw ProgramFault.type("'distinct' does not take a value of type \(value.label)")
        }
        return .collection(
            try EvaluatedCollection(EvaluatedCollection.distinct(collection.members), collection.kind))
    }

    /// Returns a random number from 0 up to, but not including, a limit.
    private func random(_ limit: EvaluatedValue, name: String) throws -> EvaluatedValue {
        if limit.isNull { return .null }
        guard let limit = limit.whole, limit > 0 else { throw ProgramFault.type("'\(name)' takes a positive integer") }
        return .integer(Int64.random(in: 0..<limit))
    }
}
