import Diagnostics
import SpillStorage

/// Takes the objects of a store of type XML or binary in any order, and brings rows, references and links into the order in
/// which a private store is written.
///
/// Memory: the allowance, and the row of one object.
final class ObjectIntake {
    /// A value of an attribute, as an SQLite store keeps it. The bytes are valid during the call that passes them.
    enum Value {
        case integer(Int64)
        case real(Double)
        case text(UnsafeRawBufferPointer)
        case blob(UnsafeRawBufferPointer)
    }

    /// The greatest number that an object may have, 2^47 - 1. The sort key of a row is a word of 64 bits, with the table's index in
    /// the upper 16 bits and the object's key in the others.
    static let greatestID: Int64 = 1 << 47 - 1
    /// The most tables of a model.
    private static let mostTables = 1 << 16

    let model: AtomicModel
    /// The rows by table and key.
    let rows: EntrySorter
    /// Number and entity of each object.
    let objects: RecordSorter
    /// The target's number, the owner's key and the number of the relationship of each reference.
    let references: RecordSorter
    /// Pair, the keys of its two sides, and the side that lists the link with its position there.
    let links: RecordSorter
    /// The highest key of each table, 0 for none.
    private(set) var maximumKeys: [Int64]
    /// The lowest key of each table.
    private(set) var minimumKeys: [Int64]
    /// The highest number of each table whose numbers follow those of the table before; empty if numbers are keys.
    private let bounds: [Int64]
    /// The number of objects of each entity of the model.
    private(set) var counts: [Int]

    private var entity = 0
    private var id: Int64 = 0
    private var row: [UInt8] = []
    private var relationship: AtomicModel.Relationship?
    private var position = 0
    private var taken = 0
    /// The number of the object that had a column or a relationship last: each may be there once in an object.
    private var columnSeen: [[Int]]
    private var relationshipSeen: [Int]

    /// - Parameters:
    ///   - memory: the allowance in bytes.
    ///   - bounds: as ``bounds`` says.
    init(
        _ model: AtomicModel, directory: WorkDirectory, memory: Int, bounds: [Int64] = []
    ) throws(MigrationError) {
        self.model = model
        self.bounds = bounds
        guard model.schema.tables.count < Self.mostTables else {
            throw MigrationError(
                "schema.tooManyTables", .configuration,
                "The model has \(model.schema.tables.count.counted("root entity", "root entities"))")
        }
        rows = EntrySorter(directory: directory, name: "rows", order: RowEntryOrder(), memory: memory / 2)
        func sorter(_ name: String, _ width: Int) -> RecordSorter {
            RecordSorter(directory: directory, name: name, width: width, memory: memory / 8)
        }
        objects = sorter("objects", 2)
        references = sorter("references", 3)
        links = sorter("links", 4)
        maximumKeys = model.schema.tables.map { _ in 0 }
        minimumKeys = model.schema.tables.map { _ in .max }
        counts = model.entities.map { _ in 0 }
        columnSeen = model.schema.tables.map { $0.columns.map { _ in 0 } }
        relationshipSeen = model.numbered.map { _ in 0 }
    }

    /// The entity of the object that was begun.
    var current: AtomicModel.Entity { model.entities[entity] }

    /// An error of the object that was begun.
    func failure(
        _ code: MigrationError.Code, _ message: String, property: String? = nil, remedy: String? = nil
    ) -> MigrationError {
        let name = current.entity.definition.name
        return MigrationError(
            code, .data, message, remedy: remedy,
            context: .init(entity: name, objectID: "\(name)/p\(id)", property: property))
    }

    /// Begins an object.
    ///
    /// - Throws: `store.abstractObject`, `store.objectID` (65).
    func begin(entity: Int, id number: Int64) throws(MigrationError) {
        let id = key(of: number)
        (self.entity, self.id) = (entity, id)
        taken += 1
        let current = model.entities[entity]
        guard !current.entity.isAbstract else {
            throw failure("store.abstractObject", "An object is of an abstract entity")
        }
        guard id > 0, id <= Self.greatestID else {
            throw failure("store.objectID", "An object has the impossible number \(id)")
        }
        row.removeAll(keepingCapacity: row.capacity < 1 << 20)
        append(UInt64(current.table) << 48 | UInt64(id))
        set(.integer(current.number), column: 0)
        set(.integer(1), column: 1)
        try objects.append(UInt64(number), UInt64(entity))
        maximumKeys[current.table] = max(maximumKeys[current.table], id)
        minimumKeys[current.table] = min(minimumKeys[current.table], id)
        counts[entity] += 1
    }

