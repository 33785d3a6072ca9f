import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Source filters of which only objects can evaluate a part.
@Suite("Filters over objects") struct ObjectFilterTests {
    /// A manager that filters call.
    private final class StrictManager: MigrationManager {
        func isWanted(name: String?) -> NSNumber? { name.map { NSNumber(value: $0 != "b") } }

        override func registerFunctions(_ functions: ExpressionFunctionTable) {
            functions.add("isWantedWithName:", StrictManager.isWanted(name:))
        }
    }

    /// A policy whose functions filters call.
    private final class ShopPolicy: EntityMigrationPolicy {
        func isOpen(name: String?) -> NSNumber { NSNumber(value: name == "a") }
    }

    /// The shops of ``CollectionExpressionTests`` that a filter lets pass.
    private static func run(_ format: String, policy: String? = nil, isStaged: Bool = false) throws -> [Int64] {
        let source = try CollectionExpressionTests.makeModel()
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try CollectionExpressionTests.makeStore(source).write(path: path)
        let shops = try mapping("S", "Shop", "Shop", ["name": "$source.name"], policy: policy)
        shops.sourceFilter = try SourcePredicate(format: format)
        let manager = StrictManager(sourceModel: source, destinationModel: source)
        manager.userInfo = ["wanted": "c"]
        manager.policies = PolicyRegistry()
        manager.policies.register(ShopPolicy.self) { $0.add("isOpenWithName:", ShopPolicy.isOpen(name:)) }
        manager.options.batchSize = 2
        manager.options.fullCheck = true
        manager.usesStoreSpecificMigrationManager = !isStaged
        let out = URL(fileURLWithPath: folder.file("out.sqlite"))
        try manager.migrateStore(
            from: URL(fileURLWithPath: path), type: .sqlite, mapping: mappings(shops), to: out, type: .sqlite)
        let store = try ReferenceStore.read(path: out.path, model: source)
        return store.keys("Shop").compactMap { key in
            if case .text(let name) = store.value("Shop", key, "name") { Int64(name.utf8.first ?? 0) - 96 } else { nil }
        }
    }

    static let filters: [(String, [Int64])] = [
        ("FUNCTION($manager, 'isWantedWithName:', name) == YES", [1, 3]),
        ("NOT FUNCTION($manager, 'isWantedWithName:', name) == YES", [2]),
        ("limit > 0 AND FUNCTION($manager, 'isWantedWithName:', name) == YES", [1, 3]),
        // Shop 2 has no limit: unknown, and unknown drops out, negated or not.
        ("limit + median({1, 2, 3}) > 4", [1]), ("NOT (limit + median({1, 2, 3}) > 4)", [3]),
        ("limit + median({1, 2, 3}) == nil", [2]), ("limit + median({1, 2, 3}) != nil", [1, 3]),
        ("limit + median({1, 2}) > 4 OR name == 'b'", [1, 2]),
        ("NOT (limit + median({1, 2}) > 4 OR name == 'b')", [3]),
        ("name == $manager.userInfo.wanted", [3]),
        ("FUNCTION(name, 'substringToIndex:', 1) IN {'a', 'c'}", [1, 3]),
        ("limit + median({1, 2, 3}) BETWEEN {2, 9}", [1, 3]),
        ("SUBQUERY(trades, $t, FUNCTION($t.kind, 'hasPrefix:', 'y') == YES).@count > 0", [1]),
        ("median(trades.amount) > 4", [1]), ("ANY trades.@distinctUnionOfObjects.amount > 5", [1]),
        ("SELF.owner.shops.@count == 2 AND FUNCTION($source.owner.name, 'hasSuffix:', 'n') == YES", [1, 2]),
    ]

