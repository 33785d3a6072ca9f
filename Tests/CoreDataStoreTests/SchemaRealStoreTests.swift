import Archives
import ManagedModel
import TestSupport
import Testing

@testable import CoreDataStore

/// The schema that is laid out for a real store's model against the one in the file, byte by byte.
@Suite("Schema: real stores", .enabled(if: SharedStores.isPresent, "the shared stores are not here"))
struct SchemaRealStoreTests {
    /// Stores whose model cannot be read: framework 241 and 419, no model cache, their models only in old binary forms.
    private static let withoutModel: Set = ["Recipes.sqlite", "RKSeedDatabase.sqlite"]

    /// Stores in which the lesser name of a pair on one entity names the join table, with the number of pairs; no rule tells
    /// when. The reader looks for both names, and a destination takes the source's.
    private static let namedByLesserSide = [
        "store1-27.wiredatabase": 2, "store1-28.wiredatabase": 2, "store2-3.wiredatabase": 2, "shared.sqlite": 5,
    ]

    /// Stores altered in place: with columns at the ends of tables, names and indexes of earlier versions, and triggers and
    /// R-trees that the model declares in no form that is known. Their names are compared, not their statements.
    private static let alteredInPlace: Set = ["Test-10.15.1.Photos.sqlite", "Test-10.15.4.Photos.sqlite"]

    /// Objects that the model does not ask for any more: an in-place migration left them. By store, with the number.
    private static let leftOver: [String: Int] = [
        // Indexes of `indexed="YES"` and of a compound index in the form of framework 754, beside today's.
        "store2-40-0.wiredatabase": 12,
        // The same of AddressBookEntry.localIdentifier alone.
        "store2-45-0.wiredatabase": 1, "store2-57-0.wiredatabase": 1, "store2-59-0.wiredatabase": 1,
        // The same, and Message's two fetch indexes repeated for six subentities by an earlier model.
        "store2-53-0.wiredatabase": 13,
    ]

    /// Stores that an in-place migration left with a stale name in Z_PRIMARYKEY: number, stale name, parent.
    private static let staleNames = ["SampleModel_V2.sqlite": ("3|ExpensiveSportCar|2", "3|LuxuryCar|2")]

    private struct Comparison {
        var equal = 0
        /// Expected and not there, or there with other SQL.
        var wrong: [String] = []
        /// Objects of the store that were not expected.
        var extra: [String] = []

        init(expected: [String: String], actual: [String: String]) {
            for (name, sql) in expected.sorted(by: { $0.key < $1.key }) {
                if actual[name] == sql { equal += 1 } else { wrong.append("\(sql) <> \(actual[name] ?? "nothing")") }
            }
            extra = actual.filter { expected[$0.key] == nil }.map(\.value).sorted()
        }
    }

    @Test("Tables, join tables, indexes, triggers and entity numbers are those of Core Data")
    func statements() throws {
        var counts = (tables: 0, joins: 0, indexes: 0, triggers: 0, stores: 0)
        for store in try SchemaRealStore.all() {
            guard let model = store.model else {
                #expect(Self.withoutModel.contains(store.name), "no model for \(store.name)")
                continue
            }
            let schema = StoreSchema(model: model)
            if Self.alteredInPlace.contains(store.name) {
                try compareNames(store, schema)
                continue
            }
            #expect(!store.isAlteredInPlace, "\(store.name)")
            let form = FrameworkForm(version: store.frameworkVersion, schema: schema)
            let tables = Comparison(expected: form.tables, actual: store.tables)
            let indexes = Comparison(expected: form.indexes, actual: store.indexes)
            let triggers = Comparison(expected: form.triggers, actual: store.triggers)

            if let pairs = Self.namedByLesserSide[store.name] {
                checkNamedByLesserSide(store, schema, tables, indexes, pairs)
            } else {
                #expect(tables.wrong.isEmpty && tables.extra.isEmpty, "\(store.name): \(tables)")
                #expect(indexes.wrong.isEmpty, "\(store.name): \(indexes.wrong)")
                #expect(indexes.extra.count == Self.leftOver[store.name] ?? 0, "\(store.name): \(indexes.extra)")
            }
            #expect(triggers.wrong.isEmpty && triggers.extra.isEmpty, "\(store.name): \(triggers)")
            checkNumbers(store, schema)

            let joins = schema.joinTables.count { store.tables[$0.name] != nil }
            counts.tables += tables.equal - joins
            counts.joins += joins
            counts.indexes += indexes.equal
            counts.triggers += triggers.equal
            counts.stores += 1
        }
        print("equal: \(counts)")
        #expect(counts.stores >= 50)
    }

    /// So many pairs on one entity are stored under the alternative names; all else is equal.
    private func checkNamedByLesserSide(
        _ store: SchemaRealStore, _ schema: StoreSchema, _ tables: Comparison, _ indexes: Comparison, _ pairs: Int
    ) {
        #expect(tables.wrong.count == pairs && tables.extra.count == pairs, "\(store.name): \(tables)")
        #expect(indexes.wrong.count == pairs && indexes.extra.count == pairs, "\(store.name): \(indexes)")
        let alternatives = schema.joinTables.filter { store.tables[$0.name] == nil }
        #expect(alternatives.count == pairs)
        for join in alternatives {
            let sql = join.alternativeName.flatMap { store.tables[$0] } ?? ""
            #expect(join.columnNames.allSatisfy { sql.contains("\($0) INTEGER") }, "\(store.name): \(join)")
        }
    }

