import CSQLite
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import Synchronization
import TestSupport
import Testing

@Suite("Values over to-many relationships")
struct CollectionExpressionTests {
    /// Shops with trades, tags shared by trades, and an owner with several shops.
    static func makeModel() throws -> ManagedObjectModel {
        try model(
            entity(
                "Shop", [attribute("name", .string), attribute("limit", .integer32)],
                [toMany("trades", "Trade", inverse: "shop"), toOne("owner", "Owner", inverse: "shops")]),
            entity("Owner", [attribute("name", .string)], [toMany("shops", "Shop", inverse: "owner")]),
            entity(
                "Trade",
                [
                    attribute("amount", .integer32), attribute("price", .decimal), attribute("rate", .double),
                    attribute("day", .date), attribute("kind", .string), attribute("big", .integer64),
                ],
                [
                    toOne("shop", "Shop", inverse: "trades"), toMany("tags", "Tag", inverse: "trades"),
                    toMany("lines", "Line", inverse: "trade"),
                ]),
            entity("Tag", [attribute("weight", .integer32)], [toMany("trades", "Trade", inverse: "tags")]),
            entity("Line", [attribute("count", .integer16)], [toOne("trade", "Trade", inverse: "lines")]))
    }

    /// Shop 1 has three trades, shop 2 one, shop 3 none; 1 and 2 have an owner, shop 3's does not exist.
    static func makeStore(_ model: ManagedObjectModel) -> ReferenceStore {
        ReferenceStore.make(model) { store in
            store.insert("Owner", 1, ["name": .text("Ann")])
            store.insert("Shop", 1, ["name": .text("a"), "limit": .integer(6)], toOne: ["owner": 1])
            store.insert("Shop", 2, ["name": .text("b")], toOne: ["owner": 1])
            store.insert("Shop", 3, ["name": .text("c"), "limit": .integer(1)], toOne: ["owner": 77])
            store.insert(
                "Trade", 10,
                [
                    "amount": .integer(5), "price": .real(0.1), "rate": .real(1.5), "day": .real(100.5),
                    "kind": .text("x"), "big": .integer(.max),
                ], toOne: ["shop": 1])
            store.insert(
                "Trade", 11,
                [
                    "amount": .integer(7), "price": .real(0.2), "rate": .real(2.5), "day": .real(50),
                    "kind": .text("y"),
                    "big": .integer(1),
                ], toOne: ["shop": 1])
            store.insert("Trade", 12, ["amount": .integer(5), "kind": .text("x")], toOne: ["shop": 1])
            store.insert("Trade", 13, ["amount": .integer(-1), "price": .integer(3)], toOne: ["shop": 2])
            store.insert("Trade", 14, ["amount": .integer(100)], toOne: ["shop": 999])
            store.insert("Tag", 1, ["weight": .integer(3)])
            store.insert("Tag", 2, ["weight": .integer(4)])
            store.setMembers("Trade", 10, "tags", [1, 2])
            store.setMembers("Trade", 11, "tags", [1])
            for (key, trade, count) in [(1, 10, 2), (2, 10, 3), (3, 11, 4), (4, 13, 5)] as [(Int64, Int64, Int64)] {
                store.insert("Line", key, ["count": .integer(count)], toOne: ["trade": trade])
            }
        }
    }

