import CoreDataStore
import ManagedModel
import Mapping

/// A predicate that only compares an attribute of the entity's own with a value that can be looked up.
struct FetchEquality {
    /// The predicates that differ in their value alone.
    struct Kind: Hashable {
        /// The index of the fetched entity.
        let entity: Int
        let includesSubentities: Bool
        let attribute: String
        /// The differences that the comparison ignores.
        let options: ComparisonOptions
    }

    /// A kind of predicate, compiled for one side. It is kept, because many policies fetch by the same attribute for each object.
    final class Form {
        let attribute: AttributeDescription
        let column: FetchColumn
        let slot: Int
        let rows: FetchRows

        /// Compiles a kind; nil if the attribute cannot be looked up with its options.
        init?(_ kind: Kind, of entity: EntityDescription, on side: any FetchSide) {
            let (schema, name) = (side.schema, kind.attribute)
            var slots = FetchColumns(entity: entity, schema: schema, isSource: side.isSource)
            guard entity.attribute(named: name) != nil, let (column, attribute) = slots.column(ofAttribute: [name]),
                FetchHash.isIndexable(attribute, kind.options), let slot = slots.slot(of: column)
            else { return nil }
            self.attribute = attribute
            self.column = FetchColumn(
                table: schema.tableIndex(of: entity), column: column, options: kind.options.rawValue)
            self.slot = slot
            rows = FetchRows(
                of: entity, includesSubentities: kind.includesSubentities, columns: slots.columns, in: schema)
        }
    }

    let form: Form
    let condition: FetchCondition
    let probe: FetchProbe

    /// Recognises such a predicate; nil for any other.
    init?(_ node: PredicateNode, of entity: EntityDescription, includesSubentities: Bool, on side: any FetchSide) {
        guard case .comparison(.direct, let left, .equal, let right, let options) = node,
            let comparison = FetchComparison(.direct, left, .equal, right), comparison.path.count == 1,
            comparison.constants.count == 1, case .scalar(let constant) = comparison.constants[0]
        else { return nil }
        let kind = Kind(
            entity: entity.index, includesSubentities: includesSubentities, attribute: comparison.path[0],
            options: options)
        guard let form = side.indexes.form(kind, make: { Form(kind, of: entity, on: side) }),
            let value = FetchHash.columnValue(constant, storedIn: form.attribute)
        else { return nil }
        self.form = form
        probe = .values(form.column, slot: form.slot, [value])
        condition = .holds(
            value, slot: form.slot, otherwise: LaterCondition(node, of: form.column.column, entity, side))
    }
}