    /// A store altered in place has the tables that are predicted, each with the predicted columns, whatever their order.
    private func compareNames(_ store: SchemaRealStore, _ schema: StoreSchema) throws {
        let standing = store.tables.filter { !$0.key.hasPrefix("Z_RT_") }
        let fixed = Set(schema.fixedTableStatements().map(FrameworkForm.name(of:)))
        let predicted = Set(schema.tables.map(\.name) + schema.joinTables.map(\.name)).union(fixed)
        #expect(predicted == Set(standing.keys), "\(store.name)")
        let taken = try store.namesTakenOver(by: schema)
        func columns(_ sql: String) -> Set<Substring> {
            Set(sql.split { "(), ".contains($0) }).subtracting(["CREATE", "TABLE", "PRIMARY", "KEY", "INTEGER"])
        }
        for statement in taken.tableStatements() {
            let name = FrameworkForm.name(of: statement)
            #expect(columns(statement) == columns(standing[name] ?? ""), "\(store.name) \(name)")
        }
        let indexes = Set(taken.tables.indices.flatMap { taken.indexes[$0].map(\.name) })
        #expect(indexes.subtracting(store.indexes.keys).isEmpty, "\(store.name)")
    }

    @Test("With the names in a store its whole schema is predicted, pairs on one entity included")
    func takenOver() throws {
        var stores = 0
        for store in try SchemaRealStore.all() where !Self.alteredInPlace.contains(store.name) {
            guard let model = store.model else { continue }
            let schema = try store.namesTakenOver(by: StoreSchema(model: model))
            let form = FrameworkForm(version: store.frameworkVersion, schema: schema)
            let tables = Comparison(expected: form.tables, actual: store.tables)
            #expect(tables.wrong.isEmpty && tables.extra.isEmpty, "\(store.name): \(tables)")
            let indexes = Comparison(expected: form.indexes, actual: store.indexes)
            #expect(indexes.wrong.isEmpty, "\(store.name): \(indexes.wrong)")
            for entity in model.entities {
                for relationship in entity.relationships where !relationship.isTransient {
                    guard case .join(let table, let side) = schema.storage(of: relationship) else { continue }
                    #expect(schema.joinTables[table].sides[side].relationship == relationship.reference)
                }
            }
            stores += 1
        }
        #expect(stores >= 50)
    }

    private func checkNumbers(_ store: SchemaRealStore, _ schema: StoreSchema) {
        var expected = schema.entityNumbers.enumerated().sorted { $0.element < $1.element }.map { index, number in
            let entity = schema.model.entity(at: index)
            return "\(number)|\(entity.definition.name)|\(entity.superentity.map(schema.number(of:)) ?? 0)"
        }
        if let (stale, current) = Self.staleNames[store.name] {
            #expect(expected.contains(current))
            expected = expected.map { $0 == current ? stale : $0 }
        }
        #expect(expected == store.primaryKeys, "\(store.name)")
    }

    @Test("The metadata written for a real store's own model, hashes and keys is the store's, sums included")
    func metadata() throws {
        var sums = 0
        for store in try SchemaRealStore.all() {
            guard let model = store.model,
                case .dictionary(let stored)? = store.plist["NSStoreModelVersionHashes"],
                case .array(let labels)? = store.plist["NSStoreModelVersionIdentifiers"]
            else { continue }
            let metadata = DestinationMetadata(
                uuid: WritingTestStore.uuid, sourceProperties: store.plist,
                versionHashes: stored.byKey.compactMapValues { if case .data(let bytes) = $0 { bytes } else { nil } },
                versionIdentifiers: labels.compactMap { if case .string(let label) = $0 { label } else { nil } })
            #expect(
                try metadata.propertyList(for: model) == .dictionary(PropertyListDictionary(store.plist)),
                "\(store.name)")
            sums += [DestinationMetadata.Key.digest, DestinationMetadata.Key.checksum].count { store.plist[$0] != nil }
        }
        print("sums recomputed: \(sums)")
        #expect(sums > 15)
    }

    @Test("Every relationship of every real model has a storage that exists")
    func storages() throws {
        for store in try SchemaRealStore.all() {
            guard let model = store.model else { continue }
            let schema = StoreSchema(model: model)
            for entity in model.entities {
                for relationship in entity.relationships where !relationship.isTransient {
                    let storage = schema.storage(of: relationship)
                    #expect(storage != .none, "\(store.name) \(entity) \(relationship.name)")
                    #expect(schema.columnsExist(storage), "\(store.name) \(entity) \(relationship.name)")
                }
                for attribute in entity.attributes where attribute.isStored {
                    #expect(schema.column(of: attribute) != nil, "\(store.name) \(entity) \(attribute.name)")
                }
            }
        }
    }
}

extension StoreSchema {
    /// Tells whether the table and columns of a storage exist and have the right roles.
    func columnsExist(_ storage: RelationshipStorage) -> Bool {
        func role(_ table: Int, _ column: Int?) -> ColumnRole? {
            guard let column else { return nil }
            return tables.indices.contains(table) && tables[table].columns.indices.contains(column)
                ? tables[table].columns[column].role : .lock
        }
        switch storage {
        case .none: return false
        case .join(let table, let side): return joinTables.indices.contains(table) && (0...1).contains(side)
        case .toManyHidden(let table, let column, let order):
            guard case .hiddenOwner = role(table, column) else { return false }
            if case .hiddenOrder? = role(table, order) { return true }
            return order == nil
        case .toOne(let table, let column, let entity, let order),
            .toManyByInverse(let table, let column, let entity, let order):
            guard case .toOne = role(table, column) else { return false }
            if entity != nil {
                guard case .toOneEntity? = role(table, entity) else { return false }
            }
            if case .order? = role(table, order) { return true }
            return order == nil
        }
    }
}
