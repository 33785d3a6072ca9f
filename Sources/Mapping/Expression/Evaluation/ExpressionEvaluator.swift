import Diagnostics
import Foundation

/// Evaluates syntax trees for one object, by walking them.
///
/// It serves all expressions that no compiled program can evaluate. An evaluation takes at most ``maximumSteps`` and descends
/// at most ``maximumDepth`` levels, so that it neither hangs nor overflows the stack.
final class ExpressionEvaluator {
    /// The greatest number of nodes that one evaluation may visit, because nested subqueries multiply.
    static let maximumSteps = 10_000_000
    static let maximumDepth = ExpressionParser.maximumDepth + 50

    let object: EvaluatedValue
    /// The variables given by the caller.
    private let given: [String: Any?]
    /// The variables given by the caller that were read, in the evaluator's form.
    private var read: [String: EvaluatedValue] = [:]
    /// The variables bound by the expression itself.
    private var bound: [String: EvaluatedValue] = [:]
    /// NSExpression's context. Variables are read from it, assignments are written to it.
    private let context: NSMutableDictionary?
    /// True if predicates have three truth values, as in a source filter.
    private(set) var isFilter = false
    private var steps = 0
    private var depth = 0

    init(object: Any?, variables: [String: Any?] = [:], context: NSMutableDictionary? = nil) {
        self.object = EvaluatedValue(object)
        given = variables
        self.context = context
    }

    // MARK: Entrances

    /// Returns the value of an expression; errors include its text.
    ///
    /// - Parameter asStored: true for a ``TransformableValue`` where the expression passes a transformable attribute on.
    func value(of expression: ValueExpression, asStored: Bool = false) throws -> EvaluatedValue {
        try described(by: expression.format) { try evaluate(expression.node, asStored: asStored) }
    }

    /// Returns the value at the end of a key path from the object, as policies see it.
    func value(ofKeyPath path: String) throws -> Any? {
        try described(by: path) { try evaluate(.keyPath(text: path)).object }
    }

    /// Tells whether a predicate holds; errors include its text.
    func holds(_ predicate: SourcePredicate) throws -> Bool {
        try described(by: predicate.format) { try holds(predicate.node) }
    }

    /// Returns the truth of a filter's predicate, nil if unknown; errors include its text.
    func truth(_ predicate: SourcePredicate) throws -> Bool? {
        isFilter = true
        return try described(by: predicate.format) { try truth(predicate.node) }
    }

    /// Forgets what an evaluation left behind.
    func beginAgain() { (bound, steps) = ([:], 0) }

    private func described<Value>(
        by text: @autoclosure () -> String, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let fault as ProgramFault {
            throw fault.described(.data, in: .init(expression: ExpressionLexer.excerpt(text())))
        } catch let error as MigrationError where error.context.expression == nil {
            throw error.inside(.init(expression: ExpressionLexer.excerpt(text())))
        }
    }

    /// Counts a step and descends one level. Every call needs a call of ``leave()``.
    func enter() throws(ProgramFault) {
        try step()
        depth += 1
        guard depth <= Self.maximumDepth else {
            depth -= 1
            throw ProgramFault("expression.limit", "the expression has more than \(Self.maximumDepth) levels")
        }
    }

    func leave() { depth -= 1 }

    func step() throws(ProgramFault) {
        steps += 1
        guard steps <= Self.maximumSteps else {
            throw ProgramFault(
                "expression.limit", "the expression takes more than \(Self.maximumSteps) steps for one object",
                remedy: "Compute the value in a migration policy")
        }
    }

    // MARK: Values

