import Archives
import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import Mapping

@Suite("Archived expressions and predicates")
struct ArchivedExpressionTests {
    private func decode(_ bytes: [UInt8]) throws -> ExpressionNode? {
        try ArchivedExpressionReader().decode(bytes)?.node
    }

    private func failure(_ build: (inout ExpressionArchive) throws -> KeyedArchiveBuilder.Reference) throws
        -> MigrationError
    {
        var archive = ExpressionArchive()
        let root = try build(&archive)
        let bytes = try archive.builder.encode(root: root)
        return try #require(throws: MigrationError.self) { try decode(bytes) }
    }

    @Test(
        "each form is read as its text says",
        arguments: [
            "$source.name", "$source.a.b", "name", "a.@count", "SELF", "ANYKEY", "nil", "TRUE", "5", "-3", "2.5",
            "'it\\'s'", "CAST(5.0, 'NSDate')", "CAST('12.5', 'NSDecimalNumber')", "CAST('00ff', 'NSData')",
            "$source.a + 1", "$source.a - 1", "$source.a * 2", "$source.a / 2", "$source.a ** 2", "$source.a % 2",
            "($source.temperature - 32.0) / 1.8", "-$source.a", "now()", "sum($source.items.price)",
            "CAST($source.a, 'NSNumber')", "{1, 'x', $source.a}", "TERNARY($source.a > 1, 'x', nil)",
            "SUBQUERY($source.items, $x, $x.price BETWEEN {1, 2}).@count", "$source.a UNION $source.b",
            "$source.a INTERSECT $source.b", "$source.a MINUS $source.b", "$source.a[0]", "$source.a[FIRST]",
            "$source.a[LAST]", "$source.a[SIZE]", "$x := 5", "FUNCTION($entityPolicy, 'isbnForIsbn:', $source.isbn)",
            "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'A', $source.trades)",
            "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Car', 'TRUEPREDICATE'), $manager.sourceContext, NO)",
            "TERNARY(TRUEPREDICATE AND (NOT FALSEPREDICATE OR ANY a.b ==[cd] 'x'), 1, 2)",
            "TERNARY(ALL a < 1 AND a <= 1 AND a > 1 AND a >= 1 AND a != 1, 1, 2)",
            "TERNARY(a LIKE[c] 'x*' OR a MATCHES '.*' OR a BEGINSWITH[d] 'x' OR a ENDSWITH 'x' OR a CONTAINS[n] 'x' OR a IN {1}, 1, 2)",
        ])
    func forms(_ text: String) throws {
        let expected = try ValueExpression(parsing: text)
        #expect(try decode(ExpressionArchive.bytes(expected.node)) == expected.node)
    }

    @Test("random trees come back from their archives")
    func random() throws {
        let seed = RandomSeeds.first
        print("ArchivedExpressionTests.random seed \(seed)")
        var generator = ExpressionRoundTripTests.TreeGenerator(random: SeededGenerator(seed: seed))
        var count = 0
        for _ in 0..<6000 {
            let node = generator.value(generator.random.below(4))
            guard let bytes = try? ExpressionArchive.bytes(node) else { continue }
            let read = try decode(bytes)
            // Parts inside parts may be spelled as the object itself, which a key path leaves out.
            #expect(read == node, "seed \(seed): \(ValueExpression(node: node).format)")
            let text = read.map { ValueExpression(node: $0).format } ?? ""
            #expect(try ValueExpression(parsing: text).node == read, "seed \(seed): \(text)")
            count += 1
        }
        #expect(count > 3000)
    }

    @Test("a root of nil is no expression")
    func null() throws {
        var builder = KeyedArchiveBuilder()
        #expect(try decode(builder.encode(root: .null)) == nil)
    }

