import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// Finds the ordered relationships of the source whose order no entity mapping carries over, and counts their lists.
///
/// An order is kept where a lookup reads the ordered side into an ordered relationship, or where an expression asks a member's place
/// in it by `indexOfObject:`. User code that is handed the objects may keep it; nobody can know.
struct OrderLosses {
    let layout: StoreLayout
    let mappings: [PlannedMapping]
    let reads: ReadProperties
    let census: SourceCensus

    private var schema: StoreSchema { layout.schema }

    /// A relationship whose order is lost, and the entities of the objects whose lists lose it.
    private typealias Lost = (relationship: RelationshipDescription, owners: [EntityDescription])

    /// Returns the relationships whose order is lost, at the entity that declares each.
    private var lost: [Lost] {
        schema.model.entities.flatMap { entity in
            entity.definition.relationships.sorted(by: { $0.name < $1.name }).compactMap { definition in
                entity.relationship(named: definition.name).flatMap(lost)
            }
        }
    }

    private func lost(_ relationship: RelationshipDescription) -> Lost? {
        guard relationship.isOrdered, !relationship.isTransient, !isAskedForPlaces(relationship) else { return nil }
        let owners = relationship.entity.withDescendants.filter { census.count(of: $0) > 0 }
        let losing = owners.filter { owner in
            guard !reads.handed.contains(owner.index) else { return false }
            // The list of an object that becomes nothing goes with it.
            let making = mappings.filter { $0.reads(owner) && $0.destination != nil }
            return !making.isEmpty && !making.contains { keeps(relationship, $0) }
                && isRead(relationship, owner, making)
        }
        return losing.isEmpty ? nil : (relationship, losing)
    }

    /// Tells whether something carries the links of an owner over. If not, they are left behind with their order.
    ///
    /// - Parameter making: the mappings that make objects of the owner.
    private func isRead(
        _ relationship: RelationshipDescription, _ owner: EntityDescription, _ making: [PlannedMapping]
    ) -> Bool {
        if reads.reading(relationship.reference, of: owner.index) == .expression { return true }
        guard let inverse = LinkPlanner.mutualInverse(of: relationship) else { return false }
        return mappings.contains { mapping in
            mapping.relationships.contains { planned in
                switch planned.value {
                case .lookup(let argument, _)?:
                    argument.singleRelationship == inverse
                        && making.contains {
                            $0.destination?.isKindOf(entity: planned.relationship.destination) ?? false
                        }
                case .dynamic?:
                    inverse.entity.withDescendants.contains {
                        mapping.reads($0) && reads.reading(inverse.reference, of: $0.index) == .expression
                    }
                case .some(.none), nil: false
                }
            }
        }
    }

    private func keeps(_ relationship: RelationshipDescription, _ mapping: PlannedMapping) -> Bool {
        mapping.relationships.contains { planned in
            switch planned.value {
            case .lookup(let argument, _)?:
                argument.singleRelationship == relationship && planned.relationship.isOrdered && planned.sort == nil
            // An expression over objects gives the order that it makes.
            case .dynamic?: planned.relationship.isOrdered
            case .some(.none), nil: false
            }
        }
    }

    /// Tells whether an attribute of any mapping is computed from places in the relationship.
    private func isAskedForPlaces(_ relationship: RelationshipDescription) -> Bool {
        mappings.contains { mapping in
            mapping.attributes.contains { attribute in
                guard let expression = attribute.expression else { return false }
                return expression.node.asksForPlace(in: relationship.name)
            }
        }
    }

    /// Counts the lists of the relationships whose order is lost: those with two members or more.
    ///
    /// - Throws: `store.damaged`, `store.io`.
    /// - Complexity: O(links of those relationships), along an index if the file has one.
    func count(in source: SourceStore) throws(MigrationError) -> [OrdersNotKept] {
        var lines: [OrdersNotKept] = []
        for lost in lost {
            let relationship = lost.relationship
            guard let sql = sql(lost) else { continue }
            let statement = try source.query(sql)
            guard try source.stepping(statement), statement.integer(0) > 0 else { continue }
            lines.append(
                OrdersNotKept(
                    relationship: relationship.label, lists: Int(clamping: statement.integer(0)),
                    remedy: remedy(relationship)))
        }
        return lines
    }

    private func sql(_ lost: Lost) -> String? {
        let relationship = lost.relationship
        let (table, owner): (String, String)
        switch schema.storage(of: relationship) {
        case .none, .toOne: return nil
        case .toManyByInverse(let index, let column, _, _), .toManyHidden(let index, let column, _):
            (table, owner) = (layout.tables[index].name.quoted, layout.tables[index].columns[column].quoted)
        case .join(let index, let side):
            let join = layout.joinTables[index]
            (table, owner) = (join.name.quoted, join.sides[side].column.quoted)
        }
        let owners = schema.tableIndex(of: relationship.entity)
        var condition = "\(owner) IN (SELECT \"Z_PK\" FROM \(layout.tables[owners].name.quoted)"
        // Real rows of a single entity may have a wrong number.
        if schema.tables[owners].entities.count > 1 {
            let numbers = lost.owners.map { String(layout.fileNumber(ofEntity: $0.index)) }.joined(separator: ", ")
            let entity = layout.tables[owners].columns[EntityTable.entityColumn].quoted
            condition += " WHERE \(entity) IN (\(numbers))"
        }
        return "SELECT count(*) FROM (SELECT 1 FROM \(table) WHERE \(condition)) GROUP BY \(owner) HAVING count(*) > 1)"
    }

    /// Returns the advice for a relationship: an attribute of the member that holds its place, if a member has one owner.
    private func remedy(_ relationship: RelationshipDescription) -> String {
        let name = relationship.name
        guard let inverse = LinkPlanner.mutualInverse(of: relationship), !inverse.isToMany else {
            return "make \(name) ordered in the destination model"
        }
        let expression = "FUNCTION($source.\(inverse.name).\(name), 'indexOfObject:', $source)"
        return
            "make \(name) ordered in the destination model, or give \(relationship.destination.definition.name) an attribute "
            + "for the place, as \"place\": \"\(expression)\""
    }
}

extension ExpressionNode {
    /// Tells whether the expression asks for a member's place in a relationship, wherever in it.
    fileprivate func asksForPlace(in relationship: String) -> Bool {
        if case .function(let target?, "indexOfObject:", _) = self, target.ends(with: relationship) { return true }
        return SyntaxNode.expression(self).children.contains { child in
            guard case .expression(let node) = child else { return false }
            return node.asksForPlace(in: relationship)
        }
    }

    private func ends(with name: String) -> Bool {
        guard case .keyPath(_, let components) = self else { return false }
        return components.last == name
    }
}
