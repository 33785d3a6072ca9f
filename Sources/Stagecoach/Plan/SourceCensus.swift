import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import SpillStorage

/// The numbers of objects in the source, by entity. Every source object is accounted for against them.
struct SourceCensus {
    /// The numbers of rows, by table and entity index.
    let rows: [[Int: Int]]
    /// The number of rows that belong to no entity of the model.
    let strays: Int
    private let layout: StoreLayout

    /// Counts the rows of each table: by its smallest index if it has one entity, otherwise by the rows' Z_ENT.
    init(source: SourceStore, layout: StoreLayout) throws(MigrationError) {
        self.layout = layout
        var rows: [[Int: Int]] = []
        var strays: Int64 = 0
        for table in layout.schema.tables.indices {
            let entities = layout.schema.tables[table].entities
            if entities.count == 1 {
                rows.append([entities[0]: Int(try source.count(table: table, in: layout))])
                continue
            }
            let counts = try source.counts(table: table, in: layout)
            rows.append(counts.byEntity.mapValues(Int.init))
            strays += counts.strays.values.reduce(0, +)
        }
        self.rows = rows
        self.strays = Int(strays)
    }

    /// Restores the counts of an earlier run over the same source. Returns nil if they do not fit the tables.
    ///
    /// - Parameters:
    ///   - rows: as ``rows``.
    ///   - strays: as ``strays``.
    init?(counted rows: [[Int: Int]], strays: Int, layout: StoreLayout) {
        // The figures come from a file and are added up later, so they must not overflow.
        let possible = 0...1 << 40
        guard rows.count == layout.schema.tables.count, possible.contains(strays) else { return nil }
        for (table, counts) in zip(layout.schema.tables, rows) {
            guard counts.allSatisfy({ table.entities.contains($0.key) && possible.contains($0.value) }) else {
                return nil
            }
        }
        self.layout = layout
        self.rows = rows
        self.strays = strays
    }

    /// Creates the expected counts of a source that does not exist yet, by entity name.
    init(expecting objects: [String: Int], layout: StoreLayout) {
        self.layout = layout
        rows = layout.schema.tables.map { table in
            Dictionary(
                uniqueKeysWithValues: table.entities.map {
                    ($0, objects[layout.schema.model.entity(at: $0).definition.name] ?? 0)
                })
        }
        strays = 0
    }

    /// The number of objects of all entities of the model.
    var total: Int { rows.reduce(0) { $0 + $1.values.reduce(0, +) } }

    /// Returns the number of objects of an entity, without its subentities.
    func count(of entity: EntityDescription) -> Int {
        rows[layout.schema.tableIndex(of: entity)][entity.index] ?? 0
    }

    /// Tells whether an entity mapping may get source objects: those of its source entity, or of subentities if it has a source
    /// expression.
    func hasObjects(of mapping: EntityMapping, in model: ManagedObjectModel) -> Bool {
        guard let entity = mapping.sourceEntityName.flatMap({ model.entity(named: $0) }) else { return false }
        let entities = mapping.usedSourceExpression == nil ? [entity] : entity.withDescendants
        return entities.contains { count(of: $0) > 0 }
    }

    /// Returns the counts before anything is migrated.
    func counts(for mappings: [PlannedMapping], reads: ReadProperties) -> MigrationCounts {
        var counts = MigrationCounts()
        counts.mappings = mappings.map { mapping in
            var line = MigrationCounts.Mapping(
                name: mapping.name, sourceEntity: mapping.source?.definition.name,
                destinationEntity: mapping.destination?.definition.name)
            if let source = mapping.source { line.sourceObjects = count(of: source) }
            return line
        }
        for entity in layout.schema.model.entities {
            let objects = count(of: entity)
            let reading = mappings.filter { $0.source == entity }
            guard objects > 0, !reading.contains(where: { $0.destination != nil }) else { continue }
            // A source expression may give objects of subentities.
            if reading.isEmpty, reads.migrated.contains(entity.index) { continue }
            if reading.isEmpty {
                counts.withoutMapping[entity.definition.name] = objects
            } else {
                counts.removed[entity.definition.name] = objects
            }
        }
        counts.strays = strays
        return counts
    }
}
