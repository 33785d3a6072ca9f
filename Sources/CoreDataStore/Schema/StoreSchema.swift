import DatabasePages
import ManagedModel

/// The SQLite schema that Core Data gives a model: tables, columns, join tables, entity numbers.
///
/// All positions are indices: of an entity in `model.entities`, of a table in ``tables``, of a column in
/// ``EntityTable/columns``, of a join table in ``joinTables``.
package struct StoreSchema: Sendable {
    package private(set) var model: ManagedObjectModel
    /// The Z_ENT by entity index.
    package internal(set) var entityNumbers: [Int]
    /// The entity index by Z_ENT.
    package internal(set) var entityByNumber: [Int: Int]
    /// The tables, one for each root entity, by Z_ENT of the root.
    package internal(set) var tables: [EntityTable]
    /// The table index by entity index.
    package let tableByEntity: [Int]
    /// The join tables, in the order in which Core Data creates them.
    package internal(set) var joinTables: [JoinTable]
    /// The storage of each relationship's links, by declaring entity and name.
    package internal(set) var relationshipStorage: [PropertyReference: RelationshipStorage]
    /// The indexes by table.
    package internal(set) var indexes: [[StoreIndex]]
    /// The CREATE TRIGGER statements of derived attributes of the forms `relationship.@count` and `relationship.attribute`.
    package let triggerStatements: [String]
    /// Attributes that are not transient and whose type has no known column form: object ids. A
    /// store of such a model cannot be written.
    package let unstorableAttributes: [PropertyReference]
    /// One sentence for each index or trigger that Core Data would make and this schema omits, and for each name whose origin
    /// should be known.
    package internal(set) var notes: [String]
    /// Names of tables and join tables that a source has for the same entity or relationship.
    package internal(set) var sourceNames: Set<String> = []
    /// Fetch indexes that are left out, each with its note.
    package let leftOutIndexes: [LeftOutIndex]
    /// R-trees, by the Z_ENT of the entity that declares them.
    package let trees: [StoreTree]
    /// The names of columns that a store numbers otherwise than the rule does.
    package internal(set) var columnNames: [PropertyReference: String] = [:]

    /// Returns the schema with another model of the same content.
    func of(_ model: ManagedObjectModel) -> StoreSchema {
        var schema = self
        schema.model = model
        return schema
    }

    /// Returns the index of an entity's table.
    package func tableIndex(of entity: EntityDescription) -> Int { tableByEntity[entity.index] }

    /// Returns the Z_ENT of an entity.
    package func number(of entity: EntityDescription) -> Int { entityNumbers[entity.index] }

    /// Returns the name of a table's root entity.
    package func entityName(of table: EntityTable) -> String { model.entity(at: table.root).definition.name }

    /// Returns the column of a stored attribute, as an index in its table's columns; nil for a transient one.
    package func column(of attribute: AttributeDescription) -> Int? {
        tables[tableByEntity[attribute.declaringEntityIndex]].attributeColumns[attribute.reference]
    }

    /// Returns the storage of a relationship's links.
    package func storage(of relationship: RelationshipDescription) -> RelationshipStorage {
        relationshipStorage[relationship.reference] ?? .none
    }
}

/// A property by the entity that declares it.
package struct PropertyReference: Hashable, Sendable {
    /// The index of the declaring entity.
    package var entity: Int
    package var name: String

    package init(entity: Int, name: String) {
        self.entity = entity
        self.name = name
    }
}

/// The table of a root entity and all its descendants.
package struct EntityTable: Sendable {
    package var name: String
    /// The index of the root entity.
    package var root: Int
    /// The indices of the root and all its descendants, by Z_ENT.
    package var entities: [Int]
    /// All columns after Z_PK, in the order of the CREATE statement: Z_ENT first, Z_OPT second.
    package var columns: [StoreColumn]
    /// The column index by attribute.
    package var attributeColumns: [PropertyReference: Int]
    /// The columns that want one name and get numbers by a rule that no known store shows, a group for each name. Known stores
    /// show attributes of different entities (scout-4, wire) and elements of composites (MetaCocktails).
    package internal(set) var unprovenNumbers: [[Int]] = []

    /// The column indices of Z_ENT and Z_OPT.
    package static let entityColumn = 0
    package static let lockColumn = 1
}

