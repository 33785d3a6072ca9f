import Archives
import Diagnostics

/// Renders archived NSExpression and NSPredicate objects in the predicate language.
///
/// Aggregates over a key path get the form that models are written in: `pages.@count`, not `count:(pages)`.
enum ArchivedExpressionText {
    /// The greatest length in bytes of a list of arguments, members or parts. Shared parts could multiply it.
    private static let longestText = 16 << 10

    // MARK: Expressions

    /// Returns the text of an expression; nil if it is too long or has parts that the language lacks.
    ///
    /// - Parameter tree: bounds this walk, and all walks that share it.
    /// - Throws: `archive.cycle`, `archive.limit` for graphs that are not trees, `archive.type`, `archive.reference`.
    static func expression(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> String? {
        try tree.visit(object) { tree throws(MigrationError) in
            if object.isKind(of: "NSSelfExpression") { return "SELF" }
            if object.isKind(of: "NSConstantValueExpression") { return try constant(object) }
            if object.isKind(of: "NSVariableExpression") {
                return try object.string("NSVariable").map { "$" + $0 }
            }
            if object.isKind(of: "NSKeyPathSpecifierExpression") { return try object.string("NSKeyPath") }
            if object.isKind(of: "NSFunctionExpression") { return try function(object, &tree) }
            if object.isKind(of: "NSAggregateExpression") {
                return try list(try object.elements("NSCollection") ?? [], &tree).map {
                    "{" + $0.joined(separator: ", ") + "}"
                }
            }
            return nil
        }
    }

    private static func list(
        _ values: [ArchivedValue], _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> [String]? {
        var texts: [String] = []
        var length = 0
        for value in values {
            guard let object = value.object, let text = try expression(object, &tree) else { return nil }
            length += text.utf8.count
            guard length <= longestText else { return nil }
            texts.append(text)
        }
        return texts
    }

    private static func constant(_ object: ArchivedObject) throws(MigrationError) -> String? {
        guard try object.value("NSConstantValueClassName").isNull else { return nil }
        return try constant(try object.value("NSConstantValue"), depth: 0)
    }

    private static func constant(_ value: ArchivedValue, depth: Int) throws(MigrationError) -> String? {
        if value.isNull { return "NULL" }
        if let members = try value.elements() {
            guard depth < 8, members.count < 2_000 else { return nil }
            var texts: [String] = []
            for member in members {
                guard let text = try constant(member, depth: depth + 1) else { return nil }
                texts.append(text)
            }
            let text = "{" + texts.joined(separator: ", ") + "}"
            return text.utf8.count <= longestText ? text : nil
        }
        if let text = try value.string() { return text.utf8.count <= longestText ? quoted(text) : nil }
        if let decimal = try value.decimal() { return decimal.decimal.description }
        if let seconds = try value.date() { return "CAST(\(seconds), \"NSDate\")" }
        switch try value.number() {
        case .boolean(let flag): return flag ? "YES" : "NO"
        case .integer(let integer): return String(integer)
        case .real(let real): return String(real)
        default: return nil
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text {
            switch character {
            case "\"", "\\": quoted += "\\" + String(character)
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            default: quoted.append(character)
            }
        }
        return quoted + "\""
    }

    private static func function(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> String? {
        guard let selector = try object.string("NSSelectorName"), let operand = try object.object("NSOperand"),
            let arguments = try list(try object.elements("NSArguments") ?? [], &tree)
        else { return nil }
        if operand.isKind(of: "NSConstantValueExpression"),
            try operand.string("NSConstantValueClassName") == "_NSPredicateUtilities"
        {
            return builtIn(selector, arguments)
        }
        guard let target = try expression(operand, &tree) else { return nil }
        if selector == "valueForKey:" || selector == "valueForKeyPath:", arguments.count == 1 {
            return target == "SELF" ? arguments[0] : "\(target).\(arguments[0])"
        }
        return "FUNCTION(" + ([target, quoted(selector)] + arguments).joined(separator: ", ") + ")"
    }

    /// Returns a call of a function of the language. An aggregate of a key path becomes its last component.
    private static func builtIn(_ selector: String, _ arguments: [String]) -> String {
        if arguments.count == 1, let aggregate = DerivationFunction.aggregates[selector],
            DerivationFunction.isKeyPath(arguments[0])
        {
            return "\(arguments[0]).\(aggregate)"
        }
        let signs = ["add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/"]
        if arguments.count == 2, let sign = signs[selector] { return "(\(arguments[0]) \(sign) \(arguments[1]))" }
        return "\(selector)(\(arguments.joined(separator: ", ")))"
    }

    // MARK: Predicates

    /// Returns the text of a predicate; nil if it is too long or has parts that the language lacks.
    ///
    /// - Throws: as ``expression(_:_:)``.
    static func predicate(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> String? {
        try tree.visit(object) { tree throws(MigrationError) in
            if object.isKind(of: "NSTruePredicate") { return "TRUEPREDICATE" }
            if object.isKind(of: "NSFalsePredicate") { return "FALSEPREDICATE" }
            if object.isKind(of: "NSComparisonPredicate") { return try comparison(object, &tree) }
            if object.isKind(of: "NSCompoundPredicate") { return try compound(object, &tree) }
            return nil
        }
    }

    private static func compound(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> String? {
        var parts: [String] = []
        var length = 0
        for part in try object.elements("NSSubpredicates") ?? [] {
            guard let part = part.object, let text = try predicate(part, &tree) else { return nil }
            length += text.utf8.count
            guard length <= longestText else { return nil }
            parts.append(part.isKind(of: "NSCompoundPredicate") ? "(\(text))" : text)
        }
        switch try object.integer("NSCompoundPredicateType") {
        case 0: return parts.count == 1 ? "NOT (\(parts[0]))" : nil
        case 1: return parts.isEmpty ? "TRUEPREDICATE" : parts.joined(separator: " AND ")
        case 2: return parts.isEmpty ? "FALSEPREDICATE" : parts.joined(separator: " OR ")
        default: return nil
        }
    }

    private static func comparison(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> String? {
        guard let leftObject = try object.object("NSLeftExpression"),
            let rightObject = try object.object("NSRightExpression"),
            let operatorObject = try object.object("NSPredicateOperator"),
            let code = try operatorObject.integer("NSOperatorType"), let operation = ArchivedOperator.texts[code],
            let left = try expression(leftObject, &tree), let right = try expression(rightObject, &tree)
        else { return nil }
        let modifiers: [Int64: String] = [0: "", 1: "ALL ", 2: "ANY "]
        guard let modifier = modifiers[try operatorObject.integer("NSModifier") ?? 0] else { return nil }
        // Text operators have their options in NSFlags, the others in NSOptions.
        var options = try operatorObject.integer("NSOptions")
        if options == nil { options = try operatorObject.integer("NSFlags") }
        let suffix = ["", "[c]", "[d]", "[cd]"][Int((options ?? 0) & 3)]
        return "\(modifier)\(left) \(operation)\(suffix) \(right)"
    }
}