    /// Returns the value of a node.
    ///
    /// - Parameter asStored: true for a transformable attribute's bytes, with its object on demand, instead of the object.
    func evaluate(_ node: ExpressionNode, asStored: Bool = false) throws -> EvaluatedValue {
        try enter()
        defer { leave() }
        switch node {
        case .constant(let constant): return EvaluatedValue(constant)
        case .variable(let name): return try variable(name)
        case .evaluatedObject: return object
        case .keyPath(let target, let components):
            let value = try value(at: components[...], from: target.map { try evaluate($0) } ?? object)
            return asStored ? value : try value.transformed()
        case .function(let target?, "self", let arguments) where arguments.isEmpty:
            return try evaluate(target, asStored: asStored)
        case .function(.variable(ConversionFunction.variable)?, let selector, let arguments):
            return try conversion(selector, arguments)
        case .function(let target?, let selector, let arguments):
            return try message(selector, to: evaluate(target), arguments)
        case .function(nil, let selector, let arguments): return try builtIn(selector, arguments)
        case .arithmetic(let sign, let left, let right):
            return try EvaluatedNumbers.apply(sign, evaluate(left), evaluate(right))
        case .negation(let inner): return try EvaluatedNumbers.apply(.negate, evaluate(inner), name: "-")
        case .aggregate(let elements):
            return .collection(try EvaluatedCollection(elements.map { try evaluate($0) }, .array))
        case .ternary(let condition, let then, let otherwise):
            return try evaluate(holds(condition) ? then : otherwise, asStored: asStored)
        case .cast(let value, let type):
            let isBytes = type == "NSData" || type == "Data"
            return try (isBytes ? evaluate(value, asStored: true).stored : evaluate(value)).cast(to: type)
        case .predicate(let predicate):
            if isFilter { return try truth(predicate).map(EvaluatedValue.boolean) ?? .null }
            return .boolean(try holds(predicate))
        default: return try rare(node)
        }
    }

    /// Evaluates the forms that are rare or need much stack. They are kept apart so that the others recurse with small frames.
    private func rare(_ node: ExpressionNode) throws -> EvaluatedValue {
        switch node {
        case .subquery(let collection, let variable, let condition):
            return try subquery(evaluate(collection), variable, condition)
        case .setOperation(let sign, let left, let right):
            return try Self.combine(sign, evaluate(left), evaluate(right))
        case .element(let collection, let index): return try element(of: evaluate(collection), index)
        case .fetch(let request, let context, let countOnly):
            return try fetch(evaluate(request), evaluate(context), countOnly: countOnly)
        case .assignment(let name, let value):
            let value = try evaluate(value)
            bound[name] = value
            if let context { context[name] = value.object ?? NSNull() }
            return value
        case .opaque(let constant): return try opaque(constant)
        default:
            throw ProgramFault.unsupported("ANYKEY has no value: it stands for any key of a search predicate")
        }
    }

    private func variable(_ name: String) throws -> EvaluatedValue {
        if let value = bound[name] { return value }
        if let value = read[name] { return value }
        if let value = given[name] {
            let value = EvaluatedValue(value)
            read[name] = value
            return value
        }
        if let value = context?[name] { return EvaluatedValue(value) }
        throw ProgramFault("expression.variable", "the variable $\(name) has no value")
    }

    private func opaque(_ constant: OpaqueConstant) throws -> EvaluatedValue {
        switch constant.content {
        case .value(let value): return EvaluatedValue(value)
        case .failure(let error, _): throw error
        case .expressionBlock(let block, let arguments): return EvaluatedValue(block(object.object, arguments, context))
        case .predicateBlock(let block): return .boolean(block(object.object, bindings))
        }
    }

    /// The variables in the form that a predicate's closure takes; nil if there are none.
    private var bindings: [String: Any]? {
        let values = given.compactMapValues { $0 }.merging(bound.compactMapValues(\.object)) { $1 }
        return values.isEmpty ? nil : values
    }

    private func fetch(
        _ request: EvaluatedValue, _ context: EvaluatedValue, countOnly: Bool
    ) throws -> EvaluatedValue {
        guard case .object(let object) = context, let source = object as? any ExpressionFetching else {
            throw ProgramFault.type("FETCH does not take a value of type \(context.label) for its context")
        }
        return EvaluatedValue(try source.fetchForExpression(request: request.object, countOnly: countOnly))
    }

