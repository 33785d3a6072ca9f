import Diagnostics

/// Checks of functions and messages.
extension ExpressionCheck {
    /// Returns the kind of the value of `FUNCTION(target, 'selector:', …)`.
    mutating func message(
        _ selector: String, to target: ExpressionNode, _ arguments: [ExpressionNode]
    ) throws(ProgramFault) -> ExpressionKind {
        if target == .variable(ConversionFunction.variable), !LookupSelector.ofForEach.contains(selector) {
            return try conversion(selector, arguments)
        }
        let isOwn = target == .variable(ConversionFunction.variable)
        let receiver = isOwn ? .service(.manager, "$manager") : try kind(of: target)
        let kinds = try kinds(of: arguments)
        let colons = selector.count(where: { $0 == ":" })
        guard colons == arguments.count else {
            throw ProgramFault(
                "expression.argumentCount",
                "'\(selector)' takes \(colons.counted("argument")), one for each colon, not \(arguments.count)",
                at: ExpressionConstant.quoted(selector))
        }
        switch selector {
        case "valueForKey:", "valueForKeyPath:":
            guard case .constant(.string(let path)) = arguments[0] else {
                if !kinds[0].mayBeText {
                    try mistyped(
                        "'\(selector)' takes a key as a String, not \(kinds[0].label)", at: Self.text(arguments[0]))
                }
                return .unknown
            }
            let names =
                selector == "valueForKey:"
                ? [path] : path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            return try follow(names[...], from: receiver)
        case "isEqual:", "isEqualTo:": return .value(.boolean)
        default: break
        }
        switch receiver {
        case .service(.manager, _): return try lookup(selector, arguments, kinds)
        case .service(let object, _):
            if object.isOpen { return .unknown }
            guard arguments.isEmpty else { throw unknownMessage(selector, receiver) }
            return try follow([selector], from: receiver)
        case .dictionary, .composite:
            var value = ExpressionKind.unknown
            if case .dictionary(let known) = receiver { value = known }
            switch selector {
            case "count": return .value(.integer)
            case "description": return .value(.text)
            case "objectForKey:": return value
            case "allValues": return .collection(value, isOrdered: true)
            default: throw unknownMessage(selector, receiver, known: ["count", "objectForKey:", "allValues"])
            }
        case .unknown, .either: return .unknown
        case .null: return .null
        case .object:
            guard arguments.isEmpty else { throw unknownMessage(selector, receiver) }
            return try follow([selector], from: receiver)
        case .collection(let element, let isOrdered):
            return try message(selector, toMembers: element, isOrdered, target, kinds, arguments)
        case .value(let type):
            if type == .transformable { return .unknown }
            guard let signature = ExpressionMessages.signature(selector, of: type) else {
                throw unknownMessage(selector, receiver, known: ExpressionMessages.selectors(of: type))
            }
            for (index, wanted) in signature.arguments.enumerated() {
                guard let wanted, !wanted.admits(kinds[index]) else { continue }
                let isText = wanted == .text && kinds[index].mayBeNumber
                try mistyped(
                    "'\(selector)' takes \(wanted.rawValue), not \(kinds[index].label)",
                    at: Self.text(arguments[index]),
                    remedy: isText ? "Values are not formatted silently: use CAST(…, 'NSString')" : nil)
            }
            return signature.result
        }
    }

    /// Returns the kind of the value of a conversion function.
    private mutating func conversion(
        _ selector: String, _ arguments: [ExpressionNode]
    ) throws(ProgramFault) -> ExpressionKind {
        let kinds = try kinds(of: arguments)
        guard let function = ConversionFunction.all[selector] else {
            throw ProgramFault(
                "expression.unknownSelector", "$\(ConversionFunction.variable) has no function '\(selector)'",
                at: ExpressionConstant.quoted(selector),
                remedy: EditDistance.question(selector, among: Array(ConversionFunction.all.keys))
                    ?? "Its functions are \(ConversionFunction.all.keys.sorted().joined(separator: ", "))")
        }
        guard function.arguments.count == arguments.count else {
            throw ProgramFault(
                "expression.argumentCount",
                "'\(selector)' takes \(function.arguments.count.counted("argument")), one for each colon, not "
                    + "\(arguments.count)", at: ExpressionConstant.quoted(selector))
        }
        for (index, wanted) in function.arguments.enumerated() {
            let fits =
                wanted == .decimal
                ? kinds[index].mayBeNumber : kinds[index].isAlwaysValue { $0 == wanted || $0 == .null }
            guard !fits else { continue }
            try mistyped(
                "'\(selector)' takes a value of type \(wanted.label), not \(kinds[index].label)",
                at: Self.text(arguments[index]))
        }
        return .value(function.result)
    }