    /// Expression, type, and the values for shops 1, 2 and 3.
    static let values: [(String, AttributeType, [ReferenceValue])] = [
        ("$source.trades.@count", .integer64, [.integer(3), .integer(1), .integer(0)]),
        ("count($source.trades)", .integer64, [.integer(3), .integer(1), .integer(0)]),
        ("$source.trades.@sum.amount", .integer64, [.integer(17), .integer(-1), .integer(0)]),
        // A path over a to-many gives a set: equal amounts count once.
        ("sum($source.trades.amount)", .integer64, [.integer(12), .integer(-1), .integer(0)]),
        ("$source.trades.amount.@sum.self", .integer64, [.integer(12), .integer(-1), .integer(0)]),
        ("count($source.trades.kind)", .integer64, [.integer(2), .integer(0), .integer(0)]),
        ("$source.trades.@distinctUnionOfObjects.kind.@count", .integer64, [.integer(2), .integer(0), .integer(0)]),
        ("$source.trades.@unionOfObjects.kind.@count", .integer64, [.integer(3), .integer(0), .integer(0)]),
        ("$source.trades.@sum.price", .decimal, [.real(0.3), .integer(3), .integer(0)]),
        ("$source.trades.@sum.price * 10", .decimal, [.integer(3), .integer(30), .integer(0)]),
        ("$source.trades.@avg.amount", .double, [.real(17.0 / 3), .real(-1), .real(0)]),
        // @avg takes nil for zero, average() passes it over.
        ("$source.trades.@avg.rate", .double, [.real(4.0 / 3), .real(0), .real(0)]),
        ("average($source.trades.rate)", .double, [.real(2), .real(0), .real(0)]),
        ("$source.trades.@min.day", .date, [.integer(50), .null, .null]),
        ("$source.trades.@max.day", .date, [.real(100.5), .null, .null]),
        ("max($source.trades.rate)", .double, [.real(2.5), .null, .null]),
        ("$source.trades.@max.amount + 1", .integer64, [.integer(8), .integer(0), .null]),
        ("SUBQUERY($source.trades, $t, $t.amount > 5).@count", .integer64, [.integer(1), .integer(0), .integer(0)]),
        (
            "SUBQUERY($source.trades, $t, $t.amount < $source.limit).@sum.amount", .integer64,
            [.integer(10), .integer(0), .integer(0)]
        ),
        (
            "SUBQUERY($source.trades, $t, ANY $t.lines.count > 3).@count", .integer64,
            [.integer(1), .integer(1), .integer(0)]
        ),
        (
            "SUBQUERY($source.trades, $t, SUBQUERY($t.lines, $l, $l.count < $t.amount AND $l.count < "
                + "$source.limit).@count > 0).@count", .integer64, [.integer(2), .integer(0), .integer(0)]
        ),
        ("$source.trades.@sum.lines.@count", .integer64, [.integer(3), .integer(1), .integer(0)]),
        ("$source.trades.lines.@sum.count", .integer64, [.integer(9), .integer(5), .integer(0)]),
        // Tag 1 is on two trades and counts once.
        ("$source.trades.tags.@count", .integer64, [.integer(2), .integer(0), .integer(0)]),
        ("$source.trades.tags.@sum.weight", .integer64, [.integer(7), .integer(0), .integer(0)]),
        // The owner's shops; nil is as good as an empty collection.
        ("$source.owner.shops.@count", .integer64, [.integer(2), .integer(2), .null]),
        ("$source.owner.shops.trades.@sum.amount", .integer64, [.integer(16), .integer(16), .null]),
        // Nil has no members to be counted, in whatever form.
        ("count($source.owner.shops)", .integer64, [.integer(2), .integer(2), .null]),
        ("FUNCTION($source.owner.shops, 'count')", .integer64, [.integer(2), .integer(2), .null]),
        ("$source.owner.shops.@max.limit", .integer32, [.integer(6), .integer(6), .null]),
        ("ANY $source.trades.amount > 6", .boolean, [.integer(1), .integer(0), .integer(0)]),
        ("ALL $source.trades.amount > 0", .boolean, [.integer(1), .integer(0), .integer(1)]),
        ("NONE $source.trades.kind == 'y'", .boolean, [.integer(0), .integer(1), .integer(1)]),
        ("'y' IN $source.trades.kind", .boolean, [.integer(1), .integer(0), .integer(0)]),
        ("$source.trades.kind CONTAINS 'x'", .boolean, [.integer(1), .integer(0), .integer(0)]),
        ("ANY $source.owner.shops == $source", .boolean, [.integer(1), .integer(1), .integer(0)]),
        ("$source.owner == nil", .boolean, [.integer(0), .integer(0), .integer(1)]),
        // A sum that overflows is an error only if it is used.
        (
            "TERNARY($source.limit == 6, -1, $source.trades.@sum.big)", .integer64,
            [.integer(-1), .integer(0), .integer(0)]
        ),
    ]

