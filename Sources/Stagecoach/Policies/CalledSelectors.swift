import Diagnostics
import Mapping

/// Checks, before anything runs, that every selector that a mapping calls on its policy or on the manager is known.
enum CalledSelectors {
    /// Checks the expressions of a mapping.
    ///
    /// - Throws: `policy.unknownSelector` (78) with entity mapping, property and expression; `policy.selector` if a
    ///   registration is wrong.
    static func check(
        _ mapping: PlannedMapping, policy: EntityMigrationPolicy?, manager: MigrationManager
    ) throws(MigrationError) {
        if let problem = policy?.registeredFunctions.problem ?? manager.registeredFunctions.problem {
            throw problem.inside(mapping.context)
        }
        let entityMapping = mapping.mapping
        var checked: [(place: MigrationError.Context, expression: ValueExpression)] = []
        if let expression = mapping.sourceExpression {
            checked.append((entityMapping.sourceExpressionContext(mapping.modelPath), expression))
        }
        if let expression = mapping.forEach {
            checked.append((entityMapping.forEachContext(mapping.modelPath), expression))
        }
        if let filter = mapping.filter {
            let place = entityMapping.context(entityMapping.sourceFilterPlace, mapping.modelPath).filled(
                from: mapping.context)
            checked.append((place, ValueExpression(node: .predicate(filter.node))))
        }
        for property in entityMapping.propertyMappings {
            guard let expression = property.valueExpression else { continue }
            let place = entityMapping.context(property.place, mapping.modelPath, property: property.name)
            checked.append((place.filled(from: mapping.context), expression))
        }
        for (place, expression) in checked {
            let calls = calls(in: expression)
            guard !calls.isEmpty else { continue }
            var context = place
            context.expression = expression.format
            for call in calls {
                let owner: AnyObject? = call.target == "manager" ? manager : policy
                if call.isProperty, let owner {
                    let functions = owner as? any ExpressionFunctions
                    if functions?.knows(selector: call.selector) == true || hasProperty(call.selector, owner) {
                        continue
                    }
                    throw MigrationError(
                        "policy.unknownKey", .configuration, "$\(call.target) has no property \(call.selector)",
                        remedy: "Register a function of the name, or put the value into the manager's userInfo",
                        context: context)
                }
                switch call.target {
                case "entityPolicy":
                    guard let policy else {
                        throw MigrationError(
                            "policy.missing", .configuration,
                            "The expression calls $entityPolicy, and the entity mapping names no migration policy",
                            context: context)
                    }
                    if policy.knows(selector: call.selector) { continue }
                    let known = Array(policy.registeredFunctions.bySelector.keys)
                    throw RegisteredFunctions.unknown(call.selector, of: policy, known: known).inside(context)
                default:
                    if manager.knows(selector: call.selector) { continue }
                    let known = manager.knownSelectors
                    throw RegisteredFunctions.unknown(call.selector, of: manager, known: known).inside(context)
                }
            }
        }
    }

    /// Tells whether an object stores a property with a name that a key path can read.
    private static func hasProperty(_ name: String, _ owner: AnyObject) -> Bool {
        var mirror: Mirror? = Mirror(reflecting: owner)
        while let found = mirror {
            if found.children.contains(where: { $0.label == name }) { return true }
            mirror = found.superclassMirror
        }
        return false
    }

    /// A call of a selector on `$manager` or `$entityPolicy`.
    struct Call: Equatable {
        /// The variable: `manager` or `entityPolicy`.
        let target: String
        let selector: String
        /// True if it is the first name of a key path, which may be a stored property too.
        var isProperty = false
    }

    /// Returns the calls in an expression, at any depth.
    ///
    /// - Complexity: O(nodes).
    static func calls(in expression: ValueExpression) -> [Call] {
        var found: [Call] = []
        visit(expression.node, &found)
        return found
    }

    private static func visit(_ node: ExpressionNode, _ found: inout [Call]) {
        switch node {
        case .function(let target, let selector, let arguments):
            if case .variable(let name)? = target, name == "manager" || name == "entityPolicy" {
                found.append(Call(target: name, selector: selector))
            } else if let target {
                visit(target, &found)
            }
            for argument in arguments { visit(argument, &found) }
        case .keyPath(.variable(let name)?, let components) where name == "manager" || name == "entityPolicy":
            if let first = components.first, first != "self" {
                found.append(Call(target: name, selector: first, isProperty: true))
            }
        case .keyPath(let target?, _), .negation(let target), .cast(let target, _), .assignment(_, let target):
            visit(target, &found)
        case .arithmetic(_, let left, let right), .setOperation(_, let left, let right):
            visit(left, &found)
            visit(right, &found)
        case .aggregate(let members): for member in members { visit(member, &found) }
        case .ternary(let condition, let left, let right):
            visit(condition, &found)
            visit(left, &found)
            visit(right, &found)
        case .subquery(let collection, _, let predicate):
            visit(collection, &found)
            visit(predicate, &found)
        case .element(let collection, let index):
            visit(collection, &found)
            if case .at(let position) = index { visit(position, &found) }
        case .fetch(let request, let context, _):
            visit(request, &found)
            visit(context, &found)
        case .predicate(let predicate): visit(predicate, &found)
        default: break
        }
    }

    private static func visit(_ node: PredicateNode, _ found: inout [Call]) {
        switch node {
        case .constant: break
        case .not(let inner): visit(inner, &found)
        case .and(let parts), .or(let parts): for part in parts { visit(part, &found) }
        case .comparison(_, let left, _, let right, _):
            visit(left, &found)
            visit(right, &found)
        case .expression(let expression): visit(expression, &found)
        }
    }
}
