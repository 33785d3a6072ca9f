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
    public var label: String {
        switch self {
        case .required: "missing value"
        case .minimum: "too small"
        case .maximum: "too large"
        case .minimumLength: "too short"
        case .maximumLength: "too long"
        case .pattern: "does not match the pattern"
        case .predicate: "does not satisfy the predicate"
        case .minimumCount: "too few objects"
        case .maximumCount: "too many objects"
        case .unique: "not unique"
        case .reference: "its object is rejected"
        case .value: "value cannot be computed"
        case .type: "value of another type"
        }
    }

    /// The code of the error that ends a run.
    var code: MigrationError.Code {
        switch self {
        case .required: "validation.missing"
        case .minimum: "validation.tooSmall"
        case .maximum: "validation.tooLarge"
        case .minimumLength: "validation.tooShort"
        case .maximumLength: "validation.tooLong"
        case .pattern: "validation.pattern"
        case .predicate: "validation.predicate"
        case .minimumCount: "validation.tooFew"
        case .maximumCount: "validation.tooMany"
        case .unique: "validation.uniqueness"
        case .reference: "validation.reference"
        case .value: "validation.value"
        case .type: "validation.type"
        }
    }
}
