import Archives
import Diagnostics
import ManagedModel

/// Archives the texts of predicates and expressions, for the models that stores cache.
package struct ArchivingLanguage: PredicateArchiver {
    package init() {}

    package func predicate(_ text: String) -> ArchivedGraph? {
        graph { writer throws(MigrationError) in try writer.write(SourcePredicate(format: text).node) }
    }

    package func expression(_ text: String) -> ArchivedGraph? {
        graph { writer throws(MigrationError) in try writer.write(ValueExpression(parsing: text).node) }
    }

    private func graph(
        _ write: (inout ExpressionArchiveWriter) throws(MigrationError) -> KeyedArchiveBuilder.Reference
    ) -> ArchivedGraph? {
        try? ArchivedGraph.made { builder throws(MigrationError) in
            var writer = ExpressionArchiveWriter(builder)
            defer { builder = writer.builder }
            return try write(&writer)
        }
    }
}

/// Writes syntax trees as NSExpression and NSPredicate archive themselves: the classes and fields that
/// ``ArchivedExpression`` and ``ArchivedPredicate`` read.
struct ExpressionArchiveWriter {
    typealias Reference = KeyedArchiveBuilder.Reference
    private typealias ClassName = KeyedArchiveBuilder.ClassName
    private typealias Fields = [String: PropertyListValue]

    var builder: KeyedArchiveBuilder

    init(_ builder: KeyedArchiveBuilder) { self.builder = builder }

    // MARK: Expressions

    /// NSExpressionType.
    private typealias Code = ValueExpression.ExpressionType

    private mutating func expression(_ name: String, _ code: Code, _ fields: Fields = [:]) -> Reference {
        var fields = fields
        fields["NSExpressionType"] = .integer(Int64(code.rawValue))
        return builder.object(ClassName(name, "NSExpression"), fields)
    }

    /// - Throws: `archive.expression` for what no archive of ours has a form for: assignments, fetches, opaque constants.
    mutating func write(_ node: ExpressionNode) throws(MigrationError) -> Reference {
        switch node {
        case .constant(let constant): return try write(constant)
        case .variable(let name): return variable(name)
        case .evaluatedObject: return expression("NSSelfExpression", Code.evaluatedObject)
        case .keyPath(let target, let components):
            return try keyPath(components, of: target.map { node throws(MigrationError) in try write(node) })
        case .function(nil, let selector, let arguments): return try builtIn(selector, arguments)
        case .function(let target?, let selector, let arguments):
            return function(try write(target), selector, try list(arguments))
        case .arithmetic(let sign, let left, let right): return try builtIn(sign.selector, [left, right])
        case .negation(let inner): return try builtIn("negate:", [inner])
        case .cast(let value, let type):
            return try builtIn("castObject:toType:", [value, .constant(.string(type))])
        case .aggregate(let elements):
            let members = try list(elements)
            return expression("NSAggregateExpression", Code.aggregate, ["NSCollection": builder.array(members).field])
        case .ternary(let condition, let then, let otherwise):
            return expression(
                "NSTernaryExpression", Code.conditional,
                [
                    "NSPredicate": try write(condition).field, "NSTrueExpression": try write(then).field,
                    "NSFalseExpression": try write(otherwise).field,
                ])
        case .subquery(let collection, let name, let predicate):
            return expression(
                "NSSubqueryExpression", Code.subquery,
                [
                    "NSCollection": try write(collection).field, "NSVariable": variable(name).field,
                    "NSPredicate": try write(predicate).field,
                ])
        case .setOperation(_, let left, let right):
            return expression(
                "NSSetExpression", ValueExpression(node: node).expressionType,
                ["NSLeftExpression": try write(left).field, "NSRightExpression": try write(right).field])
        case .element(let collection, .at(let index)):
            return try builtIn("objectFrom:withIndex:", [collection, index])
        case .anyKey: return expression("NSAnyKeyExpression", Code.anyKey)
        case .element, .fetch, .assignment, .predicate, .opaque: throw Self.noForm()
        }
    }

    private static func noForm() -> MigrationError {
        .archive("archive.expression", "The expression has no archived form")
    }

    private mutating func list(_ nodes: [ExpressionNode]) throws(MigrationError) -> [Reference] {
        var references: [Reference] = []
        for node in nodes { references.append(try write(node)) }
        return references
    }

    private mutating func variable(_ name: String) -> Reference {
        expression("NSVariableExpression", Code.variable, ["NSVariable": builder.string(name).field])
    }

    private mutating func write(_ constant: ExpressionConstant) throws(MigrationError) -> Reference {
        let value: Reference
        switch constant {
        // nil is the constant of no class (Photos' partial indexes).
        case .null:
            return expression(
                "NSConstantValueExpression", Code.constantValue, ["NSConstantValueClassName": Reference.null.field])
        case .boolean(let flag): value = builder.boolean(flag)
        case .integer(let number): value = builder.integer(number)
        case .double(let number): value = builder.real(number)
        case .string(let text): value = builder.string(text)
        case .date(let seconds): value = builder.date(seconds)
        case .data(let data): value = builder.data(Array(data))
        case .decimal(let number):
            guard let parts = ArchivedDecimal(number) else { throw Self.noForm() }
            value = builder.decimal(parts)
        }
        return expression("NSConstantValueExpression", Code.constantValue, ["NSConstantValue": value.field])
    }

