import CoreDataStore
import Diagnostics
import ManagedModel

/// The model's own rules for the values of one column: an attribute's, or that of a required to-one relationship.
struct ColumnRule {
    let column: Int
    let property: String
    /// The attribute; nil for a relationship.
    var attribute: AttributeDefinition?
    var isRequired = true
    /// The columns of the optional composite in which the value is required. If all are NULL, the composite is nil.
    var composite: [Int] = []
    var minimum: NumberBound?
    var maximum: NumberBound?
    var minimumLength: Int?
    var maximumLength: Int?
    var pattern: TextRule?
    var predicates: [ValuePredicate] = []
    /// Bytes before a binary value that are not part of it.
    var markerBytes = 0
    /// Rules that the source model has too, for a value copied unchanged.
    var ofSource: Set<ValidationRule> = []

    var type: AttributeType? { attribute?.type }

    /// True if no value can break it.
    var isEmpty: Bool {
        !isRequired && minimum == nil && maximum == nil && minimumLength == nil && maximumLength == nil
            && pattern == nil && predicates.isEmpty
    }
}

extension ColumnRule {
    /// Compiles the rules of an attribute of an entity.
    ///
    /// - Throws: `model.regularExpression` (78) for a pattern that does not compile.
    init(
        _ attribute: AttributeDescription, of entity: EntityDescription, column: Int, _ schema: StoreSchema
    ) throws(MigrationError) {
        let definition = attribute.definition
        self.init(column: column, property: attribute.name, attribute: definition, isRequired: attribute.isRequired)
        composite = entity.attributesRequiring(attribute).compactMap(schema.column(of:))
        minimum = definition.minimum.flatMap(NumberBound.init)
        maximum = definition.maximum.flatMap(NumberBound.init)
        minimumLength = definition.minimumLength
        maximumLength = definition.maximumLength
        markerBytes = definition.allowsExternalBinaryDataStorage ? 1 : 0
        predicates = ValuePredicate.all(of: definition)
        if let text = definition.regularExpression {
            pattern = try TextRule(text, entity: attribute.entityName, property: attribute.name)
        }
    }
}
