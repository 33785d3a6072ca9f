import ManagedModel
import Mapping

/// Random values that are folded over to-many relationships, and random filters that ask about them.
extension RandomMapping {
    /// A fold whose value fits an attribute; nil if the model has none.
    func fold(
        for attribute: AttributeDescription, from entity: EntityDescription, _ generator: inout SeededGenerator
    ) -> ExpressionNode? {
        guard let way = collection(from: entity, &generator) else { return nil }
        let type = attribute.attributeType
        let base = Self.path(.variable("source"), way.path)
        switch type {
        case .integer64:
            switch generator.below(6) {
            case 0: return Self.path(base, ["@count"])
            case 1: return .function(target: nil, selector: "count:", arguments: [base])
            case 2:
                guard let (name, _) = operand(way.member, Self.numbers + [.string], &generator) else { return nil }
                return .function(target: nil, selector: "count:", arguments: [Self.path(base, [name])])
            case 3: return subquery(base, way.member, entity, &generator)
            default:
                guard let (name, _) = operand(way.member, [.integer16, .integer32, .boolean], &generator) else {
                    return nil
                }
                if generator.chance(3) {
                    return .function(target: nil, selector: "sum:", arguments: [Self.path(base, [name])])
                }
                return Self.path(base, ["@sum"] + inner(way.member, name, &generator))
            }
        case .double:
            guard let (name, kind) = operand(way.member, Self.numbers, &generator) else { return nil }
            if kind == .decimal { return Self.path(base, [["@sum", "@avg", "@max"][generator.below(3)], name]) }
            if kind == .float { return Self.path(base, [["@sum", "@min", "@avg"][generator.below(3)], name]) }
            if generator.chance(2) {
                return .function(target: nil, selector: "average:", arguments: [Self.path(base, [name])])
            }
            return Self.path(base, ["@avg", name])
        case .decimal, .date, .integer16, .integer32, .float:
            guard let (name, _) = operand(way.member, [type], &generator) else { return nil }
            if generator.chance(3) {
                let selector = generator.chance(2) ? "min:" : "max:"
                return .function(target: nil, selector: selector, arguments: [Self.path(base, [name])])
            }
            return Self.path(base, [generator.chance(2) ? "@min" : "@max", name])
        case .boolean: return .predicate(question(base, way.member, entity, .variable("source"), &generator))
        default: return nil
        }
    }

    /// A filter over a fold or the members of a to-many; nil if the entity has none.
    func filter(from entity: EntityDescription, _ generator: inout SeededGenerator) -> PredicateNode? {
        if generator.chance(3), let (name, type) = operand(entity, Self.numbers, &generator) {
            return comparison(.keyPath(target: nil, components: [name]), type, &generator)
        }
        guard let way = collection(from: entity, &generator) else { return nil }
        let base = ExpressionNode.keyPath(target: nil, components: way.path)
        let first = question(base, way.member, entity, .evaluatedObject, &generator)
        switch generator.below(4) {
        case 0: return .not(first)
        case 1:
            let count = Self.path(base, ["@count"])
            return .or([first, .comparison(modifier: .direct, count, .greaterThan, .constant(.integer(1)), [])])
        default: return first
        }
    }

    /// A lookup's argument, sometimes with a condition for its members.
    func longer(
        _ node: ExpressionNode, _ entity: EntityDescription, _ generator: inout SeededGenerator
    ) -> ExpressionNode {
        guard generator.chance(3), case .keyPath = node, isToMany(node),
            let (name, type) = operand(entity, Self.numbers, &generator)
        else { return node }
        let condition = comparison(Self.path(.variable("x"), [name]), type, &generator)
        return .subquery(node, variable: "x", condition)
    }

    /// Tells whether a path from the source crosses a to-many relationship of any entity.
    private func isToMany(_ node: ExpressionNode) -> Bool {
        guard let path = node.sourceKeyPath, let first = path.first else { return false }
        let owners = source.entities.filter { $0.relationship(named: first) != nil }
        return owners.allSatisfy { CollectionPath.length(of: path, from: $0) != nil }
    }

    // MARK: Parts

    private static let numbers: [AttributeType] = [.integer16, .integer32, .float, .decimal]

    private static func path(_ node: ExpressionNode, _ components: [String]) -> ExpressionNode {
        if case .keyPath(let target, let before) = node {
            return .keyPath(target: target, components: before + components)
        }
        return components.isEmpty ? node : .keyPath(target: node, components: components)
    }

