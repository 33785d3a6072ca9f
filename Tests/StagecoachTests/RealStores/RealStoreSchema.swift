import CoreDataStore
import Foundation
import ManagedModel

/// The schema of a migrated store: against what the model asks for, and against a real store of the same version.
struct RealStoreSchema {
    let destination: ManagedObjectModel
    let file: RealStoreFile
    let real: RealStore?
    /// The migrated store and its model, whose names a destination takes over.
    let source: (path: String, model: ManagedObjectModel)

    /// Objects that in-place migrations left in real stores, by store: indexes in the form of framework 754, and fetch
    /// indexes repeated for subentities by an earlier model.
    static let leftOver: Set = [
        "store2-40-0.wiredatabase", "store2-45-0.wiredatabase", "store2-57-0.wiredatabase",
        "store2-59-0.wiredatabase", "store2-53-0.wiredatabase",
    ]

    /// Indexes that the compiled model has beside the XML's: named like an attribute that has a fetch index `by…` of
    /// its own. Some compiled models have such indexes (Formats.md, "Indexes").
    static let onlyCompiled: [String: Set<String>] = [
        "Bookmarks_V2.sqlite": ["Z_BookmarkEntity_uuid", "Z_BookmarkEntity_url"],
        "Bookmarks_V3.sqlite": ["Z_BookmarkEntity_isPendingDeletion"],
    ]

    /// All statements of a schema.
    static func statements(_ schema: StoreSchema) -> (tables: [String: String], others: [String: String]) {
        let tables = schema.tableStatements() + schema.fixedTableStatements()
        let others =
            schema.tables.indices.flatMap { schema.indexStatements(forTable: $0) }
            + schema.joinTables.map(\.index.statement)
            + schema.triggerStatements
        func byName(_ statements: [String]) -> [String: String] {
            Dictionary(statements.map { (nameCreated(by: $0), $0) }, uniquingKeysWith: { first, _ in first })
        }
        return (byName(tables), byName(others))
    }

    func differences() -> [String] {
        guard let (schema, carried) = try? schema() else { return ["the source's names cannot be read"] }
        var expected = Self.statements(schema)
        // The copy has the objects that the source has beside its model.
        expected.others.merge(carried) { first, _ in first }
        var lines = sqlDifferences(found: file.tables, expected: expected.tables)
        lines += sqlDifferences(
            found: file.indexes.merging(file.triggers) { first, _ in first }, expected: expected.others)
        let rows = schema.entityNumbers.enumerated().sorted { $0.element < $1.element }.map { index, number in
            let entity = destination.entity(at: index)
            return "\(number)|\(entity.definition.name)|\(entity.superentity.map(schema.number(of:)) ?? 0)"
        }
        if file.entities != rows { lines.append("Z_PRIMARYKEY is \(file.entities), expected \(rows)") }
        if let real { lines += differences(from: real, beside: carried) }
        return lines
    }

    /// The destination's schema with the names that the source has for the same things, and what is taken over from it beside
    /// the model: statements by name.
    private func schema() throws -> (StoreSchema, [String: String]) {
        let store = try SourceStore(
            path: source.path, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
        let layout = try store.layout(for: source.model)
        let schema = try store.namesTakenOver(by: StoreSchema(model: destination), from: layout)
        let carried = try store.carriedObjects(for: schema, from: layout).statements
        try store.close()
        return (schema, carried)
    }

    /// Tables byte by byte, indexes where the real store's framework writes today's form.
    ///
    /// - Parameter carried: statements that are taken over from the source beside the model, by name: the next store may have
    ///   lost what they make.
    func differences(from real: RealStore, beside carried: [String: String] = [:]) -> [String] {
        guard let other = try? RealStoreFile(real.url) else { return ["\(real.name) cannot be read"] }
        var expected = other.tables
        // Framework 519 and before had no model cache.
        if real.frameworkVersion <= 519 { expected["Z_MODELCACHE"] = file.tables["Z_MODELCACHE"] }
        var found = file.tables
        // Framework 637 wrote uniqueness constraints into the table; a copy has them there where its source does.
        if real.frameworkVersion <= 641 {
            func withoutConstraint(_ sql: String) -> String {
                sql.range(of: ", CONSTRAINT ").map { String(sql[..<$0.lowerBound]) + " )" } ?? sql
            }
            expected = expected.mapValues(withoutConstraint)
            found = found.mapValues(withoutConstraint)
        }
        // Framework 641 let the lesser name of a pair on one entity name the join table.
        var eitherName: [String] = []
        // The copy keeps the source's choice, which is not always the one that Core Data would make today.
        for join in StoreSchema(model: destination).joinTables {
            guard let alternative = join.alternativeName,
                (expected[join.name] == nil) != (expected[alternative] == nil),
                (found[join.name] == nil) != (found[alternative] == nil)
            else { continue }
            for name in [join.name, alternative] {
                expected[name] = nil
                found[name] = nil
                eitherName.append(" ON \(name) ")
            }
        }
        func isCompared(_ sql: String) -> Bool { !eitherName.contains { sql.contains($0) } }
        let indexes = file.indexes.filter {
            isCompared($0.value) && (carried[$0.key] == nil || other.indexes[$0.key] != nil)
        }
        var lines = sqlDifferences(found: found, expected: expected)
        if real.frameworkVersion >= 836 {
            lines +=
                Self.leftOver.contains(real.name)
                ? indexes.filter { other.indexes[$0.key] != $0.value }.map { "not in \(real.name): \($0.value)" }
                : sqlDifferences(
                    found: indexes,
                    expected: other.indexes.filter {
                        isCompared($0.value)
                            && (file.indexes[$0.key] != nil || Self.onlyCompiled[real.name]?.contains($0.key) != true)
                    })
            lines += sqlDifferences(found: file.triggers, expected: other.triggers)
        }
        // SampleModel_V2 has a stale name.
        let isStale = { (row: String) in row.contains("ExpensiveSportCar") }
        if !other.entities.contains(where: isStale), other.entities != file.entities {
            lines.append("Z_PRIMARYKEY is \(file.entities), \(real.name) has \(other.entities)")
        }
        return lines.map { "\(real.name): \($0)" }
    }
}
