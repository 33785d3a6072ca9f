import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// Resolves a mapping model against the two schemas: names become tables, columns and candidates of lookups.
struct MappingResolution {
    let model: MappingModel
    let source: StoreSchema
    let destination: StoreSchema
    /// The mappings of previous models, whose objects lookups find too; each at its index.
    var previous: [PlannedMapping] = []
    var observed: ObservedCalls = []

    /// Resolves all entity mappings in order, numbered after those of previous models.
    ///
    /// - Throws: `mapping.unknownEntity`, `mapping.unknownProperty`, `mapping.unknownMapping`,
    ///   `expression.unsupported`, `expression.unknownKeyPath`.
    func resolve() throws(MigrationError) -> [PlannedMapping] {
        var planned: [PlannedMapping] = []
        for (index, mapping) in model.entityMappings.enumerated() {
            planned.append(try resolve(mapping, index: previous.count + index))
        }
        return try planned.map { item throws(MigrationError) in
            item.with(try relationships(of: item, among: planned))
        }
    }

    /// Resolves one entity mapping, without its relationships.
    func resolve(_ mapping: EntityMapping, index: Int) throws(MigrationError) -> PlannedMapping {
        let sourceEntity = try entity(mapping.sourceEntityName, in: source.model, "source", mapping)
        let destinationEntity = try entity(mapping.destinationEntityName, in: destination.model, "destination", mapping)
        var attributes: [PlannedAttribute] = []
        if let destinationEntity {
            for attribute in destinationEntity.attributes {
                guard let column = destination.column(of: attribute) else { continue }
                let property = mapping.attributeMapping(named: attribute.name)
                let evaluation = try evaluation(of: property, attribute, mapping, sourceEntity)
                attributes.append(
                    PlannedAttribute(
                        attribute: attribute, column: column, expression: property?.valueExpression,
                        replacesNil: property?.fillsNil ?? false,
                        defaultValue: ColumnValue(initial: attribute, property),
                        needsObjects: evaluation.needsObjects, refusal: evaluation.refusal))
            }
        }
        let filter = try filter(of: mapping)
        return PlannedMapping(
            index: index, mapping: mapping, source: sourceEntity,
            sourceTable: sourceEntity.map(source.tableIndex(of:)), destination: destinationEntity,
            destinationTable: destinationEntity.map(destination.tableIndex(of:)), filter: filter,
            filterNeedsObjects: try needsObjects(filter, mapping, sourceEntity),
            sourceExpression: try sourceExpression(of: mapping, sourceEntity), attributes: attributes,
            modelPath: model.path, followsSource: model.rulesOfTheSource == .warn, observed: observed)
    }

    /// Decides how an attribute's expression is evaluated.
    ///
    /// - Returns: whether only objects can evaluate the expression, and the reason why its value does not fit the
    ///   attribute. A misfit is no error yet if a policy may never evaluate the expression; evaluating it throws the
    ///   reason.
    private func evaluation(
        of property: PropertyMapping?, _ attribute: AttributeDescription, _ mapping: EntityMapping,
        _ entity: EntityDescription?
    ) throws(MigrationError) -> (needsObjects: Bool, refusal: MigrationError?) {
        guard let property, let expression = property.valueExpression, let entity else { return (false, nil) }
        let context = mapping.context(
            property.place, model.path, entity: mapping.destinationEntityName, property: property.name)
        do throws(MigrationError) {
            var slots = SourceColumns(entity: entity, schema: source)
            let program = try ExpressionProgram(
                compiling: expression, to: attribute.attributeType, resolver: &slots, context: context)
            // A computed value for external storage gets its marker, or its file, only when an object stores it.
            let isMade = attribute.definition.allowsExternalBinaryDataStorage && program.constant != .null
            guard program.copiedSlot == nil,
                isMade || expression.looksIntoExternalData(of: entity, names: source.model.externalAttributeNames)
            else { return (false, nil) }
            throw Self.externalData.inside(context)
        } catch {
            if error.isMisfit, mapping.hasPolicy || property.refusal != nil {
                return (mapping.hasPolicy, property.refusal ?? error)
            }
            guard error.code == "expression.unsupported", expression.isEvaluable else { throw error }
            try checkNames(in: expression, from: entity, context: context)
            guard !mapping.hasPolicy, let refusal = property.refusal else { return (true, property.refusal) }
            return (false, refusal)
        }
    }

    /// The error for a program that reads external data: the column holds only a marker, or the name of a file.
    private static var externalData: MigrationError {
        MigrationError(
            "expression.unsupported", .configuration, "External binary data can only be read as $source's attribute")
    }