    @Test("A value over a to-many is what Core Data's collection operators give", arguments: values)
    func value(format: String, type: AttributeType, expected: [ReferenceValue]) throws {
        let source = try Self.makeModel()
        let destination = try model(entity("Shop", [attribute("value", type)]))
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try Self.makeStore(source).write(path: path)
        let mapping = mappings(try mapping("S", "Shop", "Shop", ["value": format]))
        let comparison = MigrationComparison(
            source: source, destination: destination, mapping: mapping, sourcePath: path, folder: folder)
        for variant in [MigrationComparison.Variant(), .init(batchSize: 1), .init(batchSize: 2, isStaged: true)] {
            let store = try comparison.run(variant).get().store
            let found = (1...3).map { store.value("Shop", $0, "value") }
            #expect(found == expected, "\(variant)")
        }
    }

    static let filters: [(String, [Int64])] = [
        ("trades.@count > 0", [1, 2]), ("ANY trades.amount == 7", [1]), ("NOT ANY trades.amount == 7", [2, 3]),
        ("ALL trades.amount > 0", [1, 3]), ("NONE trades.kind == 'x'", [2, 3]), ("owner != nil", [1, 2]),
        ("SUBQUERY(trades, $t, $t.amount < SELF.limit).@count > 1", [1]),
        ("limit IN trades.lines.count", []), ("limit > trades.@count", [1, 3]),
        ("owner.shops.@count == 2 AND trades.@sum.amount < 0", [2]), ("trades[SIZE] == 3", [1]),
    ]

