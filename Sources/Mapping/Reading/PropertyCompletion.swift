import Diagnostics
import ManagedModel

/// Completes the properties of an entity mapping, so that mapping models of all forms are alike: every stored property of the
/// destination entity has a mapping, and automatic ones are marked.
///
/// A property missing from the file is not touched, as in Core Data: it gets a mapping without expression. A property that is
/// not stored (a transient one) has a mapping only if the file computes it in a special way.
struct PropertyCompletion {
    /// The content of a file for a property.
    struct Listed {
        let name: String
        let isRelationship: Bool
        let content: XcodeMapping.Content
        var userInfo: [AnyHashable: Any]?
        var place: TextPosition?
    }

    let mapping: EntityMapping
    let automatic: AutomaticMapping
    let path: String?

    /// Sets attribute and relationship mappings, each sorted by name in code point order.
    ///
    /// - Parameter matchesAutomatic: true to treat an expression spelled like the automatic one as automatic, even if the
    ///   automatic one replaces nil by the model's default. A compiled mapping model does not distinguish the two.
    /// - Throws: `mapping.unknownProperty`, `mapping.propertyKind`, `mapping.duplicateProperty` (78).
    /// - Complexity: O(n log n) in properties.
    func complete(
        _ listed: [Listed], source: EntityDescription?, destination: EntityDescription, matchesAutomatic: Bool
    ) throws(MigrationError) {
        let listed = expandingComposites(listed, source: source, destination: destination)
        var remaining: [String: Listed] = [:]
        for item in listed where remaining.updateValue(item, forKey: item.name) != nil {
            throw failure("mapping.duplicateProperty", "The property \(item.name) is mapped twice", item)
        }
        var attributes: [PropertyMapping] = []
        var relationships: [PropertyMapping] = []
        for property in automatic.properties(from: source, to: destination) {
            var item: Listed?
            if remaining[property.name]?.isRelationship == property.isRelationship {
                item = remaining.removeValue(forKey: property.name)
            }
            let mapping = propertyMapping(property, item, source, destination, matchesAutomatic)
            if property.isRelationship { relationships.append(mapping) } else { attributes.append(mapping) }
        }
        for item in listed where remaining[item.name] != nil {
            guard let mapping = try unstored(item, destination) else { continue }
            if item.isRelationship { relationships.append(mapping) } else { attributes.append(mapping) }
        }
        mapping.attributeMappings = Self.sorted(attributes)
        mapping.relationshipMappings = Self.sorted(relationships)
    }

    /// Replaces the entries of composite attributes as a whole by entries of their elements.
    private func expandingComposites(
        _ listed: [Listed], source: EntityDescription?, destination: EntityDescription
    ) -> [Listed] {
        let elements = destination.elements(ofListed: Set(listed.lazy.filter { !$0.isRelationship }.map(\.name)))
        return listed.flatMap { item -> [Listed] in
            guard !item.isRelationship, destination.composite(named: item.name) != nil else { return [item] }
            return elements.filter { $0.composite == item.name }.map { attribute, composite in
                var content = item.content
                if case .expression(let whole) = content {
                    content = .expression(whole.element(attribute, of: composite, source: source))
                }
                return Listed(
                    name: attribute, isRelationship: false, content: content, userInfo: item.userInfo, place: item.place
                )
            }
        }
    }

    private static func sorted(_ mappings: [PropertyMapping]) -> [PropertyMapping] {
        mappings.sorted { ($0.name ?? "").unicodeScalars.lexicographicallyPrecedes(($1.name ?? "").unicodeScalars) }
    }

    private func propertyMapping(
        _ property: AutomaticMapping.Property, _ item: Listed?, _ source: EntityDescription?,
        _ destination: EntityDescription, _ matchesAutomatic: Bool
    ) -> PropertyMapping {
        let expression: ValueExpression?
        switch item?.content {
        case nil, .unset: expression = nil
        case .automatic:
            guard case .incompatible = property.outcome else { return placed(property.propertyMapping(), item) }
            expression = property.compiledExpression
        case .expression(let own): expression = own
        case .lookup(let keyPath, let name):
            expression = lookup(keyPath, name, property, source, destination)
        }
        if matchesAutomatic, property.replacesNil, expression == property.expression {
            return placed(property.propertyMapping(), item)
        }
        let mapping = PropertyMapping(
            name: property.name, valueExpression: expression, isAutomatic: property.isReproduced(by: expression))
        return placed(mapping, item)
    }

    private func lookup(
        _ keyPath: ValueExpression?, _ name: String?, _ property: AutomaticMapping.Property,
        _ source: EntityDescription?, _ destination: EntityDescription
    ) -> ValueExpression? {
        guard let relationship = destination.relationship(named: property.name) else { return nil }
        let own = property.compiledExpression.flatMap { expression -> ExpressionNode? in
            if case .function(_, _, let arguments) = expression.node { return arguments.last }
            return nil
        }
        guard let value = keyPath?.node ?? own else { return nil }
        var last = property.name
        if case .keyPath(_, let components) = value, let component = components.last { last = component }
        return automatic.lookup(of: value, in: relationship, mapping: name, name: last)
    }

    /// Returns the mapping of a property that is not stored or that the destination entity does not have; nil if it needs none.
    /// Xcode keeps mappings of removed properties, which matter only if they compute something.
    private func unstored(
        _ item: Listed, _ destination: EntityDescription
    ) throws(MigrationError) -> PropertyMapping? {
        let expression: ValueExpression
        switch item.content {
        case .automatic, .unset: return nil
        case .lookup:
            throw failure("mapping.unknownProperty", "The entity has no stored relationship \(item.name)", item)
        case .expression(let own): expression = own
        }
        if let problem = mapping.problem(
            ofProperty: item.name, isRelationship: item.isRelationship, destination: destination.managedObjectModel)
        {
            throw failure(problem.code, problem.message, item)
        }
        // The compiler writes this expression for each transient attribute.
        if expression.node == .keyPath(target: .variable("source"), components: [item.name]) { return nil }
        return placed(PropertyMapping(name: item.name, valueExpression: expression), item)
    }

    private func placed(_ mapping: PropertyMapping, _ item: Listed?) -> PropertyMapping {
        mapping.userInfo = item?.userInfo
        mapping.line = item?.place?.line
        mapping.column = item?.place?.column
        return mapping
    }

    private func failure(_ code: MigrationError.Code, _ message: String, _ item: Listed) -> MigrationError {
        MigrationError(
            code, .configuration, message,
            context: .init(
                path: path, line: item.place?.line, column: item.place?.column, entity: mapping.destinationEntityName,
                property: item.name, entityMapping: mapping.name))
    }
}
