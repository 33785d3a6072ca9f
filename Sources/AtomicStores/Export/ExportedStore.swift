import CoreDataStore
import Diagnostics
import ManagedModel

/// The objects of a finished SQLite store, one after the other by the number that each has in the whole store.
///
/// The number of an object is its key, where no two objects have the same; otherwise the keys of each table follow those of
/// the table before. Memory: a page cache and a row of each table.
final class ExportedStore {
    /// A relationship and the way to its objects.
    struct Relationship {
        let relationship: RelationshipDescription
        /// The column of a to-one relationship's key in the statement that reads the object's row; nil for any other relationship.
        let column: Int32?
        /// Gives the keys of a to-many relationship's objects, in order.
        let members: Statement?
        /// The table of its objects.
        let table: Int
    }

    /// An entity with its properties in the order of an XML store.
    struct Entity {
        let name: String
        /// Own ones before inherited ones, by name from last to first.
        let attributes: [AtomicModel.Attribute]
        /// The relationships: first all to-one, then all to-many. In both groups those of a parent come before those of its
        /// subentities, and those of one entity are in the order of their names.
        let relationships: [Relationship]
        let entity: EntityDescription
    }

    let store: SourceStore
    let layout: StoreLayout
    private(set) var entities: [Entity] = []
    /// The number that is added to a key of each table.
    private(set) var offsets: [Int64]
    private var rows: [Statement?] = []

    /// - Throws: `store.objectID` (65) if a key, or what is added to it, gives a number that no object can have in a store of type
    ///   XML or binary; the errors of reading the store.
    init(path: String, model: ManagedObjectModel) throws(MigrationError) {
        store = try SourceStore(path: path, cacheBytes: 2 << 20, valueLimit: 1 << 28, temporaryDirectory: nil)
        layout = try store.layout(for: model, damage: .refuse)
        offsets = layout.tables.map { _ in 0 }
        if try !keysDiffer() {
            var next: Int64 = 0
            for table in layout.tables.indices {
                offsets[table] = next
                let greatest = try store.greatestKey(table: table, in: layout) ?? 0
                guard greatest <= ObjectIntake.greatestID - next else { throw impossibleNumber(greatest, table) }
                next += max(0, greatest)
            }
        }
        entities = try model.entities.map { entity throws(MigrationError) in try describe(entity) }
    }

    /// Closes the store.
    func close() throws(MigrationError) {
        rows = []
        entities = []
        try store.close()
    }

    /// The number of an object in the whole store. Keys of rows give one that fits; a reference to no row may give any.
    func id(_ key: Int64, table: Int) -> Int64 { key &+ offsets[table] }

    private func impossibleNumber(_ key: Int64, _ table: Int) -> MigrationError {
        MigrationError(
            "store.objectID", .data,
            "The key \(key) in \(layout.tables[table].name) gives a number that no object can have in a store of another type",
            remedy: "Run the migration with --keys sequential, which numbers the objects from 1")
    }

    /// Calls a body for each object, by number.
    ///
    /// - Parameter body: gets the entity, the number, the key and the statement at the object's row.
    func forEachObject(_ body: (Entity, Int64, Int64, Statement) throws -> Void) throws {
        rows = try layout.tables.map { table throws(MigrationError) in
            let columns = (["Z_PK"] + table.columns).map(SQLName.quoted).joined(separator: ", ")
            return try store.query("SELECT \(columns) FROM \(SQLName.quoted(table.name)) ORDER BY Z_PK")
        }
        defer { rows = [] }
        try merge(rows) { table, key, statement in
            let number = Int(statement.integer(1))
            guard let index = layout.entity(inTable: table, forFileNumber: number) else {
                throw MigrationError(
                    "store.damaged", .data, "The row \(key) of \(layout.tables[table].name) is of no entity",
                    context: .init(path: store.path))
            }
            try body(entities[index], id(key, table: table), key, statement)
        }
    }

    /// Calls a body for each row of statements whose first column is a key, by number.
    private func merge(_ statements: [Statement?], _ body: (Int, Int64, Statement) throws -> Void) throws {
        var heads: [(table: Int, key: Int64, statement: Statement)] = []
        for case (let table, let statement?) in statements.enumerated() where try store.stepping(statement) {
            heads.append((table, statement.integer(0), statement))
        }
        while let least = heads.indices.min(by: {
            (id(heads[$0].key, table: heads[$0].table), heads[$0].table)
                < (id(heads[$1].key, table: heads[$1].table), heads[$1].table)
        }) {
            let head = heads[least]
            try body(head.table, head.key, head.statement)
            if try store.stepping(head.statement) {
                heads[least].key = head.statement.integer(0)
            } else {
                heads.remove(at: least)
            }
        }
    }

