import Diagnostics
import Foundation
import Mapping
import Synchronization
import Testing

@Suite("The language: NSExpression's, NSPredicate's and NSSortDescriptor's interfaces")
struct LanguageClassTests {
    typealias Thing = LanguageFixture.Thing

    @Test("expressions are made of parts and say their parts")
    func expressions() {
        let ada = LanguageFixture.employee()
        let one = ValueExpression(forConstantValue: 1)
        let age = ValueExpression(forKeyPath: "age")
        #expect(one.expressionType == .constantValue)
        #expect((one.constantValue as? NSNumber)?.intValue == 1)
        #expect(ValueExpression(forConstantValue: nil).constantValue == nil)
        #expect(ValueExpression(forConstantValue: ada).constantValue as? Thing === ada)
        #expect(age.expressionType == .keyPath && age.keyPath == "age")
        #expect(age.expressionValue(with: ada, context: nil) as? Int == 36)
        let variable = ValueExpression(forVariable: "x")
        #expect(variable.expressionType == .variable && variable.variable == "x")
        #expect(variable.expressionValue(with: nil, context: ["x": 7]) as? Int == 7)
        let sum = ValueExpression(forFunction: "sum:", arguments: [ValueExpression(forConstantValue: [1, 2, 3])])
        #expect(sum.expressionType == .function && sum.function == "sum:" && sum.arguments?.count == 1)
        #expect(sum.expressionValue(with: nil, context: nil) as? Int == 6)
        let add = ValueExpression(forFunction: "add:to:", arguments: [one, age])
        #expect(add.expressionValue(with: ada, context: nil) as? Int == 37)
        let upper = ValueExpression(
            forFunction: ValueExpression(forKeyPath: "name"), selectorName: "uppercaseString", arguments: nil)
        #expect(upper.expressionValue(with: ada, context: nil) as? String == "ADA")
        #expect(upper.operand == ValueExpression(forKeyPath: "name"))
        let list = ValueExpression(forAggregate: [one, age])
        #expect(list.expressionType == .aggregate && (list.collection as? [ValueExpression])?.count == 2)
        #expect((list.expressionValue(with: ada, context: nil) as? [Any])?.count == 2)
        let names = ValueExpression(forKeyPath: "names")
        let other = ValueExpression(forConstantValue: Set(["Ada", "Joan"]))
        for (expression, type, count) in [
            (ValueExpression(forUnionSet: names, with: other), ValueExpression.ExpressionType.unionSet, 3),
            (ValueExpression(forIntersectSet: names, with: other), .intersectSet, 1),
            (ValueExpression(forMinusSet: names, with: other), .minusSet, 1),
        ] {
            #expect(expression.expressionType == type && expression.left == names && expression.right == other)
            #expect((expression.expressionValue(with: ada, context: nil) as? NSSet)?.count == count)
        }
        let predicate = FormatPredicate(format: "$p.cost > 50")
        let subquery = ValueExpression(
            forSubquery: ValueExpression(forKeyPath: "projects"), usingIteratorVariable: "p", predicate: predicate)
        #expect(subquery.expressionType == .subquery && subquery.predicate == predicate && subquery.variable == "p")
        #expect(subquery.collection as? ValueExpression == ValueExpression(forKeyPath: "projects"))
        #expect((subquery.expressionValue(with: ada, context: nil) as? NSSet)?.count == 2)
        let choice = ValueExpression(
            forConditional: FormatPredicate(format: "active"), trueExpression: one, falseExpression: age)
        #expect(choice.expressionType == .conditional && choice.true == one && choice.false == age)
        #expect(choice.expressionValue(with: ada, context: nil) as? Int == 1)
        #expect(ValueExpression.expressionForEvaluatedObject().expressionType == .evaluatedObject)
        #expect(ValueExpression.expressionForEvaluatedObject().expressionValue(with: 5, context: nil) as? Int == 5)
        #expect(ValueExpression.expressionForAnyKey().expressionType == .anyKey)
        let block = ValueExpression(
            block: { object, arguments, context in
                "\(object ?? "nil") \(arguments.count) \(context?["x"] ?? "nil")"
            }, arguments: [one])
        #expect(block.expressionType == .block && block.arguments == [one])
        #expect(block.expressionValue(with: "o", context: ["x": 2]) as? String == "o 1 2")
        #expect(
            ValueExpression(forKeyPath: "boss.name").expressionValue(with: ada, context: nil) as? String == "Charles")
        #expect(ValueExpression(format: "1 + 2").function == "add:to:")
        #expect(ValueExpression(format: "CAST(a, 'NSDate')").function == "castObject:toType:")
        #expect(one == ValueExpression(format: "1") && one.description == "1")
        #expect(ValueExpression(forConstantValue: ada) == ValueExpression(forConstantValue: ada))
        #expect(ValueExpression(forConstantValue: ada) != ValueExpression(forConstantValue: LanguageFixture.employee()))
    }

    @Test("assignments go into the context")
    func assignment() {
        let context = NSMutableDictionary()
        #expect(ValueExpression(format: "$x := 2 + 3").expressionValue(with: nil, context: context) as? Int == 5)
        #expect(context["x"] as? Int == 5)
        #expect(ValueExpression(format: "$x * 2").expressionValue(with: nil, context: context) as? Int == 10)
    }

    @Test("failures of calls that cannot throw are recorded")
    func failures() throws {
        let failures = Mutex<[MigrationError]>([])
        // The closure may only take what is sendable, so it takes the codes.
        let record: @Sendable (any Error) -> Void = { error in
            if let error = error as? MigrationError { failures.withLock { $0.append(error) } }
        }
        EvaluationScope.$current.withValue(EvaluationScope(record: record)) {
            #expect(ValueExpression(format: "1 +").expressionValue(with: nil, context: nil) == nil)
            #expect(ValueExpression(format: "1 / 0").expressionValue(with: nil, context: nil) == nil)
            #expect(FormatPredicate(format: "a ==").evaluate(with: nil) == false)
            #expect(FormatPredicate(format: "SELF > 5").evaluate(with: "x") == false)
            #expect(KeySortDescriptor(key: nil, ascending: true).compare(1, to: "x") == .orderedSame)
        }
        let found = failures.withLock { $0 }
        #expect(
            found.map(\.code) == [
                "expression.syntax", "value.divisionByZero", "expression.syntax", "expression.type", "expression.type",
            ])
        #expect(found[1].context.expression == "1 / 0")
        #expect(ValueExpression(format: "1 +").expressionValue(with: nil, context: nil) == nil)
        #expect(throws: MigrationError.self) { try ValueExpression(format: "1 +").evaluate(with: nil) }
        #expect(ValueExpression(format: "1 +").format == "1 +")
        #expect(FormatPredicate(format: "a ==").predicateFormat == "a ==")
    }

    @Test("predicates are made of values, closures and other predicates")
    func predicates() throws {
        let ada = LanguageFixture.employee()
        #expect(FormatPredicate(value: true).evaluate(with: nil) && !FormatPredicate(value: false).evaluate(with: nil))
        let block = FormatPredicate { object, bindings in
            (object as? Thing) === ada && (bindings?["x"] as? Int ?? 1) == 1
        }
        #expect(block.evaluate(with: ada) && !block.evaluate(with: ada, substitutionVariables: ["x": 2]))
        let old = FormatPredicate(format: "age > 30")
        let named = FormatPredicate(format: "name == 'x'")
        let and = CompoundPredicate(andPredicateWithSubpredicates: [old, block])
        #expect(and.evaluate(with: ada) && and.compoundPredicateType == .and && and.subpredicates.count == 2)
        #expect(CompoundPredicate(orPredicateWithSubpredicates: [named, old]).evaluate(with: ada))
        #expect(!CompoundPredicate(notPredicateWithSubpredicate: old).evaluate(with: ada))
        #expect(CompoundPredicate(andPredicateWithSubpredicates: []).evaluate(with: ada))
        #expect(!CompoundPredicate(orPredicateWithSubpredicates: []).evaluate(with: ada))
        #expect(
            CompoundPredicate(type: .or, subpredicates: [old, named]).predicateFormat == "age > 30 OR name == \"x\"")
        let comparison = ComparisonPredicate(
            leftExpression: ValueExpression(forKeyPath: "projects.title"),
            rightExpression: ValueExpression(forConstantValue: "NOTES"), modifier: .any, type: .equalTo,
            options: [.caseInsensitive])
        #expect(comparison.predicateFormat == "ANY projects.title ==[c] \"NOTES\"" && comparison.evaluate(with: ada))
        #expect(comparison == FormatPredicate(format: "ANY projects.title ==[c] 'NOTES'"))
        #expect(comparison.hash == FormatPredicate(format: "ANY projects.title ==[c] 'NOTES'").hash)
        #expect(comparison != old)
        let parts = CompoundPredicate(andPredicateWithSubpredicates: [FormatPredicate(format: "a > 1 OR NONE b == 2")])
        let made = FormatPredicate.make(parts.node) as? CompoundPredicate
        let or = made?.subpredicates.first as? CompoundPredicate
        #expect(or?.compoundPredicateType == .or)
        let first = or?.subpredicates.first as? ComparisonPredicate
        #expect(first?.leftExpression.keyPath == "a" && first?.predicateOperatorType == .greaterThan)
        #expect(first?.comparisonPredicateModifier == .direct && first?.options == [])
        #expect((or?.subpredicates.last as? CompoundPredicate)?.compoundPredicateType == .not)
        #expect(throws: MigrationError.self) { try FormatPredicate(parsing: "a ==") }
        for type in 0...100 {
            guard let type = ComparisonPredicate.Operator(rawValue: UInt(type)) else { continue }
            let node = ComparisonPredicate(
                leftExpression: ValueExpression(forKeyPath: "a"), rightExpression: ValueExpression(forKeyPath: "b"),
                modifier: .all, type: type)
            let again = FormatPredicate.make(FormatPredicate(format: node.predicateFormat).node) as? ComparisonPredicate
            #expect(again == node && again?.predicateOperatorType == type)
        }
    }

    @Test(
        "A predicate's text is Core Data's, and reads back as the same predicate but for Booleans",
        arguments: [
            ("a == 'x' AND b == TRUE", "a == \"x\" AND b == 1"), ("a == 'say \"hi\"'", "a == \"say \\\"hi\\\"\""),
            ("a == NO || b = nil", "a == 0 OR b == nil"), ("NOT (a == 1)", "NOT a == 1"),
            ("NOT (a == 1 OR b == 2)", "NOT (a == 1 OR b == 2)"), ("a IN {'x', 'y'}", "a IN {\"x\", \"y\"}"),
            ("a == 2.0 AND b == 2.5", "a == 2 AND b == 2.5"), ("a LIKE[cd] '*\\\\*'", "a LIKE[cd] \"*\\\\*\""),
            ("a > CAST(86400, 'NSDate')", "a > CAST(86400.000000, \"NSDate\")"),
            ("FUNCTION(a, 'length') > 2", "FUNCTION(a, \"length\") > 2"),
            ("SUBQUERY(a, $x, $x.b == 'c').@count > 0", "SUBQUERY(a, $x, $x.b == \"c\").@count > 0"),
            ("TRUEPREDICATE", "TRUEPREDICATE"), ("ANY a.b == 'c'", "ANY a.b == \"c\""),
        ])
    func predicateFormat(text: String, expected: String) {
        let predicate = FormatPredicate(format: text)
        #expect(predicate.failure == nil && predicate.predicateFormat == expected)
        #expect(FormatPredicate(format: expected).predicateFormat == expected)
    }

    final class Odd: FormatPredicate, @unchecked Sendable {
        override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
            ((object as? Int) ?? 0) % 2 == 1
        }
    }

    @Test("a subclass is asked also as a part of another predicate")
    func subclass() {
        let odd = Odd(value: true)
        let both = CompoundPredicate(andPredicateWithSubpredicates: [odd, FormatPredicate(format: "SELF > 2")])
        #expect([1, 2, 3, 4, 5].filter { both.evaluate(with: $0) } == [3, 5])
    }

    @Test("sort descriptors order by key paths, nil first, and backwards")
    func sorting() {
        let people = [("b", 2), ("a", 2), ("C", nil), ("a10", 1), ("a9", 1)].map { name, age in
            Thing("Person", ["name": name, "age": age as Int?, "boss": nil as Any?])
        }
        func names(_ descriptors: KeySortDescriptor...) -> String {
            people.sorted(using: descriptors).compactMap { $0.values["name"] as? String }.joined(separator: " ")
        }
        #expect(names(KeySortDescriptor(key: "name", ascending: true)) == "C a a10 a9 b")
        #expect(names(KeySortDescriptor(key: "name", ascending: false)) == "b a9 a10 a C")
        #expect(
            names(KeySortDescriptor(key: "name", ascending: true, selector: "caseInsensitiveCompare:"))
                == "a a10 a9 b C")
        #expect(
            names(KeySortDescriptor(key: "name", ascending: true, selector: "localizedStandardCompare:"))
                == "a a9 a10 b C")
        #expect(
            names(KeySortDescriptor(key: "age", ascending: true), KeySortDescriptor(key: "name", ascending: true))
                == "C a10 a9 a b")
        #expect(names(KeySortDescriptor(key: "boss.age", ascending: true)) == "b a C a10 a9")
        let backwards = KeySortDescriptor(key: "name", ascending: true).reversedSortDescriptor as? KeySortDescriptor
        #expect(backwards == KeySortDescriptor(key: "name", ascending: false) && backwards?.ascending == false)
        let byLength = KeySortDescriptor(key: "name", ascending: true) { left, right in
            let (one, other) = ((left as? String)?.count ?? 0, (right as? String)?.count ?? 0)
            return one < other ? .orderedAscending : one == other ? .orderedSame : .orderedDescending
        }
        #expect(names(byLength) == "b a C a9 a10")
        let byName = KeySortDescriptor(keyPath: \Thing.entity, ascending: true)
        #expect(byName.compare(people[0], to: people[1]) == .orderedSame && byName.key == nil)
        #expect(
            ([3, 1, 2] as NSArray).sortedArray(using: [KeySortDescriptor(key: nil, ascending: true)]) as? [Int] == [
                1, 2, 3,
            ])
        #expect(
            NSSet(array: [3, 1, 2]).sortedArray(using: [KeySortDescriptor(key: "self", ascending: false)]) as? [Int]
                == [3, 2, 1])
    }

    @Test("collections are filtered by predicates")
    func filtering() {
        let big = FormatPredicate(format: "SELF > 1")
        #expect(([1, 2, 3] as NSArray).filtered(using: big) as? [Int] == [2, 3])
        #expect(NSSet(array: [1, 2, 3]).filtered(using: big).count == 2)
        #expect(NSOrderedSet(array: [3, 1, 2]).filtered(using: big).array as? [Int] == [3, 2])
        let members = NSMutableOrderedSet(array: [1, 2, 3])
        members.filter(using: FormatPredicate(format: "SELF > 1"))
        members.sort(using: [KeySortDescriptor(key: "self", ascending: false)])
        #expect(members.array as? [Int] == [3, 2])
        let array = NSMutableArray(array: [1, 2, 3])
        array.filter(using: big)
        #expect(array.count == 2)
        let set = NSMutableSet(array: [1, 2, 3])
        set.filter(using: big)
        #expect(set.count == 2)
    }

    final class Plain: NSObject {
        let title: String
        let count: Int
        init(_ title: String, _ count: Int) {
            self.title = title
            self.count = count
        }
    }

    @Test("objects of other classes are read by their stored properties, dictionaries by their keys")
    func plainObjects() throws {
        let plain = Plain("x", 3)
        #expect(FormatPredicate(format: "title == 'x' AND count > 2").evaluate(with: plain))
        #expect(FormatPredicate(format: "a.b == 1").evaluate(with: ["a": ["b": 1]]))
        #expect(FormatPredicate(format: "ANYKEY == 'x'").evaluate(with: ["a": "x", "b": "y"]))
        #expect(FormatPredicate(format: "SELF.length > 2").evaluate(with: "abc"))
        #expect(FormatPredicate(format: "a[1] == 5").evaluate(with: ["a": [4, 5]]))
        #expect(FormatPredicate(format: "SELF[1] == 5").evaluate(with: [4, 5]))
        #expect(try ValueExpression(parsing: "@sum.self").evaluate(with: [1, 2.5] as [Any]) as? Double == 3.5)
        let optional: Int?? = .some(nil)
        #expect(FormatPredicate(format: "SELF == nil").evaluate(with: optional as Any?))
    }
}
