import CoreDataStore
import Diagnostics
import ManagedModel

/// Compares everything that cannot be worked out from the source with a second run of the migration, policies included,
/// into a private store.
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

    func compare(_ scene: VerificationContext) throws {
        let schema = scene.plan.destination.schema
        findings.note(
            "The policies ran again into a private store, and what they made there was compared: that trusts the policies, and is not independent of the engine"
        )
        var columns: [Int: Set<Int>] = [:]
        for pair in scene.plan.linkPairs where isOpen[pair.index] == true {
            for end in [pair.near, pair.far].compactMap({ $0 }) {
                switch schema.storage(of: end) {
                case .toOne(let table, let column, let entityColumn, let orderColumn):
                    columns[table, default: []].formUnion([column, entityColumn, orderColumn].compactMap { $0 })
                case .toManyHidden(let table, let column, let orderColumn):
                    columns[table, default: []].formUnion([column, orderColumn].compactMap { $0 })
                case .join(let table, let side) where end == pair.near:
                    try compare(joinTable: table, side: side, pair, scene)
                default: break
                }
            }
        }
        for table in schema.tables.indices {
            try compare(table: table, open: columns[table, default: []].sorted(), scene)
        }
    }

    // MARK: - Tables

    private func rows(_ store: SourceStore, _ table: SourceTable) throws(MigrationError) -> Statement {
        let columns = table.columns.map(SQLName.quoted).joined(separator: ", ")
        return try store.query("SELECT Z_PK, \(columns) FROM \(SQLName.quoted(table.name)) NOT INDEXED ORDER BY Z_PK")
    }

    private func compare(table: Int, open: [Int], _ scene: VerificationContext) throws {
        let found = try rows(scene.destination, scene.plan.destination.tables[table])
        let wanted = try rows(again, layout.tables[table])
        // The objects that were worked out from the source.
        var known = try scene.storage.rows(ofTable: table)
        let columns = Array(scene.plan.destination.schema.tables[table].columns.indices)
        var (hasFound, hasWanted) = (try found.step(), try wanted.step())
        var count = 0
        while hasFound || hasWanted {
            count += 1
            if count % 1024 == 0 { try scene.checkCancelled() }
            let key = min(hasFound ? found.integer(0) : .max, hasWanted ? wanted.integer(0) : .max)
            let isKnown = try known.advance(to: key) != nil
            let isFound = hasFound && found.integer(0) == key
            let isWanted = hasWanted && wanted.integer(0) == key
            if isFound, isWanted {
                try compare(isKnown ? open : columns, of: table, wanted, found, scene)
            } else if !isKnown {
                let row = isFound ? found : wanted
                let place = scene.plan.objectID(table: table, number: row.isNull(1) ? nil : row.integer(1), key: key)
                findings.add(
                    .init(
                        kind: isFound ? .extraObject : .missingObject, entity: place.entity, objectID: place.id,
                        expected: isFound ? nil : "an object, which the policies made when they ran again",
                        found: isFound ? "an object" : nil))
            }
            if isFound { hasFound = try found.step() }
            if isWanted { hasWanted = try wanted.step() }
        }
    }

    private func compare(
        _ columns: [Int], of table: Int, _ wanted: Statement, _ found: Statement, _ scene: VerificationContext
    ) throws {
        let schema = scene.plan.destination.schema
        for column in columns {
            let (expected, cell) = (VerifiedCell(wanted, Int32(column + 1)), VerifiedCell(found, Int32(column + 1)))
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
            let place = scene.plan.objectID(
                table: table, number: found.isNull(1) ? nil : found.integer(1), key: found.integer(0))
            findings.add(
                .init(
                    kind: kind, entity: place.entity, objectID: place.id, property: property, expected: shown.expected,
                    found: shown.found))
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

    // MARK: - Join tables

    private func rows(
        _ store: SourceStore, _ table: SourceJoinTable, _ side: Int
    ) throws(MigrationError) -> Statement {
        let (near, far) = (table.sides[side], table.sides[1 - side])
        let (a, b) = (SQLName.quoted(near.column), SQLName.quoted(far.column))
        let orders = [far.orderColumn, near.orderColumn].map { $0.map(SQLName.quoted) ?? "NULL" }
        return try store.query(
            "SELECT \(a), \(b), \(orders[0]), \(orders[1]) FROM \(SQLName.quoted(table.name)) NOT INDEXED ORDER BY \(a), \(b)"
        )
    }

    private func compare(joinTable: Int, side: Int, _ pair: LinkPair, _ scene: VerificationContext) throws {
        let found = try rows(scene.destination, scene.plan.destination.joinTables[joinTable], side)
        let wanted = try rows(again, layout.joinTables[joinTable], side)
        let owner = pair.near.entity.definition.name
        let member = pair.near.destination.definition.name
        func add(_ kind: VerificationReport.Kind, _ key: Int64, _ expected: String?, _ found: String?) {
            findings.add(
                .init(
                    kind: kind, entity: owner, objectID: "\(owner)/p\(key)", property: pair.near.name,
                    expected: expected, found: found))
        }
        func places(_ row: Statement) -> String {
            "\(member)/p\(row.integer(1)) at \(row.text(2) ?? "no place"), \(row.text(3) ?? "no place")"
        }
        var (hasFound, hasWanted) = (try found.step(), try wanted.step())
        var count = 0
        while hasFound || hasWanted {
            count += 1
            if count % 1024 == 0 { try scene.checkCancelled() }
            let one = hasFound ? (found.integer(0), found.integer(1)) : (.max, .max)
            let other = hasWanted ? (wanted.integer(0), wanted.integer(1)) : (.max, .max)
            if one == other {
                let (expected, place) = (places(wanted), places(found))
                if expected != place { add(.order, one.0, expected, place) }
                (hasFound, hasWanted) = (try found.step(), try wanted.step())
            } else if one < other {
                add(.relationship, one.0, nil, "\(member)/p\(one.1)")
                hasFound = try found.step()
            } else {
                add(.relationship, other.0, "\(member)/p\(other.1)", nil)
                hasWanted = try wanted.step()
            }
        }
    }
}
