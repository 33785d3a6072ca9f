import CoreDataStore
import Diagnostics
import ManagedModel

extension SourceStore {
    /// Returns the members of an object's to-many relationship, in its order; nil for a relationship that has none.
    func members(
        of owner: Int64, _ relationship: RelationshipDescription, in layout: StoreLayout
    ) throws(MigrationError) -> MemberCursor? {
        switch layout.schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, let order), .toManyHidden(let table, let column, let order):
            try members(
                table: table, column: column, owner: owner, orderColumn: relationship.isOrdered ? order : nil,
                in: layout)
        case .join(let table, let side): try joined(joinTable: table, side: side, key: owner, in: layout)
        case .toOne, .none: nil
        }
    }
}
