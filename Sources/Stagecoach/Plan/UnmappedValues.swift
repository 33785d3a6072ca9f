import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// Counts the values of properties that a mapping model could not map and leaves behind.
struct UnmappedValues {
    let source: SourceStore
    let layout: StoreLayout
    let destination: ManagedObjectModel
    /// True if the source's rows exist already.
    let isCounted: Bool

    /// Returns the unmapped properties by destination entity, each at the entity that declares it.
    ///
    /// - Complexity: O(rows) of the source entities that have such properties.
    func of(_ model: MappingModel) throws(MigrationError) -> [MigrationPlan.Unmapped] {
        var found: [MigrationPlan.Unmapped] = []
        for mapping in model.entityMappings ?? [] {
            guard let target = mapping.destinationEntityName.flatMap({ destination.entity(named: $0) }) else {
                continue
            }
            for property in mapping.propertyMappings {
                guard let unmapped = property.unmapped, let name = property.name else { continue }
                let entity =
                    target.attribute(named: name)?.entityName
                    ?? target.relationship(named: name)?.entity.definition.name ?? target.definition.name
                let origin = mapping.sourceEntityName.flatMap { layout.schema.model.entity(named: $0) }
                let values = try origin.flatMap { origin throws(MigrationError) in
                    try unmapped.source.flatMap { name throws(MigrationError) in try count(name, of: origin) }
                }
                // A property inherited by several entities counts as one.
                if let index = found.firstIndex(where: {
                    $0.entity == entity && $0.name == name && $0.reason == unmapped.reason
                }) {
                    if let values { found[index].values = (found[index].values ?? 0) + values }
                    continue
                }
                found.append(
                    MigrationPlan.Unmapped(
                        entity: entity, name: name, source: origin.flatMap { label(unmapped.source, of: $0) },
                        values: values, reason: unmapped.reason))
            }
        }
        return found
    }

    private func label(_ name: String?, of entity: EntityDescription) -> String? {
        guard let name else { return nil }
        let declaring =
            entity.attributeNames(of: name).first.flatMap(entity.attribute(named:))?.entityName
            ?? entity.relationship(named: name)?.entity.definition.name
        return declaring.map { "\($0).\(name)" }
    }

    /// Returns the number of an entity's objects, without subentities, that have a value; nil if it is not known.
    private func count(_ name: String, of entity: EntityDescription) throws(MigrationError) -> Int? {
        guard isCounted else { return nil }
        let schema = layout.schema
        let number = layout.fileNumber(ofEntity: entity.index)
        let table = schema.tableIndex(of: entity)
        let own = layout.tables[table]
        let isOnly = schema.tables[table].entities.count == 1
        let condition = isOnly ? "1" : "t.\(SQLName.quoted(own.columns[EntityTable.entityColumn])) = \(number)"
        func rows(_ having: String) -> String {
            "SELECT count(*) FROM \(SQLName.quoted(own.name)) t WHERE \(condition) AND \(having)"
        }
        func members(_ table: String, _ column: String) -> String {
            rows("EXISTS (SELECT 1 FROM \(SQLName.quoted(table)) m WHERE m.\(SQLName.quoted(column)) = t.\"Z_PK\")")
        }
        let attributes = entity.attributeNames(of: name).compactMap(entity.attribute(named:))
        if !attributes.isEmpty {
            let columns = attributes.compactMap(schema.column(of:))
            guard !columns.isEmpty else { return nil }
            let conditions = columns.map { "t.\(SQLName.quoted(own.columns[$0])) IS NOT NULL" }
            return try count(rows("(\(conditions.joined(separator: " OR ")))"))
        }
        guard let relationship = entity.relationship(named: name) else { return nil }
        switch schema.storage(of: relationship) {
        case .none: return nil
        case .toOne(_, let column, _, _): return try count(rows("t.\(SQLName.quoted(own.columns[column])) IS NOT NULL"))
        case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
            return try count(members(layout.tables[table].name, layout.tables[table].columns[column]))
        case .join(let table, let side):
            let join = layout.joinTables[table]
            return try count(members(join.name, join.sides[side].column))
        }
    }

    private func count(_ sql: String) throws(MigrationError) -> Int {
        let statement = try source.query(sql)
        return try statement.step() ? Int(statement.integer(0)) : 0
    }
}
