import Diagnostics

/// A rule of the destination model that an object may break. Its raw value is the stable word used in reports and
/// reject files.
public enum ValidationRule: String, Sendable, Codable, CaseIterable {
    /// A required attribute or relationship is empty.
    case required
    /// A number or date is below the minimum.
    case minimum
    /// A number or date is above the maximum.
    case maximum
    /// A text or data is too short.
    case minimumLength
    /// A text or data is too long.
    case maximumLength
    /// A text does not match the regular expression.
    case pattern
    /// A value does not satisfy a validation predicate of the model.
    case predicate
    /// A relationship has too few objects.
    case minimumCount
    /// A relationship has too many objects.
    case maximumCount
    /// Another object with a lower key has the same values of a uniqueness constraint.
    case unique
    /// A required relationship lost its objects because they were rejected.
    case reference
    /// A value could not be computed: out of the type's range, of a wrong type, or divided by zero.
    case value
    /// A column holds a value of another type than the attribute's, which SQLite allows: a text in an Integer column.
    case type

    /// A few words about the problem, for people.
    public var label: String { words.label }
    /// The code of the error that ends a run.
    var code: MigrationError.Code { words.code }

    private var words: (label: String, code: MigrationError.Code) {
        switch self {
        case .required: ("missing value", "validation.missing")
        case .minimum: ("too small", "validation.tooSmall")
        case .maximum: ("too large", "validation.tooLarge")
        case .minimumLength: ("too short", "validation.tooShort")
        case .maximumLength: ("too long", "validation.tooLong")
        case .pattern: ("does not match the pattern", "validation.pattern")
        case .predicate: ("does not satisfy the predicate", "validation.predicate")
        case .minimumCount: ("too few objects", "validation.tooFew")
        case .maximumCount: ("too many objects", "validation.tooMany")
        case .unique: ("not unique", "validation.uniqueness")
        case .reference: ("its object is rejected", "validation.reference")
        case .value: ("value cannot be computed", "validation.value")
        case .type: ("value of another type", "validation.type")
        }
    }
}