/// A column of an entity table.
package struct StoreColumn: Sendable, Equatable {
    package var name: String
    /// The declared type: INTEGER, TIMESTAMP, FLOAT, DECIMAL, VARCHAR, BLOB.
    package var type: String
    package var role: ColumnRole

    /// Tells whether SQLite stores the same values in the same way in another column.
    package func storesAlike(_ other: StoreColumn) -> Bool {
        ColumnAffinity(declaredType: type) == ColumnAffinity(declaredType: other.type)
    }
}

/// The content of a column.
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
    /// `Z_FOK_…`: the position of this row in its owner's ordered to-many relationship, which is the associated value.
    case order(PropertyReference)
    /// `Z<n>REL`: the owner's key of a to-many relationship without inverse, which is the associated value.
    case hiddenOwner(PropertyReference)
    /// The position of this row in an ordered to-many relationship without inverse.
    case hiddenOrder(PropertyReference)

    /// The property; nil for Z_ENT and Z_OPT.
    var reference: PropertyReference? {
        switch self {
        case .entity, .lock: nil
        case .attribute(let reference), .toOne(let reference), .toOneEntity(let reference), .order(let reference),
            .hiddenOwner(let reference), .hiddenOrder(let reference):
            reference
        }
    }
}

/// The storage of a relationship's links.
package enum RelationshipStorage: Sendable, Equatable {
    /// Nowhere, because it is transient.
    case none
    /// In a column of the owner's table. `entityColumn` is set if the destination has subentities, `orderColumn` if the inverse
    /// is an ordered to-many relationship.
    case toOne(table: Int, column: Int, entityColumn: Int?, orderColumn: Int?)
    /// In the to-one column of the inverse, in the members' table.
    case toManyByInverse(table: Int, column: Int, entityColumn: Int?, orderColumn: Int?)
    /// In a hidden column of the members' table (a to-many relationship without inverse).
    case toManyHidden(table: Int, column: Int, orderColumn: Int?)
    /// In a join table; `ownerSide` is the side (0 or 1) whose column holds the owners' keys.
    case join(table: Int, ownerSide: Int)

    /// The index of the table with the relationship's own columns; nil if the columns are its inverse's or a join table's.
    package var columnTable: Int? {
        switch self {
        case .toOne(let table, _, _, _), .toManyHidden(let table, _, _): table
        case .none, .toManyByInverse, .join: nil
        }
    }
}

/// The table of a many-to-many pair. A row (x, y) means that y is in x's relationship and x in y's.
package struct JoinTable: Sendable, Equatable {
    package var name: String
    /// The two sides, in the order of the CREATE statement's key columns.
    package var sides: [JoinSide]
    /// The name after the other side, under which a reader searches the table too. Core Data names a pair on one entity after
    /// either side, and stores made by earlier versions of this program name a pair after the entity with the lower number. Nil
    /// if no doubt is known.
    package var alternativeName: String?

    /// The name, and the name after the other side if there is one.
    var names: [String] { [name] + (alternativeName.map { [$0] } ?? []) }

    /// True if both sides are declared by one entity. No rule over the names determines then which of them names the table.
    package var isOnOneEntity: Bool { sides[0].relationship.entity == sides[1].relationship.entity }
}

/// One side of a join table: the column with the keys of one entity.
package struct JoinSide: Sendable, Equatable {
    /// The name of the column.
    package var column: String
    /// The relationship owned by the objects of this column; the members are in the other column.
    package var relationship: PropertyReference
    /// The `Z_FOK_…` column with the position of this column's object among the members of the other side's object; nil if the
    /// other side's relationship is not ordered.
    package var orderColumn: String?
}
