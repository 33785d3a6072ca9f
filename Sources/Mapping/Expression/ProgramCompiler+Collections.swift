import Diagnostics
import ManagedModel

/// The collection that a node stands for: the objects or values of a path or a SUBQUERY.
struct CollectionSource {
    var level: Int
    var path: [String]
    var variable = CollectionFold.member
    var condition: PredicateNode?
}

extension ProgramCompiler {
    /// Returns the level of the object that a node stands for; nil for other nodes.
    func level(of root: ExpressionNode) -> Int? {
        switch root {
        case .variable(let name): return resolver.scope.firstIndex(of: name)
        // SELF is the object that the filter tests, also inside SUBQUERY.
        case .evaluatedObject: return isFilter ? resolver.scope.count - 1 : nil
        default: return nil
        }
    }

    /// Returns the collection that a path from a root stands for; nil if it cannot be read by batch.
    private func collection(_ root: ExpressionNode, _ path: [String]) -> CollectionSource? {
        if let level = level(of: root) { return CollectionSource(level: level, path: path) }
        guard path.isEmpty, case .subquery(let inner, let variable, let condition) = root,
            let (innerRoot, innerPath) = inner.keyPathParts,
            var source = collection(innerRoot, innerPath), source.condition == nil,
            resolver.collectionLength(of: source.path, level: source.level) != nil
        else { return nil }
        source.variable = variable
        source.condition = condition
        return source
    }

    private func fold(_ source: CollectionSource, _ operation: CollectionFold.Operation) -> CollectionFold {
        var fold = CollectionFold(path: source.path, operation: operation, isFilter: isFilter)
        fold.variable = source.variable
        fold.condition = source.condition
        return fold
    }

    /// Returns the fold that computes a node; nil if the node is not a fold.
    func fold(of node: ExpressionNode) throws(ProgramFault) -> (fold: CollectionFold, level: Int)? {
        switch node {
        case .function(nil, let selector, let arguments) where arguments.count == 1:
            let operations: [String: CollectionFold.Operation] = [
                "count:": .count, "sum:": .sum, "average:": .average, "min:": .minimum, "max:": .maximum,
            ]
            guard let operation = operations[selector], let (root, whole) = arguments[0].keyPathParts,
                let path = whole.withoutOperators(CollectionFold.distinctUnions), let source = collection(root, path)
            else { return nil }
            if source.condition == nil, resolver.collectionLength(of: path, level: source.level) == nil { return nil }
            return (fold(source, operation), source.level)
        case .element(let target, .size):
            guard let (root, whole) = target.keyPathParts,
                let path = whole.withoutOperators(CollectionFold.distinctUnions),
                let source = collection(root, path)
            else { return nil }
            return (fold(source, .count), source.level)
        default: break
        }
        guard let (root, components) = node.keyPathParts,
            let place = components.firstIndex(where: { $0.hasPrefix("@") })
        else { return nil }
        return try fold(root, Array(components[..<place]), components[place], Array(components[(place + 1)...]))
    }

    private func fold(
        _ root: ExpressionNode, _ path: [String], _ sign: String, _ rest: [String]
    ) throws(ProgramFault) -> (fold: CollectionFold, level: Int)? {
        guard let source = collection(root, path) else { return nil }
        let operation: CollectionFold.Operation
        switch sign {
        case "@count":
            guard rest.isEmpty else { throw .type("nothing can follow @count in a key path") }
            return (fold(source, .count), source.level)
        case "@sum": operation = .sum
        case "@avg": operation = .average
        case "@min": operation = .minimum
        case "@max": operation = .maximum
        case "@distinctUnionOfObjects", "@distinctUnionOfSets", "@distinctUnionOfArrays":
            // Distinct values: a path that crosses a to-many relationship already gives a set.
            guard source.condition == nil, let next = rest.firstIndex(where: { $0.hasPrefix("@") }) else { return nil }
            return try fold(root, path + rest[..<next], rest[next], Array(rest[(next + 1)...]))
        case "@unionOfObjects":
            // All values, with duplicates.
            guard let next = rest.firstIndex(where: { $0.hasPrefix("@") }), next > 0 else { return nil }
            let (operand, behind) = (Array(rest[..<next]), Array(rest[(next + 1)...]))
            guard rest[next] == "@count" ? behind.isEmpty : behind == ["self"],
                var result = try fold(root, path, rest[next], rest[next] == "@count" ? [] : ["self"])
            else { return nil }
            result.fold.operand = .keyPath(target: .variable(source.variable), components: operand)
            return result
        default: throw .type("the collection operator \(sign) is unknown")
        }
        var result = fold(source, operation)
        result.countsNil = operation == .average
        if !rest.isEmpty, rest != ["self"] {
            result.operand = .keyPath(target: .variable(source.variable), components: rest)
        }
        return (result, source.level)
    }

