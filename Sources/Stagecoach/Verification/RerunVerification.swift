import CoreDataStore
import Diagnostics
import ManagedModel

/// Compares all that cannot be worked out from the source with a second run, policies included, into a private store.
///
/// This trusts the policies and the engine: both runs make the same mistakes. Objects that were worked out from the
/// source are not compared again, except for links that could not be worked out.
///
///     each table: rows of both stores by key  → presence; every column, or only those of open links
///     each open pair with a join table        → both columns and both ordering keys
///
/// Memory: a row of each store.
final class RerunVerification {
    private let again: SourceStore
    private let layout: StoreLayout
    private let external: VerifiedExternal
    private let findings: VerificationFindings
    /// True for pairs of relationships that could not be worked out, by the pair's index.
    var isOpen: [Int: Bool] = [:]

    /// Opens the comparison with a second run's store.
    ///
    /// - Parameter external: the folder of the destination's external values.
    init(
        _ again: SourceStore, model: ManagedObjectModel, external: ExternalFolder, findings: VerificationFindings
    ) throws(MigrationError) {
        self.again = again
        self.findings = findings
        layout = try again.layout(for: model)
        self.external = VerifiedExternal(source: ExternalFolder(store: again.path), destination: external)
    }

    func close() { try? again.close() }

    /// Returns the highest key (Z_MAX) of a root entity, by its number in the file.
    func maximumKey(_ number: Int) -> Int64? { again.primaryKeys.first { $0.number == number }?.maximum }

    func compare(_ context: VerificationContext) throws {
        let schema = context.plan.destination.schema
        findings.note(
            "The policies ran again into a private store, and what they made there was compared: that trusts the policies, and is not independent of the engine"
        )
        var columns: [Int: Set<Int>] = [:]
        for pair in context.plan.linkPairs where isOpen[pair.index] == true {
            for end in [pair.near, pair.far].compactMap({ $0 }) {
                switch schema.storage(of: end) {
                case .toOne(let table, let column, let entityColumn, let orderColumn):
                    columns[table, default: []].formUnion([column, entityColumn, orderColumn].compactMap { $0 })
                case .toManyHidden(let table, let column, let orderColumn):
                    columns[table, default: []].formUnion([column, orderColumn].compactMap { $0 })
                case .join where end == pair.near:
                    let wanted = try LinkVerification.found(pair, again, layout)
                    _ = try LinkVerification(context: context, pair: pair, links: wanted, isAgain: true).run()
                default: break
                }
            }
        }
        for table in schema.tables.indices {
            try compare(table: table, open: columns[table, default: []].sorted(), context)
        }
    }

    // MARK: - Tables

    private func compare(table: Int, open: [Int], _ context: VerificationContext) throws {
        let found = try context.rows(of: context.destination, context.plan.destination, table: table)
        let wanted = try context.rows(of: again, layout, table: table)
        // The objects that were worked out from the source.
        var known = try context.storage.rows(ofTable: table)
        let columns = Array(layout.schema.tables[table].columns.indices)
        var (hasFound, hasWanted) = (try found.advance(), try wanted.advance())
        while hasFound || hasWanted {
            let key = min(found.key, wanted.key)
            let isKnown = try known.advance(to: key) != nil
            let isFound = hasFound && found.key == key
            let isWanted = hasWanted && wanted.key == key
            if isFound, isWanted {
                try compare(isKnown ? open : columns, of: table, wanted, found, context)
            } else if !isKnown {
                let row = isFound ? found : wanted
                let place = context.plan.objectID(table: table, number: row.integer(EntityTable.entityColumn), key: key)
                findings.add(
                    isFound ? .extraObject : .missingObject, place.entity, place.id,
                    expected: isFound ? nil : "an object, which the policies made when they ran again",
                    found: isFound ? "an object" : nil)
            }
            if isFound { hasFound = try found.advance() }
            if isWanted { hasWanted = try wanted.advance() }
        }
    }

    private func compare(
        _ columns: [Int], of table: Int, _ wanted: SequentialRows, _ found: SequentialRows,
        _ context: VerificationContext
    ) throws {
        let schema = context.plan.destination.schema
        for column in columns {
            let (expected, cell) = (wanted.cell(column), found.cell(column))
            if VerifiedCell.areEqual(expected, cell) { continue }
            let (kind, property) = Self.meaning(schema.tables[table].columns[column].role)
            var shown = (expected: expected.shown, found: cell.shown)
            if case .attribute(let reference) = schema.tables[table].columns[column].role {
                let attribute = schema.model.entity(at: reference.entity).attribute(named: reference.name)
                // Derived attributes are compared with the destination's own rows elsewhere.
                if attribute?.isDerived == true { continue }
                if attribute?.definition.allowsExternalBinaryDataStorage == true {
                    guard let problem = try external.compare(expected, cell).problem else { continue }
                    shown = (problem.expected, problem.found)
                }
            }
            let place = context.plan.objectID(
                table: table, number: found.integer(EntityTable.entityColumn), key: found.key)
            findings.add(kind, place.entity, place.id, property: property, expected: shown.expected, found: shown.found)
            guard kind == .value else { continue }
            findings.note(
                "\(place.entity).\(property): the policies gave other values when they ran again; the time, random numbers and new UUIDs are never the same twice"
            )
        }
    }

    private static func meaning(_ role: ColumnRole) -> (VerificationReport.Kind, String) {
        switch role {
        case .entity: (.entity, "Z_ENT")
        case .lock: (.lock, "Z_OPT")
        case .attribute(let reference): (.value, reference.name)
        case .toOne(let reference), .hiddenOwner(let reference): (.relationship, reference.name)
        case .toOneEntity(let reference): (.entity, reference.name)
        case .order(let reference), .hiddenOrder(let reference): (.order, reference.name)
        }
    }
}
