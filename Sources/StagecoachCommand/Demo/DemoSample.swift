import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// Prints a few rows of a store as objects in readable form.
struct DemoSample {
    private let store: SourceStore
    private let layout: StoreLayout

    /// Opens a store with a model.
    init(path: String, model: ManagedObjectModel) throws(MigrationError) {
        store = try ModelArgument.open(path)
        layout = try store.layout(for: model)
    }

    /// Returns an object in one line, `Entity p<key>  name value, …`: the named attributes and to-one relationships.
    func line(_ entityName: String, key: Int64, _ properties: [String]) throws(MigrationError) -> String {
        guard let entity = layout.schema.model.entity(named: entityName) else { return "" }
        var shown: [(name: String, column: Int, type: AttributeType?)] = []
        for name in properties {
            if let attribute = entity.attribute(named: name), let column = layout.schema.column(of: attribute) {
                shown.append((name, column, attribute.attributeType))
            } else if let relationship = entity.relationship(named: name),
                case .toOne(_, let column, _, _) = layout.schema.storage(of: relationship)
            {
                shown.append((name, column, nil))
            }
        }
        var batch = RowBatch(slots: shown.count, rowCapacity: 1, byteTarget: 1 << 12)
        let isThere = try store.row(
            table: layout.schema.tableIndex(of: entity), key: key, columns: shown.map { .own($0.column) }, in: layout,
            into: &batch)
        guard isThere else { return "\(entityName)/p\(key)  not there" }
        var parts: [String] = []
        for (slot, property) in shown.enumerated() {
            let cell = batch[0, slot]
            let value =
                switch cell.kind {
                case .text: "'\(String(decoding: batch.bytes(cell), as: UTF8.self))'"
                case .integer where property.type == .boolean: cell.integerValue == 0 ? "NO" : "YES"
                case .integer: (property.type == nil ? "p" : "") + "\(cell.integerValue)"
                case .real: Figures.decimal(cell.realValue, places: 2)
                default: "nil"
                }
            parts.append("\(property.name) \(value)")
        }
        return "\(entityName)/p\(key)  \(parts.joined(separator: ", "))"
    }
}