    /// Checks key paths from `$source` and selectors that objects will evaluate.
    ///
    /// - Throws: `mapping.unknownKeyPath`; `expression.unknownSelector` for a message that no value answers.
    private func checkNames(
        in expression: ValueExpression, from entity: EntityDescription?, context: MigrationError.Context
    ) throws(MigrationError) {
        var context = context
        context.expression = expression.format
        if let entity {
            do { try expression.checkSourcePaths(from: entity) } catch { throw error.inside(context) }
        }
        try checkCalls(in: expression, context: context)
    }

    /// Checks the functions and messages that objects will evaluate.
    ///
    /// - Throws: `expression.unknownSelector` for a message that no value answers.
    private func checkCalls(in expression: ValueExpression, context: MigrationError.Context) throws(MigrationError) {
        do {
            // Functions of the manager and of the policies were checked where these are known.
            try expression.checkCalls(knows: { _, _ in true }, isProperty: { _ in true })
        } catch {
            var unknown = error
            if unknown.code == "expression.unsupported" { unknown.code = "expression.unknownSelector" }
            unknown.remedy = unknown.remedy ?? "Register it with a migration policy and call it on $entityPolicy"
            throw unknown.inside(context)
        }
    }

    /// Returns the predicate that selects a mapping's source objects.
    private func filter(of mapping: EntityMapping) throws(MigrationError) -> SourcePredicate? {
        guard case .filtered(let format) = mapping.sourceFetch else {
            return mapping.sourceFilter.flatMap { $0.node == .constant(true) ? nil : $0 }
        }
        if let filter = mapping.sourceFilter { return filter }
        return try SourcePredicate(format: format)
    }

    /// Tells whether a filter has parts that no program can compute. Throws the errors of a value expression.
    private func needsObjects(
        _ filter: SourcePredicate?, _ mapping: EntityMapping, _ entity: EntityDescription?
    ) throws(MigrationError) -> Bool {
        guard let filter, let entity else { return false }
        let context = mapping.context(
            mapping.sourceFilterPlace, model.path, entity: mapping.sourceEntityName, expression: filter.format)
        do throws(MigrationError) {
            var slots = SourceColumns(entity: entity, schema: source)
            _ = try PredicateProgram(compiling: filter, resolver: &slots, context: context)
            guard filter.looksIntoExternalData(of: entity, names: source.model.externalAttributeNames) else {
                return false
            }
            throw Self.externalData.inside(context)
        } catch {
            guard error.code == "expression.unsupported", filter.isEvaluable else { throw error }
            do { try filter.checkSourcePaths(from: entity) } catch { throw error.inside(context) }
            try checkCalls(in: ValueExpression(node: .predicate(filter.node)), context: context)
            return true
        }
    }

    /// Returns the expression that gives a mapping's source objects; nil if they are the source entity's own.
    ///
    /// - Throws: `mapping.sourceExpression` if the expression cannot give objects.
    private func sourceExpression(
        of mapping: EntityMapping, _ entity: EntityDescription?
    ) throws(MigrationError) -> ValueExpression? {
        guard case .other = mapping.sourceFetch, let expression = mapping.usedSourceExpression else { return nil }
        var context = mapping.sourceExpressionContext(model.path)
        context.expression = expression.format
        guard entity != nil else {
            throw SourceExpressionFailure.noObjects("the entity mapping has no source entity").inside(context)
        }
        guard expression.mayGiveObjects else {
            throw SourceExpressionFailure.noObjects("it gives a value that is no object").inside(context)
        }
        for name in expression.fetchedEntityNames {
            guard let entity, let fetched = source.model.entity(named: name), !fetched.isKin(of: entity) else {
                continue
            }
            throw SourceExpressionFailure.noObjects("it fetches objects of \(name), and none of \(entity)").inside(
                context)
        }
        try checkCalls(in: expression, context: context)
        return expression
    }

    private func entity(
        _ name: String?, in model: ManagedObjectModel, _ side: String, _ mapping: EntityMapping
    ) throws(MigrationError) -> EntityDescription? {
        guard let name, !name.isEmpty else { return nil }
        guard let entity = model.entity(named: name) else {
            throw MigrationError(
                "mapping.unknownEntity", .configuration, "The \(side) model has no entity \(name)",
                context: .init(
                    path: self.model.path, line: mapping.place?.line, entity: name, entityMapping: mapping.name))
        }
        return entity
    }

