import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The causes why a link of the source has no claim: one of its ends has no object, or none that a lookup finds.
///
/// Memory: a statement for each table of the source and of the destination.
final class LinkEndFates {
    private let run: MigrationRun
    private let archive: AssociationArchive
    private let destination: DestinationStore
    private let fates: ReferenceFates
    private var rows: [Int: Statement] = [:]
    private var made: [Int: Statement] = [:]
    private var found: [ObjectReference] = []

    init(run: MigrationRun, archive: AssociationArchive, destination: DestinationStore) {
        self.run = run
        self.archive = archive
        self.destination = destination
        fates = ReferenceFates(
            run: run, mappings: archive.mappings, makers: .associations(archive.tables),
            hasDeletions: { [archive] in archive.hasDeletions })
    }

    /// Returns the cause; nil if nothing reads the link, which is then left behind as a whole.
    func cause(
        _ readings: LinkReadings, _ owner: Int64, _ member: Int64
    ) throws(MigrationError) -> LinksNotMade.Cause? {
        let tables = readings.set.links
        let first = try entity(of: owner, table: tables.owners, isThere: tables.hasOwner)
        let isReadByOwner = first.entity.map { readings.reads($0, asOwner: true) } ?? false
        // An owner that became nothing takes its links with it, whatever they name.
        if isReadByOwner, let near = first.entity, let cause = try causeOfMissing(owner, table: tables.owners, near) {
            return cause
        }
        let second = try entity(of: member, table: tables.members, isThere: tables.hasMember)
        let isRead = isReadByOwner || (second.entity.map { readings.reads($0, asOwner: false) } ?? false)
        guard isRead else { return first.exists && second.exists ? nil : .dangling }
        guard first.exists, second.exists else { return .dangling }
        guard let near = first.entity, let far = second.entity else { return .stray }
        if let cause = try causeOfMissing(owner, table: tables.owners, near) { return cause }
        if let cause = try causeOfMissing(member, table: tables.members, far) { return cause }
        for reading in readings.readings where reading.mapping.reads(reading.isForward ? near : far) {
            let (key, table) = reading.isForward ? (member, tables.members) : (owner, tables.owners)
            if try objects(of: key, table: table).contains(where: {
                schema.model.entity(at: Int($0.entity)).isKindOf(entity: reading.planned.relationship.destination)
            }) {
                return .otherMapping
            }
        }
        return .otherEntity
    }

    private var schema: StoreSchema { run.inputs.destinationSchema }

    /// Returns the cause why a source object has no destination object; nil if it has one.
    private func causeOfMissing(
        _ key: Int64, table: Int, _ entity: EntityDescription
    ) throws(MigrationError) -> LinksNotMade.Cause? {
        guard try objects(of: key, table: table).isEmpty else { return nil }
        return fates.fate(ofRowsOf: entity).cause
    }

    private func objects(of key: Int64, table: Int) throws(MigrationError) -> [ObjectReference] {
        found.removeAll(keepingCapacity: true)
        for associations in archive.tables {
            try associations.destinations(ofKey: key, table: table, into: &found)
        }
        return found
    }

    /// Tells whether a row of the source exists, and returns its entity; nil if the model has none for it.
    ///
    /// - Parameter isThere: true if the row is known to exist.
    private func entity(
        of key: Int64, table: Int, isThere: Bool = false
    ) throws(MigrationError) -> (exists: Bool, entity: EntityDescription?) {
        let layout = run.inputs.layout
        let entities = layout.schema.tables[table].entities
        if isThere, entities.count == 1 { return (true, layout.schema.model.entity(at: entities[0])) }
        let statement: Statement
        if let known = rows[table] {
            statement = known
        } else {
            let source = layout.tables[table]
            statement = try run.inputs.source.query(
                "SELECT \(source.columns[EntityTable.entityColumn].quoted) FROM \(source.name.quoted) WHERE \"Z_PK\" = ?1"
            )
            rows[table] = statement
        }
        statement.bind(key, at: 1)
        defer { statement.reset() }
        guard try run.inputs.source.stepping(statement) else { return (false, nil) }
        // Real rows of a single entity may have a wrong number.
        let index =
            entities.count == 1
            ? entities[0]
            : layout.entity(inTable: table, forFileNumber: Int(truncatingIfNeeded: statement.integer(0)))
        return (true, index.map(layout.schema.model.entity(at:)))
    }

    /// Tells whether the source lacks a row.
    func isMissing(_ key: Int64, table: Int) throws(MigrationError) -> Bool {
        try !entity(of: key, table: table).exists
    }

    /// Tells whether the destination has a row.
    func hasRow(_ key: Int64, table: Int) throws(MigrationError) -> Bool {
        let statement: Statement
        if let known = made[table] {
            statement = known
        } else {
            statement = try destination.connection.prepare(
                "SELECT 1 FROM \(SQLName.quoted(schema.tables[table].name)) WHERE Z_PK = ?1")
            made[table] = statement
        }
        statement.bind(key, at: 1)
        defer { statement.reset() }
        return try statement.step()
    }
}
