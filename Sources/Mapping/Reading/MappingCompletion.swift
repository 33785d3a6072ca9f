import Diagnostics
import ManagedModel

extension MappingModel {
    /// Completes a mapping model that was read without its models, and checks it.
    ///
    /// - Throws: `mapping.unknownEntity`, the errors of ``MappingCompletion`` and of ``validate(source:destination:)``; all 78.
    /// - Complexity: O(n log n) in properties.
    func complete(
        source: ManagedObjectModel, destination: ManagedObjectModel, after previous: [EntityMapping],
        misfits: MisfittingExpressions
    ) throws(MigrationError) {
        try completeOpen(source: source, destination: destination)
        try validate(source: source, destination: destination, after: previous, misfits: misfits)
    }

    /// Completes the entity mappings that were read without their models. Others are left alone.
    ///
    /// - Throws: `mapping.unknownEntity`, the errors of ``MappingCompletion`` (78).
    /// - Complexity: O(n log n) in properties.
    package func completeOpen(source: ManagedObjectModel, destination: ManagedObjectModel) throws(MigrationError) {
        let open = (entityMappings ?? []).filter { $0.convertedFrom != nil }
        guard !open.isEmpty else { return }
        for mapping in open { try mapping.checkEntities(source, destination, path) }
        let completion = MappingCompletion(self, source, destination)
        for mapping in open {
            if mapping.convertedFrom == .xcode {
                if mapping.hasOpenSource { mapping.dropStraySourceExpression(source) }
                if mapping.destinationEntityName == nil {
                    (mapping.attributeMappings, mapping.relationshipMappings) = ([], [])
                }
            }
            try completion.complete(mapping)
        }
    }
}

/// Completes the properties of entity mappings, so that mapping models of all forms are alike: every stored property of the
/// destination entity has a mapping, and automatic ones are marked.
///
/// A property missing from the file is not touched, as in Core Data: it gets a mapping without expression. A property that is
/// not stored (a transient one) has a mapping only if the file computes it in a special way.
struct MappingCompletion {
    let automatic: AutomaticMapping
    private let path: String?
    private let models: [ManagedObjectModel]

    /// - Parameter model: has all of its entity mappings, with their names, entities and types.
    init(_ model: MappingModel, _ source: ManagedObjectModel, _ destination: ManagedObjectModel) {
        path = model.path
        models = [source, destination]
        automatic = AutomaticMapping(entityMappings: model.entityMappings, source: source, destination: destination)
    }

    /// Returns the two entities of a mapping. Version hashes that it states must be theirs; otherwise theirs are set.
    ///
    /// - Throws: `mapping.versionHash` (78).
    func entities(
        of mapping: EntityMapping
    ) throws(MigrationError) -> (source: EntityDescription?, destination: EntityDescription?) {
        let source = mapping.sourceEntityName.flatMap(models[0].entity(named:))
        let destination = mapping.destinationEntityName.flatMap(models[1].entity(named:))
        let known = (source?.knownHash, destination?.knownHash)
        for (stated, known, entity, side) in [
            (mapping.sourceEntityVersionHash, known.0, mapping.sourceEntityName, "source"),
            (mapping.destinationEntityVersionHash, known.1, mapping.destinationEntityName, "destination"),
        ] {
            guard let stated, let known, stated != known else { continue }
            throw MigrationError(
                "mapping.versionHash", .configuration,
                "The mapping model is for another version of the \(side) entity \(entity ?? "")",
                remedy: "Name the model versions that it is for, or write the mapping model again",
                context: mapping.context(mapping.place, path, entity: entity))
        }
        mapping.sourceEntityVersionHash = mapping.sourceEntityVersionHash ?? known.0
        mapping.destinationEntityVersionHash = mapping.destinationEntityVersionHash ?? known.1
        return (source, destination)
    }

