import Archives
import Diagnostics
import ManagedModel

/// The comparison of a store with the one that Core Data would make for its model: DDL, metadata, keys.
///
/// Memory: the model's own schema twice, and at most ``mostDifferences`` differences.
package struct StoreFidelity: Sendable, Codable, Equatable {
    /// The subject of a difference.
    package enum Subject: String, Sendable, Codable {
        case table
        case index
        case trigger
        case file
        case metadata
        case primaryKey
        case rows
        case modelCache
    }

    /// A difference: the prediction from the model and the content of the file, each nil if there is nothing.
    package struct Difference: Sendable, Codable, Equatable {
        package let subject: Subject
        package let name: String
        package let expected: String?
        package let found: String?
    }

    /// The number of schema objects in the file that are as predicted, byte for byte.
    package struct Equal: Sendable, Codable, Equatable {
        package var tables = 0
        package var joinTables = 0
        package var indexes = 0
        package var triggers = 0
        package var entities = 0
        package var versionHashes = 0
    }

    /// The evidence for the names of tables and join tables.
    package struct Names: Sendable, Codable, Equatable {
        /// Names that a source has for the same entity or relationship.
        package var asInSource: [String] = []
        /// Names that follow from the model by rules that no known store contradicts.
        package var byRule: [String] = []
        /// Names of join tables between two relationships of one entity. Core Data may name such a table after either relationship,
        /// and neither a rule nor the source tells after which.
        package var withoutEvidence: [String] = []
    }

    /// The store from which the compared one was migrated. Its names and objects are better evidence than rules.
    package struct Witness {
        /// The schema with the names of the source.
        let schema: StoreSchema
        /// The CREATE statements of the objects that are taken over from the source, by name.
        package let statements: [String: String]
        /// The names of the triggers of R-trees that are taken over; an older form has fewer of them.
        private(set) var treeTriggers: Set<String> = []
        /// The differences between the source and what the rules predict for its own model, one sentence each.
        let disagreements: [String]

        /// - Parameters:
        ///   - schema: the schema of the compared store, by rule alone.
        ///   - source: the store from which it was migrated.
        ///   - layout: the layout of that store.
        package init(
            for schema: StoreSchema, source: SourceStore, layout: StoreLayout
        ) throws(MigrationError) {
            self.schema = try source.namesTakenOver(by: schema, from: layout)
            let indexes = try source.carriedIndexes(for: self.schema, from: layout)
            var carried = try source.carriedObjects(for: self.schema, from: layout).statements
            for index in indexes {
                if index.index.isTree {
                    for event in ["INSERT", "UPDATE", "DELETE"] {
                        treeTriggers.insert("\(index.index.treeName)_\(event)")
                    }
                }
                for sql in index.statements { carried[FrameworkForm.name(of: sql)] = sql }
            }
            statements = carried
            disagreements = try source.disagreements(with: self.schema, from: layout)
        }

        /// Sentences about names that are taken over or have no evidence, and about places where rules and source disagree.
        package var notes: [String] {
            let byRule = Set(StoreSchema(model: schema.model).notes)
            return schema.notes.filter { !byRule.contains($0) } + disagreements
        }
    }

    /// The most differences that are kept; further ones are only counted.
    package static let mostDifferences = 1000

    package private(set) var equal = Equal()
    package private(set) var names = Names()
    package private(set) var differences: [Difference] = []
    /// The number of differences beyond the kept ones.
    package private(set) var furtherDifferences = 0
    /// Remarks that are not differences: choices that Core Data itself makes one way or the other.
    package private(set) var notes: [String] = []

    package var isEqual: Bool { differences.isEmpty }

    /// Compares a store with its model.
    ///
    /// - Parameters:
    ///   - witness: what its source says; nil where none is at hand.
    ///   - countsRows: false to leave out rows that are no entity's, or have no key above 0.
    /// - Throws: what reading throws; differences are no errors.
    /// - Complexity: O(rows) if they are counted, one scan of each entity table.
    package init(
        of store: SourceStore, model: ManagedObjectModel, witness: Witness? = nil, countsRows: Bool = true
    ) throws(MigrationError) {
        let schema = witness?.schema ?? StoreSchema(model: model)
        notes = schema.notes
        let objects = try StoredObjects(store.connection)
        let version = store.metadata.frameworkVersion ?? 0
        let best = SchemaComparison.best(of: objects, version: version, schema: schema)
        equal = best.equal
        for difference in best.differences {
            if let found = difference.found, witness?.statements[difference.name] == found {
                equal.count(difference.subject)
            } else if difference.found != nil || !(witness?.treeTriggers.contains(difference.name) ?? false) {
                add(difference)
            }
        }
        for (name, sql) in (witness?.statements ?? [:]).sorted(by: { $0.key < $1.key }) where objects.all[name] == nil {
            add(Difference(subject: Self.subject(of: sql), name: name, expected: sql, found: nil))
        }
        notes += best.notes + (witness?.disagreements ?? [])
        for name in schema.tables.map(\.name) + schema.joinTables.map(\.name) {
            if schema.sourceNames.contains(name) {
                names.asInSource.append(name)
            } else if schema.joinTables.contains(where: {
                $0.name == name && $0.isOnOneEntity && $0.alternativeName != nil
            }) {
                names.withoutEvidence.append(name)
            } else {
                names.byRule.append(name)
            }
        }
        if objects.isTruncated { notes.append("The file has more than \(StoredObjects.most) tables and indexes") }
        try compareFile(store)
        compareMetadata(store.metadata, model)
        try compareNumbers(store, schema, countsRows: countsRows)
        try compareCache(store, hasCache: version == 0 || version > 519)
    }

    private static func subject(of sql: String) -> Subject {
        let words = sql.uppercased().split(separator: " ").prefix(3)
        return words.contains("TRIGGER") ? .trigger : words.contains("INDEX") ? .index : .table
    }

    private mutating func add(_ difference: Difference) {
        guard differences.count < Self.mostDifferences else {
            furtherDifferences += 1
            return
        }
        differences.append(difference)
    }

    private mutating func compare(_ subject: Subject, _ name: String, _ expected: String?, _ found: String?) {
        guard expected != found else { return }
        add(Difference(subject: subject, name: name, expected: expected, found: found))
    }

    // MARK: - File

    private mutating func compareFile(_ store: SourceStore) throws(MigrationError) {
        for (name, expected) in [
            ("page_size", "4096"), ("auto_vacuum", "2"), ("encoding", "UTF-8"), ("user_version", "0"),
            ("application_id", "0"),
        ] {
            compare(.file, name, expected, try store.connection.text("PRAGMA \(name)"))
        }
        for table in ["Z_METADATA", "Z_MODELCACHE"] {
            guard try store.connection.hasTable(table) else { continue }
            let count = try store.connection.integer("SELECT count(*) FROM \(table)") ?? 0
            compare(.rows, table, "1", "\(count)")
        }
    }

    // MARK: - Metadata

    private mutating func compareMetadata(_ metadata: StoreMetadata, _ model: ManagedObjectModel) {
        func text(_ value: PropertyListValue?) -> String? {
            switch value {
            case .string(let text): text
            case .integer(let number): "\(number)"
            case nil: nil
            default: "a value of another type"
            }
        }
        let list = metadata.propertyList
        compare(.metadata, "NSStoreType", "SQLite", text(list["NSStoreType"]))
        compare(.metadata, "_NSAutoVacuumLevel", "2", text(list["_NSAutoVacuumLevel"]))
        compare(
            .metadata, "NSStoreModelVersionHashesVersion", "3", text(list["NSStoreModelVersionHashesVersion"]))
        let identifiers = metadata.versionIdentifiers.filter { !$0.isEmpty }.sorted()
        let expected = model.definition.versionIdentifiers.filter { !$0.isEmpty }.sorted()
        compare(
            .metadata, "NSStoreModelVersionIdentifiers", expected.joined(separator: ", "),
            identifiers.joined(separator: ", "))
        let stored = metadata.versionHashes
        let computed = VersionHash.entityHashes(of: model)
        for name in Set(stored.keys).union(computed.keys).sorted() {
            let found = stored[name].flatMap { $0.isEmpty ? nil : $0.hexadecimal }
            switch computed[name] {
            case .known(let bytes):
                if stored[name] == bytes { equal.versionHashes += 1 }
                compare(.metadata, "version hash of \(name)", bytes.hexadecimal, found)
            case .unknown:
                // The hash of derived attributes is unknown.
                if found == nil { compare(.metadata, "version hash of \(name)", "32 bytes", nil) }
                notes.append("The version hash of \(name) cannot be computed")
            case nil: compare(.metadata, "version hash of \(name)", nil, found)
            }
        }
        if let digest = list[DestinationMetadata.Key.digest] {
            compare(.metadata, DestinationMetadata.Key.digest, VersionHash.digest(of: stored), text(digest))
        }
        if let checksum = list[DestinationMetadata.Key.checksum] {
            compare(.metadata, DestinationMetadata.Key.checksum, VersionHash.checksum(of: stored), text(checksum))
        }
        let isUUID = ExternalReference(name: metadata.uuid)?.name == metadata.uuid.uppercased()
        compare(.metadata, "Z_UUID", isUUID ? metadata.uuid : "a UUID", metadata.uuid)
    }

    // MARK: - Keys

    private mutating func compareNumbers(
        _ store: SourceStore, _ schema: StoreSchema, countsRows: Bool
    ) throws(MigrationError) {
        // The entities of persistent history are numbered from 16001 (SampleModel2_V1).
        let rows = Dictionary(
            store.primaryKeys.filter { $0.number < 16000 }.map { ($0.number, $0) },
            uniquingKeysWith: { first, _ in first })
        let numbers = Set(rows.keys).union(schema.entityByNumber.keys).sorted()
        for number in numbers {
            let expected = schema.entityByNumber[number].map { index in
                let entity = schema.model.entity(at: index)
                return Self.line(entity.definition.name, parent: entity.superentity.map(schema.number(of:)) ?? 0)
            }
            let found = rows[number].map { Self.line($0.name, parent: $0.parent) }
            if expected == found { equal.entities += 1 }
            compare(.primaryKey, "Z_ENT \(number)", expected, found)
            if let row = rows[number], row.parent != 0 {
                compare(.primaryKey, "Z_MAX of \(row.name)", "0", "\(row.maximum)")
            }
        }
        for table in schema.tables where try store.connection.hasTable(table.name) {
            let highest =
                if countsRows {
                    try compareRows(table, store, schema)
                } else {
                    try store.connection.integer("SELECT max(Z_PK) FROM \(SQLName.quoted(table.name))") ?? 0
                }
            if let row = rows[schema.entityNumbers[table.root]], row.maximum < highest {
                compare(.primaryKey, "Z_MAX of \(row.name)", "\(highest) or more", "\(row.maximum)")
            }
        }
    }

    private static func line(_ name: String, parent: Int) -> String {
        parent == 0 ? name : "\(name) below Z_ENT \(parent)"
    }

    /// Compares the entities and keys of a table's rows. Returns the highest key, 0 without rows.
    private mutating func compareRows(
        _ table: EntityTable, _ store: SourceStore, _ schema: StoreSchema
    ) throws(MigrationError) -> Int64 {
        let concrete = table.entities.filter { !schema.model.entity(at: $0).isAbstract }.map {
            schema.entityNumbers[$0]
        }
        let known = concrete.isEmpty ? "0" : "Z_ENT IN (\(concrete.map(String.init).joined(separator: ", ")))"
        let statement = try store.query(
            "SELECT count(*), total(\(known)), max(Z_PK), min(Z_PK) FROM \(SQLName.quoted(table.name))")
        guard try statement.step() else { return 0 }
        let strays = statement.integer(0) - Int64(statement.double(1))
        if strays > 0 {
            compare(
                .rows, table.name, "rows with Z_ENT \(concrete.map(String.init).joined(separator: ", "))",
                strays.counted("row") + " with another Z_ENT")
        }
        if !statement.isNull(3), statement.integer(3) < 1 {
            compare(.rows, table.name, "Z_PK of 1 or more", "Z_PK \(statement.integer(3))")
        }
        return statement.isNull(2) ? 0 : statement.integer(2)
    }

    // MARK: - Model cache

    private mutating func compareCache(_ store: SourceStore, hasCache: Bool) throws(MigrationError) {
        guard hasCache else { return }
        let cached: ManagedObjectModel?
        do throws(MigrationError) { cached = try store.cachedModel() } catch {
            guard error.category != .io else { throw error }
            return compare(.modelCache, "Z_MODELCACHE", "a model", "unreadable: \(error.message)")
        }
        guard let cached else { return compare(.modelCache, "Z_MODELCACHE", "a model", nil) }
        // A store of one configuration has the whole model in its cache.
        let hashes = store.metadata.versionHashes
        if cached.fitting(storeHashes: hashes) != nil { return }
        for line in ModelDifference.describe(store: hashes, model: cached) {
            compare(.modelCache, "Z_MODELCACHE", "the model of the version hashes", line)
        }
    }
}

