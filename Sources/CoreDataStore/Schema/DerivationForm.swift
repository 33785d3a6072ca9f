import ManagedModel

/// The form of a derivation expression.
///
/// The forms are `now()`; a function of a text, `canonical:(name)`; a key path over to-one relationships to an attribute; and
/// the count, sum, least, greatest or mean of a to-many relationship's objects. The last are written `items.@count`,
/// `items.@sum.price`, in models made by code `items.price.@sum`, and in archives `sum:(items.price)`.
package indirect enum DerivationForm: Equatable, Sendable {
    case now
    case text(TextFunction, DerivationForm)
    case keyPath([String])

    package init?(_ expression: String) {
        let text = expression.filter { !$0.isWhitespace }
        guard let open = text.firstIndex(of: "(") else {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard !parts.contains("") else { return nil }
            self = .keyPath(parts)
            return
        }
        guard text.last == ")" else { return nil }
        let name = text[..<open]
        let argument = String(text[text.index(after: open)...].dropLast())
        if argument.isEmpty {
            guard name == "now" else { return nil }
            self = .now
            return
        }
        guard let inner = DerivationForm(argument) else { return nil }
        if let function = TextFunction(selector: name) {
            self = .text(function, inner)
        } else if let aggregate = DerivationFunction.aggregates[String(name)], case .keyPath(let parts) = inner {
            self = .keyPath(parts + [aggregate])
        } else {
            return nil
        }
    }

    /// True if the value is stored at each save and carried over: a converted text, the time of a save. If false, it is
    /// computed from the rows as they are.
    package var isCarried: Bool {
        switch self {
        case .now, .text: true
        case .keyPath: false
        }
    }

    /// The attribute of the object itself that a text function reads, and the functions from the outermost to the innermost;
    /// nil for every other form.
    package var ownText: (functions: [TextFunction], attribute: String)? {
        switch self {
        case .now: return nil
        case .keyPath(let parts): return parts.count == 1 && !parts[0].hasPrefix("@") ? ([], parts[0]) : nil
        case .text(let function, let inner):
            return inner.ownText.map { ([function] + $0.functions, $0.attribute) }
        }
    }
}
