import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// Finds the relationships of a store whose columns may hold a wrong reference, in one pass over the keys of all tables and one
/// over their references.
///
/// Nothing is wrong with the others. SQLite says what is wrong with these, row by row.
///
/// Memory: the keys of all objects, in files where they outgrow their share of the limit.
final class ReferenceScreen {
    /// A column with the keys of other objects.
    private final class Reference {
        let relationship: RelationshipDescription
        let slot: Int
        /// The slot of the other object's Z_ENT; nil if there is no such column.
        let entitySlot: Int?
        /// The keys that it may hold, by Z_ENT.
        let sets: [Int64: KeyIndex]
        /// The only set of keys; nil if there are others.
        let only: KeyIndex?
        /// A sum over the pairs of the row's key and the reference, and one over the same pairs exchanged.
        var (forward, backward) = (UInt64(0), UInt64(0))

        init(_ relationship: RelationshipDescription, slot: Int, entitySlot: Int?, sets: [Int64: KeyIndex]) {
            (self.relationship, self.slot, self.entitySlot, self.sets) = (relationship, slot, entitySlot, sets)
            only = sets.count == 1 && entitySlot == nil ? sets.values.first : nil
        }

        func mayHold(_ key: Int64, _ number: Int64?) throws(MigrationError) -> Bool {
            if let only { return try only.contains(key) }
            if entitySlot != nil { return try number.flatMap { sets[$0] }?.contains(key) ?? false }
            for set in sets.values where try set.contains(key) { return true }
            return false
        }
    }

    private let scene: VerificationContext
    /// The keys of each table's rows, by Z_ENT; by 0 in a table of one entity.
    private var keys: [[Int64: KeyIndex]]
    private var references: [PropertyReference: Reference] = [:]
    /// The relationships whose columns may hold a wrong reference.
    private(set) var suspects: Set<PropertyReference> = []
    /// The tables that may have a row without an entity, or with a key below 1.
    private(set) var suspectTables: Set<Int> = []

    private var layout: StoreLayout { scene.plan.destination }
    private var schema: StoreSchema { layout.schema }

    init(_ scene: VerificationContext) {
        self.scene = scene
        keys = scene.plan.destination.schema.tables.map { _ in [:] }
    }

    /// Reads all tables.
    ///
    /// - Complexity: two passes over the rows of all tables, and one over the join tables.
    func run() throws {
        for table in schema.tables.indices { try readKeys(table) }
        for table in schema.tables.indices { try readReferences(table) }
        for join in schema.joinTables.indices { try readLinks(join) }
        for (name, reference) in references {
            guard let inverse = reference.relationship.inverseRelationship.flatMap({ references[$0.reference] }) else {
                continue
            }
            if reference.forward != inverse.backward { suspects.insert(name) }
        }
        (keys, references) = ([], [:])
    }

    private func numbers(below entity: EntityDescription) -> [Int64] {
        entity.withDescendants.filter { !$0.isAbstract }.map { Int64(layout.fileNumber(ofEntity: $0.index)) }
    }

    private func isSingle(_ table: Int) -> Bool { schema.tables[table].entities.count == 1 }

    private func readKeys(_ table: Int) throws {
        let known = Set(numbers(below: schema.model.entity(at: schema.tables[table].root)))
        let isSingle = isSingle(table)
        let rows = try scene.rows(
            of: scene.destination, layout, table: table, columns: [EntityTable.entityColumn])
        var last: (number: Int64, keys: KeyIndex)?
        while try rows.advance() {
            let cell = rows.batch[rows.row, 0]
            let number = cell.kind == .integer ? cell.integerValue : .min
            if rows.key < 1 || !known.contains(number) { suspectTables.insert(table) }
            let place = isSingle ? 0 : number
            if let last, last.number == place {
                try last.keys.append(rows.key)
                continue
            }
            let index = keys[table][place] ?? scene.storage.keySet()
            keys[table][place] = index
            last = (place, index)
            try index.append(rows.key)
        }
    }

    /// Returns the keys of objects that a relationship can hold.
    private func sets(_ entity: EntityDescription, hasSubentities: Bool = true) -> [Int64: KeyIndex] {
        let table = schema.tableIndex(of: entity)
        guard hasSubentities, !isSingle(table) else { return keys[table] }
        let numbers = Set(numbers(below: entity))
        return keys[table].filter { numbers.contains($0.key) }
    }

    /// Calls a closure with each relationship, at the entity that declares it.
    private func eachRelationship(_ body: (RelationshipDescription) -> Void) {
        for entity in schema.model.entities {
            for relationship in entity.relationships where relationship.entity == entity { body(relationship) }
        }
    }

    private func readReferences(_ table: Int) throws {
        var columns: [Int] = []
        var found: [Reference] = []
        func slot(_ column: Int) -> Int {
            columns.append(column)
            return columns.count - 1
        }
        eachRelationship { relationship in
            switch schema.storage(of: relationship) {
            case .toOne(table, let column, let entityColumn, _):
                let isSingle = isSingle(schema.tableIndex(of: relationship.destination))
                found.append(
                    Reference(
                        relationship, slot: slot(column), entitySlot: isSingle ? nil : entityColumn.map(slot),
                        sets: sets(relationship.destination)))
            case .toManyHidden(table, let column, _):
                found.append(
                    Reference(
                        relationship, slot: slot(column), entitySlot: nil,
                        sets: sets(relationship.entity, hasSubentities: false)))
            default: break
            }
        }
        guard !found.isEmpty else { return }
        let rows = try scene.rows(of: scene.destination, layout, table: table, columns: columns)
        while try rows.advance() {
            let key = VerificationChecksum.hash(rows.key)
            for reference in found {
                let cell = rows.batch[rows.row, reference.slot]
                guard cell.kind != .null else { continue }
                let value = cell.integerValue
                guard cell.kind == .integer,
                    try reference.mayHold(value, reference.entitySlot.flatMap { rows.integer($0) })
                else {
                    suspects.insert(reference.relationship.reference)
                    continue
                }
                let other = VerificationChecksum.hash(value)
                reference.forward &+= VerificationChecksum.mix(key &+ VerificationChecksum.mix(other))
                reference.backward &+= VerificationChecksum.mix(other &+ VerificationChecksum.mix(key))
            }
        }
        for reference in found where !reference.relationship.isToMany {
            references[reference.relationship.reference] = reference
        }
    }

    private func readLinks(_ table: Int) throws {
        let join = layout.joinTables[table]
        // The far ends of each side's relationship.
        var ends: [(column: Int32, reference: Reference)] = []
        eachRelationship { relationship in
            guard case .join(table, let side) = schema.storage(of: relationship) else { return }
            ends.append(
                (
                    Int32(1 - side),
                    Reference(relationship, slot: 0, entitySlot: nil, sets: sets(relationship.destination))
                ))
        }
        let names = join.sides.map { SQLName.quoted($0.column) }.joined(separator: ", ")
        let links = try scene.destination.query("SELECT \(names) FROM \(SQLName.quoted(join.name)) NOT INDEXED")
        while try links.step() {
            for end in ends {
                if !links.isNull(end.column), try end.reference.mayHold(links.integer(end.column), nil) { continue }
                suspects.insert(end.reference.relationship.reference)
            }
        }
    }
}
