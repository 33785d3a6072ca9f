import CoreDataStore
import ManagedModel

/// The sum of a plain set of links (``PlainLinks``): its links in the source are those in the destination, and the references that
/// the lookups counted as missing.
///
/// SQLite counts both sides from the finished files, so the sum holds for every way in which links are written, and for a run that
/// was resumed.
struct LinkSums {
    let run: MigrationRun
    let destination: DestinationStore
    let census: SourceCensus

    /// Tells whether the sum of a set is right.
    ///
    /// - Parameters:
    ///   - naming: the destination's relationship that names the set.
    ///   - missing: the references that found no object.
    /// - Throws: `store.damaged`, `store.io` (74).
    /// - Complexity: O(n) in the links, or in the objects without one if these are fewer: some ten nanoseconds for each, where
    ///   the column has an index, as Core Data makes it.
    func isRight(_ set: SourceLinkSet, _ naming: RelationshipDescription, missing: Int) throws -> Bool {
        guard let made = madeLinks(of: naming, areMost: areMost(set)) else { return false }
        let statement = try run.inputs.source.query(sourceLinks(of: set))
        guard try run.inputs.source.stepping(statement) else { return false }
        let counted = try destination.connection.prepare(made)
        guard try counted.step() else { return false }
        return statement.integer(0) == counted.integer(0) + Int64(missing)
    }

    /// Returns the query for the number of a set's links in the source.
    private func sourceLinks(of set: SourceLinkSet) -> String {
        let layout = run.inputs.layout
        switch set.links.place {
        case .owners(let table, let column), .members(let table, let column):
            let rows = layout.tables[table]
            return Self.references(rows.name.quoted, rows.columns[column].quoted, areMost: areMost(set))
        case .join(let table, _): return "SELECT count(*) FROM \(layout.joinTables[table].name.quoted)"
        }
    }

    /// Returns the query for the number of links that the run made; nil if the destination has no place for them.
    private func madeLinks(of naming: RelationshipDescription, areMost: Bool) -> String? {
        let schema = run.inputs.destinationSchema
        switch schema.storage(of: naming) {
        case .none, .toManyByInverse: return nil
        case .toOne(let table, let column, _, _), .toManyHidden(let table, let column, _):
            let rows = schema.tables[table]
            return Self.references(
                SQLName.quoted(rows.name), SQLName.quoted(rows.columns[column].name),
                after: run.inputs.highestKeys[table], areMost: areMost)
        case .join(let table, _):
            let name = SQLName.quoted(schema.joinTables[table].name)
            return "SELECT count(*) - \(run.tally.existingLinks[table]) FROM \(name)"
        }
    }

    /// Returns the query for the number of rows that have a reference.
    ///
    /// - Parameters:
    ///   - key: only rows with greater keys are counted.
    ///   - areMost: true if most rows have one: then the others are counted.
    private static func references(_ table: String, _ column: String, after key: Int64 = 0, areMost: Bool) -> String {
        let own = key > 0 ? "Z_PK > \(key)" : "1"
        guard areMost else { return "SELECT count(*) FROM \(table) WHERE \(column) IS NOT NULL AND \(own)" }
        let all = "SELECT count(*) FROM \(table)" + (key > 0 ? " WHERE \(own)" : "")
        return "SELECT (\(all)) - (SELECT count(*) FROM \(table) WHERE \(column) IS NULL AND \(own))"
    }

    /// Tells whether most rows of the table that holds a set's links are of entities that have the relationship.
    private func areMost(_ set: SourceLinkSet) -> Bool {
        let holder: EntityDescription
        let table: Int
        switch set.links.place {
        case .owners(let owners, _): (holder, table) = (set.relationship.entity, owners)
        case .members(let members, _): (holder, table) = (set.relationship.destination, members)
        case .join: return true
        }
        let objects = holder.withDescendants.reduce(0) { $0 + census.count(of: $1) }
        return objects * 2 > census.rows[table].values.reduce(0, +)
    }
}
