import Archives
import Foundation

@testable import Mapping

/// Archives trees as Foundation does, for tests of the reader.
struct ExpressionArchive {
    /// A form that has no archived class, or that is archived as another.
    struct NotArchivable: Error {}
    typealias Reference = KeyedArchiveBuilder.Reference
    typealias ClassName = KeyedArchiveBuilder.ClassName

    var builder = KeyedArchiveBuilder()

    static func bytes(_ node: ExpressionNode) throws -> [UInt8] {
        var archive = ExpressionArchive()
        let root = try archive.add(node)
        return try archive.builder.encode(root: root)
    }

    mutating func object(_ name: String, _ fields: [String: Reference], type: Int64? = nil) -> Reference {
        var values = fields.mapValues(\.field)
        if let type { values["NSExpressionType"] = .integer(type) }
        return builder.object(ClassName(name, "NSExpression"), values)
    }

    mutating func add(_ node: ExpressionNode) throws -> Reference {
        switch node {
        case .opaque: throw NotArchivable()
        case .constant(let constant): return try add(constant)
        case .variable(let name):
            return object("NSVariableExpression", ["NSVariable": builder.string(name)], type: 2)
        case .evaluatedObject: return object("NSSelfExpression", [:], type: 1)
        case .anyKey: return object("NSAnyKeyExpression", [:], type: 15)
        case .keyPath(let target, let components):
            if case .evaluatedObject? = target { throw NotArchivable() }
            let operand = try add(target ?? .evaluatedObject)
            let path = object(
                "NSKeyPathSpecifierExpression", ["NSKeyPath": builder.string(components.joined(separator: "."))],
                type: 10)
            return call("NSKeyPathExpression", operand, "valueForKeyPath:", [path])
        case .function(let target?, let selector, let arguments):
            let operand = try add(target)
            return call("NSFunctionExpression", operand, selector, try arguments.map { try add($0) })
        case .function(nil, let selector, let arguments):
            if selector == "add:to:" || selector == "negate:" { throw NotArchivable() }
            return try builtIn(selector, arguments)
        case .arithmetic(let sign, let left, let right):
            let selector =
                switch sign {
                case .add: "add:to:"
                case .subtract: "from:subtract:"
                case .multiply: "multiply:by:"
                case .divide: "divide:by:"
                case .power: "raise:toPower:"
                case .modulus: "modulus:by:"
                }
            return try builtIn(selector, [left, right])
        case .negation(let operand): return try builtIn("negate:", [operand])
        case .aggregate(let elements):
            let members = try elements.map { try add($0) }
            return object("NSAggregateExpression", ["NSCollection": builder.array(members)], type: 14)
        case .ternary(let condition, let yes, let no):
            return object(
                "NSTernaryExpression",
                [
                    "NSPredicate": try add(condition), "NSTrueExpression": try add(yes),
                    "NSFalseExpression": try add(no),
                ], type: 20)
        case .cast(let operand, let type):
            return try builtIn("castObject:toType:", [operand, .constant(.string(type))])
        case .subquery(let collection, let variable, let condition):
            return object(
                "NSSubqueryExpression",
                [
                    "NSCollection": try add(collection), "NSVariable": builder.string(variable),
                    "NSPredicate": try add(condition),
                ], type: 13)
        case .setOperation(let operation, let left, let right):
            let type: Int64 =
                switch operation {
                case .union: 5
                case .intersection: 6
                case .difference: 7
                }
            return object(
                "NSSetExpression", ["NSLeftExpression": try add(left), "NSRightExpression": try add(right)], type: type)
        case .element(let collection, let index):
            let place: Reference
            switch index {
            case .at(let node): place = try add(node)
            case .first: place = object("NSSymbolicExpression", ["NSToken": builder.string("FIRST")])
            case .last: place = object("NSSymbolicExpression", ["NSToken": builder.string("last")])
            case .size: place = object("NSSymbolicExpression", ["NSToken": builder.string("SIZE")])
            }
            return call("NSFunctionExpression", utilities(), "objectFrom:withIndex:", [try add(collection), place])
        case .fetch(let request, let context, let countOnly):
            return object(
                "NSFetchRequestExpression",
                [
                    "NSFRExpression": try add(request), "NSMOCExpression": try add(context),
                    "NSCountOnlyFlag": builder.boolean(countOnly),
                ], type: 50)
        case .assignment(let name, let value):
            return object(
                "NSVariableAssignmentExpression",
                ["NSAssignmentVariable": builder.string(name), "NSSubexpression": try add(value)])
        case .predicate: throw NotArchivable()
        }
    }