    /// Sets an attribute of the object.
    ///
    /// - Throws: `store.propertyTwice` (65).
    func set(_ attribute: AtomicModel.Attribute, _ value: Value) throws(MigrationError) {
        let table = current.table
        guard columnSeen[table][attribute.column] != taken else {
            throw failure("store.propertyTwice", "An object has an attribute twice", property: attribute.name)
        }
        columnSeen[table][attribute.column] = taken
        set(value, column: attribute.column, isMarked: attribute.isMarked)
    }

    /// Begins a relationship of the object.
    ///
    /// - Throws: `store.propertyTwice` (65).
    func begin(_ relationship: AtomicModel.Relationship) throws(MigrationError) {
        guard relationshipSeen[relationship.number] != taken else {
            throw failure("store.propertyTwice", "An object has a relationship twice", property: relationship.name)
        }
        relationshipSeen[relationship.number] = taken
        self.relationship = relationship
        position = 0
    }

    private func key(of number: Int64) -> Int64 { number - (bounds.last { $0 < number } ?? 0) }

    /// Adds an object to the relationship that was begun.
    ///
    /// - Throws: `store.tooManyObjects` (65) if a to-one relationship gets a second one.
    func target(_ number: Int64) throws(MigrationError) {
        guard let relationship else { return }
        let target = key(of: number)
        guard relationship.isToMany || position == 0 else {
            throw failure(
                "store.tooManyObjects", "An object has several objects in a to-one relationship",
                property: relationship.name)
        }
        if let column = relationship.column { set(.integer(target), column: column) }
        try references.append(UInt64(number), UInt64(id), UInt64(relationship.number))
        if let (pair, side) = relationship.pair {
            let keys = side == 0 ? (id, target) : (target, id)
            try links.append(
                UInt64(pair), UInt64(keys.0), UInt64(keys.1), UInt64(side) << 32 | UInt64(UInt32(clamping: position)))
        }
        position += 1
    }

    /// Ends the object.
    ///
    /// - Throws: `store.valueTooLarge` (65).
    func end() throws(MigrationError) {
        guard row.count <= rows.largestEntry else {
            let name = current.entity.definition.name
            throw AtomicStoreError.tooLarge(rows.largestEntry, nil, .init(entity: name, objectID: "\(name)/p\(id)"))
        }
        try rows.append(size: row.count) { place in
            row.withUnsafeBytes { bytes in
                if let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: bytes.count) }
            }
        }
    }

    // MARK: The row's bytes

    private func append(_ word: UInt64) {
        withUnsafeBytes(of: word.littleEndian) { row.append(contentsOf: $0) }
    }

    private func set(_ value: Value, column: Int, isMarked: Bool = false) {
        row.append(UInt8(truncatingIfNeeded: column))
        row.append(UInt8(truncatingIfNeeded: column >> 8))
        switch value {
        case .integer(let integer):
            row.append(RowEntry.integer)
            append(UInt64(bitPattern: integer))
        case .real(let real):
            row.append(RowEntry.real)
            append(real.bitPattern)
        case .text(let bytes):
            row.append(RowEntry.text)
            append(UInt64(bytes.count))
            row.append(contentsOf: bytes)
        case .blob(let bytes):
            row.append(RowEntry.blob)
            append(UInt64(bytes.count + (isMarked ? 1 : 0)))
            if isMarked { row.append(RowEntry.inlineMarker) }
            row.append(contentsOf: bytes)
        }
    }
}

/// Orders rows by table and key, which are the first word of each.
private final class RowEntryOrder: EntryOrder {
    func prefix(of entry: UnsafeRawBufferPointer) -> UInt64 {
        UInt64(littleEndian: entry.loadUnaligned(as: UInt64.self))
    }

    func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let (left, right) = (prefix(of: left), prefix(of: right))
        return left < right ? -1 : left > right ? 1 : 0
    }
}