    private mutating func keyPath(_ components: [String], of target: Reference?) -> Reference {
        let path = components.joined(separator: ".")
        let specifier = builder.object(
            ClassName("NSKeyPathSpecifierExpression", "NSExpression"),
            ["NSExpressionType": .integer(10), "NSKeyPath": builder.string(path).field])
        let operand = target ?? expression("NSSelfExpression", Code.evaluatedObject)
        // Paths from a variable are archived as calls of valueForKeyPath: (SampleModel2_V1's `$FETCH_SOURCE.alias`).
        let selector = target != nil || components.count > 1 ? "valueForKeyPath:" : "valueForKey:"
        return builder.object(
            ClassName("NSKeyPathExpression", "NSFunctionExpression", "NSExpression"),
            [
                "NSExpressionType": .integer(Int64((target == nil ? Code.keyPath : .function).rawValue)),
                "NSOperand": operand.field, "NSSelectorName": builder.string(selector).field,
                "NSArguments": builder.array([specifier], isMutable: true).field,
            ])
    }

    private mutating func builtIn(
        _ selector: String, _ arguments: [ExpressionNode]
    ) throws(MigrationError) -> Reference {
        let operand = expression(
            "NSConstantValueExpression", Code.constantValue,
            ["NSConstantValueClassName": builder.string("_NSPredicateUtilities").field])
        return function(operand, selector, try list(arguments))
    }

    private mutating func function(_ operand: Reference, _ selector: String, _ arguments: [Reference]) -> Reference {
        expression(
            "NSFunctionExpression", Code.function,
            [
                "NSOperand": operand.field, "NSSelectorName": builder.string(selector).field,
                "NSArguments": builder.array(arguments, isMutable: true).field,
            ])
    }

    // MARK: Predicates

    /// - Throws: as ``write(_:)-(ExpressionNode)``.
    mutating func write(_ node: PredicateNode) throws(MigrationError) -> Reference {
        switch node {
        case .constant(let flag):
            return builder.object(ClassName(flag ? "NSTruePredicate" : "NSFalsePredicate", "NSPredicate"), [:])
        case .not(let inner): return try compound(0, [inner])
        case .and(let parts): return try compound(1, parts)
        case .or(let parts): return try compound(2, parts)
        case .comparison(.none, let left, let sign, let right, let options):
            return try compound(0, [.comparison(modifier: .any, left, sign, right, options)])
        case .comparison(let modifier, let left, let sign, let right, let options):
            return try comparison(modifier, left, sign, right, options)
        case .expression(let value):
            return try comparison(.direct, value, .equal, .constant(.boolean(true)), [])
        }
    }

    private mutating func compound(_ type: Int64, _ parts: [PredicateNode]) throws(MigrationError) -> Reference {
        var references: [Reference] = []
        for part in parts { references.append(try write(part)) }
        return builder.object(
            ClassName("NSCompoundPredicate", "NSPredicate"),
            ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": builder.array(references).field])
    }

    private mutating func comparison(
        _ modifier: ComparisonModifier, _ left: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionNode,
        _ options: ComparisonOptions
    ) throws(MigrationError) -> Reference {
        let code = sign.code
        var fields: Fields = [
            "NSOperatorType": .integer(code), "NSModifier": .integer(modifier.code),
        ]
        let className: ClassName
        switch sign {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            className = ClassName("NSComparisonPredicateOperator", "NSPredicateOperator")
            fields["NSVariant"] = .integer(code)
            fields["NSOptions"] = .integer(Int64(options.rawValue))
        case .equal, .notEqual:
            className = ClassName("NSEqualityPredicateOperator", "NSPredicateOperator")
            fields["NSNegate"] = .boolean(sign == .notEqual)
            fields["NSOptions"] = .integer(Int64(options.rawValue))
        case .between: className = ClassName("NSBetweenPredicateOperator", "NSPredicateOperator")
        case .contains, .isIn:
            className = ClassName("NSInPredicateOperator", "NSPredicateOperator")
            fields["NSFlags"] = .integer(Int64(options.rawValue))
        case .matches, .like, .beginsWith, .endsWith:
            let name =
                sign == .matches
                ? "NSMatchingPredicateOperator"
                : sign == .like ? "NSLikePredicateOperator" : "NSSubstringPredicateOperator"
            className = ClassName(name, "NSStringPredicateOperator", "NSPredicateOperator")
            fields["NSFlags"] = .integer(Int64(options.rawValue))
            if sign == .beginsWith || sign == .endsWith { fields["NSPosition"] = .integer(sign == .beginsWith ? 0 : 1) }
        }
        let operation = builder.object(className, fields)
        return builder.object(
            ClassName("NSComparisonPredicate", "NSPredicate"),
            [
                "NSLeftExpression": try write(left).field, "NSRightExpression": try write(right).field,
                "NSPredicateOperator": operation.field,
            ])
    }
}
