import CoreDataStore
import Diagnostics
import Rows
import SpillStorage

/// Checks the references and links of a store's objects, once all are read, and puts those links that have no place in their
/// owner's own row where they belong: into rows of join tables, and into patches of other rows.
///
/// Memory: the allowance of the sorters.
struct LinkIntake {
    let intake: ObjectIntake
    let store: DestinationStore
    /// Table, key, column and value of each patch.
    let patches: RecordSorter
    private var model: AtomicModel { intake.model }

    init(_ intake: ObjectIntake, store: DestinationStore, directory: WorkDirectory, memory: Int) {
        self.intake = intake
        self.store = store
        patches = RecordSorter(directory: directory, name: "patches", width: 4, memory: memory / 8)
    }

    // MARK: References

    /// Checks that each id is there once, and that each reference is to an object of the relationship's destination entity.
    ///
    /// - Throws: `store.objectTwice`, `store.danglingReference`, `store.wrongDestination` (65).
    func checkReferences() throws(MigrationError) {
        let objects = try intake.objects.finish()
        let references = try intake.references.finish()
        try withWords(5) { words throws(MigrationError) in
            let (object, reference) = (words, words + 2)
            var hasReference = try references.next(into: reference)
            var last: UInt64?
            while try objects.next(into: object) {
                guard last != object[0] else {
                    throw failure(
                        "store.objectTwice", "The id \(object[0]) is that of two objects", entity: Int(object[1]),
                        Int64(object[0]))
                }
                last = object[0]
                while hasReference, reference[0] <= object[0] {
                    guard reference[0] == object[0] else { throw dangling(reference) }
                    try take(reference, entity: model.entities[Int(object[1])])
                    hasReference = try references.next(into: reference)
                }
            }
            if hasReference { throw dangling(reference) }
        }
    }

    private func take(_ reference: UnsafePointer<UInt64>, entity: AtomicModel.Entity) throws(MigrationError) {
        let relationship = model.numbered[Int(reference[2])]
        guard entity.entity.isKindOf(entity: relationship.destination) else {
            throw MigrationError(
                "store.wrongDestination", .data,
                "The object \(reference[1]) names the object \(reference[0]) in \(relationship.name), which is of the entity "
                    + "\(entity.entity.definition.name) and not of \(relationship.destination.definition.name)",
                context: .init(entity: relationship.entity.definition.name, property: relationship.name))
        }
        if case .toOne(let table, _, let column?, _) = model.schema.storage(of: relationship) {
            try patches.append(
                UInt64(table), reference[1], UInt64(column), UInt64(bitPattern: entity.number))
        }
    }

    private func dangling(_ reference: UnsafePointer<UInt64>) -> MigrationError {
        let relationship = model.numbered[Int(reference[2])]
        return MigrationError(
            "store.danglingReference", .data,
            "The object \(reference[1]) names the object \(reference[0]) in \(relationship.name), and the store has none of "
                + "that id",
            remedy: "Take the id out of the relationship in a copy of the store, or restore it from a backup",
            context: .init(entity: relationship.entity.definition.name, property: relationship.name))
    }

    private func failure(
        _ code: MigrationError.Code, _ message: String, entity: Int, _ id: Int64
    ) -> MigrationError {
        let name = model.entities[entity].entity.definition.name
        return MigrationError(code, .data, message, context: .init(entity: name, objectID: "\(name)/p\(id)"))
    }

    // MARK: Links

    /// The places of a link in the lists of its two sides; nil: that side does not list it.
    private typealias Sides = (first: Int?, second: Int?)

    /// Checks that both sides of a pair list the same links, writes the rows of join tables, and makes the patches.
    ///
    /// - Throws: `store.oneSidedLink`, `store.linkTwice`, `store.twoOwners` (65); the errors of writing.
    func writeLinks() throws(MigrationError) {
        let links = try intake.links.finish()
        try withWords(8) { words throws(MigrationError) in
            let (link, next) = (words, words + 4)
            var rows: JoinRows?
            var hasNext = try links.next(into: next)
            var previous: (pair: UInt64, member: UInt64)?
            while hasNext {
                link.update(from: next, count: 4)
                var sides: Sides = (nil, nil)
                while hasNext, next[0] == link[0], next[1] == link[1], next[2] == link[2] {
                    try note(next, in: &sides)
                    hasNext = try links.next(into: next)
                }
                let pair = model.pairs[Int(link[0])]
                if pair.isMutual, sides.first == nil || sides.second == nil { throw oneSided(link, pair, sides) }
                switch pair.kind {
                case .join(let table):
                    if rows?.table != table {
                        try rows?.finish()
                        rows = try JoinRows(table, store)
                    }
                    try rows?.append(link, first: sides.first, second: sides.second)
                case .column: try patchOrder(link, pair, sides)
                case .hidden(let column):
                    guard previous?.pair != link[0] || previous?.member != link[1] else {
                        throw MigrationError(
                            "store.twoOwners", .data,
                            "The object \(link[1]) is in the \(pair.names[1]) of two objects, which has no inverse",
                            context: .init(property: pair.names[1]))
                    }
                    previous = (link[0], link[1])
                    try patches.append(UInt64(pair.table), link[1], UInt64(column), link[2])
                    try patchOrder(link, pair, sides)
                }
            }
            try rows?.finish()
        }
    }

