import Foundation
import Mapping

/// The objects that the tables of the language speak of.
enum LanguageFixture {
    /// An object with properties by name, as a managed object has them.
    final class Thing: NSObject, ExpressionObject {
        let entity: String
        var values: [String: Any?]

        init(_ entity: String, _ values: [String: Any?]) {
            self.entity = entity
            self.values = values
        }

        func expressionValue(forKey key: String) throws -> Any? {
            guard let value = values[key] else { throw UnknownKey(key: key) }
            return value
        }

        var expressionEntityName: String? { entity }
        override var description: String { "<\((values["name"] ?? nil) ?? entity)>" }
    }

    struct UnknownKey: Error, Equatable {
        let key: String
    }

    /// The value of `$manager` and of `$entityPolicy`.
    final class Functions: NSObject, ExpressionFunctions {
        struct Refusal: Error, Equatable {}

        func knows(selector: String) -> Bool {
            ["twice:", "join:with:", "refuse", "sourceContext", "count:", "nothing"].contains(selector)
        }

        func call(selector: String, arguments: [Any?]) throws -> Any? {
            switch selector {
            case "twice:": return ((arguments[0] as? NSNumber)?.intValue ?? 0) * 2
            case "join:with:": return arguments.map { $0.map { "\($0)" } ?? "nil" }.joined(separator: "+")
            case "count:": return (arguments[0] as? NSSet)?.count ?? -1
            case "sourceContext": return Context()
            case "refuse": throw Refusal()
            default: return nil
            }
        }
    }

    /// The value of `$manager.sourceContext`.
    final class Context: NSObject, ExpressionFetching {
        func fetchForExpression(request: Any?, countOnly: Bool) throws -> Any? {
            countOnly ? 2 : ["fetched", "\(request ?? "nil")"]
        }
    }

    static func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }

    /// An employee with attributes of every type and relationships of every kind.
    static func employee() -> Thing {
        let charles = Thing("Employee", ["name": "Charles", "age": NSNumber(value: Int16(50)), "boss": nil as Any?])
        let engine = Thing("Project", ["title": "Engine", "cost": 100, "due": date(10), "owner": charles])
        let notes = Thing("Project", ["title": "Notes", "cost": 250, "due": date(30), "owner": nil as Any?])
        let loom = Thing("Project", ["title": "Loom", "cost": nil as Any?, "due": date(20), "owner": charles])
        for (project, tags) in [(engine, ["brass", "steam"]), (notes, ["paper"]), (loom, ["steam"])] {
            project.values["tags"] = tags
            project.values["people"] = NSSet(array: project === notes ? [charles] : [])
        }
        charles.values["projects"] = NSSet(array: [engine, loom])
        let department = Thing("Department", ["name": "Engines", "budget": NSDecimalNumber(string: "1000.50")])
        return Thing(
            "Employee",
            [
                "name": "Ada", "age": NSNumber(value: Int32(36)), "salary": 5000.5,
                "bonus": NSDecimalNumber(string: "12.10"), "rate": NSNumber(value: Float(1.5)), "active": true,
                "retired": NSNumber(value: false), "hired": date(1000), "left": nil as Any?, "nick": nil as Any?,
                "email": "ada@example.com", "code": "A-17", "number": "42.5", "empty": "", "word": "Größe é😀",
                "id": UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"),
                "home": URL(string: "https://a.b/c/d.txt?q=1#f"),
                "photo": Data([1, 2, 0xFF]), "boss": charles, "department": department,
                "projects": NSSet(array: [engine, notes, loom]), "path": NSOrderedSet(array: [engine, notes, loom]),
                "empties": NSSet(), "noPath": NSOrderedSet(), "scores": [3, 1, 2], "matrix": [[1, 2], [2, 3]],
                "groups": NSSet(array: [NSSet(array: [engine, loom]), NSSet(array: [loom])]),
                "names": NSSet(array: ["Ada", "Grace"]), "mixed": [1, "a", NSNull()] as [Any],
                "info": ["size": 5, "color": "red", "1": "one"] as [String: Any],
                "legacy": NSDictionary(dictionary: ["a": 1, "b": "x"]), "null": NSNull(), "zero": 0, "big": Int64.max,
                "small": Int64.min, "in": "reserved", "odd name": "odd", "first": "f", "transactions": transactions(),
                "archives": [transactions(), moreTransactions()],
            ])
    }

    /// The table of "Using Collection Operators" in Apple's Key-Value Coding Programming Guide.
    static func transactions() -> [Thing] {
        [
            ("Green Power", 120.0, "2015-12-01"), ("Green Power", 150, "2016-01-01"),
            ("Green Power", 170, "2016-02-01"),
            ("Car Loan", 250, "2016-01-15"), ("Car Loan", 250, "2016-02-15"), ("Car Loan", 250, "2016-03-15"),
            ("General Cable", 120, "2015-12-01"), ("General Cable", 155, "2016-01-01"),
            ("General Cable", 120, "2016-02-01"), ("Mortgage", 1250, "2016-01-15"), ("Mortgage", 1250, "2016-02-15"),
            ("Mortgage", 1250, "2016-03-15"), ("Animal Hospital", 600, "2016-07-15"),
        ].map(transaction)
    }

    /// The second table of the same page.
    static func moreTransactions() -> [Thing] {
        [
            ("General Cable - Cottage", 120.0, "2015-12-18"), ("General Cable - Cottage", 155, "2016-01-09"),
            ("General Cable - Cottage", 120, "2016-12-01"), ("Second Mortgage", 1250, "2016-11-15"),
            ("Second Mortgage", 1250, "2016-09-20"), ("Second Mortgage", 1250, "2016-02-12"),
            ("Hobby Shop", 600, "2016-06-14"),
        ].map(transaction)
    }

    private static func transaction(_ payee: String, _ amount: Double, _ day: String) -> Thing {
        Thing("Transaction", ["payee": payee, "amount": amount, "date": day])
    }

    static func variables(_ source: Thing) -> [String: Any?] {
        [
            "source": source, "destination": Thing("Person", ["name": "Lovelace"]), "manager": Functions(),
            "entityPolicy": Functions(), "x": 5, "range": [1, 40], "who": "Ada", "nothing": nil as Any?,
            "title": "Notes",
        ]
    }

    /// A value as text: literals as the language writes them, sets in the order of their members' texts.
    static func text(_ value: Any?) -> String {
        switch value {
        case nil: return "nil"
        case let set as NSSet: return "set" + list(set.allObjects.map(text).sorted())
        case let set as NSOrderedSet: return "ordered" + list(set.array.map(text))
        case let thing as Thing: return thing.description
        case let array as [Any]: return list(array.map { $0 is NSNull ? "nil" : text($0) })
        case let date as Date: return "date(\(ValueExpression(forConstantValue: date.timeIntervalSinceReferenceDate)))"
        default: return ValueExpression(forConstantValue: value).format
        }
    }

    private static func list(_ members: [String]) -> String { "{" + members.joined(separator: ", ") + "}" }
}