extension StoreFidelity.Equal {
    /// Counts an object that is as predicted.
    mutating func count(_ subject: StoreFidelity.Subject) {
        switch subject {
        case .table: tables += 1
        case .index: indexes += 1
        case .trigger: triggers += 1
        case .file, .metadata, .primaryKey, .rows, .modelCache: break
        }
    }
}

extension SourceStore {
    /// Returns the disagreements between this store and the rules for its model, in tables that another schema has too. The
    /// same rules made that schema, so it may be wrong there as well.
    ///
    /// - Parameters:
    ///   - schema: the other schema.
    ///   - layout: the layout of this store.
    /// - Returns: one sentence each; the first ``mostDisagreements`` of them.
    func disagreements(with schema: StoreSchema, from layout: StoreLayout) throws(MigrationError) -> [String] {
        let counterparts = ModelCounterparts(of: schema, in: layout)
        var same: Set<String> = []
        for (index, table) in layout.tables.enumerated() {
            guard let own = schema.tables.firstIndex(where: { $0.name.uppercased() == table.name.uppercased() }),
                let equal = counterparts.equalColumns(ofTable: own, index),
                equal.count == schema.tables[own].columns.count + 1, equal.count == table.columns.count + 1
            else { continue }
            same.insert(table.name)
        }
        for (index, table) in layout.joinTables.enumerated() {
            let own = schema.joinTables.first { $0.name.uppercased() == table.name.uppercased() }
            if let own, counterparts.isEqual(own, index) { same.insert(table.name) }
        }
        let objects = try blamingData { () throws(MigrationError) in try StoredObjects(connection) }
        let comparison = SchemaComparison.best(
            of: objects, version: metadata.frameworkVersion ?? 0, schema: layout.schema)
        var lines: [String] = []
        for difference in comparison.differences {
            // An object that only the source has is beside its model.
            guard let expected = difference.expected,
                let words = SQLTokens(expected)?.words, !words.isDisjoint(with: Set(same.map { $0.uppercased() }))
            else { continue }
            lines.append(
                "The source has \(difference.found ?? "no \(difference.subject.rawValue) \(difference.name)") "
                    + "where rules for its model say \(expected)")
        }
        let further = lines.count - SourceStore.mostDisagreements
        return Array(lines.prefix(SourceStore.mostDisagreements))
            + (further > 0
                ? ["The source differs in \(further.counted("more place")) from what rules for its model say"] : [])
    }

    private static let mostDisagreements = 20
}