    private func patchOrder(
        _ link: UnsafePointer<UInt64>, _ pair: AtomicModel.Pair, _ sides: Sides
    ) throws(MigrationError) {
        guard let column = pair.orderColumn, let position = sides.second else { return }
        try patches.append(
            UInt64(pair.table), link[1], UInt64(column), UInt64(bitPattern: JoinRows.orderKey(position)))
    }

    private func note(_ link: UnsafePointer<UInt64>, in sides: inout Sides) throws(MigrationError) {
        let position = Int(link[3] & 0xFFFF_FFFF)
        let isFirst = link[3] >> 32 == 0
        guard (isFirst ? sides.first : sides.second) == nil else {
            let pair = model.pairs[Int(link[0])]
            let (owner, member) = isFirst ? (link[1], link[2]) : (link[2], link[1])
            throw MigrationError(
                "store.linkTwice", .data,
                "The object \(owner) names the object \(member) twice in \(pair.names[isFirst ? 0 : 1])",
                context: .init(property: pair.names[isFirst ? 0 : 1]))
        }
        if isFirst { sides.first = position } else { sides.second = position }
    }

    private func oneSided(
        _ link: UnsafePointer<UInt64>, _ pair: AtomicModel.Pair, _ sides: Sides
    ) -> MigrationError {
        let isFirst = sides.first != nil
        let (owner, member) = isFirst ? (link[1], link[2]) : (link[2], link[1])
        let (name, inverse) = isFirst ? (pair.names[0], pair.names[1]) : (pair.names[1], pair.names[0])
        return MigrationError(
            "store.oneSidedLink", .data,
            "The object \(owner) names the object \(member) in \(name), and that one does not name it in \(inverse)",
            remedy: "Add or remove one of the two ids in a copy of the store: both sides of a relationship are written",
            context: .init(property: name))
    }

    private func withWords(
        _ count: Int, _ body: (UnsafeMutablePointer<UInt64>) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
        defer { words.deallocate() }
        try body(words)
    }
}

/// Writes the rows of one join table, which come in the order of its two keys.
private final class JoinRows {
    let table: Int
    private let writer: any TableWriter
    private var batch: RowBatch
    private let orders: [Int?]
    private var count: Int64 = 0

    /// The key by which Core Data orders the object at a position of a relationship.
    static func orderKey(_ position: Int) -> Int64 { 2048 + 1024 * Int64(position) }

    init(_ table: Int, _ store: DestinationStore) throws(MigrationError) {
        self.table = table
        let join = store.schema.joinTables[table]
        let names = join.columnNames
        orders = join.sides.map { side in side.orderColumn.flatMap { name in names.firstIndex(of: name) } }
        writer = try store.joinWriter(table)
        batch = RowBatch(slots: names.count, rowCapacity: 500, byteTarget: 1 << 16)
    }

    func append(_ link: UnsafePointer<UInt64>, first: Int?, second: Int?) throws(MigrationError) {
        count += 1
        let row = batch.appendRow(key: count)
        for side in 0..<2 { batch[row, side] = .integer(Int64(link[1 + side])) }
        // The column of a side's order has the place of its object in the list of the other side's.
        if let slot = orders[0], let second { batch[row, slot] = .integer(Self.orderKey(second)) }
        if let slot = orders[1], let first { batch[row, slot] = .integer(Self.orderKey(first)) }
        if batch.isFull { try flush() }
    }

    private func flush() throws(MigrationError) {
        try writer.append(batch)
        batch.removeAll()
    }

    func finish() throws(MigrationError) {
        try flush()
        try writer.finish()
    }
}
