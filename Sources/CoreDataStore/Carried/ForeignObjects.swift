import Diagnostics

/// A view, index, trigger or virtual table of a store that does not follow from its model.
struct ForeignObject: Sendable {
    enum Kind: String, Sendable {
        case index
        case virtualTable = "virtual table"
        case view
        case trigger
    }

    let kind: Kind
    let name: String
    /// The table or view to which an index or trigger belongs.
    let subject: String
    let sql: String
}

/// Objects in a store's schema beside the tables of its model.
struct ForeignObjects {
    /// The most objects that are examined.
    static let most = 10_000
    /// The most characters of an examined statement.
    static let longest = 1 << 20

    private(set) var objects: [ForeignObject] = []
    /// Names of virtual tables, in upper case.
    private(set) var virtualTables: Set<String> = []
    /// The number of objects beyond ``most``.
    private(set) var furtherCount = 0

    /// - Parameter known: names of indexes and triggers of the store's model, in upper case.
    fileprivate init(
        _ connection: Connection, known: Set<String>, tables: Set<String>
    ) throws(MigrationError) {
        virtualTables = try connection.virtualTables()
        let statement = try connection.prepare(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        while try statement.step() {
            guard let name = statement.text(1), let subject = statement.text(2), let sql = statement.text(3),
                let kind = Self.kind(statement.text(0), sql)
            else { continue }
            let isKnown =
                CoreDataTables.isOwn(subject, virtual: virtualTables) || CoreDataTables.isMirroring(name)
                || known.contains(name.uppercased())
            if isKnown || kind == .virtualTable && tables.contains(name.uppercased()) { continue }
            guard objects.count < Self.most else {
                furtherCount += 1
                continue
            }
            objects.append(ForeignObject(kind: kind, name: name, subject: subject, sql: sql))
        }
    }

    private static func kind(_ type: String?, _ sql: String) -> ForeignObject.Kind? {
        switch type {
        case "index": .index
        case "view": .view
        case "trigger": .trigger
        case "table" where sql.uppercased().hasPrefix("CREATE VIRTUAL TABLE"): .virtualTable
        default: nil
        }
    }
}

extension Connection {
    /// Names of a file's virtual tables, in upper case.
    func virtualTables() throws(MigrationError) -> Set<String> {
        Set(
            try texts("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'")
                .map { $0.uppercased() })
    }
}

extension SourceStore {
    /// Returns the views, indexes, triggers and virtual tables that do not follow from the model, on any table. Those of
    /// history and of CloudKit mirroring are left out.
    ///
    /// - Complexity: O(objects of the file's schema).
    func foreignObjects(beside layout: StoreLayout) throws(MigrationError) -> ForeignObjects {
        let schema = layout.schema
        var known: Set<String> = []
        for version in [metadata.frameworkVersion ?? 0, .max] {
            let form = FrameworkForm(version: version, schema: schema)
            known.formUnion(form.indexes.keys)
            known.formUnion(form.triggers.keys)
        }
        // Names of a file that was altered in place.
        for (index, table) in layout.tables.enumerated() {
            known.insert("\(table.name)_Z_ENT_INDEX")
            for (column, name) in zip(schema.tables[index].columns, table.columns) {
                switch column.role {
                case .toOne, .hiddenOwner: known.insert("\(table.name)_\(name)_INDEX")
                default: break
                }
            }
        }
        // A join table may have another name than the rule's. An index of the rule's name is then left from before.
        known.subtract(schema.joinTables.map(\.index.name))
        for table in layout.joinTables.indices { known.insert(layout.indexName(ofJoinTable: table)) }
        // An index that Core Data does not make is no evidence for one.
        for entity in schema.model.entities {
            for index in entity.definition.indexes where index.repeatsRelationshipIndex(of: entity) {
                known.insert("Z_\(entity.definition.name)_\(index.name)")
            }
        }
        var trees: Set<String> = []
        for index in schema.leftOutIndexes + schema.trees.map(\.index) {
            if index.isTree { trees.insert(index.treeName.uppercased()) } else { known.insert(index.name) }
            for event in ["INSERT", "UPDATE", "DELETE"] where index.isTree {
                known.insert("\(index.treeName)_\(event)")
            }
        }
        return try blamingData { () throws(MigrationError) in
            try ForeignObjects(connection, known: Set(known.map { $0.uppercased() }), tables: trees)
        }
    }
}
