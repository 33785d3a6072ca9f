import Diagnostics
import ManagedModel

/// Checks that the value of an expression fits the property that takes it.
extension ExpressionCheck {
    func fit(_ kind: ExpressionKind, of node: ExpressionNode, _ attribute: AttributeDescription) throws(ProgramFault) {
        let type = attribute.attributeType
        guard type != .undefined, type != .composite else { return }
        let text = Self.text(node)
        for alternative in kind.alternatives {
            switch alternative {
            case .unknown, .null: continue
            case .value(let found):
                guard let wanted = ExpressionType(type), !wanted.takes(found) else { continue }
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
                default: remedy = "Take one member, \(text)[FIRST], or write a migration policy"
                }
                try mistyped(
                    "the expression gives \(alternative.label), and an attribute of type \(type.label) takes one value",
                    at: text, remedy: remedy)
            case .service(let object, _):
                try mistyped(
                    "\(alternative.label) does not fit an attribute of type \(type.label)", at: text,
                    remedy: Self.remedy(for: object, text, type))
            case .dictionary, .composite:
                try mistyped(
                    "the expression gives a dictionary, and an attribute of type \(type.label) takes one value",
                    at: text, remedy: "Name one of its keys: \(text).<key>")
            case .either: continue
            }
        }
    }

    /// Returns a remedy that gets a value from an object.
    private static func remedy(for object: KnownObject, _ text: String, _ type: AttributeType) -> String {
        switch object {
        case .objectID where type == .string: "Write its address: \(text).URIRepresentation.absoluteString"
        case .objectID: "Write its address, which a URI attribute takes: \(text).URIRepresentation"
        case .manager, .entityPolicy, .context, .fetchRequest:
            "Name one of its properties or call one of its functions: FUNCTION(\(text), '<selector>', …)"
        default:
            object.keyNames.isEmpty
                ? ""
                : "Name one of its properties: \(text).<key>. It has " + object.keyNames.joined(separator: ", ")
        }
    }

    /// Checks that an expression gives one value, which can be compared with those of other objects.
    mutating func checkComparable(_ node: ExpressionNode) throws(ProgramFault) {
        let text = Self.text(node)
        for alternative in try kind(of: node).alternatives {
            let remedy: String
            switch alternative {
            case .unknown, .null, .value: continue
            case .object: remedy = "Name an attribute of the object: \(text).<attribute>"
            case .composite: remedy = "Name each element: \(text).<element>"
            default: remedy = "Make one value of them: \(text).@count, or @min, @max, @sum or @avg of an attribute"
            }
            try mistyped(
                "the expression gives \(alternative.label), and one value is compared", at: text, remedy: remedy)
        }
    }

    func fit(
        _ kind: ExpressionKind, of node: ExpressionNode, _ relationship: RelationshipDescription
    ) throws(ProgramFault) {
        let text = Self.text(node)
        let remedy =
            "Look destination objects up: FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', '<entity mapping>', "
        for (alternative, member) in kind.alternatives.flatMap({ kind in kind.element.alternatives.map { (kind, $0) } })
        {
            switch member {
            case .unknown, .null: continue
            // Results of lookups are filtered to the relationship's destination, so some objects may fit.
            case .object(.destination, let entity?) where !entity.isKin(of: relationship.destination):
                try mistyped(
                    "\(maker(of: node).map { "the entity mapping \($0)" } ?? "the expression") gives "
                        + "\(alternative.label), and the relationship \(relationship.name) takes those of "
                        + "\(relationship.destination)", at: text, remedy: entityMappings(for: relationship))
            case .object(.destination, nil):
                if let others = try entitiesMade(by: node, misfitting: relationship) {
                    try mistyped(
                        "the objects become those of \(others), and the relationship \(relationship.name) takes those of "
                            + "\(relationship.destination)", at: text, remedy: entityMappings(for: relationship))
                }
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

    /// Returns the entity mapping whose objects a lookup gives; nil for other expressions.
    private func maker(of node: ExpressionNode) -> String? {
        guard case .function(.variable("manager"), _, let arguments) = node,
            case .constant(.string(let name))? = arguments.first, made[name] != nil
        else { return nil }
        return name
    }

    /// Returns the entities whose objects a lookup by relationship name gives, if none of them fits; nil if one may fit.
    private func entitiesMade(
        by node: ExpressionNode, misfitting relationship: RelationshipDescription
    ) throws(ProgramFault) -> String? {
        guard case .function(.variable("manager"), LookupSelector.bySourceRelationship, let arguments) = node,
            arguments.count == 2
        else { return nil }
        var check = self
        guard case .object(.source, let entity?) = try check.kind(of: arguments[1]).element else { return nil }
        let made = makers.filter { $0.source.isKin(of: entity) }.map(\.made)
        let known = made.compactMap { $0 }
        guard !known.isEmpty, known.count == made.count,
            !known.contains(where: { $0.isKin(of: relationship.destination) })
        else { return nil }
        return Set(known.map { $0.definition.name }).sorted().joined(separator: ", ")
    }

    /// Names the entity mappings that make objects for a relationship, in a sentence.
    private func entityMappings(for relationship: RelationshipDescription) -> String {
        let names = made.filter { $0.value.isKin(of: relationship.destination) }.keys.sorted()
        return names.isEmpty
            ? "No entity mapping makes objects of \(relationship.destination): leave the relationship alone with null"
            : "Look up an entity mapping into \(relationship.destination): \(names.joined(separator: ", "))"
    }
}

extension MappingModel {
    /// Finds the mistakes in the expressions of all entity mappings, for either way of evaluation.
    ///
    /// - Parameters:
    ///   - names: the names that lookups may use.
    ///   - previous: the entity mappings of mapping models that run before: lookups find their objects too.
    ///   - misfits: the treatment of values of the wrong kind.
    /// - Throws: `expression.variable`, `expression.castType`, `expression.syntax` of a pattern or predicate,
    ///   `expression.argumentCount`, `expression.unknownSelector`, `mapping.unknownKeyPath`, `expression.type` (78) with
    ///   file, line, column, entity mapping, property, and the place in the expression.
    /// - Complexity: O(nodes).
    func checkExpressions(
        source: ManagedObjectModel, destination: ManagedObjectModel, names: ExpressionNames,
        after previous: [EntityMapping], misfits: MisfittingExpressions
    ) throws(MigrationError) {
        let mappings = entityMappings ?? []
        var made: [String: EntityDescription] = [:]
        for mapping in previous + mappings {
            guard let name = mapping.name else { continue }
            made[name] = mapping.hasPolicy ? nil : mapping.destinationEntityName.flatMap(destination.entity(named:))
        }
        let makers = (previous + mappings).compactMap { mapping in
            mapping.sourceEntityName.flatMap(source.entity(named:)).map { origin in
                (
                    source: origin,
                    made: mapping.hasPolicy ? nil : mapping.destinationEntityName.flatMap(destination.entity(named:))
                )
            }
        }
        for mapping in mappings {
            let origin = mapping.sourceEntityName.flatMap(source.entity(named:))
            let target = mapping.destinationEntityName.flatMap(destination.entity(named:))
            func makeCheck(_ variables: [String], _ isLenient: Bool) -> ExpressionCheck {
                ExpressionCheck(
                    source: origin, destination: target, sourceModel: source, names: names, made: made,
                    variables: variables, makers: makers, isLenient: isLenient)
            }
            try mapping.checkSelection(path, makeCheck)
            let member = try mapping.memberKind(path, makeCheck)
            try target?.checkPatterns()
            let isEvaluated = misfits.isEvaluated(mapping)
            for property in mapping.propertyMappings {
                if isEvaluated, let refusal = property.refusal { throw refusal }
                guard let expression = property.valueExpression, let name = property.name else { continue }
                func check(isLenient: Bool) throws(MigrationError) {
                    var check = makeCheck(ExpressionCheck.valueVariables, isLenient)
                    if let member { check.bindMember(member, forAttribute: target?.relationship(named: name) == nil) }
                    do {
                        let kind = try check.kind(of: expression.node)
                        if let attribute = target?.attribute(named: name) {
                            try check.fit(kind, of: expression.node, attribute)
                        } else if let relationship = target?.relationship(named: name) {
                            try check.fit(kind, of: expression.node, relationship)
                        }
                    } catch {
                        throw error.described(
                            expression.format,
                            mapping.context(
                                property.place, path, entity: mapping.destinationEntityName, property: name))
                    }
                }
                do throws(MigrationError) { try check(isLenient: false) } catch {
                    if isEvaluated { throw error }
                    // A wrong name is a mistake in either way of evaluation.
                    try check(isLenient: true)
                    property.refusal = property.refusal ?? error
                }
            }
        }
    }
}

extension EntityMapping {
    /// Checks the expressions that choose the source objects: the filter, the source expression, and those that group them.
    ///
    /// - Parameter makeCheck: makes a check for expressions over some variables.
    fileprivate func checkSelection(
        _ path: String?, _ makeCheck: ([String], _ isLenient: Bool) -> ExpressionCheck
    ) throws(MigrationError) {
        if let filter = sourceFilter {
            var check = makeCheck(ExpressionCheck.filterVariables, hasPolicy)
            do { try check.check(filter.node) } catch {
                throw error.described(filter.format, context(sourceFilterPlace, path))
            }
        }
        if let expression = usedSourceExpression {
            var check = makeCheck(ExpressionCheck.sourceExpressionVariables, hasPolicy)
            do { _ = try check.kind(of: expression.node) } catch {
                throw error.described(expression.format, sourceExpressionContext(path))
            }
        }
        let compared = (grouping?.expressions ?? []) + [grouping?.merge?.keep.expression].compactMap(\.self)
        for item in compared {
            var check = makeCheck(["source"], false)
            do throws(ProgramFault) { try check.checkComparable(item.expression.node) } catch {
                throw error.described(item.expression.format, groupingContext(item, path))
            }
        }
    }
}

extension EntityMapping {
    /// Returns the kind of `$member` in a mapping with `forEach`; nil in others.
    fileprivate func memberKind(
        _ path: String?, _ makeCheck: ([String], _ isLenient: Bool) -> ExpressionCheck
    ) throws(MigrationError) -> ExpressionKind? {
        guard let forEach else { return nil }
        var check = makeCheck(ExpressionCheck.forEachVariables, false)
        do { return try check.memberKind(of: forEach.node) } catch {
            throw error.described(forEach.format, forEachContext(path))
        }
    }
}

extension SourcePredicate {
    /// Checks a predicate over the objects of an entity as a source filter is checked: names, kinds and types.
    ///
    /// - Throws: `mapping.unknownKeyPath`, `expression.type`, `expression.variable` and the other codes of a mapping model's
    ///   filter (78), with the column.
    /// - Complexity: O(n) in nodes.
    package func check(from entity: EntityDescription, in model: ManagedObjectModel) throws(MigrationError) {
        let context = MigrationError.Context(entity: entity.definition.name, expression: format)
        var check = ExpressionCheck(
            source: entity, destination: nil, sourceModel: model, names: nil, made: [:],
            variables: ExpressionCheck.filterVariables, makers: [], isLenient: false)
        do { try check.check(node) } catch { throw error.described(format, context) }
        try checkSourcePaths(from: entity)
        var resolver = EntityKeyPathResolver([entity])
        do throws(MigrationError) {
            _ = try PredicateProgram(compiling: self, resolver: &resolver, context: context)
        } catch {
            // Objects can evaluate more than programs can.
            guard error.code == "expression.unsupported" else { throw error }
        }
    }
}

extension EntityDescription {
    /// Compiles the regular expressions that validation uses.
    ///
    /// - Throws: `model.regularExpression` (78) with entity and attribute.
    fileprivate func checkPatterns() throws(MigrationError) {
        for attribute in attributes {
            guard let text = attribute.definition.regularExpression else { continue }
            do throws(ProgramFault) { _ = try TextPattern(regularExpression: text) } catch {
                throw MigrationError(
                    "model.regularExpression", .configuration,
                    "The pattern of the attribute does not compile: \(error.message)",
                    context: .init(entity: definition.name, property: attribute.name, expression: text))
            }
        }
    }
}

extension ProgramFault {
    /// Returns the error with the expression's text and the column in it, counted in characters from one.
    fileprivate func described(_ text: String, _ place: MigrationError.Context) -> MigrationError {
        var context = place
        context.expression = ExpressionLexer.excerpt(text)
        var error = described(.configuration, in: context)
        if let fragment, let range = text.firstRange(of: fragment) {
            let column = text.distance(from: text.startIndex, to: range.lowerBound) + 1
            error.message += ", at column \(column) of the expression"
        }
        return error
    }
}
