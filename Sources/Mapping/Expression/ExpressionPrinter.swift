/// The two ways to print constants.
enum PrintStyle {
    /// The text of mapping models and messages: single quotes, `TRUE` and `FALSE`, doubles with a fraction.
    case canonical
    /// The text of NSPredicate's `predicateFormat`.
    case cocoa

    var quote: Character { self == .cocoa ? "\"" : "'" }
}

/// Prints a tree as canonical text: one blank around operators, single quotes, no superfluous parentheses.
///
/// Parsing the text gives the same tree again. The walk is recursive, as deep as the tree.
struct ExpressionPrinter {
    private var text = ""
    private let style: PrintStyle

    static func text(style: PrintStyle = .canonical, _ write: (inout ExpressionPrinter) -> Void) -> String {
        var printer = ExpressionPrinter(style: style)
        write(&printer)
        return printer.text
    }

    private func quoted(_ value: String) -> String { ExpressionConstant.quoted(value, style.quote) }

    // MARK: Values

    /// Prints a value, in parentheses if it binds more loosely than its place requires.
    mutating func write(_ node: ExpressionNode, _ place: ExpressionPrecedence = .or) {
        let isLoose = precedence(node) < place
        if isLoose { text += "(" }
        switch node {
        case .constant(let constant): text += constant.format(style)
        case .variable(let name): text += "$" + name
        case .evaluatedObject: text += "SELF"
        case .anyKey: text += "ANYKEY"
        case .keyPath(let target, let components): writeKeyPath(target, components)
        case .function(let target, let selector, let arguments): writeFunction(target, selector, arguments)
        case .arithmetic(let sign, let left, let right):
            write(left, sign.precedence)
            text += " \(sign.symbol) "
            write(right, sign.precedence.tighter)
        case .negation(let inner):
            text += "-"
            // A sign before a number is part of the number; a sign before parentheses is an operator.
            writePrimary(inner)
        case .aggregate(let elements):
            text += "{"
            writeList(elements)
            text += "}"
        case .ternary(let condition, let then, let otherwise):
            text += "TERNARY("
            write(condition)
            text += ", "
            writeList([then, otherwise])
            text += ")"
        case .cast(let value, let type):
            text += "CAST("
            write(value)
            text += ", \(quoted(type)))"
        case .subquery(let collection, let variable, let condition):
            text += "SUBQUERY("
            write(collection, .set)
            text += ", $\(variable), "
            write(condition)
            text += ")"
        case .setOperation(let sign, let left, let right):
            write(left, .set)
            text += " \(sign.rawValue) "
            write(right, ExpressionPrecedence.set.tighter)
        case .element(let collection, let index): writeElement(of: collection, index)
        case .fetch(let request, let context, let countOnly):
            text += "FETCH("
            writeList([request, context])
            text += countOnly ? ", YES)" : ", NO)"
        case .assignment(let name, let value):
            text += "$\(name) := "
            write(value, .set)
        case .opaque(let constant): text += constant.format(style)
        case .predicate(let predicate): write(predicate)
        }
        if isLoose { text += ")" }
    }

    private func precedence(_ node: ExpressionNode) -> ExpressionPrecedence {
        switch node {
        case .arithmetic(let sign, _, _): sign.precedence
        case .setOperation: .set
        // The value of an assignment extends to the end, so an assignment is in parentheses wherever text may follow.
        case .assignment: .comparison
        case .negation: .sign
        case .constant(let constant): constant.isNegativeNumber ? .sign : .primary
        case .predicate: .or
        // Calls have their own parentheses.
        default: .primary
        }
    }

    /// Prints the target of a key path or index, or the operand of a sign: a number is in parentheses.
    private mutating func writePrimary(_ node: ExpressionNode) {
        if case .constant(let constant) = node, constant.isNumber {
            text += "(" + constant.format(style) + ")"
        } else {
            write(node, .primary)
        }
    }

