import CoreDataStore
import Diagnostics
import ManagedModel

/// Counts the links of one-to-one pairs that only one side has in the source.
enum OneSidedLinkCount {
    /// Counts one-sided links of the pairs that mapping models copy.
    ///
    /// - Parameter models: the entity mappings of each mapping model.
    /// - Complexity: O(rows of the tables of such pairs), and a lookup for each link.
    static func lines(
        in source: SourceStore, _ layout: StoreLayout, models: [[PlannedMapping]]
    ) throws(MigrationError) -> [OneSidedLinks] {
        var lines: [OneSidedLinks] = []
        var seen: Set<PropertyReference> = []
        for mappings in models {
            for relationship in Set(mappings.flatMap { $0.relationships.map(\.relationship.reference) }).sorted(by: {
                ($0.entity, $0.name) < ($1.entity, $1.name)
            }) {
                guard let model = mappings.lazy.compactMap(\.destination?.managedObjectModel).first,
                    let own = model.entity(at: relationship.entity).relationship(named: relationship.name),
                    let pair = CopiedPair(own, among: mappings), seen.insert(pair.near.reference).inserted
                else { continue }
                seen.insert(pair.far.reference)
                if let line = try line(pair, source, layout) { lines.append(line) }
            }
        }
        return lines
    }

    private static func line(
        _ pair: CopiedPair, _ source: SourceStore, _ layout: StoreLayout
    ) throws(MigrationError) -> OneSidedLinks? {
        var line = OneSidedLinks(
            relationship: pair.near.label, inverse: pair.far.label, count: 0, isCompleted: !pair.isKept, samples: [])
        let sides = pair.near == pair.far ? [(pair.near, pair.far)] : [(pair.near, pair.far), (pair.far, pair.near)]
        for (side, other) in sides {
            guard case .toOne(let table, let column, _, _) = layout.schema.storage(of: side),
                case .toOne(let target, let back, _, _) = layout.schema.storage(of: other)
            else { return nil }
            let (rows, objects) = (layout.tables[table], layout.tables[target])
            let statement = try source.query(
                """
                SELECT r.Z_PK FROM \(SQLName.quoted(rows.name)) AS r NOT INDEXED
                JOIN \(SQLName.quoted(objects.name)) AS o ON o.Z_PK = r.\(SQLName.quoted(rows.columns[column]))
                WHERE o.\(SQLName.quoted(objects.columns[back])) IS NOT r.Z_PK
                """)
            while try source.stepping(statement) {
                line.count += 1
                guard line.samples.count < OneSidedLinks.mostSamples else { continue }
                line.samples.append("\(side.entity.definition.name)/p\(statement.integer(0))")
            }
        }
        return line.count > 0 ? line : nil
    }
}
