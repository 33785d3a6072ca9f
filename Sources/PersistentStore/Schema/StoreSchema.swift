import DatabasePages
import Diagnostics
import ManagedModel

/// The SQLite schema that Core Data gives a model: tables, columns, join tables, entity numbers.
///
/// All positions are indices: of an entity in `model.entities`, of a table in ``tables``, of a column in
/// ``EntityTable/columns``, of a join table in ``joinTables``.
package struct StoreSchema: Sendable {
    package let model: ManagedObjectModel
    /// Z_ENT by entity index.
    package let entityNumbers: [Int]
    /// Entity index by Z_ENT.
    package let entityByNumber: [Int: Int]
    /// One table a root entity, by Z_ENT of the root.
    package let tables: [EntityTable]
    /// Table index by entity index.
    package let tableByEntity: [Int]
    /// In the order in which Core Data creates them.
    package internal(set) var joinTables: [JoinTable]
    /// Where each relationship's links are; key: declaring entity and name.
    package internal(set) var relationshipStorage: [PropertyReference: RelationshipStorage]
    /// By table.
    package internal(set) var indexes: [[StoreIndex]]
    /// CREATE statements of the triggers of derived attributes.
    let triggers: [String]
    /// Attributes that are not transient and whose type has no known column form: object ids. A
    /// store of such a model cannot be written.
    package let unstorableAttributes: [PropertyReference]
    /// One sentence for each index or trigger that Core Data would make and this schema leaves out, and for each name whose
    /// ground should be known.
    package internal(set) var notes: [String]
    /// Names of tables and join tables that stand in a source for the same entity or relationship.
    package internal(set) var sourceNames: Set<String> = []
    /// Fetch indexes that are left out, each with its note.
    package let leftOutIndexes: [LeftOutIndex]
    /// R-trees, by the Z_ENT of the entity that declares them.
    package let trees: [StoreTree]

    /// The table of an entity.
    package func tableIndex(of entity: EntityDescription) -> Int { tableByEntity[entity.index] }

    /// Z_ENT of an entity.
    package func number(of entity: EntityDescription) -> Int { entityNumbers[entity.index] }

    /// The column of a stored attribute, as an index into its table's columns; nil for a transient one.
    package func column(of attribute: AttributeDescription) -> Int? {
        let table = tables[tableByEntity[attribute.declaringEntityIndex]]
        return table.attributeColumns[
            PropertyReference(entity: attribute.declaringEntityIndex, name: attribute.name)]
    }

    /// Where a relationship's links are.
    package func storage(of relationship: RelationshipDescription) -> RelationshipStorage {
        relationshipStorage[PropertyReference(entity: relationship.entity.index, name: relationship.name)] ?? .none
    }
}

/// A property by the entity that declares it.
package struct PropertyReference: Hashable, Sendable {
    /// Index of the declaring entity.
    package var entity: Int
    package var name: String

    package init(entity: Int, name: String) {
        self.entity = entity
        self.name = name
    }
}

/// The table of a root entity and all below it.
package struct EntityTable: Sendable {
    package var name: String
    /// Index of the root entity.
    package var root: Int
    /// Indices of the root and all its descendants, by Z_ENT.
    package var entities: [Int]
    /// All columns after Z_PK, in the order of the CREATE statement: Z_ENT first, Z_OPT second.
    package var columns: [StoreColumn]
    /// Column index by attribute.
    package var attributeColumns: [PropertyReference: Int]

    /// Column indices of Z_ENT and Z_OPT.
    package static let entityColumn = 0
    package static let lockColumn = 1
}

/// A column of an entity table.
package struct StoreColumn: Sendable, Equatable {
    package var name: String
    /// The declared type: INTEGER, TIMESTAMP, FLOAT, DECIMAL, VARCHAR, BLOB.
    package var type: String
    package var role: ColumnRole

    /// Whether SQLite stores the same values in the same way in another column.
    package func storesAlike(_ other: StoreColumn) -> Bool {
        ColumnAffinity(declaredType: type) == ColumnAffinity(declaredType: other.type)
    }
}

/// What a column holds.
package enum ColumnRole: Sendable, Equatable {
    /// Z_ENT.
    case entity
    /// Z_OPT.
    case lock
    case attribute(PropertyReference)
    /// The key of a to-one relationship's destination.
    case toOne(PropertyReference)
    /// `Z<n>_REL`: the entity number of that destination.
    case toOneEntity(PropertyReference)
    /// `Z_FOK_…`: the place of this row in its owner's ordered to-many, which is given here.
    case order(PropertyReference)
    /// `Z<n>REL`: the owner's key of a to-many without inverse, which is given here.
    case hiddenOwner(PropertyReference)
    /// The place of this row in an ordered to-many without inverse.
    case hiddenOrder(PropertyReference)
}

/// Where the links of a relationship are stored.
package enum RelationshipStorage: Sendable, Equatable {
    /// Transient: nowhere.
    case none
    /// In a column of the owner's table; `entityColumn` where the destination has subentities; `orderColumn` where
    /// the inverse is an ordered to-many.
    case toOne(table: Int, column: Int, entityColumn: Int?, orderColumn: Int?)
    /// In the to-one column of the inverse, in the members' table.
    case toManyByInverse(table: Int, column: Int, entityColumn: Int?, orderColumn: Int?)
    /// In a hidden column of the members' table (to-many without inverse).
    case toManyHidden(table: Int, column: Int, orderColumn: Int?)
    /// In a join table; `ownerSide` is the side (0 or 1) whose column holds the owners' keys.
    case join(table: Int, ownerSide: Int)
}

/// The table of a many-to-many pair. A row (x, y) says that y is in x's relationship and x in y's.
package struct JoinTable: Sendable, Equatable {
    package var name: String
    /// In the order of the CREATE statement's key columns. Always two.
    package var sides: [JoinSide]
    /// The name by the other side, under which a reader looks for the table too: Core Data names a pair on one entity by
    /// either side, and stores of earlier versions of this program name a pair by the entity with the lower number. Nil where
    /// no doubt is known.
    package var alternativeName: String?

    /// True where both sides are declared by one entity: no rule over the names says which of them names the table.
    package var isOnOneEntity: Bool { sides[0].relationship.entity == sides[1].relationship.entity }
}

/// One side of a join table: the column with the keys of one entity.
package struct JoinSide: Sendable, Equatable {
    /// Column name.
    package var column: String
    /// The relationship that the objects of this column own; the members are in the other column.
    package var relationship: PropertyReference
    /// `Z_FOK_…` column that gives the place of this column's object among the members of the other side's object:
    /// not nil where the other side's relationship is ordered.
    package var orderColumn: String?
}