    private func message(
        _ selector: String, toMembers element: ExpressionKind, _ isOrdered: Bool, _ target: ExpressionNode,
        _ kinds: [ExpressionKind], _ arguments: [ExpressionNode]
    ) throws(ProgramFault) -> ExpressionKind {
        guard ExpressionMessages.collectionSelectors.contains(selector) else {
            throw unknownMessage(
                selector, .collection(element, isOrdered: isOrdered), known: ExpressionMessages.collectionSelectors)
        }
        switch selector {
        case "count": return .value(.integer)
        case "allObjects", "array": return .collection(element, isOrdered: true)
        case "set": return .collection(element, isOrdered: false)
        case "anyObject": return element
        case "firstObject", "lastObject", "objectAtIndex:", "indexOfObject:", "componentsJoinedByString:":
            if !isOrdered {
                try mistyped(
                    "'\(selector)' needs an order, and \(Self.text(target)) is a set",
                    at: ExpressionConstant.quoted(selector))
            }
            if selector == "componentsJoinedByString:" {
                if !kinds[0].mayBeText {
                    try mistyped("'\(selector)' takes a String, not \(kinds[0].label)", at: Self.text(arguments[0]))
                }
                return .value(.text)
            }
            if selector == "objectAtIndex:" { try checkPlace(kinds[0], arguments[0]) }
            return selector == "indexOfObject:" ? .value(.integer) : element
        case "containsObject:", "isEqual:", "isEqualTo:": return .value(.boolean)
        default: return .collection(element, isOrdered: isOrdered)
        }
    }

    private func unknownMessage(
        _ selector: String, _ receiver: ExpressionKind, known: [String] = []
    ) -> ProgramFault {
        ProgramFault(
            "expression.unknownSelector", "\(receiver.label) has no selector '\(selector)'",
            at: ExpressionConstant.quoted(selector),
            remedy: EditDistance.question(selector, among: known)
                ?? "Register it with a migration policy and call it on $entityPolicy")
    }

    // MARK: The manager

    /// Checks Core Data's own selectors of the manager; a subclass may register others.
    private mutating func lookup(
        _ selector: String, _ arguments: [ExpressionNode], _ kinds: [ExpressionKind]
    ) throws(ProgramFault) -> ExpressionKind {
        // Computed names are checked at run time.
        if case .constant(.string(let name))? = arguments.first,
            let problem = names?.problem(selector: selector, name: name)
        {
            throw ProgramFault(problem.code, problem.message, at: nil, remedy: problem.remedy)
        }
        let wanted: ExpressionKind.Side
        var made: ExpressionKind
        switch selector {
        case LookupSelector.byEntityMapping, LookupSelector.byEntityMappingName:
            wanted = .source
            made = .object(.destination, nil)
            if case .constant(.string(let name)) = arguments[0] { made = .object(.destination, self.made[name]) }
        case LookupSelector.bySourceRelationship:
            wanted = .source
            made = .object(.destination, nil)
        case _ where LookupSelector.ofForEach.contains(selector): return try lookupByMember(selector, arguments, kinds)
        case LookupSelector.sourcesByEntityMapping, "sourceInstancesForEntityMappingName:destinationInstances:":
            wanted = .destination
            made = .object(.source, nil)
        case LookupSelector.fetch, LookupSelector.fetchWithSubentities:
            try checkFetch(arguments, kinds)
            return .service(.fetchRequest, "of the fetch request")
        default: return arguments.isEmpty ? KnownObject.manager.key(selector)?.kind ?? .unknown : .unknown
        }
        if !kinds[0].mayBeText {
            try mistyped("the lookup's first argument is a name as a string", at: Self.text(arguments[0]))
        }
        if !kinds[1].mayBeObjects(of: wanted) {
            let other = wanted == .source ? "sourceInstances…" : "destinationInstances…"
            var remedy = "Give it $\(wanted.rawValue) or a key path of relationships from it"
            if case .object(let side, _) = kinds[1].element, side != wanted {
                remedy += "; for objects of the \(side.rawValue) call \(other)"
            }
            try mistyped(
                "the lookup takes objects of the \(wanted.rawValue), not \(kinds[1].label)",
                at: Self.text(arguments[1]), remedy: remedy)
        }
        switch kinds[1] {
        case .null: return .null
        case .collection(_, let isOrdered): return .collection(made, isOrdered: isOrdered)
        case .object: return made
        default: return .unknown
        }
    }

