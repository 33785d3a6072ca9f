import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Random values over to-many relationships, by compiled programs and by objects: both have to give the same.
@Suite("Values over to-many relationships: programs and objects")
struct EvaluationAgreementTests {
    /// A manager whose function keeps expressions from being compiled.
    private final class AskedManager: MigrationManager {
        func one() -> NSNumber { 1 }

        override func registerFunctions(_ functions: ExpressionFunctionTable) {
            functions.add("one", AskedManager.one)
        }
    }

    private struct Generator {
        var random: SeededGenerator

        mutating func pick<Value>(_ values: [Value]) -> Value { values[random.below(values.count)] }

        static let paths: [(String, String)] = [
            ("trades", "Trade"), ("trades", "Trade"), ("trades.lines", "Line"), ("trades.tags", "Tag"),
            ("owner.shops", "Shop"), ("owner.shops.trades", "Trade"), ("trades.tags.trades", "Trade"),
            ("owner.shops.trades.lines", "Line"), ("owner.shops.owner.shops", "Shop"),
            ("trades.tags.trades.shop", "Shop"), ("trades.shop.trades", "Trade"),
        ]
        static let numbers: [String: [String]] = [
            "Trade": ["amount", "rate", "price"], "Line": ["count"], "Tag": ["weight"], "Shop": ["limit"],
        ]

        /// An expression and the type of its value.
        mutating func expression() -> (String, AttributeType) {
            let (way, entity) = pick(Self.paths)
            let path = "$source." + way
            let name = pick(Self.numbers[entity] ?? [])
            let type: AttributeType = name == "rate" ? .double : name == "price" ? .decimal : .integer64
            let limit = random.below(9) - 2
            switch random.below(17) {
            case 0: return ("\(path).@count", .integer64)
            case 1: return ("count(\(path))", .integer64)
            case 2: return ("count(\(path).\(name))", .integer64)
            case 3: return ("sum(\(path).\(name))", type)
            case 4: return ("\(path).@sum.\(name)", type)
            case 5: return ("\(path).@avg.\(name)", type == .decimal ? .decimal : .double)
            case 6: return ("average(\(path).\(name))", type == .decimal ? .decimal : .double)
            case 7: return ("\(path).\(pick(["@min", "@max"])).\(name)", type)
            case 8: return ("\(pick(["min", "max"]))(\(path).\(name))", type)
            case 9: return ("\(path).\(name).@sum.self", type)
            case 10:
                return ("\(path).@\(pick(["distinctUnionOfObjects", "unionOfObjects"])).\(name).@count", .integer64)
            case 11: return ("SUBQUERY(\(path), $x, $x.\(name) > \(limit)).@count", .integer64)
            case 12: return ("SUBQUERY(\(path), $x, $x.\(name) != nil).@sum.\(name)", type)
            case 13:
                return (
                    "\(pick(["ANY", "ALL", "NONE"])) \(path).\(name) \(pick(["<", "==", ">", "!="])) \(limit)", .boolean
                )
            case 14: return ("\(limit) IN \(path).\(name)", .boolean)
            case 15: return ("\(path).\(name) CONTAINS \(limit)", .boolean)
            default:
                guard entity == "Trade" else { return ("ANY \(path).\(name) == nil", .boolean) }
                return ("\(path).@sum.\(pick(["lines", "tags"])).@count", .integer64)
            }
        }
    }

    private static func makeStore(
        _ model: ManagedObjectModel, _ random: inout SeededGenerator
    ) -> ReferenceStore {
        var drawn: [Int] = []
        for _ in 0..<2000 { drawn.append(random.below(1 << 20)) }
        var next = 0
        func below(_ bound: Int) -> Int {
            next += 1
            return drawn[next % drawn.count] % bound
        }
        return ReferenceStore.make(model) { store in
            func integer() -> ReferenceValue { below(5) == 0 ? .null : .integer(Int64(below(8) - 2)) }
            func real() -> ReferenceValue { below(5) == 0 ? .null : .real(Double(below(32)) / 4) }
            for key in 1...Int64(3) { store.insert("Owner", key) }
            for key in 1...Int64(12) {
                store.insert(
                    "Shop", key, ["limit": integer()], toOne: below(4) == 0 ? [:] : ["owner": Int64(below(4) + 1)])
            }
            for key in 1...Int64(5) { store.insert("Tag", key, ["weight": integer()]) }
            for key in 1...Int64(24) {
                store.insert(
                    "Trade", key, ["amount": integer(), "rate": real(), "price": real()],
                    toOne: ["shop": Int64(below(13) + 1)])
            }
            for key in 1...Int64(24) where below(2) == 0 {
                store.setMembers(
                    "Trade", key, "tags", Array(Set((0..<below(4)).map { _ in Int64(below(5) + 1) })).sorted())
            }
            for key in 1...Int64(30) {
                store.insert("Line", key, ["count": integer()], toOne: ["trade": Int64(below(24) + 1)])
            }
        }
    }

    @Test("Programs and objects agree on random expressions over several to-many relationships")
    func agreement() throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = RandomSeeds.first
        let runs = environment["STAGECOACH_RUNS"].flatMap(Int.init) ?? 4
        print("EvaluationAgreementTests seed \(seed), \(runs) runs")
        var compared = 0
        for run in 0..<runs {
            var generator = Generator(random: SeededGenerator(seed: seed &+ UInt64(run)))
            let expressions = (0..<40).map { _ in generator.expression() }
            compared += try Self.compare(expressions, &generator.random, "seed \(seed &+ UInt64(run))")
        }
        print("EvaluationAgreementTests \(compared) comparisons")
        #expect(compared == runs * 40 * 12)
    }

    private static func compare(
        _ expressions: [(String, AttributeType)], _ random: inout SeededGenerator, _ label: String
    ) throws -> Int {
        let source = try CollectionExpressionTests.makeModel()
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try makeStore(source, &random).write(path: path)
        var attributes: [AttributeDefinition] = []
        var properties: [PropertyMapping] = []
        for (index, (text, type)) in expressions.enumerated() {
            attributes += [attribute("c\(index)", type), attribute("o\(index)", type)]
            let other = "TERNARY(FUNCTION($manager, 'one') == 1, \(text), nil)"
            properties.append(PropertyMapping(name: "c\(index)", valueExpression: try ValueExpression(parsing: text)))
            properties.append(PropertyMapping(name: "o\(index)", valueExpression: try ValueExpression(parsing: other)))
        }
        let destination = try model(entity("Shop", attributes))
        let shops = try mapping("S", "Shop", "Shop")
        shops.attributeMappings = properties
        let manager = AskedManager(sourceModel: source, destinationModel: destination)
        manager.options.batchSize = 1 + random.below(6)
        let out = URL(fileURLWithPath: folder.file("out.sqlite"))
        try manager.migrateStore(
            from: URL(fileURLWithPath: path), type: .sqlite, mapping: mappings(shops), to: out, type: .sqlite)
        let store = try ReferenceStore.read(path: out.path, model: destination)
        var compared = 0
        for key in store.keys("Shop") {
            for (index, (text, _)) in expressions.enumerated() {
                let one = store.value("Shop", key, "c\(index)")
                let other = store.value("Shop", key, "o\(index)")
                #expect(one == other, "\(label), shop \(key): \(text): compiled \(one), by objects \(other)")
                compared += 1
            }
        }
        return compared
    }
}
