import CoreDataStore
import ManagedModel
import Mapping

/// A predicate that only compares an attribute of the entity's own with a value that can be looked up.
struct FetchEquality {
    /// What such predicates on one attribute have in common. It is worked out once, because many policies fetch by the same
    /// attribute for each object.
    final class Form {
        let attribute: AttributeDescription
        let column: FetchColumn
        let slot: Int
        let rows: FetchRows

        /// Works out a form; nil if the attribute cannot be looked up with these options.
        init?(
            _ name: String, of entity: EntityDescription, includesSubentities: Bool, _ options: ComparisonOptions,
            on side: any FetchSide
        ) {
            let schema = side.schema
            var slots = FetchColumns(entity: entity, schema: schema, isSource: side.isSource)
            guard entity.attribute(named: name) != nil, let (column, attribute) = slots.column(ofAttribute: [name]),
                FetchHash.isIndexable(attribute, options), let slot = slots.slot(of: column)
            else { return nil }
            self.attribute = attribute
            self.column = FetchColumn(
                table: schema.tableIndex(of: entity), column: column, options: options.rawValue)
            self.slot = slot
            rows = FetchRows(
                of: entity, includesSubentities: includesSubentities, columns: slots.columns, in: schema)
        }
    }

    /// The predicates that have a form in common.
    struct Kind: Hashable {
        let entity: Int
        let includesSubentities: Bool
        let attribute: String
        /// The differences that the comparison ignores.
        let options: UInt8
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
            options: options.rawValue)
        let known = side.indexes.forms[kind]
        guard
            let form = known
                ?? Form(comparison.path[0], of: entity, includesSubentities: includesSubentities, options, on: side)
        else { return nil }
        if known == nil { side.indexes.forms[kind] = form }
        guard let value = FetchHash.columnValue(constant, storedIn: form.attribute) else { return nil }
        self.form = form
        probe = .values(form.column, slot: form.slot, [value])
        condition = .holds(
            value, slot: form.slot, otherwise: LaterCondition(node, of: form.column.column, entity, side))
    }
}
