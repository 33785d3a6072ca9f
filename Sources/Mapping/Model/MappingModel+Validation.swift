import Diagnostics
import ManagedModel

extension MappingModel {
    /// The names of the entity mappings, in order.
    package var entityMappingNames: [String] { (entityMappings ?? []).compactMap(\.name) }

    /// Checks a mapping model of any origin against its two models: whatever can be wrong before a row is read. A mapping of a
    /// composite attribute as a whole is replaced by mappings of its elements.
    ///
    /// Names are present and unique. Types fit the entities. Entities and properties exist, attributes among the attributes and
    /// relationships among the relationships, each mapped at most once. The entity mappings, relationships and entities named
    /// in expressions exist. Where no policy intervenes, the key paths of filters and attribute expressions exist and their
    /// types fit. Mistakes that depend on rows (an abstract destination with source rows) are left to the plan.
    ///
    /// - Parameters:
    ///   - previous: the entity mappings of mapping models that run before, which expressions may look up; of equal names the
    ///     last counts.
    ///   - misfits: the treatment of expressions that do not fit their properties.
    /// - Throws: `mapping.missingName`, `mapping.duplicateName`, `mapping.type`, `mapping.unknownEntity`,
    ///   `mapping.unknownProperty`, `mapping.propertyKind`, `mapping.duplicateProperty`, `mapping.unknownMapping`,
    ///   `mapping.unknownRelationship`, `mapping.unknownKeyPath`, `expression.type`, `expression.variable` and the other
    ///   codes of ``checkExpressions(source:destination:)``, and the value errors of constants (78): the first problem, with
    ///   path, line and column as far as they are known.
    /// - Complexity: O(n) in properties and expression nodes.
    package func validate(
        source: ManagedObjectModel, destination: ManagedObjectModel, after previous: [EntityMapping] = [],
        misfits: MisfittingExpressions = .refused
    ) throws(MigrationError) {
        let mappings = entityMappings ?? []
        for mapping in mappings {
            guard let target = mapping.destinationEntityName.flatMap(destination.entity(named:)),
                let attributes = mapping.attributeMappings,
                attributes.contains(where: { target.composite(named: $0.name ?? "") != nil })
            else { continue }
            mapping.attributeMappings = attributes.expandingComposites(
                source: mapping.sourceEntityName.flatMap(source.entity(named:)), destination: target)
        }
        var names: Set<String> = []
        for mapping in mappings {
            guard let name = mapping.name, !name.isEmpty else {
                throw mapping.failure("mapping.missingName", "An entity mapping has no name", path)
            }
            guard names.insert(name).inserted else {
                throw mapping.failure(
                    "mapping.duplicateName", "Two entity mappings are named \(name)", path,
                    remedy: "Give each entity mapping a name of its own")
            }
            if let problem = mapping.typeProblem { throw mapping.failure("mapping.type", problem, path) }
            try mapping.checkEntities(source, destination, path, remedy: nil)
        }
        for mapping in mappings { try mapping.validateProperties(destination, path) }
        let known = ExpressionNames(
            mappings: names.union(previous.compactMap(\.name)),
            withForEach: Set((previous + mappings).filter { $0.forEach != nil }.compactMap(\.name)), source: source)
        try checkExpressions(
            source: source, destination: destination, names: known, after: previous, misfits: misfits)
        try checkSortings(source: source, destination: destination)
        for mapping in mappings {
            try mapping.validateTypes(source, destination, path, isEvaluated: misfits.isEvaluated(mapping))
        }
    }
}

/// The treatment of expressions whose values cannot fit their properties.
///
/// An expression that is never evaluated is no reason to refuse a mapping model: a policy may make objects without the default
/// methods, and a source entity may have no rows.
package enum MisfittingExpressions: Sendable {
    /// They are refused if the expression will certainly be evaluated, as far as the models tell: without a policy. Otherwise
    /// they are noted.
    case refused
    /// They are noted in the property mapping (``PropertyMapping/refusal``). Code that knows the rows refuses them.
    case noted
    /// Like ``refused``, but a property that a JSON file does not list is refused even if a policy might set it. This serves to
    /// find the versions that a file is for.
    case refusedWhereUnlisted

    func isEvaluated(_ mapping: EntityMapping) -> Bool { self != .noted && mapping.isSurelyEvaluated }
}

extension MappingModel {
    /// Refuses the expressions noted as not fitting, if they are evaluated.
    ///
    /// - Parameter hasRows: tells whether an entity mapping has source objects.
    /// - Throws: the error of the first one (78).
    /// - Returns: the others of mappings without a policy, in mapping order, with their reasons.
    package func refuseMisfits(
        hasRows: (EntityMapping) -> Bool
    ) throws(MigrationError) -> [(mapping: EntityMapping, property: String, reason: String)] {
        var left: [(mapping: EntityMapping, property: String, reason: String)] = []
        for mapping in entityMappings ?? [] where mapping.isSurelyEvaluated {
            for property in mapping.propertyMappings {
                guard let refusal = property.refusal else { continue }
                if hasRows(mapping) { throw refusal }
                left.append((mapping, property.name ?? "", refusal.message))
            }
        }
        return left
    }
}

extension EntityMapping {
    func failure(
        _ code: MigrationError.Code, _ message: String, _ path: String?, remedy: String? = nil, entity: String? = nil,
        property: PropertyMapping? = nil
    ) -> MigrationError {
        MigrationError(
            code, .configuration, message, remedy: remedy,
            context: context(property?.place, path, entity: entity, property: property?.name))
    }

