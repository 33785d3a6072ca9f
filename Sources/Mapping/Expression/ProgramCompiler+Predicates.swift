extension ProgramCompiler {
    /// Compiles a predicate. The register becomes 1 or 0, or in a filter null for unknown.
    mutating func compile(_ node: PredicateNode, into d: Int) throws(ProgramFault) {
        try enter()
        let counts = countsCuts
        countsCuts = false
        defer {
            countsCuts = counts
            leave()
        }
        switch node {
        case .constant(let value): emitConstant(.truth(value), d)
        case .not(let inner):
            try compile(inner, into: d)
            emit(.not, d, d)
        case .and(let parts): try chain(parts, .and, jumping: .jumpIfFalse, into: d)
        case .or(let parts): try chain(parts, .or, jumping: .jumpIfTrue, into: d)
        case .expression(let value):
            let type = try compile(value, into: d)
            guard type == .boolean || type == .null else {
                throw .type(
                    "a value of type \(type.label) is used where a predicate is expected",
                    remedy: "Compare it with something")
            }
            if !isFilter { emit(.nullIsFalse, d, d) }
        case .comparison(.direct, let left, let comparison, let right, let options):
            if let (value, isEqual) = node.nilTest { return try nullTest(value, isEqual: isEqual, into: d) }
            try compare(left, comparison, right, options, into: d)
        case .comparison(let modifier, let left, let comparison, let right, let options):
            try quantified(modifier, left, comparison, right, options, into: d)
        }
    }

    private mutating func chain(
        _ parts: [PredicateNode], _ operation: ProgramOperation, jumping: ProgramOperation, into d: Int
    ) throws(ProgramFault) {
        guard let first = parts.first else {
            emitConstant(.truth(operation == .and), d)
            return
        }
        try compile(first, into: d)
        var jumps: [Int] = []
        for part in parts.dropFirst() {
            // Once the result is known, the following parts must not run: one may divide by a value that the first part guards.
            jumps.append(here)
            emit(jumping, d)
            // Compiling a value allocates the register, which a constant predicate needs too.
            _ = try compile(.predicate(part), into: d + 1)
            emit(operation, d, d, d + 1)
        }
        for jump in jumps { jumpHere(from: jump) }
    }

    /// Adds a comparison and emits its instruction.
    private mutating func emit(_ operation: ProgramOperation, _ d: Int, _ comparison: ProgramComparison) {
        code.comparisons.append(comparison)
        emit(operation, d, d, d + 1, n: code.comparisons.count - 1)
    }

    private func comparison(
        _ sign: ComparisonOperator, _ options: ComparisonOptions = [], pattern: TextPattern? = nil
    ) -> ProgramComparison {
        ProgramComparison(sign, TextFolding(options), isThreeValued: isFilter, pattern: pattern)
    }

    private mutating func compare(
        _ left: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionNode, _ options: ComparisonOptions,
        into d: Int
    ) throws(ProgramFault) {
        switch sign {
        case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            let first = try compile(left, into: d)
            let second = try compile(right, into: d + 1)
            try compareRegisters((d, first), sign, (d + 1, second), options, into: d)
        case .between:
            guard case .aggregate(let bounds) = right, bounds.count == 2 else {
                throw .unsupported("BETWEEN takes a list of two values, {low, high}")
            }
            try between(left, bounds[0], bounds[1], options, into: d)
        case .isIn:
            if case .aggregate(let elements) = right { return try membership(left, elements, options, into: d) }
            if try membership(left, inMembersOf: right, options, into: d) { return }
            try search(right, .contains, left, options, into: d)
        case .contains:
            if case .aggregate(let elements) = left { return try membership(right, elements, options, into: d) }
            if try membership(right, inMembersOf: left, options, into: d) { return }
            try search(left, sign, right, options, into: d)
        case .beginsWith, .endsWith: try search(left, sign, right, options, into: d)
        case .like, .matches: try match(left, sign, right, options, into: d)
        }
    }

    private mutating func nullTest(_ node: ExpressionNode, isEqual: Bool, into d: Int) throws(ProgramFault) {
        // A composite is nil if all of its elements are.
        if let (path, level) = rowPath(node), let root = node.keyPathParts?.0,
            let elements = resolver.elementPaths(ofCompositeAt: path, level: level)
        {
            let tests = elements.map { PredicateNode.isNil(.keyPath(target: root, components: $0), isEqual) }
            return try chain(
                tests, isEqual ? .and : .or, jumping: isEqual ? .jumpIfFalse : .jumpIfTrue, into: d)
        }
        _ = try compile(node, into: d)
        emit(isEqual ? .isNull : .isNotNull, d, d)
    }

    /// Emits the comparison of two registers whose types are known.
    private mutating func compareRegisters(
        _ left: (register: Int, type: ExpressionType), _ sign: ComparisonOperator,
        _ right: (register: Int, type: ExpressionType), _ options: ComparisonOptions, into d: Int
    ) throws(ProgramFault) {
        let (first, second) = (left.type, right.type)
        let isOrdering = sign != .equal && sign != .notEqual
        let operation: ProgramOperation
        if first == .null || second == .null {
            operation = .compareBytes
        } else if (first.isNumber && second.isNumber) || (first == .date && second == .date) {
            operation = .compareNumbers
        } else if first == second {
            switch first {
            case .text, .uri: operation = .compareBytes
            case _ where isOrdering: throw .type("values of type \(first.label) have no order")
            case .reference: operation = .compareReferences
            default: operation = .compareBytes
            }
        } else {
            throw .type(
                "a value of type \(first.label) is not compared with one of type \(second.label)",
                remedy: ExpressionType.remedy(comparing: first, second))
        }
        code.comparisons.append(comparison(sign, first.isText ? options : []))
        emit(operation, d, left.register, right.register, n: code.comparisons.count - 1)
    }

    /// Returns the fault for a value whose type an operator does not take. For a transformable value it is `unsupported` and not a
    /// type error, because the predicate can still be evaluated over objects.
    private static func unfit(_ type: ExpressionType, for sign: ComparisonOperator) -> ProgramFault {
        let message = "\(sign.rawValue) does not take a value of type \(type.label)"
        return type == .transformable ? .unsupported(message) : .type(message)
    }

    private mutating func search(
        _ left: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionNode, _ options: ComparisonOptions,
        into d: Int
    ) throws(ProgramFault) {
        let first = try compile(left, into: d)
        let second = try compile(right, into: d + 1)
        for type in [first, second] where type != .text && type != .uri && type != .null {
            throw Self.unfit(type, for: sign)
        }
        emit(.search, d, comparison(sign, options))
    }

    private mutating func match(
        _ left: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionNode, _ options: ComparisonOptions,
        into d: Int
    ) throws(ProgramFault) {
        guard case .constant(.string(let text)) = right else {
            throw .unsupported("the pattern of \(sign.rawValue) has to be a string")
        }
        let type = try compile(left, into: d)
        guard type == .text || type == .uri || type == .null else { throw Self.unfit(type, for: sign) }
        emit(.match, d, comparison(sign, options, pattern: try TextPattern(text, sign, TextFolding(options))))
    }

    private mutating func membership(
        _ value: ExpressionNode, _ elements: [ExpressionNode], _ options: ComparisonOptions, into d: Int
    ) throws(ProgramFault) {
        var integers: [Int64] = []
        var texts: [[UInt8]] = []
        for element in elements {
            switch element {
            case .constant(.integer(let number)): integers.append(number)
            case .constant(.string(let text)): texts.append(TextFolding(options).folded(Array(text.utf8)))
            default: break
            }
        }
        let type = try compile(value, into: d)
        if !elements.isEmpty,
            (type.isWhole && integers.count == elements.count)
                || (type == .text && texts.count == elements.count)
        {
            emit(
                .contained, d,
                ProgramComparison(
                    .isIn, TextFolding(options), isThreeValued: isFilter, integers: integers, texts: texts))
            return
        }
        // Any other list becomes a chain of comparisons with the one value. The register above holds the result so far.
        _ = try compile(.constant(.boolean(false)), into: d + 1)
        for element in elements {
            let other = try compile(element, into: d + 2)
            try compareRegisters((d, type), .equal, (d + 2, other), options, into: d + 2)
            emit(.or, d + 1, d + 1, d + 2)
        }
        emit(.or, d, d + 1, d + 1)
    }

    private mutating func between(
        _ value: ExpressionNode, _ low: ExpressionNode, _ high: ExpressionNode, _ options: ComparisonOptions,
        into d: Int
    ) throws(ProgramFault) {
        let type = try compile(value, into: d)
        let lower = try compile(low, into: d + 1)
        try compareRegisters((d, type), .greaterThanOrEqual, (d + 1, lower), options, into: d + 1)
        let upper = try compile(high, into: d + 2)
        try compareRegisters((d, type), .lessThanOrEqual, (d + 2, upper), options, into: d + 2)
        emit(.and, d, d + 1, d + 2)
    }
}

extension ExpressionType {
    /// True if comparison options have a meaning for the type.
    fileprivate var isText: Bool { self == .text || self == .uri }
}