    @Test("A filter that no program can compute is asked of objects; unknown leaves the object out", arguments: filters)
    func filter(format: String, expected: [Int64]) throws {
        for isStaged in [false, true] { #expect(try Self.run(format, isStaged: isStaged) == expected) }
        #expect(try Self.run(format, policy: "ShopPolicy") == expected)
    }

    @Test("A filter calls functions of the mapping's policy")
    func policyFunction() throws {
        let format = "FUNCTION($entityPolicy, 'isOpenWithName:', name) == YES"
        #expect(try Self.run(format, policy: "ShopPolicy") == [1])
        let error = try #require(throws: MigrationError.self) { _ = try Self.run(format) }
        #expect(error.code == "policy.missing" && error.category == .configuration)
    }

    static let refusals: [(String, String)] = [
        ("FUNCTION($manager, 'unheardOf:', name) == YES", "policy.unknownSelector"),
        ("FUNCTION(name, 'unheardOf:', 1) == YES", "expression.unknownSelector"),
        ("FUNCTION(unknown, 'hasPrefix:', 'a') == YES", "mapping.unknownKeyPath"),
        ("ANYKEY == 'a'", "expression.unsupported"),
    ]

    @Test("An expression that neither rows nor objects can answer is refused before anything runs", arguments: refusals)
    func refusal(format: String, code: String) throws {
        let error = try #require(throws: MigrationError.self) { _ = try Self.run(format) }
        #expect(error.code.rawValue == code && error.category == .configuration)
        #expect(error.context.entityMapping == "S")
    }

    @Test("An object whose filter fails is named")
    func failure() throws {
        let error = try #require(throws: MigrationError.self) {
            _ = try Self.run("FUNCTION(name, 'substringToIndex:', limit) == 'a'")
        }
        #expect(error.category == .data && error.context.objectID?.hasPrefix("Shop/p") == true)
    }

    /// Statements that migrating owners with two trades of two lines each runs on the source.
    private static func countStatements(_ change: (EntityMapping) throws -> Void, owners: Int64) throws -> Int {
        let source = try CollectionExpressionTests.makeModel()
        let store = ReferenceStore.make(source) { store in
            for key in 1...owners {
                store.insert("Owner", key, ["name": .text("o\(key)")])
                store.insert("Shop", key, ["name": .text("s"), "limit": .integer(key)], toOne: ["owner": key])
                for trade in [key, key + owners] {
                    store.insert("Trade", trade, ["amount": .integer(trade), "kind": .text("k")], toOne: ["shop": key])
                    store.insert("Line", trade, ["count": .integer(1)], toOne: ["trade": trade])
                }
            }
        }
        let folder = try TemporaryFolder()
        let path = folder.file("counted-\(UUID().uuidString).sqlite")
        try store.write(path: path)
        let destination = try model(entity("Shop", [attribute("value", .double), attribute("name", .string)]))
        let shops = try mapping("S", "Shop", "Shop")
        try change(shops)
        let comparison = MigrationComparison(
            source: source, destination: destination, mapping: mappings(shops), sourcePath: path, folder: folder)
        return try StatementCounter.count(onFile: path) {
            _ = try comparison.run(.init(batchSize: 200)).get()
        }
    }

    static let batched = [
        "median($source.trades.amount)", "stddev($source.trades.amount)", "max({$source.limit, $source.trades.@count})",
        "median($source.owner.shops.limit)", "$source.trades.lines.@count + median({1, 2, 3})",
        "TERNARY($source.limit > 5, median($source.trades.amount), $source.owner.shops.@count)",
        "count($source.trades.lines UNION $source.trades)", "length(min($source.trades.kind))",
    ]

    @Test("No expression over objects asks the source once for each object", arguments: batched)
    func statements(format: String) throws {
        func count(_ owners: Int64) throws -> Int {
            try Self.countStatements(
                { $0.attributeMappings = try mapping("S", "Shop", "Shop", ["value": format]).attributeMappings },
                owners: owners)
        }
        let (few, many) = (try count(400), try count(2000))
        #expect((many - few) * 4 < 1600, "\(few) statements for 400 objects, \(many) for 2000")
    }

