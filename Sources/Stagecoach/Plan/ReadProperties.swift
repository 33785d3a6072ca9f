import CoreDataStore
import ManagedModel
import Mapping

/// Finds the stored properties of the source that the entity mappings read, for the objects of each source entity. The
/// result depends on the planned mappings alone.
///
/// Key paths are followed through expressions and filters: `$source.author.name` reads `author` of the mapping's source
/// entity, and `name` of every entity that an author may belong to.
struct ReadProperties {
    /// The kind of reading of a property's values, the least certain first.
    enum Reading: Comparable {
        /// No entity mapping reads them.
        case unread
        /// Only source filters read them, so they stay behind.
        case filter
        /// Code receives the object and may read them.
        case code
        /// An expression reads them.
        case expression
    }

    let schema: StoreSchema
    /// The readings of each entity's properties.
    private var readings: [[PropertyReference: Reading]]
    /// Entities whose objects code receives.
    private(set) var handed: Set<Int> = []
    /// Entities whose objects some mapping migrates, or may migrate.
    private(set) var migrated: Set<Int> = []
    /// Entities that an entity mapping names, even if only to remove their objects.
    private(set) var named: Set<Int> = []
    private let sources: [String: Set<Int>]

    /// Creates the readings of a run.
    ///
    /// - Parameter mappings: the mappings of all mapping models of the run.
    init(mappings: [PlannedMapping], schema: StoreSchema) {
        self.schema = schema
        readings = Array(repeating: [:], count: schema.model.entities.count)
        var sources: [String: Set<Int>] = [:]
        for mapping in mappings { sources[mapping.name, default: []].formUnion(mapping.sourceEntities) }
        self.sources = sources
        for mapping in mappings { add(mapping) }
    }

    /// Returns the reading of a property in an entity's own objects; its inverse is not considered.
    func reading(_ property: PropertyReference, of entity: Int) -> Reading {
        let found = readings[entity][property] ?? .unread
        return handed.contains(entity) ? max(found, .code) : found
    }

    private mutating func add(_ mapping: PlannedMapping) {
        var scope = ReadScope(isFilter: true)
        var objects = mapping.sourceEntities
        if let expression = mapping.sourceExpression {
            let given = read(expression.node, &scope)
            if !given.isEmpty { objects.formIntersection(given) }
        }
        named.formUnion(objects)
        scope.variables = ["source": objects]
        scope.own = objects
        if let filter = mapping.filter { read(filter.node, &scope) }
        for item in mapping.grouping?.expressions ?? [] { read(item.expression.node, &scope) }
        if mapping.mapping.hasPolicy {
            handed.formUnion(objects)
            migrated.formUnion(objects)
        }
        guard mapping.destination != nil else { return }
        migrated.formUnion(objects)
        scope.isFilter = false
        if let forEach = mapping.forEach { scope.variables[EntityMapping.memberVariable] = read(forEach.node, &scope) }
        // In a value expression, bare key paths start from no object.
        scope.own = []
        for attribute in mapping.attributes where !attribute.attribute.isDerived {
            if let expression = attribute.expression { read(expression.node, &scope) }
        }
        for relationship in mapping.relationships {
            guard let property = mapping.mapping.relationshipMapping(named: relationship.name),
                let expression = property.valueExpression
            else { continue }
            read(expression.node, &scope)
            guard let sort = relationship.sort else { continue }
            _ = follow(
                sort.path.split(separator: ".").map(String.init),
                from: Set(sort.entity.withDescendants.map(\.index)), scope)
        }
    }

    private mutating func note(_ property: PropertyReference, _ entity: Int, _ scope: ReadScope) {
        let reading: Reading = scope.isFilter ? .filter : .expression
        readings[entity][property] = max(readings[entity][property] ?? .unread, reading)
    }

    // MARK: - Expressions

    /// The known objects at the place where an expression is read.
    private struct ReadScope {
        /// True in filters, which carry no value over.
        var isFilter: Bool
        /// The entities of the source objects that variables stand for.
        var variables: [String: Set<Int>] = [:]
        /// The entities of the objects that SELF and bare key paths start from.
        var own: Set<Int> = []
    }

    /// Notes the properties that an expression reads. Returns the entities of the source objects that it may give.
    @discardableResult
    private mutating func read(_ node: ExpressionNode, _ scope: inout ReadScope) -> Set<Int> {
        switch node {
        case .constant, .anyKey, .arithmetic, .negation, .predicate:
            readChildren(of: .expression(node), &scope)
            return []
        case .opaque(let constant):
            // A closure may read its arguments and the objects that it captured.
            if case .expressionBlock = constant.content { handed.formUnion(scope.variables["source"] ?? []) }
            return []
        case .variable(let name): return scope.variables[name] ?? []
        case .evaluatedObject: return scope.own
        case .keyPath(let target, let components):
            let start = target.map { read($0, &scope) } ?? scope.own
            return follow(components, from: start, scope)
        case .function(let target, let selector, let arguments):
            return call(selector, on: target, arguments, &scope)
        case .setOperation(_, let left, let right): return read(left, &scope).union(read(right, &scope))
        case .cast(let inner, _): return read(inner, &scope)
        case .assignment(let name, let value):
            let objects = read(value, &scope)
            scope.variables[name] = objects
            return objects
        case .aggregate(let elements): return elements.reduce(into: []) { $0.formUnion(read($1, &scope)) }
        case .ternary(let condition, let yes, let no):
            read(condition, &scope)
            return read(yes, &scope).union(read(no, &scope))
        case .subquery(let collection, let variable, let predicate):
            let members = read(collection, &scope)
            let hidden = scope.variables[variable]
            scope.variables[variable] = members
            read(predicate, &scope)
            scope.variables[variable] = hidden
            return members
        case .element(let collection, let index):
            if case .at(let index) = index { read(index, &scope) }
            return read(collection, &scope)
        case .fetch(let request, let context, _):
            read(context, &scope)
            return read(request, &scope)
        }
    }

