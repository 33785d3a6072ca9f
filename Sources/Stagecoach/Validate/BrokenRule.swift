import Diagnostics

/// A rule that an object breaks.
struct BrokenRule {
    /// Index of the destination table.
    let table: Int
    /// Z_PK of the destination object.
    let key: Int64
    /// Index of the object's entity in the destination model.
    let entity: Int
    let entityName: String
    let property: String
    let rule: ValidationRule
    /// The value, shortened; nil where there is none.
    let value: String?
    /// What the model allows, in words.
    let bound: String?
    let isRelationship: Bool
    /// Whether the source model had the rule already, for a value that is copied as it is.
    var isOfSource = false

    var objectID: String { "\(entityName)/p\(key)" }

    /// How warnings name the rule; objects are not told apart. A relationship without objects counts as one of too few.
    var label: String {
        let words = rule == .required && isRelationship && bound != nil ? ValidationRule.minimumCount.label : rule.label
        return "\(entityName).\(property): \(words)"
    }

    /// The error that ends a run.
    ///
    /// - Parameters:
    ///   - origin: where the object comes from, as far as it is known.
    ///   - excuse: how a rule of the source may be excused, a sentence without a full stop; nil where nothing helps.
    func error(_ origin: ObjectOrigin?, excuse: String? = nil) -> MigrationError {
        var code = rule.code
        // A to-many relationship without objects has always been one of too few.
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
        if isOfSource, let excuse { error.remedy = excuse + ". " + (error.remedy ?? "") }
        return error
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

/// Where a destination object comes from.
struct ObjectOrigin {
    /// Index of the entity mapping that made it or for which it was associated.
    let mapping: Int
    let mappingName: String
    /// Source objects, `Entity/p<key>`, in order of association; a hundred at most.
    let sources: [String]
}