    @Test("constants of classes, collections and large numbers")
    func constants() throws {
        var archive = ExpressionArchive()
        func decoded(_ value: KeyedArchiveBuilder.Reference) throws -> ExpressionNode? {
            var copy = archive
            let root = copy.object("NSConstantValueExpression", ["NSConstantValue": value], type: 0)
            return try decode(copy.builder.encode(root: root))
        }
        let one = archive.builder.integer(1)
        let text = archive.builder.string("x")
        #expect(
            try decoded(archive.builder.array([one, text]))
                == .aggregate([.constant(.integer(1)), .constant(.string("x"))]))
        #expect(try decoded(archive.builder.set([one])) == .aggregate([.constant(.integer(1))]))
        let name = archive.builder.string("NSNumber")
        let root = archive.object("NSConstantValueExpression", ["NSConstantValueClassName": name], type: 0)
        #expect(try decode(archive.builder.encode(root: root)) == .cast(.constant(.string("NSNumber")), "Class"))
    }

    @Test("what is code of an app is refused by name")
    func code() throws {
        let block = try failure { $0.object("NSBlockExpression", [:], type: 19) }
        #expect(block.code == "archive.expression")
        #expect(block.message.contains("NSBlockExpression") && block.message.contains("code of the app"))
        let selector = try failure { archive in
            let operation = archive.builder.object(
                .init("NSCustomPredicateOperator", "NSPredicateOperator"), ["NSOperatorType": .integer(11)])
            let one = try archive.add(ExpressionNode.constant(.integer(1)))
            let condition = archive.builder.object(
                .init("NSComparisonPredicate", "NSPredicate"),
                [
                    "NSLeftExpression": one.field, "NSRightExpression": one.field,
                    "NSPredicateOperator": operation.field,
                ])
            return archive.object(
                "NSTernaryExpression",
                ["NSPredicate": condition, "NSTrueExpression": one, "NSFalseExpression": one])
        }
        #expect(selector.message.contains("selector"))
        let predicate = try failure { archive in
            let one = try archive.add(ExpressionNode.constant(.integer(1)))
            let condition = archive.builder.object(.init("NSBlockPredicate", "NSPredicate"), [:])
            return archive.object(
                "NSTernaryExpression",
                ["NSPredicate": condition, "NSTrueExpression": one, "NSFalseExpression": one])
        }
        #expect(predicate.message.contains("NSBlockPredicate"))
    }

    @Test("UUID, URL and dictionary constants are read, printed and read again, and evaluated")
    func richConstants() throws {
        func constant(
            _ build: (inout ExpressionArchive) -> KeyedArchiveBuilder.Reference
        ) throws -> ValueExpression {
            var archive = ExpressionArchive()
            let value = build(&archive)
            let root = archive.object("NSConstantValueExpression", ["NSConstantValue": value])
            let read = ValueExpression(node: try #require(try decode(archive.builder.encode(root: root))))
            let again = try ValueExpression(parsing: read.format)
            #expect(again == read)
            return read
        }
        let uuid = try constant {
            $0.builder.uuid(UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)))
        }
        #expect(uuid.format == "CAST('00010203-0405-0607-0809-0A0B0C0D0E0F', 'NSUUID')")
        #expect(try uuid.evaluate(with: nil) as? UUID == UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
        let url = try constant { $0.builder.url("https://example.org/a?b=c") }
        #expect(url.format == "CAST('https://example.org/a?b=c', 'NSURL')")
        #expect(try url.evaluate(with: nil) as? URL == URL(string: "https://example.org/a?b=c"))
        let dictionary = try constant { archive in
            archive.builder.dictionary([
                (archive.builder.string("one"), archive.builder.integer(1)),
                (archive.builder.string("list"), archive.builder.array([archive.builder.string("x")])),
            ])
        }
        #expect(dictionary.format == "CAST({'one', 1, 'list', {'x'}}, 'NSDictionary')")
        let value = try dictionary.evaluate(with: nil) as? NSDictionary
        #expect(value?["one"] as? Int == 1 && (value?["list"] as? [String]) == ["x"])
    }

    @Test("wrong classes, missing parts and bad names are refused")
    func wrong() throws {
        let failures: [(inout ExpressionArchive) throws -> KeyedArchiveBuilder.Reference] = [
            { $0.builder.string("text") },
            { $0.builder.dictionary([]) },
            { $0.object("NSFunctionExpression", [:]) },
            { $0.object("NSVariableExpression", ["NSVariable": $0.builder.string("not a name")]) },
            { $0.object("NSVariableExpression", ["NSVariable": $0.builder.integer(5)]) },
            { $0.object("NSKeyPathSpecifierExpression", ["NSKeyPath": $0.builder.string("a..b")]) },
            { $0.object("NSTernaryExpression", [:]) },
            { $0.object("NSSubqueryExpression", [:]) },
            { $0.object("NSSetExpression", [:], type: 9) },
            { $0.object("NSFetchRequestExpression", [:]) },
            { $0.object("NSVariableAssignmentExpression", ["NSAssignmentVariable": $0.builder.string("x")]) },
            {
                let uuid = $0.builder.object(.init("NSUUID"), ["NS.uuidbytes": .data(Array(0..<15))])
                return $0.object("NSConstantValueExpression", ["NSConstantValue": uuid])
            },
            { $0.object("NSAggregateExpression", ["NSCollection": $0.builder.array([$0.builder.integer(1)])]) },
            { $0.object("NSUnheardOfExpression", [:]) },
        ]
        for (index, build) in failures.enumerated() {
            let error = try failure(build)
            #expect(["archive.expression", "archive.type"].contains(error.code.rawValue), "\(index): \(error)")
        }
    }

    @Test("cycles, depth and shared parts end in an error")
    func bounds() throws {
        let cycle = try failure { archive in
            let reference = archive.builder.reserve()
            let arguments = archive.builder.array([reference])
            archive.builder.fill(
                reference, .init("NSAggregateExpression", "NSExpression"), ["NSCollection": arguments.field])
            return reference
        }
        #expect(cycle.code == "archive.cycle")
        let deep = try failure { archive in
            var node = try archive.add(ExpressionNode.constant(.integer(1)))
            for _ in 0..<ArchivedExpressionReader.maximumDepth {
                node = archive.object("NSAggregateExpression", ["NSCollection": archive.builder.array([node])])
            }
            return node
        }
        #expect(deep.code == "archive.cycle")
        let shared = try failure { archive in
            var node = try archive.add(ExpressionNode.constant(.string("x")))
            for _ in 0..<40 {
                node = archive.object(
                    "NSAggregateExpression", ["NSCollection": archive.builder.array([node, node, node])])
            }
            return node
        }
        #expect(shared.code == "archive.limit")
        let long = try failure { archive in
            let text = try archive.add(ExpressionNode.constant(.string(String(repeating: "x", count: 1 << 20))))
            return archive.object(
                "NSAggregateExpression", ["NSCollection": archive.builder.array(Array(repeating: text, count: 1000))])
        }
        #expect(long.code == "archive.limit")
    }

    @Test("the deepest tree that is read prints as text that is read again")
    func deepest() throws {
        var node = ExpressionNode.variable("x")
        while let bytes = try? ExpressionArchive.bytes(node), (try? decode(bytes)) == node {
            #expect(try ValueExpression(parsing: ValueExpression(node: node).format).node == node)
            node = .arithmetic(.subtract, .constant(.integer(1)), node)
        }
        #expect(ValueExpression(node: node).format.count > 400)
    }

    @Test("damaged archives are refused or read, and never more")
    func mutations() throws {
        let seed = RandomSeeds.first
        print("ArchivedExpressionTests.mutations seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let text = """
            TERNARY(ANY $source.items.price BETWEEN {1, 2.5} AND name LIKE[cd] 'x*', SUBQUERY(a, $x, $x.b == 5).@count,
            FUNCTION($entityPolicy, 'a:b:', $source.a[FIRST], CAST('12.5', 'NSDecimalNumber') + -$source.n))
            """
        let original = try ExpressionArchive.bytes(try ValueExpression(parsing: text).node)
        var (read, refused) = (0, 0)
        for _ in 0..<8000 {
            var bytes = original
            for _ in 0...random.below(4) {
                switch random.below(4) {
                case 0: bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
                case 2: bytes.swapAt(random.below(bytes.count), random.below(bytes.count))
                default: bytes.removeSubrange(random.below(bytes.count)..<bytes.count)
                }
                if bytes.isEmpty { break }
            }
            do {
                if let node = try decode(bytes) { _ = ValueExpression(node: node).format }
                read += 1
            } catch let error as MigrationError {
                #expect(error.code.rawValue.hasPrefix("archive."), "seed \(seed): \(error)")
                refused += 1
            }
        }
        #expect(read > 0 && refused > 1000)
    }
}
