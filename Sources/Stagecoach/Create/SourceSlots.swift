import Diagnostics
import ManagedModel
import Mapping
import PersistentStore

/// The columns that a mapping's programs read, each once: key paths become slots of the source batch.
struct SourceSlots: KeyPathResolver {
    let entity: EntityDescription
    let schema: StoreSchema
    /// One slot each.
    private(set) var columns: [SelectedColumn]
    private var slotByColumn: [SelectedColumn: Int] = [:]

    init(entity: EntityDescription, schema: StoreSchema, columns: [SelectedColumn] = []) {
        self.entity = entity
        self.schema = schema
        self.columns = columns
        for (slot, column) in columns.enumerated() { slotByColumn[column] = slot }
    }

    /// The slot of a column, new or known.
    mutating func slot(for column: SelectedColumn) -> Int {
        if let known = slotByColumn[column] { return known }
        columns.append(column)
        slotByColumn[column] = columns.count - 1
        return columns.count - 1
    }

    /// The slot of a column reached by to-one steps.
    mutating func slot(steps: [ToOneStep], column: Int) -> Int {
        slot(for: steps.isEmpty ? .own(column) : .related(path: steps, column: column))
    }

    mutating func slot(forKeyPath path: [String]) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        var current = entity
        var steps: [ToOneStep] = []
        for (position, name) in path.enumerated() {
            if let attribute = current.attribute(named: name) {
                guard position == path.count - 1 else {
                    throw unknown(path, "\(name) is an attribute of \(current), not a relationship")
                }
                guard let column = schema.column(of: attribute) else {
                    throw unknown(path, "The attribute \(name) of \(current) is transient and has no stored values")
                }
                return (slot(steps: steps, column: column), attribute.attributeType)
            }
            guard let relationship = current.relationship(named: name) else {
                throw unknown(path, "The source entity \(current) has no property \(name)")
            }
            guard position < path.count - 1 else {
                throw unknown(path, "\(name) is a relationship of \(current), and a value is needed")
            }
            guard case .toOne(_, let column, _, _) = schema.storage(of: relationship) else {
                throw unknown(path, "\(name) of \(current) is not a stored to-one relationship")
            }
            steps.append(
                ToOneStep(column: column, destinationTable: schema.tableIndex(of: relationship.destination)))
            current = relationship.destination
        }
        throw unknown(path, "A value is needed, not the object itself")
    }

    /// The attribute at the end of a key path over to-one relationships; nil where there is none.
    func attribute(forKeyPath path: [String]) -> AttributeDescription? {
        var current = entity
        for name in path.dropLast() {
            guard let relationship = current.relationship(named: name) else { return nil }
            current = relationship.destination
        }
        return path.last.flatMap { current.attribute(named: $0) }
    }

    private func unknown(_ path: [String], _ message: String) -> MigrationError {
        MigrationError(
            "expression.unknownKeyPath", .configuration, message,
            context: .init(expression: (["$source"] + path).joined(separator: ".")))
    }
}