    /// A path with a to-many in it: sometimes to-one steps before it, sometimes further steps behind it.
    private func collection(
        from entity: EntityDescription, _ generator: inout SeededGenerator
    ) -> (path: [String], member: EntityDescription)? {
        var ways: [(path: [String], member: EntityDescription)] = []
        func stored(_ entity: EntityDescription) -> [RelationshipDescription] {
            entity.relationships.filter { !$0.isTransient }
        }
        for first in stored(entity) {
            if first.isToMany { ways += Array(repeating: ([first.name], first.destination), count: 3) }
            for second in stored(first.destination) {
                if first.isToMany || second.isToMany { ways.append(([first.name, second.name], second.destination)) }
                guard generator.chance(3), let third = stored(second.destination).first,
                    first.isToMany || second.isToMany || third.isToMany
                else { continue }
                ways.append(([first.name, second.name, third.name], third.destination))
            }
        }
        return ways.isEmpty ? nil : ways[generator.below(ways.count)]
    }

    private func operand(
        _ entity: EntityDescription, _ types: [AttributeType], _ generator: inout SeededGenerator
    ) -> (name: String, type: AttributeType)? {
        let fitting = entity.attributes.filter { $0.isStored && types.contains($0.attributeType) }
        guard !fitting.isEmpty else { return nil }
        let chosen = fitting[generator.below(fitting.count)]
        return (chosen.name, chosen.attributeType)
    }

    /// An operand of @sum: an attribute of the member, or a fold of the member's own.
    private func inner(
        _ member: EntityDescription, _ name: String, _ generator: inout SeededGenerator
    ) -> [String] {
        guard generator.chance(3), let many = member.relationships.first(where: { $0.isToMany && !$0.isTransient })
        else { return [name] }
        return [many.name, "@count"]
    }

    private func subquery(
        _ base: ExpressionNode, _ member: EntityDescription, _ entity: EntityDescription,
        _ generator: inout SeededGenerator
    ) -> ExpressionNode? {
        let variable = ExpressionNode.variable("x")
        var condition: PredicateNode?
        if generator.chance(3), let many = member.relationships.first(where: { $0.isToMany && !$0.isTransient }),
            let (name, type) = operand(many.destination, Self.numbers, &generator)
        {
            let path = Self.path(variable, [many.name, name])
            guard case .comparison(_, let left, let sign, let right, _) = comparison(path, type, &generator) else {
                return nil
            }
            condition = .comparison(modifier: .any, left, sign, right, [])
        } else if let (name, type) = operand(member, Self.numbers, &generator) {
            condition = comparison(Self.path(variable, [name]), type, &generator)
            if generator.chance(2), let (own, _) = operand(entity, Self.numbers, &generator) {
                condition = .comparison(
                    modifier: .direct, Self.path(variable, [name]), .greaterThan, Self.path(.variable("source"), [own]),
                    [])
            }
        }
        guard let condition else { return nil }
        return Self.path(.subquery(base, variable: "x", condition), ["@count"])
    }

    private func comparison(
        _ left: ExpressionNode, _ type: AttributeType, _ generator: inout SeededGenerator
    ) -> PredicateNode {
        let signs: [ComparisonOperator] = [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual]
        let value: ExpressionConstant =
            generator.chance(2) ? .integer(Int64(generator.below(50)) - 25) : .double(0.5)
        return .comparison(modifier: .direct, left, signs[generator.below(signs.count)], .constant(value), [])
    }

    /// ANY, ALL, NONE, IN or a comparison of a fold.
    private func question(
        _ base: ExpressionNode, _ member: EntityDescription, _ entity: EntityDescription, _ root: ExpressionNode,
        _ generator: inout SeededGenerator
    ) -> PredicateNode {
        let modifiers: [ComparisonModifier] = [.any, .all, .none]
        if let (name, type) = operand(member, Self.numbers, &generator) {
            let path = Self.path(base, [name])
            if generator.chance(4), let (own, _) = operand(entity, Self.numbers, &generator) {
                return .comparison(modifier: .direct, Self.path(root, [own]), .isIn, path, [])
            }
            if case .comparison(_, let left, let sign, let right, _) = comparison(path, type, &generator),
                !generator.chance(3)
            {
                return .comparison(modifier: modifiers[generator.below(3)], left, sign, right, [])
            }
            return comparison(Self.path(base, ["@max", name]), type, &generator)
        }
        return .comparison(
            modifier: .direct, Self.path(base, ["@count"]), .greaterThan,
            .constant(.integer(Int64(generator.below(3)))), [])
    }
}
