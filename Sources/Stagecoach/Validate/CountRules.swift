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

    /// How many objects a to-many relationship may have.
    private struct Bounds {
        /// At least this many, 0 where none is fine.
        let least: Int
        /// At least this many where there is any.
        let leastWhenAny: Int
        let most: Int

        init(_ relationship: RelationshipDescription) {
            least = relationship.isOptional ? 0 : max(1, relationship.minCount)
            leastWhenAny = relationship.minCount
            most = relationship.maxCount > 1 ? relationship.maxCount : Int.max
        }

        var isEmpty: Bool { least == 0 && leastWhenAny <= 1 && most == Int.max }

        /// Whether the source's relationship had the bound that a number of objects breaks.
        func isExcused(_ count: Int, _ new: RelationshipDescription, _ old: RelationshipDescription) -> Bool {
            if count == 0 { return !old.isOptional }
            return count > most ? old.maxCount == new.maxCount : old.minCount == new.minCount
        }
    }

    /// Checks every to-many relationship that has a bound, entity by entity: subentities may come from elsewhere than
    /// the entity that declares the relationship, which may be new.
    ///
    /// - Throws: `validation.tooFew`, `validation.tooMany` (65).
    /// - Complexity: one index probe an owner of a bounded relationship.
    func check(_ destination: DestinationStore) throws {
        for entity in session.destinationSchema.model.entities where !entity.isAbstract {
            for relationship in entity.relationships where relationship.isToMany && !relationship.isTransient {
                let bounds = Bounds(relationship)
                // No inferred mapping could give a new relationship members.
                guard !bounds.isEmpty, !(isExcused && isNew(relationship, in: entity)) else { continue }
                let old = isExcused ? counterpart(of: relationship, in: entity) : nil
                try check(relationship, of: entity, bounds, old: old, in: destination)
            }
        }
    }

    /// Whether no mapping of an entity has anything to say about a relationship.
    private func isNew(_ relationship: RelationshipDescription, in entity: EntityDescription) -> Bool {
        let making = mappings.filter { $0.destination == entity && $0.source != nil }
        return !making.isEmpty && making.allSatisfy { $0.relationship(named: relationship.name)?.value == nil }
    }

    /// The relationship of the source entity that an entity's relationship is copied from with all its members.
    private func counterpart(
        of relationship: RelationshipDescription, in entity: EntityDescription
    ) -> RelationshipDescription? {
        for mapping in mappings where mapping.destination == entity {
            guard let planned = mapping.relationship(named: relationship.name), planned.keepsMembers,
                case .lookup(let argument, _)? = planned.value, let old = argument.singleRelationship
            else { continue }
            return mapping.source?.relationship(named: old.name)
        }
        return nil
    }

    private func check(
        _ relationship: RelationshipDescription, of owner: EntityDescription, _ bounds: Bounds,
        old: RelationshipDescription?, in destination: DestinationStore
    ) throws {
        let schema = session.destinationSchema
        let ownerTable = schema.tables[schema.tableIndex(of: owner)].name
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
            SELECT o.Z_PK, (\(counted)) AS n FROM \(ownerTable) AS o WHERE o.Z_ENT = \(schema.number(of: owner))
            AND (n < \(bounds.least) OR n > \(bounds.most) OR (n > 0 AND n < \(bounds.leastWhenAny)))
            """)
        while try statement.step() {
            let count = Int(statement.integer(1))
            let label = count > bounds.most ? "too many" : "too few"
            if let old, bounds.isExcused(count, relationship, old) {
                session.counts.warnings["\(owner).\(relationship.name): \(label) objects", default: 0] += 1
                continue
            }
            let most = bounds.most == Int.max ? "any number" : String(bounds.most)
            throw MigrationError(
                count > bounds.most ? "validation.tooMany" : "validation.tooFew", .data,
                "A relationship has \(label) objects: \(count), and the model allows \(bounds.least) to \(most)",
                remedy: "Map the relationship differently, or relax the rule in the destination model",
                context: .init(
                    entity: owner.definition.name, objectID: "\(owner)/p\(statement.integer(0))",
                    property: relationship.name))
        }
    }
}
