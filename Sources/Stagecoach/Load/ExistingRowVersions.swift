import CoreDataStore
import Diagnostics
import ManagedModel

/// The update of Z_OPT of objects that previous mapping models made, if new rows of the row path refer to them. An object whose
/// relationship got a member from the other side has changed, and its save raises Z_OPT by one.
struct ExistingRowVersions {
    let modelRun: ModelRun
    let destination: DestinationStore

    /// Raises Z_OPT once all rows and links are loaded.
    ///
    /// - Complexity: O(new rows).
    func raise() throws(MigrationError) {
        let schema = modelRun.inputs.destinationSchema
        for table in schema.tables.indices where modelRun.keysBefore.hasRows[table] {
            var references: [NewReferences] = []
            for entity in schema.model.entities {
                for relationship in entity.relationships
                where relationship.entity == entity && schema.tableIndex(of: entity) == table {
                    // A row without an inverse holds the key of its owner.
                    if case .toManyHidden(let members, let column, _) = schema.storage(of: relationship) {
                        references.append(.column(table: members, column: column, after: lastKey(members)))
                    }
                }
                for relationship in entity.relationships
                where relationship.entity == entity && schema.tableIndex(of: relationship.destination) == table
                    && LinkPlanner.mutualInverse(of: relationship) != nil
                {
                    switch schema.storage(of: relationship) {
                    case .toOne(let owners, let column, _, _):
                        references.append(.column(table: owners, column: column, after: lastKey(owners)))
                    case .join(let join, let side):
                        let owners = schema.tableIndex(of: entity)
                        references.append(.join(joinTable: join, side: 1 - side, after: lastKey(owners)))
                    case .toManyByInverse, .toManyHidden, .none: continue
                    }
                }
            }
            try destination.raiseLocks(
                table: table, through: modelRun.keysBefore.highestKeys[table], referredToBy: references)
        }
    }

    /// Returns the greatest key of the existing rows.
    private func lastKey(_ table: Int) -> Int64 {
        modelRun.keysBefore.hasRows[table] ? modelRun.keysBefore.highestKeys[table] : .min
    }
}
