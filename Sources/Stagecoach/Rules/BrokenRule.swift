import Diagnostics
import ManagedModel
import Mapping

/// A rule that an object breaks.
struct BrokenRule {
    /// The destination table's index.
    let table: Int
    /// The Z_PK of the destination object.
    let key: Int64
    /// The index of the object's entity in the destination model.
    let entity: Int
    let entityName: String
    let property: String
    let rule: ValidationRule
    /// The value, shortened; nil if there is none.
    let value: String?
    /// The allowed values, in words.
    let bound: String?
    let isRelationship: Bool
    /// True if the source model has the rule too, for a value that is copied unchanged.
    var isOfSource = false
    /// The attribute, if the property is one and its rules were checked.
    var attribute: AttributeDefinition?
    /// The value as an object, for the error's user info. Nil if there is none, if it is too large or in an external file, or if
    /// the check of the rule does not keep it.
    var object: Any?

    var objectID: String { "\(entityName)/p\(key)" }

    /// The name of the rule in warnings, without the object. A to-many without objects counts as one with too few.
    var label: String {
        let words = rule == .required && isRelationship && bound != nil ? ValidationRule.minimumCount.label : rule.label
        return "\(entityName).\(property): \(words)"
    }

    /// Returns the error that ends a run.
    ///
    /// - Parameters:
    ///   - origin: the object's origin, as far as it is known.
    ///   - excuse: the way to excuse a rule of the source, as a sentence without a full stop; nil if there is none.
    func error(_ origin: ObjectOrigin?, excuse: String? = nil) -> MigrationError {
        var code = rule.code
        // A to-many relationship without objects has always been reported as one with too few.
        if rule == .required, isRelationship, bound != nil { code = ValidationRule.minimumCount.code }
        var text = sentence
        if let source = origin?.sources.first { text += " (source object \(source))" }
        var error = MigrationError(
            code, .data, text,
            remedy: "Give the property a value in the mapping model, relax the rule in the destination model, "
                + "or leave such objects out with --on-invalid reject",
            context: .init(
                entity: entityName, objectID: objectID, property: property, entityMapping: origin?.mappingName))
        error.context.sourceObjectID = origin?.sources.first
        error.cocoa = cocoa
        if isOfSource, let excuse { error.remedy = excuse + ". " + (error.remedy ?? "") }
        return error
    }

    private var cocoa: CocoaDetails {
        var info: [String: Any] = [:]
        info[NSValidationValueErrorKey] = object
        info[NSValidationPredicateErrorKey] = attribute?.predicate(of: rule, text: bound)
        let dateCodes = [ValidationRule.minimum: NSValidationDateTooSoonError, .maximum: NSValidationDateTooLateError]
        return CocoaDetails(attribute?.type == .date ? dateCodes[rule] : nil, info)
    }

    private var sentence: String {
        let shown = value.map { " \($0)" } ?? ""
        let allowed = bound.map { ", \($0)" } ?? ""
        switch rule {
        case .required:
            guard isRelationship else { return "A required attribute has no value" }
            return bound.map { "A relationship has too few objects: 0, and the model allows \($0)" }
                ?? "A required relationship has no destination"
        case .minimum: return "The value\(shown) is below the least one the model allows\(allowed)"
        case .maximum: return "The value\(shown) is above the greatest one the model allows\(allowed)"
        case .minimumLength: return "The value\(shown) is shorter than the model allows\(allowed)"
        case .maximumLength: return "The value\(shown) is longer than the model allows\(allowed)"
        case .pattern: return "The text\(shown) does not match the model's regular expression\(allowed)"
        case .predicate: return "The value\(shown) does not satisfy the model's validation predicate\(allowed)"
        case .minimumCount, .maximumCount:
            return "A relationship has \(rule.label):\(shown), and the model allows \(bound ?? "another number")"
        case .unique: return "Several objects have the same\(shown), which must be unique"
        case .reference: return "A required relationship has no destination: its object\(shown) is rejected"
        case .value: return "The value cannot be computed:\(shown)"
        case .type: return "The value\(shown) is not of the attribute's type: it is \(bound ?? "of another type")"
        }
    }
}

extension AttributeDefinition {
    /// Returns the predicate of a rule, which a value has to satisfy; nil for a rule that is none.
    ///
    /// - Parameter text: the format of the validation predicate, if the rule is that one.
    func predicate(of rule: ValidationRule, text: String? = nil) -> FormatPredicate? {
        let (format, bound): (String, Any?) =
            switch rule {
            case .minimum: ("SELF >= %@", minimum?.object)
            case .maximum: ("SELF <= %@", maximum?.object)
            case .minimumLength: ("length >= %@", minimumLength)
            case .maximumLength: ("length <= %@", maximumLength)
            case .pattern: ("SELF MATCHES %@", regularExpression)
            case .predicate: (text ?? "", text)
            default: ("", nil)
            }
        return bound.map { rule == .predicate ? FormatPredicate(format: format) : FormatPredicate(format: format, $0) }
    }
}

/// The origin of a destination object.
struct ObjectOrigin {
    /// The index of the entity mapping that made it, or for which it was associated.
    let mapping: Int
    let mappingName: String
    /// The source objects, `Entity/p<key>`, in order of association; at most a hundred.
    let sources: [String]

    /// Returns the source objects. In a chain of versions they are objects of the chain's source.
    ///
    /// - Parameter previous: the map from this step's source objects to those; nil if no step ran before.
    func chainSources(_ previous: PreviousStepIDMap?) throws -> [String] {
        guard let previous else { return sources }
        var found: [String] = []
        for source in sources { found += try previous.sources(of: source) }
        return Array(found.prefix(ObjectOrigins.most))
    }
}
