import ManagedModel
import Mapping
import TestSupport
import Testing

@Suite("The coverage of random migrations")
struct ReferenceCoverageTests {
    @Test("Two hundred seeds meet every kind of storage, key rule, relationship and trouble")
    func coverage() throws {
        var counts: [String: Int] = [:]
        for seed in UInt64(0)..<200 {
            let explicit = try RandomMigration.explicit(seed: seed)
            let inferred = try RandomMigration.inferred(seed: seed)
            for (migration, mapping) in [
                (explicit, try #require(explicit.mapping)),
                (inferred, try inferred.inferredMapping()),
            ] {
                let outcome = try ReferenceMigrator(
                    source: migration.store, destinationModel: migration.destination, mappingModel: mapping
                ).migrate().get()
                count(outcome, &counts)
                count(mapping, &counts)
                for entity in migration.source.entities { count(entity, &counts) }
            }
        }
        let wanted = [
            "kept", "sequential", "dangling", "further", "without mapping", "split", "merge", "add", "remove",
            "copied order", "fresh order", "join rows", "hidden owners", "to-one entity", "abstract", "level 3",
            "suffixed column", "self inverse", "one-to-one", "untouched", "constant nil", "arithmetic", "appending",
            "by mapping", "by relationship", "path", "rename",
        ]
        for name in wanted { #expect(counts[name] ?? 0 >= 5, "\(name): \(counts)") }
    }

    private func count(_ outcome: ReferenceOutcome, _ counts: inout [String: Int]) {
        let report = outcome.report
        for isKept in report.keysKept.values { counts[isKept ? "kept" : "sequential", default: 0] += 1 }
        counts["dangling", default: 0] += report.danglingReferences
        counts["further", default: 0] += report.furtherDestinations
        counts["without mapping", default: 0] += report.withoutMapping.count
        for (index, table) in outcome.store.schema.tables.enumerated() {
            for (position, column) in table.columns.enumerated() {
                let values = outcome.store.tables[index].values.map { $0.values[position] }.filter { !$0.isNull }
                switch column.role {
                case .order, .hiddenOrder:
                    for value in values {
                        let isFresh = value == .integer(2048)
                        counts[isFresh ? "fresh order" : "copied order", default: 0] += 1
                    }
                case .hiddenOwner: counts["hidden owners", default: 0] += values.count
                case .toOneEntity: counts["to-one entity", default: 0] += values.count
                case .attribute(let reference):
                    if column.name != "Z" + reference.name.uppercased() {
                        counts["suffixed column", default: 0] += 1
                    }
                default: break
                }
            }
        }
        counts["join rows", default: 0] += outcome.store.joins.reduce(0) { $0 + $1.count }
    }

    private func count(_ mapping: MappingModel, _ counts: inout [String: Int]) {
        let entityMappings = mapping.entityMappings ?? []
        for entityMapping in entityMappings {
            let from = entityMapping.sourceEntityName
            let to = entityMapping.destinationEntityName
            if from == nil { counts["add", default: 0] += 1 }
            if to == nil { counts["remove", default: 0] += 1 }
            if from != nil, to != nil, from != to { counts["rename", default: 0] += 1 }
            if from != nil, entityMappings.filter({ $0.sourceEntityName == from }).count > 1 {
                counts["split", default: 0] += 1
            }
            if to != nil, entityMappings.filter({ $0.destinationEntityName == to }).count > 1 {
                counts["merge", default: 0] += 1
            }
            for property in (entityMapping.attributeMappings ?? []) + (entityMapping.relationshipMappings ?? []) {
                counts[kind(property.valueExpression?.node), default: 0] += 1
            }
        }
    }

    private func kind(_ node: ExpressionNode?) -> String {
        switch node {
        case nil: "untouched"
        case .constant(.null): "constant nil"
        case .constant: "constant"
        case .arithmetic: "arithmetic"
        case .keyPath(_, let components): components.count > 1 ? "path" : "copy"
        case .function(_, "stringByAppendingString:", _): "appending"
        case .function(_, let selector, _): selector.contains("Relationship") ? "by relationship" : "by mapping"
        default: "other"
        }
    }

    private func count(_ entity: EntityDescription, _ counts: inout [String: Int]) {
        if entity.isAbstract { counts["abstract", default: 0] += 1 }
        if entity.superentity?.superentity != nil { counts["level 3", default: 0] += 1 }
        for relationship in entity.relationships {
            if relationship.inverseRelationship == relationship { counts["self inverse", default: 0] += 1 }
            if !relationship.isToMany, relationship.inverseRelationship?.isToMany == false {
                counts["one-to-one", default: 0] += 1
            }
        }
    }
}
