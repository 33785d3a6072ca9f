import Archives
import Diagnostics

/// Reads archived NSExpression objects into the syntax tree.
///
/// The keys of constants, variables, key paths, functions and fetches are those of real mapping models (SampleModel's
/// V2toV3.cdm, Moody, wire). No known file contains the other classes. Their parts are recognised by their type and by a word
/// in their key, so that the exact spelling of a key does not matter.
///
/// A tree is at most ``maximumDepth`` deep, so that its text can be parsed again. The guard bounds texts and objects, so that
/// cycles and shared parts end in an error.
struct ArchivedExpressionReader {
    /// The greatest depth of a tree. Each level may take two pairs of parentheses as text, of which the parser allows 200.
    static let maximumDepth = 90

    /// Bounds the walks over all expressions of a mapping model. Wire's have 3000 objects.
    let tree = ArchivedTreeGuard(maximumDepth: maximumDepth, maximumVisits: 1_000_000)

    /// The limits of an archive. Real ones have at most 1 kB and 60 values.
    static let limits = BinaryPropertyList.Limits(bytes: 4 << 20, expandedValues: 200_000, depth: 64)

    /// Reads a whole archive with an expression as its root.
    ///
    /// - Returns: nil if the root is nil.
    /// - Throws: `archive.…` for damage, cycles and size; `archive.expression` for an object that is not an expression, and for
    ///   blocks, which are code.
    /// - Complexity: O(bytes).
    func decode(_ bytes: [UInt8]) throws(MigrationError) -> ValueExpression? {
        try expression(try KeyedArchive(decoding: bytes, limits: Self.limits).topValue())
    }

    /// Reads an expression from a field; nil for the archive's nil.
    ///
    /// - Throws: as ``decode(_:)``.
    func expression(_ value: ArchivedValue) throws(MigrationError) -> ValueExpression? {
        switch value {
        case .null: return nil
        case .plain: throw .archive("archive.expression", "The archive holds a \(value.kindName), not an expression")
        case .object(let object): return ValueExpression(node: try node(object))
        }
    }

    /// Reads one expression with its parts.
    ///
    /// - Throws: as ``decode(_:)``.
    func node(_ object: ArchivedObject) throws(MigrationError) -> ExpressionNode {
        try tree.enter(object)
        defer { tree.leave() }
        switch true {
        case object.isKind(of: "NSConstantValueExpression"): return try constant(object)
        case object.isKind(of: "NSSelfExpression"): return .evaluatedObject
        case object.isKind(of: "NSVariableAssignmentExpression"): return try assignment(object)
        case object.isKind(of: "NSVariableExpression"): return .variable(try variable(object, "NSVariable"))
        case object.isKind(of: "NSKeyPathSpecifierExpression"):
            return .keyPath(target: nil, components: try components(object.string("NSKeyPath"), in: object))
        case object.isKind(of: "NSFunctionExpression"): return try function(object)
        case object.isKind(of: "NSAggregateExpression"):
            return .aggregate(try nodes(try object.elements("NSCollection") ?? [], in: object))
        case object.isKind(of: "NSTernaryExpression"), object.isKind(of: "NSConditionalExpression"):
            return .ternary(try predicate(of: object), try part("True", of: object), try part("False", of: object))
        case object.isKind(of: "NSSubqueryExpression"):
            return .subquery(
                try part("Collection", of: object), variable: try variable(object, try key("Variable", of: object)),
                try predicate(of: object))
        case object.isKind(of: "NSSetExpression"): return try setOperation(object)
        case object.isKind(of: "NSFetchRequestExpression"):
            return .fetch(
                request: try part("NSFRExpression", of: object), context: try part("NSMOCExpression", of: object),
                countOnly: try object.flag("NSCountOnlyFlag"))
        case object.isKind(of: "NSAnyKeyExpression"): return .anyKey
        case object.isKind(of: "NSBlockExpression"):
            throw Self.unreadable(object, "is a block, which is code of the app that archived it")
        default: throw Self.unreadable(object, "is no expression that is known")
        }
    }

    static func unreadable(_ object: ArchivedObject, _ what: String) -> MigrationError {
        .archive("archive.expression", "Object \(object.uid) of the archive (\(object.className)) \(what)")
    }

    // MARK: Parts

    /// Returns the keys of an object, each charged to the guard: many references may lead to one large object.
    private func keys(of object: ArchivedObject) throws(MigrationError) -> [String] {
        let keys = object.keys
        try tree.charge(bytes: keys.count * 64)
        return keys
    }

    /// Returns the key that contains a word.
    private func key(_ word: String, of object: ArchivedObject) throws(MigrationError) -> String {
        let found = try keys(of: object).filter { $0.contains(word) }
        // The shortest first: the word itself, or the key with the least text around it.
        if let key = found.min(by: { $0.utf8.count < $1.utf8.count }) { return key }
        throw Self.unreadable(object, "lacks its \(word.lowercased())")
    }

    /// Reads the expression in the field whose key contains a word.
    private func part(_ word: String, of object: ArchivedObject) throws(MigrationError) -> ExpressionNode {
        if let part = try object.object(try key(word, of: object)) { return try node(part) }
        throw Self.unreadable(object, "lacks its \(word.lowercased())")
    }

    /// Reads the predicate of an object, from the field that holds it.
    private func predicate(of object: ArchivedObject) throws(MigrationError) -> PredicateNode {
        for key in try keys(of: object) {
            if let part = try object.value(key).object, isPredicate(part) { return try predicate(part) }
        }
        throw Self.unreadable(object, "lacks its predicate")
    }

