import ManagedModel
import Mapping

/// A random migration: two models, a store of the first, and for an explicit one a mapping model. All of it follows from
/// the seed; print ``description`` where a test fails.
package struct RandomMigration: CustomStringConvertible {
    package let seed: UInt64
    package let source: ManagedObjectModel
    package let destination: ManagedObjectModel
    package let store: ReferenceStore
    /// Nil: the mapping is to be inferred.
    package let mapping: MappingModel?

    /// A destination made from the source by changes for which a mapping can be inferred.
    package static func inferred(seed: UInt64, rows: Int = 12) throws -> RandomMigration {
        try RandomMigration(seed: seed, rows: rows, isExplicit: false)
    }

    /// A pair of models with an explicit mapping model.
    package static func explicit(seed: UInt64, rows: Int = 12) throws -> RandomMigration {
        try RandomMigration(seed: seed, rows: rows, isExplicit: true)
    }

    /// The mapping that is inferred. Where a relationship has less room for links than its counterpart, those that fit are made.
    package func inferredMapping() throws -> MappingModel {
        try MappingModel.inferred(from: source, to: destination, unmappable: .leave)
    }

    /// A destination whose rules the rows break; an explicit mapping model, or one to be inferred.
    package static func ruled(seed: UInt64, rows: Int = 12, isExplicit: Bool) throws -> RandomMigration {
        try RandomMigration(seed: seed, rows: rows, isExplicit: isExplicit, hasRules: true)
    }

    /// A destination that a mapping may be inferred to and whose rules the rows break, most of them rules that the source
    /// had already; every third has a property that no mapping can be inferred for.
    package static func broken(seed: UInt64, rows: Int = 12) throws -> RandomMigration {
        try RandomMigration(seed: seed, rows: rows, isExplicit: false, hasRules: seed % 2 == 0, hasOldRules: true)
    }

    /// An explicit migration whose expressions and filters use the whole language; the reference knows a part of it.
    package static func spiced(seed: UInt64, rows: Int = 12, hasRules: Bool) throws -> RandomMigration {
        let migration = try RandomMigration(seed: seed, rows: rows, isExplicit: true, hasRules: hasRules)
        if let mapping = migration.mapping {
            var generator = SeededGenerator(seed: seed &* 31 &+ 7)
            try RandomLanguage.spice(mapping, from: migration.source, to: migration.destination, &generator)
        }
        return migration
    }

    /// Another random store of the source's model.
    package func otherStore(rows: Int = 12) -> ReferenceStore {
        var generator = SeededGenerator(seed: seed &* 101 &+ 9)
        return RandomData.fill(source, rows: rows, &generator)
    }

    private init(
        seed: UInt64, rows: Int, isExplicit: Bool, hasRules: Bool = false, hasOldRules: Bool = false
    ) throws {
        self.seed = seed
        var generator = SeededGenerator(seed: seed)
        var model = RandomModel(&generator)
        if hasOldRules {
            model.addRules(&generator)
            // Random rows are not unique, and a file that says so could not be made.
            for entity in model.definition.entities.indices {
                model.definition.entities[entity].uniquenessConstraints = []
            }
        }
        source = try ManagedObjectModel(model.definition)
        model.change(&generator)
        if isExplicit { model.relax() }
        if hasRules { model.addRules(&generator) }
        if hasOldRules, seed % 3 == 0 { model.retype(&generator) }
        destination = try ManagedObjectModel(model.definition)
        var store = RandomData.fill(source, rows: rows, &generator)
        if hasOldRules { RandomData.breakRules(of: &store, &generator) }
        self.store = store
        mapping = isExplicit ? RandomMapping.make(from: source, to: destination, &generator) : nil
        if hasRules, let mapping { try RandomMapping.addRisks(to: mapping, from: source, to: destination, &generator) }
    }

    package var description: String {
        var lines = ["seed \(seed)", "source:"] + Self.lines(source) + ["destination:"] + Self.lines(destination)
        for mapping in mapping?.entityMappings ?? [] {
            lines.append(
                "mapping \(mapping.name ?? ""): \(mapping.sourceEntityName ?? "-") > \(mapping.destinationEntityName ?? "-")"
            )
            if let filter = mapping.sourceFilter { lines.append("  where \(filter.format)") }
            for property in (mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? []) {
                lines.append("  \(property.name ?? "") = \(property.valueExpression?.format ?? "untouched")")
            }
        }
        lines.append("rows:")
        for (index, table) in store.schema.tables.enumerated() {
            lines.append("  \(table.name) (\(table.columns.map(\.name).joined(separator: ", ")))")
            for (key, row) in store.tables[index].sorted(by: { $0.key < $1.key }) {
                let values = row.values.map { String($0.description.prefix(40)) }
                lines.append("    \(key): \(values.joined(separator: ", "))")
            }
        }
        for (index, join) in store.schema.joinTables.enumerated() {
            lines.append("  \(join.name): \(store.joins[index].map { "\($0.key) \($0.value)" }.sorted())")
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ model: ManagedObjectModel) -> [String] {
        model.definition.entities.flatMap { entity in
            var head = "  \(entity.isAbstract ? "abstract " : "")\(entity.name)"
            if let parent = entity.superentityName { head += ": \(parent)" }
            if let old = entity.renamingIdentifier { head += " (was \(old))" }
            let attributes = entity.attributes.map { attribute in
                "    \(attribute.name) \(attribute.type.label)\(attribute.isOptional ? "?" : "")"
                    + (attribute.defaultValue.map { " = \($0)" } ?? "")
                    + (attribute.renamingIdentifier.map { " (was \($0))" } ?? "")
                    + (attribute.allowsExternalBinaryDataStorage ? " external" : "")
                    + (attribute.minimum.map { " min \($0)" } ?? "") + (attribute.maximum.map { " max \($0)" } ?? "")
                    + (attribute.minimumLength.map { " from \($0) long" } ?? "")
                    + (attribute.maximumLength.map { " to \($0) long" } ?? "")
                    + (attribute.regularExpression.map { " like \($0)" } ?? "")
            }
            let relationships = entity.relationships.map { relationship in
                "    \(relationship.name) \(relationship.isToMany ? ">>" : ">") \(relationship.destinationEntityName)"
                    + (relationship.inverseName.map { ".\($0)" } ?? "") + (relationship.isOrdered ? " ordered" : "")
                    + (relationship.isOptional ? "" : " required")
                    + " \(relationship.minimumCount)...\(relationship.maximumCount)"
                    + (relationship.renamingIdentifier.map { " (was \($0))" } ?? "")
            }
            return [head] + attributes + relationships + entity.uniquenessConstraints.map { "    unique \($0)" }
        }
    }
}

extension RandomModel {
    /// Takes rules away that a random explicit mapping would break: required relationships, and required attributes
    /// without default.
    mutating func relax() {
        for entity in definition.entities.indices {
            for position in definition.entities[entity].attributes.indices
            where definition.entities[entity].attributes[position].defaultValue == nil {
                definition.entities[entity].attributes[position].isOptional = true
            }
            for position in definition.entities[entity].relationships.indices {
                definition.entities[entity].relationships[position].isOptional = true
            }
        }
    }
}