    /// Resolves the relationships of an entity mapping's destination entity.
    func relationships(
        of item: PlannedMapping, among all: [PlannedMapping]
    ) throws(MigrationError) -> [PlannedRelationship] {
        guard let entity = item.destination else { return [] }
        var planned: [PlannedRelationship] = []
        for relationship in entity.relationships where !relationship.isTransient {
            var value: RelationshipValue?
            var sort: MemberSort?
            let property = item.mapping.relationshipMapping(named: relationship.name)
            if let property, let expression = property.valueExpression {
                var context = item.context
                context.property = relationship.name
                context.path = model.path
                (context.line, context.column) = (property.place?.line, property.place?.column)
                let isFitting = property.refusal == nil && item.source != nil
                if isFitting {
                    let resolved = try resolve(expression, of: relationship, in: item, among: all, context: context)
                    sort = try self.sort(of: property, resolved, context: context)
                    value = resolved
                    if observed.contains(.lookups), case .lookup? = value { value = .dynamic(expression) }
                } else if item.mapping.hasPolicy {
                    value = .dynamic(expression)
                }
            }
            planned.append(
                PlannedRelationship(
                    relationship: relationship, storage: destination.storage(of: relationship), value: value,
                    refusal: property?.refusal, keepsMembers: keepsMembers(value, of: relationship, among: all),
                    sort: sort))
        }
        return planned
    }

    /// Returns the attribute that orders the members of a relationship; nil if its mapping names none.
    ///
    /// - Throws: `mapping.type` if a lookup that code answers gives the members, and the errors of the key path.
    private func sort(
        of property: PropertyMapping, _ value: RelationshipValue, context: MigrationError.Context
    ) throws(MigrationError) -> MemberSort? {
        guard let sorting = property.sorting else { return nil }
        var context = context
        if let place = sorting.place { (context.line, context.column) = (place.line, place.column) }
        guard !observed.contains(.lookups), case .lookup(let argument, _) = value,
            let members = argument.members
        else {
            throw MigrationError(
                "mapping.type", .configuration,
                observed.contains(.lookups)
                    ? "\"orderBy\" orders what a lookup reads, and the manager's class answers lookups itself"
                    : "\"orderBy\" orders the objects that are looked up for a to-many relationship of $source",
                remedy: "Leave \"orderBy\" out, and give the objects in their order", context: context)
        }
        do throws(MigrationError) {
            let attribute = try sorting.attribute(from: members)
            return try MemberSort(sorting, attribute, of: members, schema: source)
        } catch {
            throw error.inside(context)
        }
    }

    private func keepsMembers(
        _ value: RelationshipValue?, of relationship: RelationshipDescription, among all: [PlannedMapping]
    ) -> Bool {
        guard case .lookup(let argument, let candidates)? = value, let old = argument.singleRelationship else {
            return false
        }
        // Of several objects that had one member together, one keeps it.
        if old.sharesMembers, !relationship.sharesMembers { return false }
        let known = previous + all
        let migrated = Set(
            candidates.compactMap { candidate -> Int? in
                let found = known[candidate]
                let makesEach = found.filter == nil && found.sourceExpression == nil && !found.sharesObjects
                return makesEach ? found.source?.index : nil
            })
        return old.destination.withDescendants.allSatisfy { $0.isAbstract || migrated.contains($0.index) }
    }

    private func resolve(
        _ expression: ValueExpression, of relationship: RelationshipDescription, in item: PlannedMapping,
        among all: [PlannedMapping], context: MigrationError.Context
    ) throws(MigrationError) -> RelationshipValue {
        let form: RelationshipExpression
        do throws(MigrationError) {
            form = try RelationshipExpression(expression, context: context)
            if expression.looksIntoExternalData(of: item.source, names: source.model.externalAttributeNames) {
                throw Self.externalData.inside(context)
            }
        } catch {
            guard error.code == "expression.unsupported", expression.isEvaluable, !expression.isValue else {
                throw error
            }
            try checkNames(in: expression, from: item.source, context: context)
            return .dynamic(expression)
        }
        switch form {
        case .constantNil: return .none
        case .lookup(let name, let path):
            let argument = try argument(path, of: item, expression, context: context)
            // If previous mappings have the same name, the latest one answers.
            guard let named = all.first(where: { $0.name == name }) ?? previous.last(where: { $0.name == name }) else {
                throw MigrationError(
                    "mapping.unknownMapping", .configuration, "There is no entity mapping \(name)",
                    remedy: EditDistance.question(name, among: (all + previous).map(\.name))
                        ?? "Name one of: \((all + previous).map(\.name).joined(separator: ", "))", context: context)
            }
            try checkEntity(of: named, fits: relationship, context: context)
            return .lookup(
                argument: argument, candidates: candidates([named], for: relationship, sourceTable: argument.table))
        case .lookupByRelationship(_, let path):
            let argument = try argument(path, of: item, expression, context: context)
            return .lookup(
                argument: argument,
                candidates: candidates(answering(beside: all) + all, for: relationship, sourceTable: argument.table))
        }
    }