    private func nodes(
        _ values: [ArchivedValue], in object: ArchivedObject
    ) throws(MigrationError) -> [ExpressionNode] {
        try values.map { value throws(MigrationError) in
            if let part = value.object { return try node(part) }
            throw Self.unreadable(object, "holds a \(value.kindName) where an expression is expected")
        }
    }

    /// Returns the name of a variable, archived as text or as a variable expression.
    private func variable(_ object: ArchivedObject, _ key: String) throws(MigrationError) -> String {
        let value = try object.value(key)
        if let inner = value.object, inner.isKind(of: "NSVariableExpression"), inner.uid != object.uid {
            try tree.enter(inner)
            defer { tree.leave() }
            return try variable(inner, "NSVariable")
        }
        guard let name = try value.string(), ExpressionLexer.isPlainName(name) else {
            throw Self.unreadable(object, "has a variable without a proper name")
        }
        try tree.charge(bytes: name.utf8.count)
        return name
    }

    private func components(_ path: String?, in object: ArchivedObject) throws(MigrationError) -> [String] {
        guard let path else { throw Self.unreadable(object, "has no key path") }
        try tree.charge(bytes: path.utf8.count)
        let components = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard components.count <= Self.maximumDepth, !components.contains("") else {
            throw Self.unreadable(object, "has an empty or endless key path")
        }
        return components
    }

    private func assignment(_ object: ArchivedObject) throws(MigrationError) -> ExpressionNode {
        let variableKey = try key("Variable", of: object)
        let name = try variable(object, variableKey)
        for key in try keys(of: object) where key != variableKey {
            if let value = try object.value(key).object { return .assignment(name, try node(value)) }
        }
        throw Self.unreadable(object, "assigns nothing")
    }

    /// Expression types 5, 6 and 7 are union, intersection and difference.
    private func setOperation(_ object: ArchivedObject) throws(MigrationError) -> ExpressionNode {
        let operation: SetOperator
        switch try object.integer("NSExpressionType") {
        case 5: operation = .union
        case 6: operation = .intersection
        case 7: operation = .difference
        default: throw Self.unreadable(object, "is a set operation of no known type")
        }
        return .setOperation(operation, try part("Left", of: object), try part("Right", of: object))
    }

    // MARK: Functions

    /// Reads a call. Key paths (`valueForKeyPath:` of their operand) and arithmetic (selectors of `_NSPredicateUtilities`) are
    /// archived as calls too.
    private func function(_ object: ArchivedObject) throws(MigrationError) -> ExpressionNode {
        guard let selector = try object.string("NSSelectorName"), !selector.isEmpty, selector.utf8.count <= 1000,
            let operand = try object.object("NSOperand")
        else { throw Self.unreadable(object, "lacks its operand or selector") }
        let values = try object.elements("NSArguments") ?? []
        try tree.charge(bytes: selector.utf8.count)
        if operand.isKind(of: "NSConstantValueExpression"),
            try operand.string("NSConstantValueClassName") == "_NSPredicateUtilities"
        {
            return try builtIn(selector, values, in: object)
        }
        if selector == "valueForKeyPath:" || selector == "valueForKey:", values.count == 1,
            let path = try keyPath(values[0], isPath: object.isKind(of: "NSKeyPathExpression"))
        {
            switch try node(operand) {
            case .evaluatedObject: return .keyPath(target: nil, components: path)
            case .keyPath(let target, let before): return .keyPath(target: target, components: before + path)
            case let target: return .keyPath(target: target, components: path)
            }
        }
        return .function(
            target: try node(operand), selector: selector, arguments: try nodes(values, in: object))
    }

    /// Returns the components of a key path's argument; nil if the call computes its key.
    private func keyPath(_ value: ArchivedValue, isPath: Bool) throws(MigrationError) -> [String]? {
        guard let argument = value.object else { return nil }
        if argument.isKind(of: "NSKeyPathSpecifierExpression") {
            return try components(argument.string("NSKeyPath"), in: argument)
        }
        guard isPath, argument.isKind(of: "NSConstantValueExpression"),
            let text = try argument.value("NSConstantValue").string()
        else { return nil }
        return try components(text, in: argument)
    }

    private func builtIn(
        _ selector: String, _ values: [ArchivedValue], in object: ArchivedObject
    ) throws(MigrationError) -> ExpressionNode {
        if selector == "objectFrom:withIndex:", values.count == 2, let index = values[1].object {
            let collection = try nodes([values[0]], in: object)[0]
            return .element(collection, try elementIndex(index))
        }
        let arguments = try nodes(values, in: object)
        switch (selector, arguments.count) {
        case (_, 2):
            if let sign = ArithmeticOperator.bySelector[selector] {
                return .arithmetic(sign, arguments[0], arguments[1])
            }
            guard selector == "castObject:toType:", case .constant(.string(let type)) = arguments[1], !type.isEmpty
            else { break }
            if let constant = ExpressionConstant(cast: arguments[0], to: type) { return .constant(constant) }
            return .cast(arguments[0], type)
        case ("negate:", 1): return .negation(arguments[0])
        default: break
        }
        return .function(target: nil, selector: selector, arguments: arguments)
    }

    /// Reads an index, or one of the words that are archived as a symbolic expression.
    private func elementIndex(_ object: ArchivedObject) throws(MigrationError) -> ElementIndex {
        guard object.isKind(of: "NSSymbolicExpression") else { return .at(try node(object)) }
        for key in try keys(of: object) {
            switch try object.value(key).string()?.uppercased() {
            case "FIRST": return .first
            case "LAST": return .last
            case "SIZE": return .size
            default: continue
            }
        }
        throw Self.unreadable(object, "is none of FIRST, LAST and SIZE")
    }
}