    // MARK: Collections

    /// Returns the members for which a condition holds, with a variable bound to each member in turn.
    private func subquery(
        _ collection: EvaluatedValue, _ name: String, _ condition: PredicateNode
    ) throws -> EvaluatedValue {
        guard !collection.isNull else { return .null }
        guard case .collection(let members) = collection else {
            throw ProgramFault.type("SUBQUERY does not take a value of type \(collection.label)")
        }
        let outer = bound[name]
        defer { bound[name] = outer }
        var found: [EvaluatedValue] = []
        for member in members.members {
            bound[name] = member
            if try holds(condition) { found.append(member) }
        }
        return .collection(try EvaluatedCollection(found, members.kind))
    }

    private static func combine(
        _ sign: SetOperator, _ left: EvaluatedValue, _ right: EvaluatedValue
    ) throws -> EvaluatedValue {
        if left.isNull { return .null }
        guard case .collection(let first) = left else {
            throw ProgramFault.type("\(sign.rawValue) does not take a value of type \(left.label)")
        }
        let others: [EvaluatedValue]
        switch right {
        case .collection(let second): others = second.members
        case .dictionary(let second): others = second.values
        case .null: others = []
        default: throw ProgramFault.type("\(sign.rawValue) does not take a value of type \(right.label)")
        }
        let members: [EvaluatedValue]
        switch sign {
        case .union: members = first.members + others
        case .intersection:
            let kept = Set(others)
            members = first.members.filter(kept.contains)
        case .difference:
            let dropped = Set(others)
            members = first.members.filter { !dropped.contains($0) }
        }
        return .collection(try EvaluatedCollection(members, first.kind == .orderedSet ? .orderedSet : .set))
    }

    private func element(of collection: EvaluatedValue, _ index: ElementIndex) throws -> EvaluatedValue {
        if collection.isNull { return .null }
        switch index {
        case .size: return .integer(try collection.memberCount(of: "[SIZE]"))
        case .first: return try collection.ordered(for: "[FIRST]").first ?? .null
        case .last: return try collection.ordered(for: "[LAST]").last ?? .null
        case .at(let node): return try collection.element(at: evaluate(node))
        }
    }
}

extension EvaluatedValue {
    init(_ constant: ExpressionConstant) {
        switch constant {
        case .null: self = .null
        case .boolean(let value): self = .boolean(value)
        case .integer(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .decimal(let value): self = .decimal(value)
        case .string(let value): self = .text(value)
        case .date(let seconds): self = .date(seconds)
        case .data(let data): self = .data(data)
        }
    }

    func memberCount(of form: String) throws(ProgramFault) -> Int64 {
        switch self {
        case .null: 0
        case .collection(let collection): Int64(collection.count)
        case .dictionary(let dictionary): Int64(dictionary.count)
        default: throw .type("\(form) does not take a value of type \(label)")
        }
    }

    /// Returns the members in their order. A set has no order, so it throws for one.
    func ordered(for form: String) throws(ProgramFault) -> [EvaluatedValue] {
        guard case .collection(let collection) = self, collection.kind != .set || collection.count <= 1 else {
            throw .type("\(form) needs an order, which a value of type \(label) has not")
        }
        return collection.members
    }

    /// Evaluates `collection[index]`: a member of an array or ordered set, or a dictionary's value for a key.
    func element(at index: EvaluatedValue) throws(ProgramFault) -> EvaluatedValue {
        if case .dictionary(let dictionary) = self {
            guard let key = index.object else { return .null }
            return dictionary.value(forKey: key)
        }
        let members = try ordered(for: "an index")
        guard case .integer(let place) = index else {
            throw .type("an index has to be an integer, not a value of type \(index.label)")
        }
        guard place >= 0, place < members.count else {
            throw ProgramFault(
                "value.outOfRange", "the index \(place) is out of the range of \(members.count) members")
        }
        return members[Int(place)]
    }
}
