import Archives
import Diagnostics

/// Renders archived NSExpression and NSPredicate objects in the predicate language.
///
/// Aggregates over a key path get the form that models are written in: `pages.@count`, not `count:(pages)`.
struct ArchivedExpressionText {
    /// The greatest length in bytes of a list of arguments, members or parts. Shared parts could multiply it.
    private static let longestText = 16 << 10

    /// Bounds this walk, and all walks that share it.
    let tree: ArchivedTreeGuard

    // MARK: Expressions

    /// Returns the text of an expression; nil if it is too long or has parts that the language lacks.
    ///
    /// - Throws: `archive.cycle`, `archive.limit` for graphs that are not trees, `archive.type`, `archive.reference`.
    func expression(_ object: ArchivedObject) throws(MigrationError) -> String? {
        try tree.enter(object)
        defer { tree.leave() }
        switch true {
        case object.isKind(of: "NSSelfExpression"): return "SELF"
        case object.isKind(of: "NSConstantValueExpression"):
            guard try object.value("NSConstantValueClassName").isNull else { return nil }
            return try constant(try object.value("NSConstantValue"), depth: 0)
        case object.isKind(of: "NSVariableExpression"): return try object.string("NSVariable").map { "$" + $0 }
        case object.isKind(of: "NSKeyPathSpecifierExpression"): return try object.string("NSKeyPath")
        case object.isKind(of: "NSFunctionExpression"): return try function(object)
        case object.isKind(of: "NSAggregateExpression"):
            return try expressions("NSCollection", of: object).map { "{" + $0.joined(separator: ", ") + "}" }
        default: return nil
        }
    }

    private func expressions(_ key: String, of object: ArchivedObject) throws(MigrationError) -> [String]? {
        try texts(of: try object.elements(key) ?? []) { part throws(MigrationError) in
            guard let part = part.object else { return nil }
            return try expression(part)
        }
    }

    /// Returns the texts of some parts; nil if one has none or they are too long together.
    private func texts(
        of parts: [ArchivedValue], _ text: (ArchivedValue) throws(MigrationError) -> String?
    ) throws(MigrationError) -> [String]? {
        var texts: [String] = []
        var length = 0
        for part in parts {
            guard let text = try text(part) else { return nil }
            length += text.utf8.count
            guard length <= Self.longestText else { return nil }
            texts.append(text)
        }
        return texts
    }

    private func constant(_ value: ArchivedValue, depth: Int) throws(MigrationError) -> String? {
        if value.isNull { return "NULL" }
        if let members = try value.elements() {
            guard depth < 8, members.count < 2_000 else { return nil }
            let texts = try texts(of: members) { member throws(MigrationError) in
                try constant(member, depth: depth + 1)
            }
            return texts.map { "{" + $0.joined(separator: ", ") + "}" }
        }
        if let text = try value.string() { return text.utf8.count <= Self.longestText ? Self.quoted(text) : nil }
        if let decimal = try value.decimal() { return decimal.description }
        if let seconds = try value.date() { return "CAST(\(seconds), \"NSDate\")" }
        switch try value.number() {
        case .boolean(let flag): return flag ? "YES" : "NO"
        case .integer(let integer): return String(integer)
        case .real(let real): return String(real)
        default: return nil
        }
    }

    private static func quoted(_ text: String) -> String {
        let escapes: [Character: String] = ["\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"]
        return "\"" + text.map { escapes[$0] ?? String($0) }.joined() + "\""
    }

    private func function(_ object: ArchivedObject) throws(MigrationError) -> String? {
        guard let selector = try object.string("NSSelectorName"), let operand = try object.object("NSOperand"),
            let arguments = try expressions("NSArguments", of: object)
        else { return nil }
        if operand.isKind(of: "NSConstantValueExpression"),
            try operand.string("NSConstantValueClassName") == "_NSPredicateUtilities"
        {
            return Self.builtIn(selector, arguments)
        }
        guard let target = try expression(operand) else { return nil }
        if selector == "valueForKey:" || selector == "valueForKeyPath:", arguments.count == 1 {
            return target == "SELF" ? arguments[0] : "\(target).\(arguments[0])"
        }
        return "FUNCTION(" + ([target, Self.quoted(selector)] + arguments).joined(separator: ", ") + ")"
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
    /// - Throws: as ``expression(_:)``.
    func predicate(_ object: ArchivedObject) throws(MigrationError) -> String? {
        try tree.enter(object)
        defer { tree.leave() }
        switch true {
        case object.isKind(of: "NSTruePredicate"): return "TRUEPREDICATE"
        case object.isKind(of: "NSFalsePredicate"): return "FALSEPREDICATE"
        case object.isKind(of: "NSComparisonPredicate"): return try comparison(object)
        case object.isKind(of: "NSCompoundPredicate"): return try compound(object)
        default: return nil
        }
    }

    private func compound(_ object: ArchivedObject) throws(MigrationError) -> String? {
        let parts = try texts(of: try object.elements("NSSubpredicates") ?? []) { part throws(MigrationError) in
            guard let part = part.object, let text = try predicate(part) else { return nil }
            return part.isKind(of: "NSCompoundPredicate") ? "(\(text))" : text
        }
        guard let parts else { return nil }
        switch try object.integer("NSCompoundPredicateType") {
        case 0: return parts.count == 1 ? "NOT (\(parts[0]))" : nil
        case 1: return parts.isEmpty ? "TRUEPREDICATE" : parts.joined(separator: " AND ")
        case 2: return parts.isEmpty ? "FALSEPREDICATE" : parts.joined(separator: " OR ")
        default: return nil
        }
    }

    private func comparison(_ object: ArchivedObject) throws(MigrationError) -> String? {
        guard let leftObject = try object.object("NSLeftExpression"),
            let rightObject = try object.object("NSRightExpression"),
            let operatorObject = try object.object("NSPredicateOperator"),
            let code = try operatorObject.integer("NSOperatorType"), let operation = ComparisonOperator.byCode[code],
            let left = try expression(leftObject), let right = try expression(rightObject)
        else { return nil }
        let modifiers: [Int64: String] = [0: "", 1: "ALL ", 2: "ANY "]
        guard let modifier = modifiers[try operatorObject.integer("NSModifier") ?? 0] else { return nil }
        // Text operators have their options in NSFlags, the others in NSOptions.
        var options = try operatorObject.integer("NSOptions")
        if options == nil { options = try operatorObject.integer("NSFlags") }
        let suffix = ["", "[c]", "[d]", "[cd]"][Int((options ?? 0) & 3)]
        return "\(modifier)\(left) \(operation.rawValue)\(suffix) \(right)"
    }
}
