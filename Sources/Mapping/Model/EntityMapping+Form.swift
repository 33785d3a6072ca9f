import Diagnostics
import ManagedModel

extension EntityMappingType {
    /// Makes the type for its name in JSON.
    init?(jsonName: String) {
        guard let code = Self.names.firstIndex(of: jsonName) else { return nil }
        self.init(rawValue: UInt(code))
    }

    /// The names by code.
    private static let names = [nil, "custom", "add", "remove", "copy", "transform"]

    /// The name of the type in JSON; nil for the undefined type.
    package var jsonName: String? { Self.names[Int(rawValue)] }
}

extension EntityMapping {
    /// The source objects of a mapping, as far as they can be described without an expression.
    package enum SourceFetch: Equatable {
        case all
        /// The text of the predicate.
        case filtered(String)
        /// Anything except a fetch of the source entity.
        case other
    }

    /// The type. An undefined type, which Xcode's files always have, is derived from the rest of the mapping.
    package var effectiveType: EntityMappingType {
        guard mappingType == .undefinedEntityMappingType else { return mappingType }
        if hasPolicy { return .customEntityMappingType }
        if sourceEntityName == nil { return .addEntityMappingType }
        if destinationEntityName == nil { return .removeEntityMappingType }
        return .transformEntityMappingType
    }

    /// The reason why the type does not fit the entities; nil if it does.
    ///
    /// A custom mapping with a policy may lack one of the two entities: the policy decides its work.
    var typeProblem: String? {
        if sourceEntityName == nil && destinationEntityName == nil {
            return "The entity mapping has neither a source nor a destination entity"
        }
        switch effectiveType {
        case .addEntityMappingType:
            if sourceEntityName != nil { return "An add mapping has no source entity" }
        case .removeEntityMappingType:
            if destinationEntityName != nil { return "A remove mapping has no destination entity" }
        case .customEntityMappingType where hasPolicy: break
        case .customEntityMappingType, .copyEntityMappingType, .transformEntityMappingType, .undefinedEntityMappingType:
            let type = effectiveType.jsonName ?? "transform"
            if sourceEntityName == nil { return "A \(type) mapping needs a source entity" }
            if destinationEntityName == nil { return "A \(type) mapping needs a destination entity" }
        }
        return nil
    }

    /// Returns the reason why the mapping cannot map a destination property, and the remedy; nil if it can.
    func problem(
        ofProperty name: String, isRelationship: Bool, destination: ManagedObjectModel
    ) -> (code: MigrationError.Code, message: String, remedy: String?)? {
        guard let entityName = destinationEntityName, let entity = destination.entity(named: entityName) else {
            return (
                "mapping.unknownProperty", "The mapping has no destination entity whose properties it could map", nil
            )
        }
        let isAttribute = entity.attribute(named: name) != nil || entity.composite(named: name) != nil
        switch (isRelationship, isAttribute, entity.relationship(named: name)) {
        case (false, true, _), (true, _, _?): return nil
        case (true, true, nil):
            return ("mapping.propertyKind", "\(entityName).\(name) is an attribute, and listed as a relationship", nil)
        case (false, false, _?):
            return ("mapping.propertyKind", "\(entityName).\(name) is a relationship, and listed as an attribute", nil)
        case (_, false, nil):
            return (
                "mapping.unknownProperty", "The entity \(entityName) has no property \(name)",
                EditDistance.remedy(for: name, among: entity.declaredPropertyNames)
            )
        }
    }

    /// The attribute mappings, then the relationship mappings.
    package var propertyMappings: [PropertyMapping] { (attributeMappings ?? []) + (relationshipMappings ?? []) }

    /// The name of a mapping whose file gives it none.
    var defaultName: String { [sourceEntityName, destinationEntityName].compactMap { $0 }.joined(separator: "To") }

    /// Returns the context of a part of the mapping, at the mapping's own place if the part has none.
    package func context(
        _ part: TextPosition?, _ path: String?, entity: String? = nil, property: String? = nil,
        expression: String? = nil
    ) -> MigrationError.Context {
        .init(
            path: path, part ?? place, entity: entity, property: property, entityMapping: name,
            expression: expression)
    }

    /// Returns the place of the source expression in its file.
    package func sourceExpressionContext(_ path: String?) -> MigrationError.Context {
        context(sourceExpressionPlace, path, entity: sourceEntityName)
    }

    /// True if its property mappings are evaluated for each of its source objects, because no policy can prevent it.
    package var isSurelyEvaluated: Bool { !hasPolicy && sourceEntityName != nil }

    /// The source expression if it is evaluated; else nil. A mapping without a source entity, or without a destination and a
    /// policy, makes no objects from source objects, so its source expression has no effect.
    package var usedSourceExpression: ValueExpression? {
        sourceEntityName == nil || destinationEntityName == nil && !hasPolicy ? nil : sourceExpression
    }

    /// Recognises the source expression, if there is one. The expression of Xcode's compiler is `FETCH(FUNCTION($manager,
    /// "fetchRequestForSourceEntityNamed:predicateString:", "Car", "TRUEPREDICATE"), $manager.sourceContext, NO)`
    /// (SampleModel's V2toV3.cdm).
    package var sourceFetch: SourceFetch {
        let own: SourceFetch =
            switch sourceFilter {
            case nil: .all
            case let filter?: filter.node == .constant(true) ? .all : .filtered(filter.format)
            }
        guard let sourceExpression = usedSourceExpression else { return own }
        guard case .fetch(let request, _, countOnly: false) = sourceExpression.node,
            case .function(.variable("manager"), let selector, let arguments) = request,
            case .constant(.string(sourceEntityName))? = arguments.first, arguments.count >= 2,
            case .constant(.string(let predicate)) = arguments[1]
        else { return .other }
        switch selector {
        case LookupSelector.fetch where arguments.count == 2: break
        case LookupSelector.fetchWithSubentities where arguments.count == 3 && arguments[2].isFalse: break
        default: return .other
        }
        guard let parsed = try? SourcePredicate(format: predicate) else { return .other }
        let expressed: SourceFetch = parsed.node == .constant(true) ? .all : .filtered(parsed.format)
        return own == .all || own == expressed ? expressed : .other
    }
}

extension ExpressionNode {
    fileprivate var isFalse: Bool { self == .constant(.boolean(false)) || self == .constant(.integer(0)) }
}

extension MigrationError.Context {
    /// Makes the context of a place in a file.
    package init(
        path: String?, _ place: TextPosition?, entity: String? = nil, objectID: String? = nil, property: String? = nil,
        entityMapping: String? = nil, expression: String? = nil
    ) {
        self.init(
            path: path, line: place?.line, column: place?.column, entity: entity, objectID: objectID,
            property: property, entityMapping: entityMapping, expression: expression)
    }
}