    private mutating func writeElement(of collection: ExpressionNode, _ index: ElementIndex) {
        writePrimary(collection)
        text += "["
        switch index {
        case .at(let inner): write(inner, .set)
        case .first: text += "FIRST"
        case .last: text += "LAST"
        case .size: text += "SIZE"
        }
        text += "]"
    }

    private mutating func writeList(_ nodes: [ExpressionNode]) {
        for (index, node) in nodes.enumerated() {
            if index > 0 { text += ", " }
            write(node)
        }
    }

    private mutating func writeKeyPath(_ target: ExpressionNode?, _ components: [String]) {
        if let target { writePrimary(target) }
        for (index, component) in components.enumerated() {
            if index > 0 || target != nil { text += "." }
            text += Self.escaped(component)
        }
    }

    /// Returns the name of a property in the form that a key path needs.
    static func escaped(_ name: String) -> String {
        if name.hasPrefix("@"), ExpressionLexer.isPlainName(String(name.dropFirst())) { return name }
        guard ExpressionLexer.isPlainName(name) else { return "#" + ExpressionConstant.quoted(name) }
        return ReservedWord(name.utf8) == nil ? name : "#" + name
    }

    private mutating func writeFunction(_ target: ExpressionNode?, _ selector: String, _ arguments: [ExpressionNode]) {
        if let target {
            text += "FUNCTION("
            write(target)
            text += ", " + quoted(selector)
            if !arguments.isEmpty { text += ", " }
        } else {
            let name = String(selector.prefix { $0 != ":" })
            let isPlain = ExpressionLexer.isPlainName(name)
            if selector.dropFirst(name.count) == String(repeating: ":", count: arguments.count)[...] {
                text += isPlain ? Self.escaped(name) : "#" + ExpressionConstant.quoted(name)
            } else if isPlain, ExpressionLexer.isPlainName(selector.replacing(":", with: "_")) {
                text += selector
            } else {
                text += "#" + ExpressionConstant.quoted(selector)
            }
            text += "("
        }
        writeList(arguments)
        text += ")"
    }

    // MARK: Predicates

    /// Prints a predicate, in parentheses if it binds more loosely than its place requires.
    mutating func write(_ node: PredicateNode, _ place: ExpressionPrecedence = .or) {
        let isLoose = precedence(node) < place
        if isLoose { text += "(" }
        switch node {
        case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .not(let inner):
            text += "NOT "
            // Core Data's text has parentheses around AND and OR only.
            write(inner, style == .cocoa ? .comparison : .primary)
        case .and(let parts): writeChain(parts, " AND ", .not)
        case .or(let parts): writeChain(parts, " OR ", .and)
        case .comparison(let modifier, let left, let comparison, let right, let options):
            if modifier != .direct { text += modifier.rawValue + " " }
            write(left, .set)
            text += " " + comparison.rawValue + options.format + " "
            write(right, .set)
        case .expression(let node): write(node, .set)
        }
        if isLoose { text += ")" }
    }

    private mutating func writeChain(_ parts: [PredicateNode], _ word: String, _ place: ExpressionPrecedence) {
        for (index, part) in parts.enumerated() {
            if index > 0 { text += word }
            write(part, place)
        }
    }

    private func precedence(_ node: PredicateNode) -> ExpressionPrecedence {
        switch node {
        case .constant: .primary
        case .not: .not
        case .and: .and
        case .or: .or
        case .comparison: .comparison
        // A predicate used as a value gets its parentheses as a value.
        case .expression(.predicate): .primary
        case .expression(let node): precedence(node)
        }
    }
}

extension ComparisonOptions {
    /// The options as text, such as `[cd]`; empty if there are none.
    var format: String {
        isEmpty ? "" : "[" + String(Self.letters.filter { contains($0.value) }.map(\.key)) + "]"
    }

    /// The letters of the options, in the order in which they are written.
    static let letters: KeyValuePairs<Character, ComparisonOptions> = [
        "c": .caseInsensitive, "d": .diacriticInsensitive, "n": .normalized, "l": .localeSensitive,
    ]
}
