import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// The slots of a fetch's batches. On the source's side, each column that is used has one slot, whether it is the row's
/// own or reached over to-one relationships. On the destination's side, all columns of the table have a slot.
struct FetchColumns: KeyPathResolver {
    private var source: SourceColumns?
    private var used: Set<Int> = [EntityTable.entityColumn]
    private let entity: EntityDescription
    private let schema: StoreSchema

    /// Creates the slots of an entity's rows.
    ///
    /// - Parameter isSource: true if to-one relationships are columns of the row and can be followed.
    init(entity: EntityDescription, schema: StoreSchema, isSource: Bool) {
        self.entity = entity
        self.schema = schema
        source =
            isSource
            ? SourceColumns(entity: entity, schema: schema, columns: [.own(EntityTable.entityColumn)]) : nil
    }

    /// The columns to read.
    var columns: [SelectedColumn] { source?.columns ?? used.sorted().map { .own($0) } }

    /// Returns the slot of a column.
    mutating func slot(of column: SelectedColumn) -> Int? {
        if source != nil { return source?.slot(for: column) }
        guard case .own(let index) = column else { return nil }
        used.insert(index)
        return index
    }

    mutating func slot(forKeyPath path: [String], level: Int) throws(MigrationError) -> (slot: Int, type: AttributeType)
    {
        guard let (column, attribute) = column(ofAttribute: path), let slot = slot(of: column) else {
            throw MigrationError(
                "expression.unknownKeyPath", .configuration, "No column of \(entity) holds the value",
                context: .init(expression: path.joined(separator: ".")))
        }
        return (slot, attribute.attributeType)
    }

    /// Returns the column of an attribute at the end of a key path; nil if no column holds it.
    func column(ofAttribute path: [String]) -> (column: SelectedColumn, attribute: AttributeDescription)? {
        let path = entity.joiningElements(in: path)
        guard let name = path.last, let (steps, last) = follow(path.dropLast()),
            let attribute = last.attribute(named: name), let column = schema.column(of: attribute)
        else { return nil }
        return (steps.isEmpty ? .own(column) : .related(path: steps, column: column), attribute)
    }

    /// Returns the key column of a to-one relationship at the end of a key path, and the table that it refers to; nil
    /// if no column holds it.
    func column(ofRelationship path: [String]) -> (column: SelectedColumn, table: Int)? {
        guard source != nil, let name = path.last, let (steps, last) = follow(path.dropLast()),
            let relationship = last.relationship(named: name),
            case .toOne(_, let column, _, _) = schema.storage(of: relationship)
        else { return nil }
        return (
            steps.isEmpty ? .own(column) : .related(path: steps, column: column),
            schema.tableIndex(of: relationship.destination)
        )
    }

    private func follow(_ path: ArraySlice<String>) -> (steps: [ToOneStep], entity: EntityDescription)? {
        var steps: [ToOneStep] = []
        var current = entity
        for step in path {
            guard source != nil, let relationship = current.relationship(named: step),
                case .toOne(_, let column, _, _) = schema.storage(of: relationship)
            else { return nil }
            steps.append(ToOneStep(column: column, destinationTable: schema.tableIndex(of: relationship.destination)))
            current = relationship.destination
        }
        return (steps, current)
    }
}
