import CoreDataStore
import ManagedModel
import Mapping

/// An attribute of an entity mapping, and the way in which a verification gets its expected value.
struct VerifiedAttribute {
    enum Way {
        /// Copied unchanged from a column of the source's row.
        case copied(column: Int, isExternal: Bool)
        case initial(ColumnValue?)
        case computed(ValueExpression, PropertyMapping?)
        /// Computed from the destination's own rows.
        case derived
        case skipped(String)
    }

    let attribute: AttributeDescription
    /// The column's index in the destination table.
    let column: Int
    let way: Way
    /// The default that replaces a nil result of the expression.
    let standard: ColumnValue?

    var isExternal: Bool { attribute.definition.allowsExternalBinaryDataStorage }

    var origin: VerificationReport.Origin {
        switch way {
        case .copied: .copied
        case .initial: .initial
        case .computed: .computed
        case .derived, .skipped: .notRecomputed
        }
    }

    /// Returns the stored attributes of a mapping's destination entity.
    static func all(of mapping: VerifiedMapping, plan: VerificationPlan) -> [VerifiedAttribute] {
        guard let entity = mapping.destination else { return [] }
        return entity.attributes.compactMap { attribute in
            plan.destination.schema.column(of: attribute).map {
                VerifiedAttribute(attribute, column: $0, mapping, plan)
            }
        }
    }

    private init(_ attribute: AttributeDescription, column: Int, _ mapping: VerifiedMapping, _ plan: VerificationPlan) {
        self.attribute = attribute
        self.column = column
        let property = mapping.mapping.attributeMapping(named: attribute.name)
        let initial = ColumnValue(initial: attribute, property)
        standard = property?.fillsNil == true ? initial : nil
        if let obstacle = mapping.obstacle {
            way = .skipped(obstacle)
        } else if plan.isDerived(attribute, of: mapping) {
            way = .derived
        } else if let expression = property?.valueExpression {
            way = Self.way(expression, property, attribute, mapping, plan)
        } else {
            way = .initial(initial)
        }
    }

    private static func way(
        _ expression: ValueExpression, _ property: PropertyMapping?, _ attribute: AttributeDescription,
        _ mapping: VerifiedMapping, _ plan: VerificationPlan
    ) -> Way {
        if let path = expression.node.withoutBytesCast.sourceKeyPath.map({
            mapping.source?.joiningElements(in: $0) ?? $0
        }), path.count == 1,
            let old = mapping.source?.attribute(named: path[0]), let column = plan.source.schema.column(of: old),
            attribute.attributeType.holdsEveryValue(of: old.attributeType)
                && expression.node.withoutBytesCast == expression.node
                || old.attributeType.isBytes && attribute.attributeType.isBytes
        {
            let isExternal = old.definition.allowsExternalBinaryDataStorage
            if isExternal == attribute.definition.allowsExternalBinaryDataStorage {
                return .copied(column: column, isExternal: isExternal)
            }
        }
        let text = expression.format.lowercased()
        for word in ["now(", "random", "'now'", "\"now\"", "$entitypolicy", "$destination"] where text.contains(word) {
            return .skipped("its expression uses \(word)")
        }
        return .computed(expression, property)
    }
}