    /// Completes a mapping of the form that ``EntityMapping/convertedFrom`` names. Its attribute and relationship mappings are
    /// then sorted by name in code point order.
    ///
    /// An expression of a compiled mapping model that is spelled like the automatic one counts as automatic, even if the
    /// automatic one replaces nil by the model's default: the form does not distinguish the two.
    ///
    /// - Throws: `mapping.versionHash`, `mapping.unknownProperty`, `mapping.propertyKind`, `mapping.duplicateProperty` (78).
    func complete(_ mapping: EntityMapping) throws(MigrationError) {
        let (source, target) = try entities(of: mapping)
        let matchesAutomatic = mapping.convertedFrom == .compiled
        mapping.convertedFrom = nil
        guard let target else { return }
        let attributes = (mapping.attributeMappings ?? []).expandingComposites(source: source, destination: target)
        let listed = attributes.map { ($0, false) } + (mapping.relationshipMappings ?? []).map { ($0, true) }
        var remaining: [String: (mapping: PropertyMapping, isRelationship: Bool)] = [:]
        for item in listed where remaining.updateValue(item, forKey: item.0.name ?? "") != nil {
            throw failure(
                "mapping.duplicateProperty", "The property \(item.0.name ?? "") is mapped twice", item.0, mapping)
        }
        var completed: [Bool: [PropertyMapping]] = [:]
        func add(_ property: PropertyMapping, _ isRelationship: Bool, _ item: PropertyMapping?) {
            (property.userInfo, property.place) = (item?.userInfo, item?.place)
            completed[isRelationship, default: []].append(property)
        }
        for property in automatic.properties(from: source, to: target) {
            var item: PropertyMapping?
            if remaining[property.name]?.isRelationship == property.isRelationship {
                item = remaining.removeValue(forKey: property.name)?.mapping
            }
            add(propertyMapping(property, item, target, matchesAutomatic), property.isRelationship, item)
        }
        for (item, isRelationship) in listed where remaining[item.name ?? ""] != nil {
            guard let property = try unstored(item, isRelationship, target, mapping) else { continue }
            add(property, isRelationship, item)
        }
        mapping.attributeMappings = (completed[false] ?? []).sortedByName
        mapping.relationshipMappings = (completed[true] ?? []).sortedByName
    }

    private func propertyMapping(
        _ property: AutomaticMapping.Property, _ item: PropertyMapping?, _ destination: EntityDescription,
        _ matchesAutomatic: Bool
    ) -> PropertyMapping {
        let expression: ValueExpression?
        switch item?.openValue {
        case nil: expression = item?.valueExpression
        case .automatic:
            guard case .incompatible = property.outcome else { return property.propertyMapping() }
            expression = property.compiledExpression
        case .lookup(let keyPath, let name): expression = lookup(keyPath, name, property, destination)
        }
        if matchesAutomatic, property.replacesNil, expression == property.expression {
            return property.propertyMapping()
        }
        return PropertyMapping(
            name: property.name, valueExpression: expression, isAutomatic: property.isReproduced(by: expression))
    }

    private func lookup(
        _ keyPath: ValueExpression?, _ name: String?, _ property: AutomaticMapping.Property,
        _ destination: EntityDescription
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
        _ item: PropertyMapping, _ isRelationship: Bool, _ destination: EntityDescription, _ mapping: EntityMapping
    ) throws(MigrationError) -> PropertyMapping? {
        let name = item.name ?? ""
        if case .lookup = item.openValue {
            throw failure("mapping.unknownProperty", "The entity has no stored relationship \(name)", item, mapping)
        }
        guard item.openValue == nil, let expression = item.valueExpression else { return nil }
        if let problem = mapping.problem(
            ofProperty: name, isRelationship: isRelationship, destination: destination.managedObjectModel)
        {
            throw failure(problem.code, problem.message, item, mapping, remedy: problem.remedy)
        }
        // The compiler writes this expression for each transient attribute.
        if expression.node == .keyPath(target: .variable("source"), components: [name]) { return nil }
        return PropertyMapping(name: name, valueExpression: expression)
    }

    private func failure(
        _ code: MigrationError.Code, _ message: String, _ item: PropertyMapping, _ mapping: EntityMapping,
        remedy: String? = nil
    ) -> MigrationError {
        mapping.failure(
            code, message, path, remedy: remedy, entity: mapping.destinationEntityName, property: item)
    }
}

extension [PropertyMapping] {
    /// The list sorted by name, in code point order.
    var sortedByName: [PropertyMapping] {
        sorted { ($0.name ?? "").unicodeScalars.lexicographicallyPrecedes(($1.name ?? "").unicodeScalars) }
    }
}