    /// Emits the load of a fold's value.
    mutating func load(_ fold: CollectionFold, level: Int, into d: Int) throws(ProgramFault) -> ExpressionType {
        let found: (slot: Int, type: AttributeType)
        do throws(MigrationError) { found = try resolver.slot(for: fold, level: level) } catch {
            throw ProgramFault(error)
        }
        guard let type = ExpressionType(found.type) else {
            throw .unsupported("a collection of the type \(found.type.label) has no values here")
        }
        if type == .decimal { code.usesDecimals = true }
        emit(.loadFold, d, n: found.slot)
        if type == .float { emit(.markFloat, d, d) }
        return type
    }

    // MARK: Predicates over members

    /// Compiles a comparison with ANY, ALL or NONE.
    mutating func quantified(
        _ modifier: ComparisonModifier, _ left: ExpressionNode, _ comparison: ComparisonOperator,
        _ right: ExpressionNode, _ options: ComparisonOptions, into d: Int
    ) throws(ProgramFault) {
        guard let (source, tail) = members(of: left) else {
            if let (root, path) = left.keyPathParts, let level = level(of: root),
                !path.contains(where: { $0.hasPrefix("@") })
            {
                // An error of the path itself takes precedence.
                guard try slot(path, level).type != .transformable else {
                    throw .unsupported("only objects have the members of a transformable")
                }
                throw .type(
                    "\(modifier.rawValue) compares the members of a to-many, and \(path.joined(separator: ".")) is none"
                )
            }
            throw .unsupported("\(modifier.rawValue) compares the members of a to-many relationship")
        }
        guard source.condition == nil || modifier != .all else {
            throw .unsupported("ALL over a SUBQUERY cannot be evaluated per row")
        }
        var fold = fold(source, modifier == .all ? .every : .any)
        let member = ExpressionNode.variable(source.variable)
        let value = tail.isEmpty ? member : .keyPath(target: member, components: tail)
        var test = PredicateNode.comparison(modifier: .direct, value, comparison, right, options)
        if !tail.isEmpty, !isFilter || right != .constant(.null) {
            // A path over a to-many relationship gives a set, which holds no nil.
            let isMissing = PredicateNode.comparison(modifier: .direct, value, .equal, .constant(.null), [])
            test = modifier == .all ? .or([isMissing, test]) : .and([.not(isMissing), test])
        }
        fold.condition = source.condition.map { .and([$0, test]) } ?? test
        _ = try load(fold, level: source.level, into: d)
        if modifier == .none { emit(.not, d, d) }
    }

    /// Returns the collection that a path crosses last, and the components after it, which each member evaluates; nil if there
    /// is no collection.
    private func members(of node: ExpressionNode) -> (source: CollectionSource, tail: [String])? {
        guard let (root, whole) = node.keyPathParts, let path = whole.withoutOperators(CollectionFold.distinctUnions)
        else { return nil }
        if case .subquery = root {
            return collection(root, []).map { ($0, path) }
        }
        guard var source = collection(root, path), let length = resolver.collectionLength(of: path, level: source.level)
        else { return nil }
        source.path = Array(path[..<length])
        return (source, Array(path[length...]))
    }

    /// Compiles `value IN collection`. Returns false if the right side is not a collection.
    mutating func membership(
        _ value: ExpressionNode, inMembersOf node: ExpressionNode, _ options: ComparisonOptions, into d: Int
    ) throws(ProgramFault) -> Bool {
        guard let (source, tail) = members(of: node) else { return false }
        var fold = fold(source, .any)
        let member = ExpressionNode.variable(source.variable)
        let test = PredicateNode.comparison(
            modifier: .direct, tail.isEmpty ? member : .keyPath(target: member, components: tail), .equal, value,
            options)
        fold.condition = source.condition.map { .and([$0, test]) } ?? test
        // No set holds nil. In a filter, membership of nil is unknown.
        _ = try compile(value, into: d)
        emit(.isNotNull, d, d)
        let toNil = here
        emit(.jumpUnlessTrue, d)
        _ = try load(fold, level: source.level, into: d)
        let toEnd = here
        emit(.jump, d)
        jumpHere(from: toNil)
        if isFilter { emit(.loadNull, d) } else { emitConstant(.truth(false), d) }
        jumpHere(from: toEnd)
        return true
    }
}

extension ExpressionNode {
    /// The root of a key path and its components, with collection operators; nil for other nodes. A bare path starts at the
    /// evaluated object.
    var keyPathParts: (root: ExpressionNode, path: [String])? {
        switch self {
        case .variable, .evaluatedObject, .subquery: return (self, [])
        case .keyPath(nil, let components): return (.evaluatedObject, components)
        case .keyPath(let target?, let components): return target.extended(by: components)
        case .function(let target?, "valueForKey:", let arguments):
            guard arguments.count == 1, case .constant(.string(let key)) = arguments[0] else { return nil }
            return target.extended(by: [key])
        case .function(let target?, "valueForKeyPath:", let arguments):
            guard arguments.count == 1, case .constant(.string(let path)) = arguments[0] else { return nil }
            return target.extended(by: path.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
        default: return nil
        }
    }

    private func extended(by components: [String]) -> (root: ExpressionNode, path: [String])? {
        guard let parts = keyPathParts, components.allSatisfy({ !$0.isEmpty }) else { return nil }
        return (parts.root, parts.path + components)
    }
}
