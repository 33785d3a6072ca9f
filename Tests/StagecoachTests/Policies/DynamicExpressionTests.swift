import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A policy with functions for value expressions, whose mappings change during the run.
private final class TradePolicy: EntityMigrationPolicy {
    func shout(text: String?) -> String? { text.map { $0.uppercased() + "!" } }

    override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
        guard mapping.userInfo?["changes"] != nil else { return }
        mapping.attributeMapping(named: "name")?.valueExpression = ValueExpression(format: "'changed'")
    }

    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        if mapping.userInfo?["each"] != nil {
            let key = sInstance.objectID.key
            mapping.attributeMapping(named: "name")?.valueExpression = ValueExpression(format: "'object \(key)'")
        }
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    }
}

/// A manager that value expressions may call.
private final class PricedManager: MigrationManager {
    func price(amount: NSNumber?) -> NSNumber? { amount.map { NSNumber(value: $0.intValue * 2) } }

    override func registerFunctions(_ functions: ExpressionFunctionTable) {
        functions.add("priceWithAmount:", PricedManager.price(amount:))
    }
}

@Suite("Expressions that only objects can evaluate")
struct DynamicExpressionTests {
    /// Migrates shops and trades with some properties of the shop given; the rest as in ``CollectionExpressionTests``.
    private static func run(
        _ attributes: KeyValuePairs<String, String?> = [:], relationships: KeyValuePairs<String, String?> = [:],
        policy: String? = nil, userInfo: [AnyHashable: Any]? = nil,
        isStaged: Bool = false, change: (MappingModel) throws -> Void = { _ in }
    ) throws -> ReferenceStore {
        let source = try CollectionExpressionTests.makeModel()
        let destination = try model(
            entity(
                "Shop",
                [attribute("name", .string), attribute("number", .integer64), attribute("real", .double)],
                [toMany("trades", "Trade", inverse: "shop"), toOne("first", "Trade")]),
            entity("Trade", [attribute("amount", .integer32)], [toOne("shop", "Shop", inverse: "trades")]))
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try CollectionExpressionTests.makeStore(source).write(path: path)
        let shops = try mapping("S", "Shop", "Shop", attributes, relationships: relationships, policy: policy)
        shops.userInfo = userInfo
        let trades = try mapping("T", "Trade", "Trade", ["amount": "$source.amount"])
        let mappingModel = mappings(shops, trades)
        try change(mappingModel)
        let manager = PricedManager(sourceModel: source, destinationModel: destination)
        manager.policies = PolicyRegistry()
        manager.policies.register(TradePolicy.self) { $0.add("shoutWithText:", TradePolicy.shout(text:)) }
        manager.options.batchSize = 2
        manager.options.fullCheck = true
        manager.usesStoreSpecificMigrationManager = !isStaged
        let out = URL(fileURLWithPath: folder.file("out.sqlite"))
        try manager.migrateStore(
            from: URL(fileURLWithPath: path), type: .sqlite, mapping: mappingModel, to: out, type: .sqlite)
        return try ReferenceStore.read(path: out.path, model: destination)
    }

    static let values: [(String, String, [ReferenceValue])] = [
        ("name", "FUNCTION($source.name, 'substringToIndex:', 1)", [.text("a"), .text("b"), .text("c")]),
        ("name", "FUNCTION($manager.userInfo, 'description')", [.null, .null, .null]),
        ("number", "FUNCTION($manager, 'priceWithAmount:', $source.limit)", [.integer(12), .null, .integer(2)]),
        (
            "number", "($source.trades UNION $source.owner.shops).@count", [.integer(5), .integer(3), .integer(0)]
        ),
        ("number", "{4, 5, 6}[1]", [.integer(5), .integer(5), .integer(5)]),
        ("real", "median({1, 2, 9})", [.real(2), .real(2), .real(2)]),
        ("name", "$entityMapping.name", [.text("S"), .text("S"), .text("S")]),
        (
            "number", "TERNARY($source.limit == 6, FUNCTION($manager, 'priceWithAmount:', 1), 7)",
            [.integer(2), .integer(7), .integer(7)]
        ),
    ]

    @Test("An attribute without policy keeps its keys and gets the value objects give", arguments: values)
    func attributeOverObjects(name: String, format: String, expected: [ReferenceValue]) throws {
        for isStaged in [false, true] {
            let store = try Self.run([name: format], isStaged: isStaged)
            #expect((1...3).map { store.value("Shop", $0, name) } == expected)
        }
    }

    @Test("A function of the policy computes an attribute, beside compiled ones")
    func policyFunction() throws {
        let store = try Self.run(
            [
                "name": "FUNCTION($entityPolicy, 'shoutWithText:', $source.name)",
                "number": "$source.trades.@sum.amount",
            ], policy: "TradePolicy")
        #expect(store.column("Shop", "name") == [1: .text("A!"), 2: .text("B!"), 3: .text("C!")])
        #expect(store.column("Shop", "number") == [1: .integer(17), 2: .integer(-1), 3: .integer(0)])
    }

    @Test("A relationship takes what an expression over objects gives, with and without policy")
    func relationshipOverObjects() throws {
        let all =
            "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'T', $source.trades)"
        for policy in [nil, "TradePolicy"] {
            let store = try Self.run(
                relationships: [
                    "trades": "TERNARY($source.limit == 6, \(all), nil)",
                    "first": "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'T', "
                        + "SUBQUERY($source.trades, $t, $t.amount < 0))",
                ], policy: policy)
            let shops = store.objects("Shop")
            #expect(
                shops[1]?.related("trades").map(\.key) == [1, 2, 3]
                    || shops[1]?.related("trades").map(\.key) == [10, 11, 12])
            #expect(shops[2]?.related("trades").isEmpty == true)
            #expect(shops[1]?.related("first").isEmpty == true)
            #expect(shops[2]?.related("first").map { $0["amount"] } == [.integer(-1)])
        }
    }

    @Test("An expression that a policy sets in begin, or for each object, is the one that counts")
    func changedExpression() throws {
        let once = try Self.run(["name": "$source.name"], policy: "TradePolicy", userInfo: ["changes": true])
        #expect(once.column("Shop", "name") == [1: .text("changed"), 2: .text("changed"), 3: .text("changed")])
        let each = try Self.run(["name": "$source.name"], policy: "TradePolicy", userInfo: ["each": true])
        #expect(each.column("Shop", "name") == [1: .text("object 1"), 2: .text("object 2"), 3: .text("object 3")])
    }

    static let refusals: [(String, String)] = [
        ("FUNCTION($source.name, 'unheardOf:', 1)", "expression.unknownSelector"),
        ("TERNARY(TRUEPREDICATE, FUNCTION($source.name, 'unheardOf:', 1), nil)", "expression.unknownSelector"),
        ("FUNCTION($manager, 'unheardOf:', 1)", "policy.unknownSelector"),
        ("unheardOf({1, 2})", "expression.unknownSelector"),
        ("FUNCTION($entityPolicy, 'shoutWithText:', $source.name)", "policy.missing"),
        ("name", "expression.unsupported"), ("SELF.name", "expression.unsupported"),
        ("FUNCTION($source.unknown, 'substringToIndex:', 1)", "mapping.unknownKeyPath"),
    ]

    @Test("An expression that neither rows nor objects can answer is refused before anything runs", arguments: refusals)
    func refusal(format: String, code: String) throws {
        let error = try #require(throws: MigrationError.self) { _ = try Self.run(["name": format]) }
        #expect(error.code.rawValue == code)
        #expect(error.category == .configuration)
        #expect(error.context.property == "name")
        #expect(error.context.entityMapping == "S")
    }
}