    /// Checks a lookup of objects that a mapping with `forEach` made.
    private func lookupByMember(
        _ selector: String, _ arguments: [ExpressionNode], _ kinds: [ExpressionKind]
    ) throws(ProgramFault) -> ExpressionKind {
        guard case .constant(.string(let name)) = arguments[0] else {
            throw ProgramFault(
                "expression.type", "the lookup's first argument is the name of an entity mapping as a string",
                at: Self.text(arguments[0]))
        }
        for (kind, argument) in zip(kinds, arguments).dropFirst() {
            let isObject = kind.isAlways { if case .object(.source, _) = $0 { true } else { false } }
            if isObject { continue }
            try mistyped(
                "'\(selector)' takes one object of the source, not \(kind.label)", at: Self.text(argument),
                remedy: "Give it $source or $member")
        }
        return .collection(.object(.destination, made[name]), isOrdered: true)
    }

    /// Checks the operands of FETCH. The results of registered functions are unknown.
    func checkRequest(
        _ request: ExpressionKind, _ requestNode: ExpressionNode, in context: ExpressionKind,
        _ contextNode: ExpressionNode
    ) throws(ProgramFault) {
        func isOf(_ object: KnownObject, _ kind: ExpressionKind) -> Bool {
            switch kind {
            case .service(let found, _): found == object || found.isOpen
            case .dictionary: true
            default: false
            }
        }
        if !request.isAlways({ isOf(.fetchRequest, $0) }) {
            try mistyped(
                "FETCH does not take \(request.label) for its request", at: Self.text(requestNode),
                remedy: "Make one: FUNCTION($manager, '\(LookupSelector.fetch)', '<entity>', '<predicate>')")
        }
        if !context.isAlways({ isOf(.context, $0) }) {
            try mistyped(
                "FETCH does not take \(context.label) for its context", at: Self.text(contextNode),
                remedy: "Write $manager.sourceContext")
        }
    }

    /// Checks a fetch request's predicate against its entity.
    private func checkFetch(_ arguments: [ExpressionNode], _ kinds: [ExpressionKind]) throws(ProgramFault) {
        if !kinds[0].mayBeText {
            try mistyped("the request's first argument is an entity's name", at: Self.text(arguments[0]))
        }
        if !kinds[1].mayBeText {
            try mistyped("the request's second argument is a predicate as a string", at: Self.text(arguments[1]))
        }
        if kinds.count > 2, !kinds[2].mayBeNumber {
            try mistyped("the request's third argument is YES or NO", at: Self.text(arguments[2]))
        }
        guard case .constant(.string(let name)) = arguments[0], case .constant(.string(let text)) = arguments[1]
        else { return }
        let predicate: PredicateNode
        do throws(MigrationError) { predicate = try SourcePredicate(format: text).node } catch {
            throw ProgramFault(
                "expression.syntax",
                "the predicate of the request does not parse: "
                    + error.message.replacing("of the expression", with: "of the predicate"),
                at: ExpressionConstant.quoted(text), remedy: error.remedy)
        }
        var inner = ExpressionCheck(
            source: sourceModel.entity(named: name), destination: nil, sourceModel: sourceModel, names: names,
            made: made, variables: [], makers: makers, isLenient: isLenient)
        do { try inner.check(predicate) } catch {
            throw error.at(ExpressionConstant.quoted(text))
        }
    }

    // MARK: Built-in functions

