import Diagnostics
import ManagedModel

/// Whether what an expression gives fits the property that takes it.
extension ExpressionCheck {
    func fit(
        _ kind: ExpressionKind, of node: ExpressionNode, _ attribute: AttributeDescription
    ) throws(ExpressionMistake) {
        let type = attribute.attributeType
        guard type != .transformable, type != .undefined, type != .composite else { return }
        let text = Self.text(node)
        for alternative in kind.alternatives {
            switch alternative {
            case .unknown, .null: continue
            case .value(let found):
                guard let wanted = ExpressionType(type), found != wanted, !(found.isNumber && wanted.isNumber) else {
                    continue
                }
                let fault = ProgramFault.misfit(found, type)
                try mistyped(fault.message, at: text, remedy: fault.remedy)
            case .object:
                try mistyped(
                    "\(alternative.label) does not fit an attribute of type \(type.label)", at: text,
                    remedy: "Name an attribute of the object: \(text).<attribute>")
            case .collection(let element, _):
                let remedy: String
                switch element {
                case .value(let found) where found.isNumber || found == .date:
                    remedy =
                        "Make one value of them: @min, @max, @sum, @avg or @count in front of the last name, or a migration policy"
                case .value:
                    remedy =
                        "Make one value of them: @count behind the collection, FUNCTION(<ordered values>, 'componentsJoinedByString:', ', '), or a migration policy"
                case .object:
                    remedy = "Make one value of them: \(text).@count, \(text).@sum.<attribute> or another operator"
                default: remedy = "Take one member, \(text)[FIRST], or map it to a Transformable attribute"
                }
                try mistyped(
                    "the expression gives \(alternative.label), and an attribute of type \(type.label) takes one value",
                    at: text, remedy: remedy)
            case .service(let name):
                try mistyped(
                    "the object $\(name) does not fit an attribute of type \(type.label)", at: text,
                    remedy:
                        "Name one of its properties or call one of its functions: FUNCTION(\(text), '<selector>', …)")
            case .either: continue
            }
        }
    }

    func fit(
        _ kind: ExpressionKind, of node: ExpressionNode, _ relationship: RelationshipDescription
    ) throws(ExpressionMistake) {
        let text = Self.text(node)
        let remedy =
            "Look destination objects up: FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', '<entity mapping>', "
        for alternative in kind.alternatives {
            switch alternative.element {
            case .unknown, .null: continue
            // Results of lookups are filtered to what the relationship takes.
            case .object(.destination, _): continue
            case .object(.source, _):
                try mistyped(
                    "the expression gives \(alternative.label), and a relationship takes objects of the destination",
                    at: text, remedy: remedy + "\(text))")
            default:
                try mistyped(
                    "the expression gives \(alternative.label), and the relationship \(relationship.name) takes objects",
                    at: text, remedy: remedy + "$source.<relationship>)")
            }
        }
    }
}

extension MappingModel {
    /// Finds what is wrong with the expressions of all entity mappings, whichever path will evaluate them.
    ///
    /// - Throws: `expression.variable`, `expression.castType`, `expression.syntax` of a pattern or predicate,
    ///   `expression.argumentCount`, `expression.unknownSelector`, `mapping.unknownKeyPath`, `expression.type` (78) with
    ///   file, line, column, entity mapping, property, and the place in the expression.
    /// - Complexity: O(nodes).
    func checkExpressions(source: ManagedObjectModel, destination: ManagedObjectModel) throws(MigrationError) {
        let mappings = entityMappings ?? []
        var made: [String: EntityDescription] = [:]
        for mapping in mappings where !mapping.hasPolicy {
            if let name = mapping.name, let entity = mapping.destinationEntityName.flatMap(destination.entity(named:)) {
                made[name] = entity
            }
        }
        for mapping in mappings {
            let origin = mapping.sourceEntityName.flatMap(source.entity(named:))
            let target = mapping.destinationEntityName.flatMap(destination.entity(named:))
            func makeCheck(_ variables: [String]) -> ExpressionCheck {
                ExpressionCheck(
                    source: origin, destination: target, sourceModel: source, made: made, variables: variables,
                    isLenient: mapping.hasPolicy)
            }
            if let filter = mapping.sourceFilter {
                var check = makeCheck(ExpressionCheck.filterVariables)
                do { try check.check(filter.node) } catch {
                    throw error.described(filter.format, mapping.filterPlace(path))
                }
            }
            if let expression = mapping.sourceExpression {
                var check = makeCheck(ExpressionCheck.sourceExpressionVariables)
                do { _ = try check.kind(of: expression.node) } catch {
                    throw error.described(expression.format, mapping.sourceExpressionPlace(path))
                }
            }
            try target?.checkPatterns()
            for property in (mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? []) {
                guard let expression = property.valueExpression, let name = property.name else { continue }
                var check = makeCheck(ExpressionCheck.valueVariables)
                do {
                    let kind = try check.kind(of: expression.node)
                    if let attribute = target?.attribute(named: name) {
                        try check.fit(kind, of: expression.node, attribute)
                    } else if let relationship = target?.relationship(named: name) {
                        try check.fit(kind, of: expression.node, relationship)
                    }
                } catch {
                    var place = mapping.propertyPlace(property, path)
                    place.entity = mapping.destinationEntityName
                    throw error.described(expression.format, place)
                }
            }
        }
    }
}

extension EntityDescription {
    /// Compiles the regular expressions that validation will match.
    ///
    /// - Throws: `model.regularExpression` (78) with entity and attribute.
    fileprivate func checkPatterns() throws(MigrationError) {
        for attribute in attributes {
            guard let text = attribute.definition.regularExpression else { continue }
            do throws(MigrationError) { _ = try WholeTextPattern(text) } catch {
                throw MigrationError(
                    "model.regularExpression", .configuration,
                    "The pattern of the attribute does not compile: \(error.message)",
                    context: .init(entity: definition.name, property: attribute.name, expression: text))
            }
        }
    }
}

extension EntityMapping {
    fileprivate func propertyPlace(_ property: PropertyMapping, _ path: String?) -> MigrationError.Context {
        MigrationError.Context(
            path: path, line: property.line ?? line, column: property.column ?? column, property: property.name,
            entityMapping: name)
    }

    /// Where the source expression stands in its file.
    package func sourceExpressionPlace(_ path: String?) -> MigrationError.Context {
        MigrationError.Context(
            path: path, line: sourceExpressionLine ?? line, column: sourceExpressionColumn ?? column,
            entity: sourceEntityName, entityMapping: name)
    }
}

extension ExpressionMistake {
    /// The error with the expression's text and the column in it, counted in characters from one.
    fileprivate func described(_ text: String, _ place: MigrationError.Context) -> MigrationError {
        var context = place
        context.expression = ExpressionLexer.excerpt(text)
        var error = fault.described(.configuration, in: context)
        if let fragment, let range = text.firstRange(of: fragment) {
            let column = text.distance(from: text.startIndex, to: range.lowerBound) + 1
            error.message += ", at column \(column) of the expression"
        }
        return error
    }
}