    @Test("A source filter asks about members by batch", arguments: filters)
    func filter(format: String, expected: [Int64]) throws {
        let source = try Self.makeModel()
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try Self.makeStore(source).write(path: path)
        let shops = try mapping("S", "Shop", "Shop", ["name": "$source.name"])
        shops.sourceFilter = try SourcePredicate(format: format)
        let comparison = MigrationComparison(
            source: source, destination: source, mapping: mappings(shops), sourcePath: path, folder: folder)
        for variant in [MigrationComparison.Variant(), .init(batchSize: 1, isStaged: true)] {
            let store = try comparison.run(variant).get().store
            #expect(
                store.tables[store.schema.tableIndex(of: try #require(source.entity(named: "Shop")))].keys.sorted()
                    == expected)
        }
    }

    static let errors: [(String, AttributeType, String)] = [
        ("$source.trades.@sum.unknown", .integer64, "mapping.unknownKeyPath"),
        ("$source.unknown.@count", .integer64, "mapping.unknownKeyPath"),
        ("$source.owner.@count", .integer64, "expression.type"),
        ("$source.trades.@sum.kind", .integer64, "expression.type"),
        ("$source.trades.@sum.day", .double, "expression.type"),
        ("$source.trades.@count", .string, "expression.type"),
        ("$source.trades.@count.name", .integer64, "expression.type"),
        ("$source.trades.@sum", .integer64, "expression.type"),
        ("$source.trades.@median.amount", .integer64, "expression.type"),
        ("SUBQUERY($source.trades, $t, $t.amount == 'x').@count", .integer64, "expression.type"),
        ("SUBQUERY($source.trades, $t, $t.shop.unknown == 1).@count", .integer64, "mapping.unknownKeyPath"),
        ("ANY $source.name == 'x'", .boolean, "expression.type"),
        ("ANY $source.trades.amount BEGINSWITH 'x'", .boolean, "expression.type"),
        ("$source.trades.@sum.big", .integer64, "value.outOfRange"),
    ]

    @Test("An error in a value over a to-many has a code, a place and the text", arguments: errors)
    func error(format: String, type: AttributeType, code: String) throws {
        let source = try Self.makeModel()
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try Self.makeStore(source).write(path: path)
        let destination = try model(entity("Shop", [attribute("value", type)]))
        let entityMapping = try mapping("S", "Shop", "Shop", ["value": format])
        entityMapping.attributeMappings?.first?.place = TextPosition(line: 12, column: 9)
        let comparison = MigrationComparison(
            source: source, destination: destination, mapping: mappings(entityMapping), sourcePath: path,
            folder: folder)
        let failure = try #require(throws: MigrationError.self) { _ = try comparison.run(.init()).get() }
        #expect(failure.code.rawValue == code)
        #expect(failure.context.entityMapping == "S")
        #expect(failure.context.property == "value")
        #expect(failure.context.expression != nil)
        if failure.category == .configuration {
            #expect(failure.context.line == 12)
            #expect(failure.context.column == 9)
        } else {
            #expect(failure.context.objectID == "Shop/p1")
        }
    }

    @Test("The number of statements does not grow with the number of owners")
    func statements() throws {
        let few = try Self.countStatements(owners: 300)
        let many = try Self.countStatements(owners: 3000)
        #expect(few > 0)
        #expect(few == many)
    }

    /// Statements that a migration with folds runs on the source.
    private static func countStatements(owners: Int64) throws -> Int {
        let source = try makeModel()
        let store = ReferenceStore.make(source) { store in
            for key in 1...owners {
                store.insert("Shop", key, ["limit": .integer(key)])
                store.insert("Trade", key, ["amount": .integer(key)], toOne: ["shop": key])
                store.insert("Trade", key + owners, ["amount": .integer(1)], toOne: ["shop": key])
            }
        }
        let folder = try TemporaryFolder()
        let path = folder.file("counted-\(UUID().uuidString).sqlite")
        try store.write(path: path)
        let destination = try model(
            entity("Shop", [attribute("sum", .integer64), attribute("large", .integer64)]))
        let shops = try mapping(
            "S", "Shop", "Shop",
            [
                "sum": "$source.trades.@sum.amount",
                "large": "SUBQUERY($source.trades, $t, $t.amount > $source.limit).@count",
            ])
        shops.sourceFilter = try SourcePredicate(format: "ANY trades.amount > 0")
        let comparison = MigrationComparison(
            source: source, destination: destination, mapping: mappings(shops), sourcePath: path, folder: folder)
        return try StatementCounter.count(onFile: path) {
            _ = try comparison.run(.init(batchSize: 100)).get()
        }
    }
}

/// Counts the statements that connections to one file run, whoever opens them.
enum StatementCounter {
    private static let watched = Mutex<[String: Int]>([:])

    static func count(onFile path: String, _ body: () throws -> Void) rethrows -> Int {
        let name = URL(fileURLWithPath: path).lastPathComponent
        watched.withLock { $0[name] = 0 }
        _ = sqlite3_auto_extension(unsafeBitCast(install, to: (@convention(c) () -> Void).self))
        try body()
        return watched.withLock { $0.removeValue(forKey: name) ?? 0 }
    }

    private static let install:
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UnsafePointer<CChar>?>?, UnsafeRawPointer?
        ) -> Int32 = { connection, _, _ in
            sqlite3_trace_v2(
                connection, UInt32(SQLITE_TRACE_STMT), StatementCounter.trace, UnsafeMutableRawPointer(connection))
            return SQLITE_OK
        }

    private static let trace:
        @convention(c) (UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32 =
            {
                _, context, _, _ in
                guard let context, let name = sqlite3_db_filename(OpaquePointer(context), "main") else { return 0 }
                let file = URL(fileURLWithPath: String(cString: name)).lastPathComponent
                StatementCounter.watched.withLock { if let count = $0[file] { $0[file] = count + 1 } }
                return 0
            }
}