    @Test("A choice between lookups reads the relationships of many objects at once")
    func lookupStatements() throws {
        func count(_ owners: Int64) throws -> Int {
            let source = try CollectionExpressionTests.makeModel()
            let store = ReferenceStore.make(source) { store in
                for key in 1...owners {
                    store.insert("Shop", key, ["limit": .integer(key % 3)])
                    store.insert("Trade", key, ["amount": .integer(key)], toOne: ["shop": key])
                    store.insert("Trade", key + owners, toOne: ["shop": key])
                }
            }
            let folder = try TemporaryFolder()
            let path = folder.file("counted-\(UUID().uuidString).sqlite")
            try store.write(path: path)
            let destination = try model(
                entity("Shop", [], [toMany("trades", "Trade", inverse: "shop")]),
                entity("Trade", [], [toOne("shop", "Shop", inverse: "trades")]))
            let large = "SUBQUERY($source.trades, $t, $t.amount > 0)"
            let shops = try mapping(
                "S", "Shop", "Shop",
                relationships: [
                    "trades": "TERNARY($source.limit > 0, \(by("T", "$source.trades")), \(by("T", large)))"
                ])
            let comparison = MigrationComparison(
                source: source, destination: destination, mapping: mappings(shops, try mapping("T", "Trade", "Trade")),
                sourcePath: path, folder: folder)
            return try StatementCounter.count(onFile: path) {
                let made = try comparison.run(.init(batchSize: 200)).get().store
                let links = made.objects("Shop").values.reduce(0) { $0 + $1.related("trades").count }
                #expect(links == (1...owners).reduce(0) { $0 + ($1 % 3 > 0 ? 2 : 1) })
            }
        }
        let (few, many) = (try count(400), try count(2000))
        #expect((many - few) * 4 < 1600, "\(few) statements for 400 objects, \(many) for 2000")
    }

    @Test("A model's regular expression that backtracks without end is an error that names it")
    func patternLimit() throws {
        let source = try model(entity("A", [attribute("name", .string)]))
        let destination = try model(
            entity("A", [attribute("name", .string) { $0.regularExpression = "(a+)+(?=c)c" }]))
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try ReferenceStore.make(source) {
            $0.insert("A", 1, ["name": .text(String(repeating: "a", count: 60))])
        }.write(path: path)
        let comparison = MigrationComparison(
            source: source, destination: destination,
            mapping: mappings(try mapping("A", "A", "A", ["name": "$source.name"])),
            sourcePath: path, folder: folder)
        let error = #expect(throws: MigrationError.self) { _ = try comparison.run(.init()).get() }
        #expect(error?.code == "expression.patternLimit" && error?.context.property == "name")
        #expect(error?.message.contains("(a+)+(?=c)c") == true)
    }

    @Test(
        "No filter over objects asks the source once for each object",
        arguments: [
            "median(trades.amount) > 0", "FUNCTION(owner.name, 'hasPrefix:', 'o') == YES",
            "SUBQUERY(trades, $t, FUNCTION($t.kind, 'hasPrefix:', 'k') == YES).@count > 0",
        ])
    func filterStatements(format: String) throws {
        func count(_ owners: Int64) throws -> Int {
            try Self.countStatements({ $0.sourceFilter = try SourcePredicate(format: format) }, owners: owners)
        }
        let (few, many) = (try count(400), try count(2000))
        #expect((many - few) * 4 < 1600, "\(few) statements for 400 objects, \(many) for 2000")
    }

    @Test("now() is the run's start, the same for every row and for both ways of evaluating")
    func now() throws {
        let source = try CollectionExpressionTests.makeModel()
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try CollectionExpressionTests.makeStore(source).write(path: path)
        let destination = try model(entity("Shop", [attribute("one", .date), attribute("two", .date)]))
        // The second waits for a moment, and no program knows it.
        let shops = try mapping(
            "S", "Shop", "Shop", ["one": "now()", "two": "TERNARY(FUNCTION($manager, 'pause') == 1, now(), now())"])
        final class SlowManager: MigrationManager {
            func pause() -> NSNumber {
                usleep(2000)
                return 1
            }
            override func registerFunctions(_ functions: ExpressionFunctionTable) {
                functions.add("pause", SlowManager.pause)
            }
        }
        let manager = SlowManager(sourceModel: source, destinationModel: destination)
        let out = URL(fileURLWithPath: folder.file("out.sqlite"))
        let before = Date().timeIntervalSinceReferenceDate
        try manager.migrateStore(
            from: URL(fileURLWithPath: path), type: .sqlite, mapping: mappings(shops), to: out, type: .sqlite)
        let store = try ReferenceStore.read(path: out.path, model: destination)
        let values = Set(store.column("Shop", "one").values).union(store.column("Shop", "two").values)
        #expect(values.count == 1)
        guard case .real(let seconds)? = values.first else {
            Issue.record("no date")
            return
        }
        #expect(seconds >= before && seconds <= Date().timeIntervalSinceReferenceDate)
    }
}