    fileprivate func validateProperties(
        _ destination: ManagedObjectModel, _ path: String?
    ) throws(MigrationError) {
        var names: Set<String> = []
        for (list, isRelationship) in [(attributeMappings ?? [], false), (relationshipMappings ?? [], true)] {
            for property in list {
                guard let name = property.name, !name.isEmpty else {
                    throw failure("mapping.missingName", "A property mapping has no name", path, property: property)
                }
                guard names.insert(name).inserted else {
                    throw failure(
                        "mapping.duplicateProperty", "The property \(name) is mapped twice", path, property: property)
                }
                if let problem = problem(ofProperty: name, isRelationship: isRelationship, destination: destination) {
                    throw failure(
                        problem.code, problem.message, path, remedy: problem.remedy, entity: destinationEntityName,
                        property: property)
                }
            }
        }
    }

    /// Compiles the expressions for the row path. Expressions that only objects can evaluate pass; the plan decides on them.
    fileprivate func validateTypes(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ path: String?, isEvaluated: Bool
    ) throws(MigrationError) {
        guard let origin = sourceEntityName.flatMap({ source.entity(named: $0) }) else { return }
        var resolver = EntityKeyPathResolver([origin])
        func check(_ place: MigrationError.Context, _ compile: () throws(MigrationError) -> Void) throws(MigrationError)
        {
            do throws(MigrationError) { try compile() } catch {
                guard error.code != "expression.unsupported" else { return }
                throw error.inside(place)
            }
        }
        if let sourceFilter, !hasPolicy {
            let context = context(sourceFilterPlace, path)
            try check(context) { () throws(MigrationError) in
                _ = try PredicateProgram(compiling: sourceFilter, resolver: &resolver, context: context)
            }
        }
        if let grouping {
            if let problem = groupingProblem(grouping.keyName) {
                throw failure("mapping.type", problem.message, path, remedy: problem.remedy)
            }
            _ = try GroupingProgram(grouping, resolver: &resolver) { groupingContext($0, path) }
            if let keep = grouping.merge?.keep {
                _ = try KeepProgram(keep, resolver: &resolver) { groupingContext($0, path) }
            }
        }
        guard let target = destinationEntityName.flatMap({ destination.entity(named: $0) }) else { return }
        try validateMatching(of: target, resolver: &resolver, path)
        for mapping in attributeMappings ?? [] {
            guard let expression = mapping.valueExpression,
                let attribute = target.attribute(named: mapping.name ?? ""), attribute.isStored
            else { continue }
            let context = context(mapping.place, path, entity: destinationEntityName, property: mapping.name)
            do throws(MigrationError) {
                try check(context) { () throws(MigrationError) in
                    _ = try ExpressionProgram(
                        compiling: expression, to: attribute.attributeType, resolver: &resolver, context: context)
                }
            } catch {
                if isEvaluated { throw error }
                mapping.refusal = mapping.refusal ?? error
            }
        }
    }
}

/// The names that lookups in expressions may use.
struct ExpressionNames {
    let mappings: Set<String>
    /// The entity mappings among them that have `forEach`.
    let withForEach: Set<String>
    let relationships: Set<String>
    let source: ManagedObjectModel

    init(mappings: Set<String>, withForEach: Set<String>, source: ManagedObjectModel) {
        self.mappings = mappings
        self.withForEach = withForEach
        self.source = source
        relationships = Set(source.definition.entities.flatMap { $0.relationships.map(\.name) })
    }

    /// Returns the reason to refuse a lookup of a name, and the name that was probably intended; nil if the name is known.
    func problem(selector: String, name: String) -> (code: MigrationError.Code, message: String, remedy: String?)? {
        let (code, message, known): (MigrationError.Code, String, [String])
        switch selector {
        case LookupSelector.byEntityMapping, LookupSelector.byEntityMappingName, LookupSelector.sourcesByEntityMapping:
            (code, message) = ("mapping.unknownMapping", "The expression names an unknown entity mapping \(name)")
            known = Array(mappings)
        case LookupSelector.bySourceRelationship:
            (code, message) = (
                "mapping.unknownRelationship", "No entity of the source model has a relationship \(name)"
            )
            known = Array(relationships)
        case _ where LookupSelector.ofForEach.contains(selector) && mappings.contains(name):
            guard !withForEach.contains(name) else { return nil }
            return (
                "mapping.unknownMapping", "The entity mapping \(name) has no \"forEach\"",
                "Look its objects up by '\(LookupSelector.byEntityMapping)'"
            )
        case _ where LookupSelector.ofForEach.contains(selector):
            (code, message) = ("mapping.unknownMapping", "The expression names an unknown entity mapping \(name)")
            known = Array(withForEach)
        case LookupSelector.fetch, LookupSelector.fetchWithSubentities:
            (code, message) = ("mapping.unknownEntity", "The expression fetches an unknown source entity \(name)")
            known = source.entities.map(\.definition.name)
        default: return nil
        }
        if known.contains(name) { return nil }
        let all = known.sorted()
        let few = "Known are \(all.prefix(12).joined(separator: ", "))\(all.count > 12 ? ", …" : "")"
        return (code, message, EditDistance.question(name, among: known) ?? (all.isEmpty ? nil : few))
    }
}
