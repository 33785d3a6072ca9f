import Diagnostics
import ManagedModel
import PersistentStore

/// The model's rules for numbers of related objects and for required to-many relationships, checked on the private
/// store once its indexes stand.
struct CountRules {
    let session: MigrationSession
    let mappings: [PlannedMapping]
    /// Whether rules that the source model had already are warnings.
    let isExcused: Bool

    /// Checks every to-many relationship that has a bound.
    ///
    /// - Throws: `validation.tooFew`, `validation.tooMany` (65).
    /// - Complexity: one index probe an owner of a bounded relationship.
    func check(_ destination: DestinationStore) throws {
        let model = session.destinationSchema.model
        for entity in model.entities {
            for relationship in entity.relationships
            where relationship.entity == entity && relationship.isToMany && !relationship.isTransient {
                let least = relationship.isOptional ? 0 : max(1, relationship.minCount)
                let whenAny = relationship.minCount
                let most = relationship.maxCount > 1 ? relationship.maxCount : Int.max
                guard least > 0 || whenAny > 1 || most < Int.max else { continue }
                let excused = isExcused && hadRule(relationship)
                try check(
                    relationship, least: least, leastWhenAny: whenAny, most: most, isExcused: excused, in: destination)
            }
        }
    }

    /// Whether a broken rule is no news: every mapping that makes owners reads a relationship that had it already, or
    /// knows none to read, so that no inferred mapping could satisfy it.
    private func hadRule(_ relationship: RelationshipDescription) -> Bool {
        mappings.allSatisfy { mapping in
            guard mapping.source != nil, let planned = mapping.relationship(named: relationship.name),
                planned.relationship == relationship
            else { return true }
            guard case .lookup(let argument, _)? = planned.value else { return planned.value == nil }
            guard let old = argument.singleRelationship else { return false }
            return (relationship.isOptional || !old.isOptional) && old.minCount >= relationship.minCount
                && old.maxCount == relationship.maxCount
        }
    }

    private func check(
        _ relationship: RelationshipDescription, least: Int, leastWhenAny: Int, most: Int, isExcused: Bool,
        in destination: DestinationStore
    ) throws {
        let schema = session.destinationSchema
        let owner = relationship.entity
        let ownerTable = schema.tables[schema.tableIndex(of: owner)].name
        let numbers = owner.withDescendants.map { String(schema.number(of: $0)) }.joined(separator: ", ")
        let counted: String
        switch schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
            let members = schema.tables[table]
            counted = "SELECT count(*) FROM \(members.name) AS m WHERE m.\(members.columns[column].name) = o.Z_PK"
        case .join(let table, let ownerSide):
            let join = schema.joinTables[table]
            counted = "SELECT count(*) FROM \(join.name) AS m WHERE m.\(join.sides[ownerSide].column) = o.Z_PK"
        case .toOne, .none: return
        }
        let statement = try destination.connection.prepare(
            """
            SELECT o.Z_PK, (\(counted)) AS n FROM \(ownerTable) AS o
            WHERE o.Z_ENT IN (\(numbers)) AND (n < \(least) OR n > \(most) OR (n > 0 AND n < \(leastWhenAny)))
            """)
        while try statement.step() {
            let count = statement.integer(1)
            let label = count > most ? "too many" : "too few"
            if isExcused {
                session.counts.warnings["\(owner).\(relationship.name): \(label) objects", default: 0] += 1
                continue
            }
            throw MigrationError(
                count > most ? "validation.tooMany" : "validation.tooFew", .data,
                "A relationship has \(label) objects: \(count), and the model allows \(least) to \(most == Int.max ? "any number" : String(most))",
                remedy: "Map the relationship differently, or relax the rule in the destination model",
                context: .init(
                    entity: owner.definition.name, objectID: "\(owner)/p\(statement.integer(0))",
                    property: relationship.name))
        }
    }
}
