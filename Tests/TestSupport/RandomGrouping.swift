import CoreDataStore
import ManagedModel
import Mapping

/// Random groupings of an explicit migration's entity mappings, over values that many rows share.
package struct RandomGrouping {
    /// The mapping model with groupings.
    package let mapping: MappingModel
    /// The store with few values in the attributes that are compared.
    package let store: ReferenceStore

    /// Makes a grouping for at least one mapping; nil if there is none with attributes to compare.
    package init?(of migration: RandomMigration) {
        guard let model = migration.mapping?.copy() as? MappingModel else { return nil }
        var generator = SeededGenerator(seed: migration.seed &* 53 &+ 11)
        var store = migration.store
        var count = 0
        for mapping in model.entityMappings ?? [] where count == 0 || generator.chance(2) {
            guard let source = mapping.sourceEntityName.flatMap(migration.source.entity(named:)),
                mapping.destinationEntityName != nil, !mapping.hasPolicy
            else { continue }
            var attributes = source.attributes.filter {
                Self.values(of: $0) != nil && store.schema.column(of: $0) != nil
            }
            attributes.shuffle(using: &generator)
            let compared = attributes.prefix(1 + generator.below(2))
            guard !compared.isEmpty else { continue }
            var grouping = ObjectGrouping(
                expressions: compared.map { attribute in
                    let node = ExpressionNode.keyPath(target: .variable("source"), components: [attribute.name])
                    return GroupingExpression(ValueExpression(node: node))
                })
            grouping.nilIsAValue = generator.chance(2)
            if generator.chance(2) { grouping.comparison.insert(.caseInsensitive) }
            if generator.chance(2) { grouping.comparison.insert(.diacriticInsensitive) }
            if generator.chance(2) { grouping.merge = Self.merge(of: source, in: store, &generator) }
            mapping.grouping = grouping
            count += 1
            for attribute in compared {
                store.fill(attribute, of: source, from: Self.values(of: attribute) ?? [], &generator)
            }
        }
        guard count > 0 else { return nil }
        self.mapping = model
        self.store = store
    }

    /// Makes a random rule of a merge.
    private static func merge(
        of source: EntityDescription, in store: ReferenceStore, _ generator: inout SeededGenerator
    ) -> MergeRule {
        var rule = MergeRule()
        rule.fills = generator.chance(2)
        let ordered = source.attributes.filter { attribute in
            guard store.schema.column(of: attribute) != nil else { return false }
            return switch attribute.attributeType {
            case .integer16, .integer32, .integer64, .double, .float, .decimal, .date, .boolean: true
            default: false
            }
        }
        guard !ordered.isEmpty, generator.chance(2) else {
            rule.keep = generator.chance(2) ? .first : .last
            return rule
        }
        let name = ordered[generator.below(ordered.count)].name
        let item = GroupingExpression(
            ValueExpression(node: .keyPath(target: .variable("source"), components: [name])))
        rule.keep = generator.chance(2) ? .greatest(item) : .least(item)
        return rule
    }

    /// The values that an attribute's rows get; nil if its type is not compared here.
    private static func values(of attribute: AttributeDescription) -> [ReferenceValue]? {
        switch attribute.attributeType {
        case .string: [.text("a"), .text("A"), .text("á"), .text("b"), .text("")]
        case .integer16, .integer32, .integer64: [.integer(0), .integer(1), .integer(2)]
        case .boolean: [.integer(0), .integer(1)]
        case .double: [.real(0), .real(0.5), .real(2)]
        case .date: [.real(0), .real(86_400.25)]
        default: nil
        }
    }
}
