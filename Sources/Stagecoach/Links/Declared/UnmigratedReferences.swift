import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The references to source objects that a mapping model does not migrate. They are kept until the end, because a policy or a
/// later mapping model may still set the relationship. Only references that are nil in the end are counted.
///
/// Memory: a small buffer; the rest is a log on disk, 24 bytes per reference before compression.
final class UnmigratedReferences {
    /// A relationship whose lookup found nothing.
    private struct Lookup {
        let relationship: RelationshipDescription
        /// The table of the source objects that were looked up.
        let sourceTable: Int
        let counted: CountedRelationship

        init(_ relationship: RelationshipDescription, sourceTable: Int) {
            self.relationship = relationship
            self.sourceTable = sourceTable
            counted = CountedRelationship(relationship)
        }
    }

    private var lookups: [Lookup] = []
    /// The words of a record: the lookup's number, the owner's key, the source key that was looked up.
    private let log: RecordLog

    init(_ run: MigrationRun) {
        log = RecordLog(
            directory: run.inputs.work, name: "unmigrated", width: 3, indexWords: 2,
            memory: RecordMemory(bytes: max(256 << 10, run.inputs.budget.sorts / 16)))
    }

    /// Writes the references, or restores them: this instance must be empty. The log's part in memory goes to its files before.
    func code(with coder: inout StateCoder, model: ManagedObjectModel) throws(MigrationError) {
        try coder.code(objects: &lookups, upTo: 1 << 24) { coder, known throws(MigrationError) in
            var entity = known?.relationship.entity.index ?? 0
            var name = known?.relationship.name ?? ""
            var table = known?.sourceTable ?? 0
            try coder.code(&entity, upTo: model.entities.count - 1)
            try coder.code(&name)
            try coder.code(&table, upTo: 1 << 24)
            if let known { return known }
            guard let found = model.entity(at: entity).relationship(named: name) else {
                throw StateReader.damaged(name)
            }
            return Lookup(found, sourceTable: table)
        }
        try log.code(with: &coder)
    }

    /// Returns the number of a relationship whose lookups are noted.
    ///
    /// - Parameter sourceTable: the index of the table whose objects are looked up.
    func number(of relationship: RelationshipDescription, sourceTable: Int) -> UInt64 {
        if let known = lookups.lastIndex(where: { $0.relationship == relationship && $0.sourceTable == sourceTable }) {
            return UInt64(known)
        }
        lookups.append(Lookup(relationship, sourceTable: sourceTable))
        return UInt64(lookups.count - 1)
    }

    /// Notes that a lookup found nothing.
    ///
    /// - Parameters:
    ///   - owner: the key of the destination object that has the relationship.
    ///   - source: the key of the source object that was looked up.
    func note(_ number: UInt64, owner: Int64, source: Int64) throws(MigrationError) {
        try log.append(number, SortKey.encode(owner), SortKey.encode(source))
    }

    /// Counts the references that are nil in the end, each once. References of deleted objects do not count.
    ///
    /// - Parameters:
    ///   - destination: the store with all its rows.
    ///   - archive: the associations of all mapping models.
    /// - Complexity: one lookup by key for each noted reference.
    func nilReferences(
        in destination: DestinationStore, _ run: MigrationRun, _ archive: AssociationArchive
    ) throws -> ReferenceCounts {
        let fates = ReferenceFates(
            run: run, mappings: archive.mappings,
            makers: .associations(archive.tables),
            hasDeletions: { archive.hasDeletions })
        let cursor = try log.scan()
        var last: (UInt64, UInt64, UInt64)?
        var ends: (number: UInt64, end: RelationshipEnd)?
        var counts = ReferenceCounts()
        try withRecords(3) { record, _ in
            while try cursor.next(into: record) {
                let reference = (record[0], record[1], record[2])
                if let last, last == reference { continue }
                last = reference
                try run.services.checkCancelled()
                let lookup = lookups[Int(record[0])]
                if ends?.number != record[0] {
                    ends = (
                        record[0],
                        try RelationshipEnd(
                            lookup.relationship, sourceTable: lookup.sourceTable, in: destination,
                            run.inputs.destinationSchema, archive)
                    )
                }
                let (owner, source) = (SortKey.decode(record[1]), SortKey.decode(record[2]))
                if try ends?.end.isNil(owner: owner, source: source) == true {
                    counts.add(
                        lookup.counted,
                        try fates.fate(of: source, table: lookup.sourceTable, for: lookup.relationship), owner: owner)
                }
            }
        }
        return counts
    }
}

/// A reader of one relationship in the filled store.
private final class RelationshipEnd {
    private let archive: AssociationArchive
    private let sourceTable: Int
    private let owner: Statement
    private let links: ExistingLinkReader?
    private let isToMany: Bool
    private var found: [ObjectReference] = []

    init(
        _ relationship: RelationshipDescription, sourceTable: Int, in destination: DestinationStore,
        _ schema: StoreSchema, _ archive: AssociationArchive
    ) throws(MigrationError) {
        self.archive = archive
        self.sourceTable = sourceTable
        isToMany = relationship.isToMany
        let table = SQLName.quoted(schema.tables[schema.tableIndex(of: relationship.entity)].name)
        owner = try destination.connection.prepare("SELECT 1 FROM \(table) WHERE Z_PK = ?1")
        links = try ExistingLinkReader(destination, relationship: relationship, isReversed: false)
    }

    /// Tells whether an existing object has no link for a source object: in a to-one no link at all, in a to-many none to the
    /// objects that the source object became.
    func isNil(owner key: Int64, source: Int64) throws(MigrationError) -> Bool {
        owner.bind(key, at: 1)
        let exists = try owner.step()
        owner.reset()
        guard exists, let links else { return false }
        guard isToMany else { return try links.links(of: key).isEmpty }
        for table in archive.tables {
            found.removeAll(keepingCapacity: true)
            try table.destinations(ofKey: source, table: sourceTable, into: &found)
            for object in found where try links.link(of: key, to: object.key) != nil { return false }
        }
        return true
    }
}
