import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// The values of a migrated store compared with the source's in SQL, column by column and key by key: an oracle without
/// a line of the engine's or the reference's code, for tables whose keys are kept.
struct RealStoreColumns {
    let migration: RealStoreMigration
    let mapping: MappingModel
    let report: MigrationReport

    func differences() throws -> [String] {
        let folder = try TemporaryFolder()
        let source = try folder.copyStore(URL(fileURLWithPath: migration.sourcePath))
        let connection = try Connection(path: migration.destinationPath, flags: SQLITE_OPEN_READONLY)
        try connection.execute("ATTACH '\(source)' AS old")
        let old = StoreSchema(model: migration.source)
        let new = StoreSchema(model: migration.destination)
        var lines: [String] = []
        var external: Int64 = 0
        for mapping in mapping.entityMappings ?? [] {
            guard let to = mapping.destinationEntityName.flatMap({ new.model.entity(named: $0) }) else { continue }
            let table = new.tables[new.tableIndex(of: to)]
            let number = new.number(of: to)
            for attribute in to.attributes where attribute.definition.allowsExternalBinaryDataStorage {
                guard let column = new.column(of: attribute).map({ table.columns[$0].name }) else { continue }
                external +=
                    try connection.integer(
                        "SELECT count(*) FROM main.\(table.name) WHERE Z_ENT = \(number) AND substr(\(column), 1, 1) = x'02'"
                    )
                    ?? 0
            }
            let count = try connection.integer("SELECT count(*) FROM main.\(table.name) WHERE Z_ENT = \(number)") ?? 0
            guard let from = mapping.sourceEntityName.flatMap({ old.model.entity(named: $0) }) else {
                if count != 0 { lines.append("\(to): \(count) rows without source") }
                continue
            }
            let oldTable = old.tables[old.tableIndex(of: from)]
            let oldNumber = try connection.integer(
                "SELECT Z_ENT FROM old.Z_PRIMARYKEY WHERE Z_NAME = '\(from.definition.name)'")
            // Core Data does not look at Z_ENT in a table of one entity.
            let ofEntity = oldTable.entities.count == 1 ? "1" : "s.Z_ENT = \(oldNumber ?? Int64(old.number(of: from)))"
            let oldCount =
                try connection.integer("SELECT count(*) FROM old.\(oldTable.name) AS s WHERE \(ofEntity)") ?? 0
            if count != oldCount { lines.append("\(to): \(count) rows, \(oldCount) in the source") }
            guard report.keys[to.root.definition.name] == "kept" else { continue }

            let joined =
                "FROM old.\(oldTable.name) AS s LEFT JOIN main.\(table.name) AS d ON d.Z_PK = s.Z_PK WHERE \(ofEntity)"
            func expectNone(_ condition: String, _ what: String) throws {
                let found = try connection.integer("SELECT count(*) \(joined) AND (\(condition))") ?? 0
                if found > 0 { lines.append("\(to).\(what): \(found) of \(oldCount) rows differ") }
            }
            try expectNone("d.Z_ENT IS NOT \(number)", "Z_ENT")
            try expectNone("d.Z_OPT IS NOT s.Z_OPT", "Z_OPT")
            for attribute in to.attributes where attribute.isStored {
                guard let column = new.column(of: attribute).map({ table.columns[$0].name }) else { continue }
                let property = mapping.attributeMapping(named: attribute.name)
                guard case .keyPath(.variable("source"), let path)? = property?.valueExpression?.node,
                    let origin = path.first.flatMap({ from.attribute(named: $0) })
                else {
                    // A new attribute: the default, or nothing.
                    if attribute.definition.defaultValue == nil {
                        try expectNone("d.\(column) IS NOT NULL", attribute.name)
                    } else {
                        try expectNone("d.\(column) IS NULL", attribute.name)
                        let values =
                            try connection.integer("SELECT count(DISTINCT d.\(column)) \(joined)") ?? 0
                        if values > 1 { lines.append("\(to).\(attribute.name): \(values) values, not the default") }
                    }
                    continue
                }
                guard let oldColumn = old.column(of: origin).map({ oldTable.columns[$0].name }) else { continue }
                // A marker byte comes or goes with external storage.
                guard
                    origin.definition.allowsExternalBinaryDataStorage
                        == attribute.definition.allowsExternalBinaryDataStorage
                else { continue }
                let patched = property?.replacesNil == true ? " AND s.\(oldColumn) IS NOT NULL" : ""
                try expectNone(
                    "(d.\(column) IS NOT s.\(oldColumn) OR typeof(d.\(column)) <> typeof(s.\(oldColumn)))\(patched)",
                    attribute.name)
            }
            for relationship in to.relationships where !relationship.isTransient {
                guard let origin = sourceRelationship(of: relationship, mapping, from),
                    case .toOne(_, let column, _, _) = new.storage(of: relationship),
                    case .toOne(_, let oldColumn, _, _) = old.storage(of: origin),
                    report.keys[relationship.destination.root.definition.name] == "kept"
                else { continue }
                let target = old.tables[old.tableIndex(of: origin.destination)].name
                let (name, oldName) = (table.columns[column].name, oldTable.columns[oldColumn].name)
                // A reference to no row is nil.
                try expectNone(
                    """
                    d.\(name) IS NOT CASE WHEN EXISTS (SELECT 1 FROM old.\(target) AS t WHERE t.Z_PK = s.\(oldName))
                    THEN s.\(oldName) END
                    """, relationship.name)
            }
        }
        if external != report.counts.externalValues {
            lines.append("\(external) values in external files, reported \(report.counts.externalValues)")
        }
        return lines.map { "in SQL: \($0)" }
    }

    private func sourceRelationship(
        of relationship: RelationshipDescription, _ mapping: EntityMapping, _ from: EntityDescription
    ) -> RelationshipDescription? {
        guard
            case .function(_, _, let arguments)? =
                mapping.relationshipMapping(named: relationship.name)?.valueExpression?.node,
            case .keyPath(.variable("source"), let path)? = arguments.last
        else { return nil }
        return path.first.flatMap { from.relationship(named: $0) }
    }
}