    /// Returns the kind of the value of a built-in function.
    mutating func builtIn(
        _ selector: String, _ arguments: [ExpressionNode], _ node: ExpressionNode
    ) throws(ProgramFault) -> ExpressionKind {
        let name = String(selector.prefix { $0 != ":" })
        guard ExpressionEvaluator.isBuiltIn(selector, arguments: arguments.count) else {
            throw unknownFunction(selector, arguments.count, node)
        }
        switch selector {
        case _ where ArithmeticOperator.bySelector[selector] != nil: return try arithmetic(selector, arguments)
        case _ where ExpressionEvaluator.bitOperations[selector] != nil:
            for argument in arguments {
                let found = try kind(of: argument)
                if !found.mayBeNumber {
                    try mistyped("'\(selector)' does not take \(found.label)", at: Self.text(argument))
                }
            }
            return .value(.integer)
        case _ where ExpressionEvaluator.numberFunctions[selector] != nil:
            try number(arguments[0], for: name)
            return .value(.real)
        case "uppercase:", "lowercase:", "canonical:", "length:":
            let found = try kind(of: arguments[0])
            if !found.isAlwaysValue({ $0 == .text }) {
                try mistyped("'\(name)' does not take \(found.label)", at: Self.text(arguments[0]))
            }
            return .value(name == "length" ? .integer : .text)
        case "now": return .value(.date)
        case "random", "random:", "randomn:":
            for argument in arguments { try number(argument, for: name) }
            return .value(.real)
        case "noindex:": return try kind(of: arguments[0])
        case "castObject:toType:":
            let value = try kind(of: arguments[0])
            guard case .constant(.string(let type)) = arguments[1] else {
                _ = try kind(of: arguments[1])
                return .unknown
            }
            return try cast(value, to: type, ExpressionConstant.quoted(type))
        case "distinct:": return try collection(arguments[0], for: name)
        case "size:":
            _ = try kind(of: arguments[0])
            return .value(.integer)
        case "first:": return try kind(of: .element(arguments[0], .first))
        case "last:": return try kind(of: .element(arguments[0], .last))
        case "objectFrom:withIndex:": return try kind(of: .element(arguments[0], .at(arguments[1])))
        default: return try fold(name, arguments)
        }
    }

    /// Checks `sum`, `count` and the other functions of lists.
    private mutating func fold(_ name: String, _ arguments: [ExpressionNode]) throws(ProgramFault) -> ExpressionKind {
        var members: [ExpressionKind] = []
        for argument in arguments {
            if arguments.count == 1, case .aggregate(let elements) = argument {
                members = try kinds(of: elements)
            } else {
                members.append(try kind(of: argument).element)
            }
        }
        switch name {
        case "count": return .value(.integer)
        case "sum", "average", "median", "stddev":
            for member in members where !member.mayBeNumber {
                try mistyped("'\(name)' does not take \(member.label)", at: name)
            }
            return .value(.real)
        case "mode": return .collection(.unknown, isOrdered: true)
        default: return .unknown
        }
    }

    private func unknownFunction(_ selector: String, _ count: Int, _ node: ExpressionNode) -> ProgramFault {
        let name = String(selector.prefix { $0 != ":" })
        let shown = selector.dropLast().contains(":") ? selector : name
        if name == "distanceToLocation" {
            return ProgramFault(
                "expression.unsupported", "'\(selector)' needs locations, which no store holds", at: name)
        }
        if name == "tokenize" {
            return ProgramFault(
                "expression.unsupported",
                "'\(selector)' divides text by the rules of the user's language, which a migration has none of",
                at: name,
                remedy: "Use FUNCTION(<text>, 'componentsSeparatedByString:', <separator>) or a migration policy")
        }
        // The parser gave a name without colons one colon for each argument.
        let takes = (0...3).first {
            ExpressionEvaluator.isBuiltIn(selector, arguments: $0)
                || ExpressionEvaluator.isBuiltIn(name + String(repeating: ":", count: $0), arguments: $0)
        }
        if let takes {
            return ProgramFault(
                "expression.argumentCount", "'\(shown)' takes \(takes.counted("argument")), not \(count)", at: name)
        }
        return ProgramFault(
            "expression.unknownSelector", "the function '\(shown)' is unknown", at: name,
            remedy: EditDistance.question(name, among: ExpressionEvaluator.builtInNames)
                ?? "Register it with a migration policy and call it by FUNCTION($entityPolicy, '\(selector)', …)")
    }
}
