import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import SpillStorage

/// The keys of rejected objects. The second load leaves these rows out and removes references to them.
///
/// Memory: about 0.14 bytes a key; keys beyond the allowance are on disk.
final class RejectedKeys {
    /// A column that refers to a row.
    private struct Reference {
        let column: Int
        let entityColumn: Int?
        let orderColumn: Int?
        let target: Int
        let counted: CountedRelationship
    }

    /// The keys by table; nil if nothing is rejected there.
    private let keys: [KeyIndex?]
    private let references: [[Reference]]
    /// The tables of the objects on both sides, by join table.
    private let sides: [[Int]]
    /// The relationships on both sides, by join table.
    private let joined: [[CountedRelationship]]
    /// The number of rows left out of batches.
    var skippedRows = 0
    /// References and links to rejected objects that were removed from remaining objects.
    var removed = ReferenceCounts()

    /// Reads the keys from a ledger.
    ///
    /// - Throws: `spill.full`, `spill.io` (74).
    init(_ ledger: RejectLedger, run: MigrationRun) throws(MigrationError) {
        let schema = run.inputs.destinationSchema
        let allowance = max(64 << 10, run.inputs.budget.keys / 4 / max(1, schema.tables.count))
        var keys: [KeyIndex?] = []
        for table in schema.tables.indices {
            let index = KeyIndex(directory: run.inputs.work, name: "rejected", memory: allowance)
            try ledger.forEachKey(ofTable: table) { key throws(MigrationError) in try index.append(key) }
            try index.seal()
            keys.append(index.count == 0 ? nil : index)
        }
        self.keys = keys
        var references = schema.tables.map { _ in [Reference]() }
        for entity in schema.model.entities {
            for relationship in entity.relationships where relationship.entity == entity {
                switch schema.storage(of: relationship) {
                case .toOne(let table, let column, let entityColumn, let orderColumn):
                    references[table].append(
                        Reference(
                            column: column, entityColumn: entityColumn, orderColumn: orderColumn,
                            target: schema.tableIndex(of: relationship.destination),
                            counted: CountedRelationship(relationship)))
                case .toManyHidden(let table, let column, let orderColumn):
                    references[table].append(
                        Reference(
                            column: column, entityColumn: nil, orderColumn: orderColumn,
                            target: schema.tableIndex(of: entity), counted: CountedRelationship(relationship)))
                case .none, .toManyByInverse, .join: break
                }
            }
        }
        self.references = references.map { $0.filter { keys[$0.target] != nil } }
        sides = schema.joinTables.map { join in join.sides.map { schema.tableByEntity[$0.relationship.entity] } }
        joined = schema.joinTables.map { join in
            join.sides.compactMap { side in
                schema.model.entity(at: side.relationship.entity).relationship(named: side.relationship.name)
            }.map { CountedRelationship($0) }
        }
    }

    /// Tells whether an object is rejected.
    func contains(_ key: Int64, table: Int) throws(MigrationError) -> Bool {
        try keys[table]?.contains(key) ?? false
    }

    /// Tells whether a remaining row loses a reference because its object is rejected. The loss is counted.
    func removesReference(
        to key: Int64, table: Int, of relationship: RelationshipDescription
    ) throws(MigrationError) -> Bool {
        guard try contains(key, table: table) else { return false }
        removed.add(CountedRelationship(relationship), .rejected, owner: nil)
        return true
    }

    /// Tells whether a link of a join table is removed because one of its objects is rejected.
    func removesLink(_ first: Int64, _ second: Int64, joinTable: Int) throws(MigrationError) -> Bool {
        let isFirst = try contains(first, table: sides[joinTable][0])
        let isSecond = try contains(second, table: sides[joinTable][1])
        // The remaining object loses its partner.
        if isFirst != isSecond, joined[joinTable].count == 2 {
            removed.add(joined[joinTable][isFirst ? 1 : 0], .rejected, owner: isFirst ? second : first)
        }
        return isFirst || isSecond
    }

    /// Removes rejected rows from a batch, and references to rejects from its other rows.
    ///
    /// - Complexity: O(rows × references).
    func filter(_ batch: inout RowBatch, table: Int) throws(MigrationError) {
        if let own = keys[table] {
            let before = batch.count
            try batch.keepRows { key throws(MigrationError) in try !own.contains(key) }
            skippedRows += before - batch.count
        }
        for reference in references[table] {
            guard let targets = keys[reference.target] else { continue }
            for row in 0..<batch.count {
                let cell = batch[row, reference.column]
                guard cell.kind == .integer, try targets.contains(cell.integerValue) else { continue }
                batch[row, reference.column] = .null
                if let column = reference.entityColumn { batch[row, column] = .null }
                if let column = reference.orderColumn { batch[row, column] = .null }
                // In a to-many without inverse, the row is the member's and the owner is the rejected object.
                let owner = reference.counted.description.isToMany ? nil : batch.key(row)
                removed.add(reference.counted, .rejected, owner: owner)
            }
        }
    }
}
