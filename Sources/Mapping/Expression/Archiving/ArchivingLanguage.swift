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
            var writer = ExpressionArchiveWriter(builder: builder)
            defer { builder = writer.builder }
            return try write(&writer)
        }
    }
}

/// Writes syntax trees as NSExpression and NSPredicate archive themselves: the classes and fields that
/// ``ArchivedExpressionReader`` reads.
struct ExpressionArchiveWriter {
    typealias Reference = KeyedArchiveBuilder.Reference
    private typealias ClassName = KeyedArchiveBuilder.ClassName

    var builder: KeyedArchiveBuilder

    // MARK: Expressions

    /// NSExpressionType.
    private typealias Code = ValueExpression.ExpressionType

    private mutating func expression(
        _ name: String, _ code: Code, _ fields: KeyedArchiveBuilder.Fields = [:]
    ) -> Reference {
        builder.expression(name, code.rawValue, fields)
    }

    /// - Throws: `archive.expression` for what no archive of ours has a form for: assignments, fetches, opaque constants.
    mutating func write(_ node: ExpressionNode) throws(MigrationError) -> Reference {
        switch node {
        case .constant(let constant): return write(constant)
        case .variable(let name): return variable(name)
        case .evaluatedObject: return builder.selfExpression()
        case .keyPath(let target, let components):
            let target = try target.map { node throws(MigrationError) in try write(node) }
            return builder.keyPath(components.joined(separator: "."), of: target)
        case .function(nil, let selector, let arguments): return try builtIn(selector, arguments)
        case .function(let target?, let selector, let arguments):
            return builder.function(selector, of: try write(target), try list(arguments), isMutable: true)
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
        case .element, .fetch, .assignment, .predicate, .opaque:
            throw .archive("archive.expression", "The expression has no archived form")
        }
    }

    private mutating func list(_ nodes: [ExpressionNode]) throws(MigrationError) -> [Reference] {
        try nodes.map { node throws(MigrationError) in try write(node) }
    }

    private mutating func variable(_ name: String) -> Reference {
        expression("NSVariableExpression", Code.variable, ["NSVariable": builder.string(name).field])
    }

    private mutating func write(_ constant: ExpressionConstant) -> Reference {
        switch constant {
        // nil is the constant of no class (Photos' partial indexes).
        case .null:
            expression(
                "NSConstantValueExpression", Code.constantValue, ["NSConstantValueClassName": Reference.null.field])
        case .boolean(let flag): builder.constant(builder.boolean(flag))
        case .integer(let number): builder.constant(builder.integer(number))
        case .double(let number): builder.constant(builder.real(number))
        case .decimal(let number): builder.constant(builder.decimal(number))
        case .string(let text): builder.constant(builder.string(text))
        case .date(let seconds): builder.constant(builder.date(seconds))
        case .data(let data): builder.constant(builder.data(Array(data)))
        }
    }

    private mutating func builtIn(
        _ selector: String, _ arguments: [ExpressionNode]
    ) throws(MigrationError) -> Reference {
        builder.function(selector, try list(arguments), isMutable: true)
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
            let operation = builder.operation(sign, modifier: modifier.code, options: Int64(options.rawValue))
            return builder.comparison(try write(left), operation, try write(right))
        case .expression(let value):
            let operation = builder.operation(.equal)
            return builder.comparison(try write(value), operation, builder.constant(builder.boolean(true)))
        }
    }

    private mutating func compound(_ type: Int64, _ parts: [PredicateNode]) throws(MigrationError) -> Reference {
        let references = try parts.map { part throws(MigrationError) in try write(part) }
        return builder.object(
            ClassName("NSCompoundPredicate", "NSPredicate"),
            ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": builder.array(references).field])
    }
}