    /// Refuses a lookup in a previous model's mapping that makes no objects that the relationship can hold. Its
    /// entities are known only here.
    private func checkEntity(
        of named: PlannedMapping, fits relationship: RelationshipDescription, context: MigrationError.Context
    ) throws(MigrationError) {
        guard !named.mayBeAssociatedByHand, !model.entityMappings.contains(where: \.hasPolicy),
            let made = named.destination, !made.isKin(of: relationship.destination)
        else { return }
        throw MigrationError(
            "expression.type", .configuration,
            "The entity mapping \(named.name) makes objects of \(made), and the relationship \(relationship.name) takes "
                + "those of \(relationship.destination)",
            remedy: "Look up an entity mapping into \(relationship.destination)", context: context)
    }

    /// Returns the previous mappings that still answer lookups: of several with the same name, the latest one.
    private func answering(beside own: [PlannedMapping]) -> [PlannedMapping] {
        var names = Set(own.map(\.name))
        return previous.reversed().filter { names.insert($0.name).inserted }.reversed()
    }

    /// Returns the mappings that can give members: those that read the argument's table and make the relationship's
    /// destination entity or a subentity of it. If the mapping model has policies, all mappings can, because a policy
    /// may associate anything for any mapping.
    private func candidates(
        _ mappings: [PlannedMapping], for relationship: RelationshipDescription, sourceTable: Int
    ) -> [Int] {
        let hasPolicies = model.entityMappings.contains(where: \.hasPolicy) || observed.contains(.associations)
        return mappings.filter { candidate in
            if hasPolicies || candidate.mayBeAssociatedByHand { return true }
            guard let made = candidate.destination, candidate.sourceTable == sourceTable else { return false }
            return made.isKindOf(entity: relationship.destination)
        }.map(\.index)
    }

    /// Resolves an argument that is not a single relationship.
    private func members(
        _ path: SourcePath, of item: PlannedMapping, _ start: EntityDescription, _ expression: ValueExpression,
        context: MigrationError.Context
    ) throws(MigrationError) -> SourceArgument {
        do throws(MigrationError) {
            let found = try CollectionPath(path.components, from: start)
            guard found.attribute == nil else {
                throw MigrationError(
                    "expression.type", .configuration, "The lookup's argument gives values, and objects are needed")
            }
            var fold = CollectionFold(path: path.components, operation: .count, isFilter: false)
            if let variable = path.variable { fold.variable = variable }
            fold.condition = path.condition
            let argument = MemberArgument(fold: fold, path: found, table: source.tableIndex(of: found.member))
            _ = try argument.slots(start, schema: source)
            return .members(argument)
        } catch {
            var context = context
            context.expression = expression.format
            throw error.inside(context)
        }
    }

    private func argument(
        _ path: SourcePath, of item: PlannedMapping, _ expression: ValueExpression, context: MigrationError.Context
    ) throws(MigrationError) -> SourceArgument {
        guard let start = item.source, let startTable = item.sourceTable else {
            throw MigrationError(
                "expression.noSource", .configuration, "An add mapping has no $source to look up", context: context)
        }
        let length = CollectionPath.length(of: path.components, from: start)
        if path.condition != nil || (length ?? path.components.count) < path.components.count
            || start.toManySteps(in: path.components) > 1
        {
            return try members(path, of: item, start, expression, context: context)
        }
        var entity = start
        var table = startTable
        var steps: [ToOneStep] = []
        for (position, name) in path.components.enumerated() {
            guard let relationship = entity.relationship(named: name) else {
                throw MigrationError(
                    "expression.unknownKeyPath", .configuration,
                    "The source entity \(entity.definition.name) has no relationship \(name)", context: context)
            }
            let isLast = position == path.components.count - 1
            let next = source.tableIndex(of: relationship.destination)
            switch source.storage(of: relationship) {
            case .toOne(_, let column, _, _):
                if isLast { return .toOne(steps: steps, column: column, table: next, relationship: relationship) }
                steps.append(ToOneStep(column: column, destinationTable: next))
            case .toManyByInverse, .toManyHidden, .join:
                return .toMany(steps: steps, relationship: relationship, table: next)
            case .none:
                throw MigrationError(
                    "expression.transient", .configuration, "The relationship \(name) is transient and has no values",
                    context: context)
            }
            entity = relationship.destination
            table = next
        }
        return .object(table: table)
    }
}

extension EntityDescription {
    /// Returns the number of to-many relationships in a path.
    fileprivate func toManySteps(in path: [String]) -> Int {
        var current = self
        var count = 0
        for name in path {
            guard let relationship = current.relationship(named: name) else { break }
            if relationship.isToMany { count += 1 }
            current = relationship.destination
        }
        return count
    }
}

extension MigrationError {
    /// True if the error says that a value has the wrong type. It does not matter if nobody computes the value.
    fileprivate var isMisfit: Bool { code == "expression.type" || code.rawValue.hasPrefix("value.") }
}
