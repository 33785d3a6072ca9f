import Diagnostics
import ManagedModel

/// Finds the mistakes of an expression that show before any row is read: unknown names, values of the wrong kind, invalid
/// patterns.
///
/// It uses the two models. Values of a policy or of a subclass of the manager are unknown and pass. The walk is recursive, as
/// deep as the tree, and visits each node a bounded number of times.
struct ExpressionCheck {
    let source: EntityDescription?
    let destination: EntityDescription?
    let sourceModel: ManagedObjectModel
    /// The names that lookups may use; nil for any.
    let names: ExpressionNames?
    /// The destination entity of each entity mapping, by the name of the mapping.
    let made: [String: EntityDescription]
    /// The variables that have values when the expression is evaluated.
    var variables: [String]
    /// The source and destination entities of the entity mappings; the destination is nil for mappings with a policy, which may
    /// make any object.
    let makers: [(source: EntityDescription, made: EntityDescription?)]
    /// True if a policy may prevent the evaluation of the expression. Then values of the wrong kind pass.
    let isLenient: Bool
    /// The variables that SUBQUERY and assignments bind.
    var bound: [String: ExpressionKind] = [:]

    /// The variables that Core Data defines in value expressions.
    static let valueVariables = [
        "source", "destination", "manager", "entityMapping", "propertyMapping", "entityPolicy",
    ]
    static let filterVariables = ["source", "manager", "entityMapping", "entityPolicy"]
    static let sourceExpressionVariables = ["manager", "entityMapping", "entityPolicy"]

    // MARK: Mistakes

    static func text(_ node: ExpressionNode) -> String { ValueExpression(node: node).format }

    /// Throws a mistake for a value of the wrong kind, unless a policy may replace the value.
    func mistyped(
        _ message: @autoclosure () -> String, at fragment: @autoclosure () -> String?, remedy: String? = nil
    ) throws(ProgramFault) {
        if isLenient { return }
        throw ProgramFault("expression.type", message(), at: fragment(), remedy: remedy)
    }

    // MARK: Values

    /// Returns the kind of a value.
    mutating func kind(of node: ExpressionNode) throws(ProgramFault) -> ExpressionKind {
        switch node {
        case .constant(.null): return .null
        case .constant(let constant): return EvaluatedValue(constant).scalarType.map(ExpressionKind.value) ?? .unknown
        case .variable(let name): return try variable(name)
        case .evaluatedObject: return source.map { ExpressionKind.object(.source, $0) } ?? .unknown
        case .keyPath(let target, let components):
            let start = try kind(of: target ?? .evaluatedObject)
            return try follow(components[...], from: start)
        case .function(let target?, let selector, let arguments):
            return try message(selector, to: target, arguments)
        case .function(nil, let selector, let arguments): return try builtIn(selector, arguments, node)
        case .arithmetic(let sign, let left, let right):
            return try arithmetic(sign.symbol, [left, right])
        case .negation(let inner):
            try number(inner, for: "-")
            return .unknown
        case .aggregate(let elements):
            return .collection(ExpressionKind.common(of: try kinds(of: elements)), isOrdered: true)
        case .ternary(let condition, let then, let otherwise):
            try check(condition)
            return .either(try kind(of: then), try kind(of: otherwise))
        case .cast(let value, let type):
            let found = try kind(of: value)
            return try cast(found, to: type, ExpressionConstant.quoted(type))
        case .predicate(let predicate):
            try check(predicate)
            return .value(.boolean)
        default: return try rare(node)
        }
    }

    mutating func kinds(of nodes: [ExpressionNode]) throws(ProgramFault) -> [ExpressionKind] {
        try nodes.map { node throws(ProgramFault) in try kind(of: node) }
    }

    private mutating func rare(_ node: ExpressionNode) throws(ProgramFault) -> ExpressionKind {
        switch node {
        case .subquery(let collection, let variable, let condition):
            let members = try self.collection(collection, for: "SUBQUERY")
            let outer = bound[variable]
            bound[variable] = members.element
            defer { bound[variable] = outer }
            try check(condition)
            return members
        case .setOperation(let sign, let left, let right):
            let first = try collection(left, for: sign.rawValue)
            let second = try collection(right, for: sign.rawValue)
            guard case .collection(let element, let isOrdered) = first else {
                return .collection(.unknown, isOrdered: true)
            }
            guard sign == .union, case .collection(let other, _) = second else {
                return .collection(element, isOrdered: isOrdered)
            }
            let common = ExpressionKind.common(of: [element, other])
            if case .unknown = common { return .collection(.either(element, other), isOrdered: isOrdered) }
            return .collection(common, isOrdered: isOrdered)
        case .element(let collection, let index): return try element(of: collection, index)
        case .fetch(let request, let context, let countOnly):
            try checkRequest(try kind(of: request), request, in: try kind(of: context), context)
            return countOnly ? .value(.integer) : .collection(.unknown, isOrdered: true)
        case .assignment(let name, let value):
            let found = try kind(of: value)
            bound[name] = found
            return found
        case .opaque(let constant):
            if let error = constant.failure { throw ProgramFault(error) }
            return .unknown
        default: return .unknown
        }
    }