    private mutating func add(_ constant: ExpressionConstant) throws -> Reference {
        let value: Reference
        switch constant {
        case .null: value = .null
        case .boolean(let flag): value = builder.boolean(flag)
        case .integer(let number): value = builder.integer(number)
        case .double(let number): value = builder.real(number)
        case .decimal(let number): value = builder.decimal(number)
        case .string(let text): value = builder.string(text)
        case .date(let seconds): value = builder.date(seconds)
        case .data(let data): value = builder.data(Array(data))
        }
        return object("NSConstantValueExpression", ["NSConstantValue": value], type: 0)
    }

    mutating func utilities() -> Reference {
        object(
            "NSConstantValueExpression", ["NSConstantValueClassName": builder.string("_NSPredicateUtilities")],
            type: 0)
    }

    private mutating func builtIn(_ selector: String, _ arguments: [ExpressionNode]) throws -> Reference {
        let values = try arguments.map { try add($0) }
        return call("NSFunctionExpression", utilities(), selector, values)
    }

    mutating func call(
        _ className: String, _ operand: Reference, _ selector: String, _ arguments: [Reference]
    ) -> Reference {
        let name =
            className == "NSFunctionExpression"
            ? ClassName(className, "NSExpression") : ClassName(className, "NSFunctionExpression", "NSExpression")
        return builder.object(
            name,
            [
                "NSOperand": operand.field, "NSSelectorName": builder.string(selector).field,
                "NSArguments": builder.array(arguments, isMutable: true).field, "NSExpressionType": .integer(4),
            ])
    }

    mutating func add(_ node: PredicateNode) throws -> Reference {
        func predicate(_ name: String, _ fields: [String: PropertyListValue] = [:]) -> Reference {
            builder.object(ClassName(name, "NSPredicate"), fields)
        }
        func compound(_ type: Int64, _ parts: [PredicateNode]) throws -> Reference {
            let members = try parts.map { try add($0) }
            return predicate(
                "NSCompoundPredicate",
                ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": builder.array(members).field])
        }
        switch node {
        case .constant(let flag): return predicate(flag ? "NSTruePredicate" : "NSFalsePredicate")
        case .not(let part): return try compound(0, [part])
        case .and(let parts): return try compound(1, parts)
        case .or(let parts): return try compound(2, parts)
        case .comparison(let modifier, let left, let comparison, let right, let options):
            guard modifier != .none else { throw NotArchivable() }
            let operation = builder.object(
                ClassName(Self.operatorClass(comparison), "NSPredicateOperator"),
                [
                    "NSOperatorType": .integer(Self.code(comparison)),
                    "NSModifier": .integer(modifier == .all ? 1 : modifier == .any ? 2 : 0),
                    comparison == .like || comparison == .contains ? "NSFlags" : "NSOptions":
                        .integer(Int64(options.rawValue)),
                ])
            return predicate(
                "NSComparisonPredicate",
                [
                    "NSLeftExpression": try add(left).field, "NSRightExpression": try add(right).field,
                    "NSPredicateOperator": operation.field,
                ])
        case .expression: throw NotArchivable()
        }
    }

    private static func code(_ comparison: ComparisonOperator) -> Int64 {
        switch comparison {
        case .lessThan: 0
        case .lessThanOrEqual: 1
        case .greaterThan: 2
        case .greaterThanOrEqual: 3
        case .equal: 4
        case .notEqual: 5
        case .matches: 6
        case .like: 7
        case .beginsWith: 8
        case .endsWith: 9
        case .isIn: 10
        case .contains: 99
        case .between: 100
        }
    }

    private static func operatorClass(_ comparison: ComparisonOperator) -> String {
        switch comparison {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: "NSComparisonPredicateOperator"
        case .equal, .notEqual: "NSEqualityPredicateOperator"
        case .matches: "NSMatchingPredicateOperator"
        case .like: "NSLikePredicateOperator"
        case .beginsWith, .endsWith: "NSSubstringPredicateOperator"
        case .isIn: "NSInPredicateOperator"
        case .contains: "NSContainsPredicateOperator"
        case .between: "NSBetweenPredicateOperator"
        }
    }
}
