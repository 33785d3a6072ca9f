import ManagedModel
import Mapping

/// Random value expressions and filters in the whole language, as texts, over the properties that an entity has.
///
/// The reference knows a part of it; the rest is for those that have to agree without it.
struct RandomLanguage {
    private let entity: EntityDescription
    /// `$source.` or `$x.` before a path; empty in a filter.
    private let root: String
    var generator: SeededGenerator

    private init(_ entity: EntityDescription, root: String, _ generator: SeededGenerator) {
        self.entity = entity
        self.root = root
        self.generator = generator
    }

    /// Replaces some expressions and filters of a mapping model.
    static func spice(
        _ model: MappingModel, from source: ManagedObjectModel, to destination: ManagedObjectModel,
        _ generator: inout SeededGenerator
    ) throws {
        for mapping in model.entityMappings {
            guard let from = source.entity(named: mapping.sourceEntityName ?? ""),
                let to = destination.entity(named: mapping.destinationEntityName ?? "")
            else { continue }
            for property in mapping.attributeMappings ?? [] {
                guard let attribute = to.attribute(named: property.name ?? ""), attribute.isStored,
                    generator.chance(2)
                else { continue }
                var language = RandomLanguage(from, root: "$source.", generator)
                let text = language.value(attribute.attributeType)
                generator = language.generator
                if let text { property.valueExpression = try ValueExpression(parsing: text) }
            }
            guard generator.chance(2) else { continue }
            var language = RandomLanguage(from, root: "", generator)
            let text = language.predicate(1 + language.generator.below(2))
            generator = language.generator
            mapping.sourceFilter = try SourcePredicate(format: text)
        }
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value { values[generator.below(values.count)] }

    // MARK: - Values

    /// A value of a type; nil if the entity has nothing for it.
    private mutating func value(_ type: AttributeType) -> String? {
        let depth = generator.below(3)
        switch type {
        case .integer64: return integer(depth)
        case .integer32, .integer16: return generator.chance(4) ? integer(0) : "(\(integer(depth)) % 100)"
        case .double: return real(depth)
        case .decimal: return decimal()
        case .boolean: return predicate(1 + depth)
        case .string: return text(depth)
        case .date: return date()
        default:
            guard let path = path([type]) else { return nil }
            return generator.chance(2) ? path : "TERNARY(\(predicate(1)), \(path), nil)"
        }
    }

    private static let integers: [AttributeType] = [.integer16, .integer32, .integer64, .boolean]

    private mutating func integer(_ depth: Int) -> String {
        if depth == 0 {
            let small = path([.integer16, .integer32, .boolean])
            return generator.chance(4) ? "\(generator.below(60) - 20)" : small ?? "5"
        }
        let inner = depth - 1
        switch generator.below(9) {
        case 0: return "(\(integer(inner)) \(pick(["+", "-"])) \(integer(inner)))"
        case 1: return "(\(integer(inner)) / \(pick(["3", "-7", integer(0)])))"
        case 2: return "TERNARY(\(predicate(inner)), \(integer(inner)), \(pick([integer(inner), "nil"])))"
        case 3: return "abs(\(integer(inner)))"
        case 4: return "length(\(text(inner)))"
        case 5: return "bitwiseAnd:with:(\(integer(inner)), 12)"
        case 6: return collection().map { "\($0.path).@count" } ?? integer(0)
        case 7:
            guard let many = collection() else { return integer(0) }
            return "SUBQUERY(\(many.path), $x, \(condition(many.member))).@count"
        default: return path([.integer64]) ?? integer(0)
        }
    }

    private mutating func real(_ depth: Int) -> String {
        if depth == 0 { return path([.double, .decimal] + Self.integers) ?? "2.5" }
        switch generator.below(5) {
        case 0: return "(\(integer(depth - 1)) * 0.5)"
        case 1: return "floor(\(integer(depth - 1)) / 4.0)"
        case 2: return "sqrt(abs(\(integer(depth - 1))))"
        case 3: return "TERNARY(\(predicate(depth - 1)), \(real(0)), \(real(depth - 1)))"
        default: return path([.decimal]) ?? real(depth - 1)
        }
    }

    /// One operation at most: the reference rounds each to what a column holds.
    private mutating func decimal() -> String {
        let whole = path([.integer64]) ?? integer(0)
        let exact = path([.decimal]) ?? whole
        switch generator.below(7) {
        case 0: return whole
        case 1: return "(\(exact) + \(whole))"
        case 2: return "(\(exact) * 3)"
        case 3: return "CAST(\(whole), 'NSDecimalNumber')"
        case 4: return "TERNARY(\(predicate(1)), \(exact), \(whole))"
        case 5: return "FUNCTION(\(whole), 'decimalValue')"
        default: return exact
        }
    }

    private mutating func text(_ depth: Int) -> String {
        if depth == 0 { return path([.string]) ?? "'none'" }
        let inner = depth - 1
        switch generator.below(6) {
        case 0: return "\(pick(["uppercase", "lowercase"]))(\(text(inner)))"
        case 1: return "FUNCTION(\(text(inner)), 'stringByAppendingString:', \(pick(["' é'", text(inner)])))"
        case 2: return "CAST(\(integer(inner)), 'NSString')"
        case 4: return "(\(text(inner)) + \(pick(["' é'", text(inner)])))"
        case 3: return "FUNCTION(\(text(inner)), 'substringToIndex:', 1)"
        default: return "TERNARY(\(predicate(inner)), \(text(inner)), \(pick([text(inner), "nil"])))"
        }
    }

    private mutating func date() -> String {
        guard let path = path([.date]) else { return "nil" }
        switch generator.below(3) {
        case 0: return "(\(path) + 60)"
        case 1: return "TERNARY(\(predicate(1)), \(path), nil)"
        default: return path
        }
    }

    // MARK: - Predicates

    private mutating func predicate(_ depth: Int) -> String {
        guard depth > 0 else { return asked() }
        switch generator.below(5) {
        case 0: return "(\(predicate(depth - 1)) \(pick(["AND", "OR"])) \(predicate(depth - 1)))"
        case 1: return "(NOT \(predicate(depth - 1)))"
        case 2...3: return asked()
        default: return collected() ?? asked()
        }
    }

    private mutating func sign() -> String { pick(["==", "!=", "<", "<=", ">", ">="]) }

    /// A question about the object's own values and those of objects that it refers to.
    private mutating func asked() -> String {
        switch generator.below(9) {
        case 0...1:
            return "(\(path(Self.integers + [.decimal, .double, .string, .date]) ?? "1") \(pick(["==", "!="])) nil)"
        case 2: return "(\(text(0)) \(pick(["==", "!=", "BEGINSWITH[cd]", "CONTAINS", "<"])) \(pick(["'a'", text(0)])))"
        case 3: return "(\(text(0)) \(pick(["LIKE '*a*'", "MATCHES '[a-z]*'", "IN {'a', '123', ''}"])))"
        case 4: return "(\(integer(0)) BETWEEN {\(generator.below(20) - 30), \(pick(["40", integer(0)]))})"
        case 5: return "(\(integer(0)) IN {0, 1, -1, \(generator.below(30))})"
        case 6:
            let toOnes = entity.relationships.filter { !$0.isToMany && !$0.isTransient }
            guard !toOnes.isEmpty else { return "(\(integer(0)) > 0)" }
            return "(\(root)\(pick(toOnes).name) \(pick(["==", "!="])) nil)"
        case 7: return "(\(path([.decimal]) ?? integer(0)) \(sign()) \(path([.integer64]) ?? "12.75"))"
        default: return "(\(integer(0)) \(sign()) \(pick([integer(0), integer(1)])))"
        }
    }

    /// A question about the members of a to-many; nil if the entity has none.
    private mutating func collected() -> String? {
        guard let many = collection() else { return nil }
        let modifier = pick(["ANY", "ALL", "NONE"])
        // Sometimes on from the members to what they refer to.
        var tail: [String] = []
        var end = many.member
        while generator.chance(3) {
            let steps = end.relationships.filter { !$0.isToMany && !$0.isTransient }
            guard !steps.isEmpty else { break }
            let step = pick(steps)
            tail.append(step.name)
            end = step.destination
        }
        let kinds = Self.integers + [.decimal, .string, .date]
        let fitting = end.attributes.filter { $0.isStored && kinds.contains($0.attributeType) }
        guard !fitting.isEmpty else { return "(\(many.path).@count > \(generator.below(3)))" }
        let attribute = pick(fitting)
        let path = ([many.path] + tail + [attribute.name]).joined(separator: ".")
        let asksForNil = generator.chance(2)
        switch generator.below(7) {
        case 0: return "(\(many.path).@count \(sign()) \(generator.below(3)))"
        case 1:
            let question = "SUBQUERY(\(many.path), $x, \(condition(many.member))).@count > 0"
            return "(\(question))"
        case 2 where attribute.attributeType != .date:
            let value = attribute.attributeType == .string ? text(0) : integer(0)
            return "(\(value) IN \(path))"
        case 3 where tail.isEmpty:
            let inner = "SUBQUERY(\(many.path), $x, \(condition(many.member)))"
            return "(\(pick(["ANY", "NONE"])) \(inner).\(attribute.name) \(pick(["==", "!="])) nil)"
        default: break
        }
        if asksForNil || attribute.attributeType == .date {
            return "(\(modifier) \(path) \(pick(["==", "!="])) nil)"
        }
        if attribute.attributeType == .string {
            return "(\(modifier) \(path) \(pick(["==", "!=", "BEGINSWITH"])) \(pick(["'a'", "'123'", text(0)])))"
        }
        return "(\(modifier) \(path) \(sign()) \(pick(["0", "1", integer(0)])))"
    }

    /// A condition of SUBQUERY for `$x`.
    private mutating func condition(_ member: EntityDescription) -> String {
        var language = RandomLanguage(member, root: "$x.", generator)
        let text = language.generator.chance(4) ? language.predicate(1) : language.asked()
        generator = language.generator
        return text
    }

    // MARK: - Paths

    /// The path of an attribute of one of some types, sometimes through to-one relationships.
    private mutating func path(_ types: [AttributeType]) -> String? {
        var components: [String] = []
        var place = entity
        while components.count < 2, generator.chance(5) {
            let steps = place.relationships.filter { !$0.isToMany && !$0.isTransient }
            guard !steps.isEmpty else { break }
            let step = pick(steps)
            components.append(step.name)
            place = step.destination
        }
        let fitting = place.attributes.filter { $0.isStored && types.contains($0.attributeType) }
        guard !fitting.isEmpty else { return nil }
        return root + (components + [pick(fitting).name]).joined(separator: ".")
    }

    /// A path that ends at a to-many, with its members' entity.
    private mutating func collection() -> (path: String, member: EntityDescription)? {
        var ways: [(path: [String], member: EntityDescription)] = []
        func stored(_ entity: EntityDescription) -> [RelationshipDescription] {
            entity.relationships.filter { !$0.isTransient }
        }
        for first in stored(entity) {
            if first.isToMany { ways += Array(repeating: ([first.name], first.destination), count: 2) }
            for second in stored(first.destination) where second.isToMany {
                ways.append(([first.name, second.name], second.destination))
                guard let third = stored(second.destination).first(where: \.isToMany), generator.chance(2) else {
                    continue
                }
                ways.append(([first.name, second.name, third.name], third.destination))
            }
        }
        guard !ways.isEmpty else { return nil }
        let way = pick(ways)
        return (root + way.path.joined(separator: "."), way.member)
    }
}
