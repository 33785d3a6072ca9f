import Archives

/// The parts of an archived definition for which the definition itself has no place. They are kept, so that an archive of the
/// model has them again.
package struct ArchivedParts: Sendable, Equatable {
    /// Values of the user info that are neither text nor number.
    package var userInfo: [String: ArchivedGraph] = [:]
    /// Numbers and Booleans of the user info, which the definition has as text.
    var numbers: [String: PropertyListValue] = [:]
    /// The other fields that are not nil. For a fetch request, those that Core Data does not set by itself.
    package var fields: [String: ArchivedGraph] = [:]
    /// Bits of an attribute's flags.
    package var flags: Int64 = 0
    /// The default of a transformable attribute, if it is an object of the app.
    package var defaultValue: ArchivedGraph?
    /// The form of the definition's predicate or expression.
    var form: ArchivedForm?
    var validation: ArchivedValidation?

    package init() {}

    /// Compares the parts. Forms, rules and numbers are left out, because the definition has them as text.
    package static func == (left: ArchivedParts, right: ArchivedParts) -> Bool {
        left.userInfo == right.userInfo && left.fields == right.fields && left.flags == right.flags
            && left.defaultValue == right.defaultValue
    }
}

/// The archived form of the text of a predicate or an expression. It is valid as long as the text is the same.
struct ArchivedForm: Sendable {
    let graph: ArchivedGraph
    let text: String?
}

/// A rule for an attribute's values: a predicate over `SELF`, the value.
public struct ValidationPredicate: Sendable, Equatable, CustomStringConvertible {
    /// The predicate's format string; nil for an archived predicate that cannot be written as text.
    public var format: String?
    var form: ArchivedForm?

    /// A rule that Core Data checks before it saves an object.
    public init(format: String) { self.format = format }

    init(format: String?, form: ArchivedForm?) {
        self.format = format
        self.form = form
    }

    public static func == (left: ValidationPredicate, right: ValidationPredicate) -> Bool {
        left.format == right.format && (left.format != nil || left.form?.graph == right.form?.graph)
    }

    public var description: String { format ?? "a predicate of class \(form?.graph.className ?? "unknown")" }
}

/// The archived rules of an attribute with their warnings. They are valid as long as the attribute has the same rules.
struct ArchivedValidation: Sendable {
    let predicates: ArchivedGraph
    let warnings: ArchivedGraph
    let rules: ValidationRules
}

/// All rules for an attribute's values.
struct ValidationRules: Sendable, Equatable {
    var minimum: AttributeValue?
    var maximum: AttributeValue?
    var minimumLength: Int?
    var maximumLength: Int?
    var regularExpression: String?
    var predicates: [String?] = []
    var warnings: [String] = []

    /// Adds bounds. Returns false, and adds nothing, if one of them is set already.
    mutating func add(_ other: ValidationRules) -> Bool {
        func clash<Value>(_ first: Value?, _ second: Value?) -> Bool { first != nil && second != nil }
        guard !clash(minimum, other.minimum), !clash(maximum, other.maximum),
            !clash(minimumLength, other.minimumLength), !clash(maximumLength, other.maximumLength),
            !clash(regularExpression, other.regularExpression)
        else { return false }
        minimum = minimum ?? other.minimum
        maximum = maximum ?? other.maximum
        minimumLength = minimumLength ?? other.minimumLength
        maximumLength = maximumLength ?? other.maximumLength
        regularExpression = regularExpression ?? other.regularExpression
        return true
    }
}

extension AttributeDefinition {
    /// The attribute's rules, for comparison.
    var validationRules: ValidationRules {
        ValidationRules(
            minimum: minimum, maximum: maximum, minimumLength: minimumLength, maximumLength: maximumLength,
            regularExpression: regularExpression, predicates: validationPredicates.map(\.format),
            warnings: validationWarnings)
    }

    /// Adopts bounds and pattern.
    mutating func take(_ rules: ValidationRules) {
        (minimum, maximum) = (rules.minimum, rules.maximum)
        (minimumLength, maximumLength) = (rules.minimumLength, rules.maximumLength)
        regularExpression = rules.regularExpression
    }
}

/// The fields that entities and properties of all kinds have.
protocol NamedDefinition {
    var name: String { get }
    var renamingIdentifier: String? { get set }
    var versionHashModifier: String? { get set }
    var userInfo: [String: String] { get set }
    var archived: ArchivedParts { get set }
}

extension EntityDefinition: NamedDefinition {}
extension AttributeDefinition: NamedDefinition {}
extension RelationshipDefinition: NamedDefinition {}
extension FetchedPropertyDefinition: NamedDefinition {}