    private mutating func read(_ node: PredicateNode, _ scope: inout ReadScope) {
        readChildren(of: .predicate(node), &scope)
    }

    private mutating func readChildren(of node: SyntaxNode, _ scope: inout ReadScope) {
        for child in node.children {
            switch child {
            case .expression(let node): read(node, &scope)
            case .predicate(let node): read(node, &scope)
            }
        }
    }

    /// Notes the properties that a key path reads, from objects of some entities. Collection operators keep these.
    private mutating func follow(_ path: [String], from start: Set<Int>, _ scope: ReadScope) -> Set<Int> {
        guard schema.model.definition.composites.isEmpty || start.count <= 1 else {
            // Names of composites and their elements join in one way for each entity.
            return start.reduce(into: []) { $0.formUnion(follow(path, from: [$1], scope)) }
        }
        var current = start
        let path = start.first.map { schema.model.entity(at: $0).joiningElements(in: path) } ?? path
        for name in path where !name.hasPrefix("@") && name != "self" {
            var next: Set<Int> = []
            for index in current {
                let entity = schema.model.entity(at: index)
                let attributes = entity.attributeNames(of: name).compactMap(entity.attribute(named:))
                for attribute in attributes { note(attribute.reference, index, scope) }
                if let relationship = entity.relationship(named: name) {
                    note(relationship.reference, index, scope)
                    next.formUnion(relationship.destination.withDescendants.map(\.index))
                }
            }
            current = next
        }
        return current
    }

    /// Notes the properties that a call reads: code receives the objects among its arguments.
    private mutating func call(
        _ selector: String, on target: ExpressionNode?, _ arguments: [ExpressionNode], _ scope: inout ReadScope
    ) -> Set<Int> {
        guard let target else {
            return arguments.reduce(into: []) { $0.formUnion(read($1, &scope)) }
        }
        if selector == "valueForKey:" || selector == "valueForKeyPath:", arguments.count == 1 {
            let objects = read(target, &scope)
            guard case .constant(.string(let path)) = arguments[0] else {
                read(arguments[0], &scope)
                // The key is known only for each object at run time.
                handed.formUnion(objects)
                return []
            }
            let isPath = selector == "valueForKeyPath:"
            return follow(isPath ? path.split(separator: ".").map(String.init) : [path], from: objects, scope)
        }
        guard case .variable(let name) = target, scope.variables[name] == nil, name != "destination" else {
            let objects = read(target, &scope)
            for argument in arguments { read(argument, &scope) }
            // A message without arguments may be a property's name; other messages give the objects of a collection.
            let isProperty = objects.contains {
                let entity = schema.model.entity(at: $0)
                return entity.hasProperty(named: selector)
            }
            return arguments.isEmpty && isProperty ? follow([selector], from: objects, scope) : objects
        }
        guard ["manager", ManagerSelector.own].contains(name), let found = ask(manager: selector, arguments, &scope)
        else {
            for argument in arguments { handed.formUnion(read(argument, &scope)) }
            return []
        }
        return found
    }

    /// Notes the properties that the manager's own functions read; nil for a registered function.
    private mutating func ask(
        manager selector: String, _ arguments: [ExpressionNode], _ scope: inout ReadScope
    ) -> Set<Int>? {
        guard ManagerSelector.all.contains(selector) else { return nil }
        for argument in arguments { read(argument, &scope) }
        guard case .constant(.string(let name))? = arguments.first else { return [] }
        if ManagerSelector.sources.contains(selector) { return sources[name] ?? [] }
        guard ManagerSelector.fetches.contains(selector), let entity = schema.model.entity(named: name) else {
            return []
        }
        var isAlone = selector == ManagerSelector.fetch
        if arguments.count == 3 { isAlone = isAlone || arguments[2].isFalse }
        let fetched = Set(isAlone ? [entity.index] : entity.withDescendants.map(\.index))
        if arguments.count > 1, case .constant(.string(let text)) = arguments[1],
            let predicate = try? SourcePredicate(format: text)
        {
            var inner = scope
            inner.own = fetched
            read(predicate.node, &inner)
        }
        return fetched
    }
}

/// The functions of the manager that expressions call: Core Data's, and this program's own.
private enum ManagerSelector {
    /// The variable on which the latter are called.
    static let own = "stagecoach"
    static let fetch = "fetchRequestForSourceEntityNamed:predicateString:"
    static let fetches: Set = [fetch, "fetchRequestForSourceEntityNamed:predicateString:includesSubentities:"]
    static let sources: Set = [
        "sourceInstancesForEntityMappingNamed:destinationInstances:",
        "sourceInstancesForEntityMappingName:destinationInstances:",
    ]
    static let all = fetches.union(sources).union([
        "destinationInstancesForEntityMappingNamed:sourceInstances:",
        "destinationInstancesForEntityMappingName:sourceInstances:",
        "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
        "sourceContext", "destinationContext", "sourceModel", "destinationModel", "mappingModel",
        "currentEntityMapping",
    ]).union(LookupSelector.ofForEach)
}

extension ExpressionNode {
    fileprivate var isFalse: Bool { self == .constant(.boolean(false)) || self == .constant(.integer(0)) }
}

extension PlannedMapping {
    /// The entities whose own objects may be the mapping's source objects.
    fileprivate var sourceEntities: Set<Int> {
        guard let source else { return [] }
        return sourceExpression == nil ? [source.index] : Set(source.withDescendants.map(\.index))
    }
}