    private func variable(_ name: String) throws(ProgramFault) -> ExpressionKind {
        if let kind = bound[name] { return kind }
        guard variables.contains(name) else {
            let known = variables.map { "$\($0)" }.joined(separator: ", ")
            throw ProgramFault(
                "expression.variable", "the variable $\(name) is unknown", at: "$\(name)",
                remedy: "Here \(known) have values")
        }
        switch name {
        case "source": return source.map { ExpressionKind.object(.source, $0) } ?? .unknown
        case "destination": return destination.map { ExpressionKind.object(.destination, $0) } ?? .unknown
        default: return KnownObject(rawValue: name).map { .service($0, "$\(name)") } ?? .unknown
        }
    }

    private mutating func element(
        of node: ExpressionNode, _ index: ElementIndex
    ) throws(ProgramFault) -> ExpressionKind {
        let whole = try kind(of: node)
        if case .at(let place) = index {
            let found = try kind(of: place)
            if found.isCollection { try mistyped("an index has to be one value", at: Self.text(place)) }
            if case .collection = whole { try checkPlace(found, place) }
        }
        switch whole {
        case .collection(let element, let isOrdered):
            if case .size = index { return .value(.integer) }
            if !isOrdered {
                try mistyped(
                    "an index needs an order, and \(Self.text(node)) is a set", at: Self.text(node),
                    remedy: "Fold the members by @min, @max or another operator, or make the relationship ordered")
            }
            return element
        case .value(.transformable): return .unknown
        case .value:
            try mistyped("\(whole.label) has no members to be indexed", at: Self.text(node))
            return .unknown
        default: return .unknown
        }
    }

    /// Checks the index of an element.
    func checkPlace(_ kind: ExpressionKind, _ node: ExpressionNode) throws(ProgramFault) {
        if kind.isAlwaysValue({ $0 == .integer }) { return }
        try mistyped("an index has to be an integer, not \(kind.label)", at: Self.text(node))
    }

    /// Checks the operand of a form that takes collections, and returns its kind.
    mutating func collection(_ node: ExpressionNode, for form: String) throws(ProgramFault) -> ExpressionKind {
        let found = try kind(of: node)
        let isCollection = found.isAlways { kind in
            switch kind {
            case .collection, .dictionary, .composite: true
            default: false
            }
        }
        if !isCollection { try mistyped("\(form) does not take \(found.label)", at: Self.text(node)) }
        return found
    }

    // MARK: Numbers and casts

    /// Checks operands of arithmetic: numbers, and dates combined with them; two texts, which `+` joins.
    mutating func arithmetic(_ name: String, _ operands: [ExpressionNode]) throws(ProgramFault) -> ExpressionKind {
        var mayBeDate = false
        let kinds = try kinds(of: operands)
        func isText(_ kind: ExpressionKind) -> Bool { if case .value(.text) = kind { true } else { false } }
        let isJoin = (name == "+" || name == "add:to:") && kinds.contains { $0.alternatives.contains(where: isText) }
        // A text that may be a number instead is told apart when it is evaluated.
        if isJoin, kinds.allSatisfy({ $0.isAlways(isText) }) {
            return kinds.allSatisfy { $0.alternatives.allSatisfy(isText) } ? .value(.text) : .unknown
        }
        for (operand, found) in zip(operands, kinds) {
            for alternative in found.alternatives {
                switch alternative {
                case .unknown, .null: mayBeDate = true
                case .value(.date): mayBeDate = true
                case .value(let type) where type.isNumber: continue
                case .value(.text):
                    try mistyped(
                        "'\(name)' does not take a value of type String", at: Self.text(operand),
                        remedy: NumberRules.textRemedy)
                default: try mistyped("'\(name)' does not take \(alternative.label)", at: Self.text(operand))
                }
            }
        }
        return mayBeDate ? .unknown : .value(.real)
    }

    mutating func number(_ node: ExpressionNode, for name: String) throws(ProgramFault) {
        let found = try kind(of: node)
        if !found.mayBeNumber { try mistyped("'\(name)' does not take \(found.label)", at: Self.text(node)) }
    }

    func cast(_ value: ExpressionKind, to name: String, _ fragment: String) throws(ProgramFault) -> ExpressionKind {
        guard let target = ExpressionType.castTargets[name] else {
            switch name {
            case "NSArray", "Array", "NSOrderedSet": return .collection(value.element, isOrdered: true)
            case "NSSet", "Set": return .collection(value.element, isOrdered: false)
            case "NSDictionary", "Dictionary": return .unknown
            default: break
            }
            throw ProgramFault(
                "expression.castType", "a cast to '\(name)' is unknown", at: fragment,
                remedy:
                    "The types are NSNumber, NSDecimalNumber, NSString, NSDate, NSUUID, NSURL, NSData, NSArray, NSSet, NSOrderedSet, NSDictionary, int16, int32, int64, double, float and BOOL"
            )
        }
        for alternative in value.alternatives {
            switch alternative {
            case .unknown, .null: continue
            case .value(let type) where target.isCast(from: type): continue
            default: try mistyped("\(alternative.label) cannot be cast to '\(name)'", at: fragment)
            }
        }
        return .value(target)
    }
}

extension ExpressionType {
    /// Tells whether a cast to this type accepts a value of another type.
    fileprivate func isCast(from type: ExpressionType) -> Bool {
        switch (type, self) {
        case _ where type == self || type == .null: return true
        case (.transformable, _): return self == .data
        case _ where type.isNumber && isNumber: return true
        case (_, .date), (_, .text): return type.isNumber || (self == .text && (type == .uuid || type == .uri))
        case (.date, _): return isNumber && self != .boolean
        case (.text, .decimal), (.text, .integer), (.text, .real), (.text, .uuid), (.text, .uri), (.uuid, .data):
            return true
        default: return false
        }
    }
}