    /// Tells whether all objects of the store have different keys.
    private func keysDiffer() throws(MigrationError) -> Bool {
        let keys = try layout.tables.map { table throws(MigrationError) in
            try store.query("SELECT Z_PK FROM \(SQLName.quoted(table.name)) ORDER BY Z_PK")
        }
        var last: Int64?
        var isTwice = false
        do {
            try merge(keys) { table, key, _ in
                guard key > 0, key <= ObjectIntake.greatestID else { throw impossibleNumber(key, table) }
                if key == last { isTwice = true }
                last = key
                if isTwice { throw Stop() }
            }
        } catch let error as MigrationError { throw error } catch {}
        return !isTwice
    }

    private struct Stop: Error {}

    // MARK: The model

    private func describe(_ entity: EntityDescription) throws(MigrationError) -> Entity {
        let schema = layout.schema
        var chain: [EntityDescription] = []
        var next: EntityDescription? = entity
        while let one = next {
            chain.append(one)
            next = one.superentity
        }
        var attributes: [AtomicModel.Attribute] = []
        for one in chain {
            for attribute in one.ownAttributes.filter(\.isStored).sorted(by: { $0.name > $1.name }) {
                guard let column = schema.column(of: attribute) else { continue }
                attributes.append(
                    AtomicModel.Attribute(
                        name: attribute.name, type: attribute.attributeType, column: column,
                        isMarked: attribute.definition.allowsExternalBinaryDataStorage))
            }
        }
        var relationships: [Relationship] = []
        for isToMany in [false, true] {
            for one in chain.reversed() {
                let names = one.definition.relationships.map(\.name).sorted()
                for relationship in names.compactMap({ one.relationship(named: $0) })
                where relationship.isToMany == isToMany && !relationship.isTransient {
                    relationships.append(try describe(relationship))
                }
            }
        }
        return Entity(
            name: entity.definition.name, attributes: attributes, relationships: relationships, entity: entity)
    }

    private func describe(_ relationship: RelationshipDescription) throws(MigrationError) -> Relationship {
        let members: String?
        var column: Int32?
        switch layout.schema.storage(of: relationship) {
        case .none: members = nil
        case .toOne(_, let place, _, _):
            column = Int32(place + 1)
            members = nil
        case .toManyByInverse(let table, let place, _, let order), .toManyHidden(let table, let place, let order):
            let found = layout.tables[table]
            let sort = order.map { SQLName.quoted(found.columns[$0]) + ", " } ?? ""
            members = """
                SELECT Z_PK FROM \(SQLName.quoted(found.name)) WHERE \(SQLName.quoted(found.columns[place])) = ? \
                ORDER BY \(sort)Z_PK
                """
        case .join(let table, let ownerSide):
            let found = layout.joinTables[table]
            let (owner, member) = (found.sides[ownerSide], found.sides[1 - ownerSide])
            let sort = member.orderColumn.map { SQLName.quoted($0) + ", " } ?? ""
            let key = SQLName.quoted(member.column)
            members = """
                SELECT \(key) FROM \(SQLName.quoted(found.name)) WHERE \(SQLName.quoted(owner.column)) = ? \
                ORDER BY \(sort)\(key)
                """
        }
        return Relationship(
            relationship: relationship, column: column,
            members: try members.map { sql throws(MigrationError) in try store.query(sql) },
            table: layout.schema.tableIndex(of: relationship.destination))
    }

    /// Calls a body with the number of each object of a relationship.
    func forEachTarget(
        of relationship: Relationship, key: Int64, row: Statement, _ body: (Int64) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        if let column = relationship.column {
            guard let target = row.optionalInteger(column) else { return }
            return try body(id(target, table: relationship.table))
        }
        guard let members = relationship.members else { return }
        members.bind(key)
        defer { members.reset() }
        while try store.stepping(members) { try body(id(members.integer(0), table: relationship.table)) }
    }
}

extension AtomicModel.Attribute {
    /// The place in a statement that gives the key before the columns of the table.
    var place: Int32 { Int32(column + 1) }
}
