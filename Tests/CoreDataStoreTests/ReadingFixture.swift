import Archives
import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows
import TestSupport

/// A small store made with stock SQLite, in Core Data's layout.
///
/// Entities: Animal (1) with subentity Dog (2), Person (3), Tag (4).
struct ReadingFixture {
    let model: ManagedObjectModel
    let schema: StoreSchema

    init() throws {
        func attribute(_ name: String, _ type: AttributeType) -> AttributeDefinition {
            var result = AttributeDefinition(name: name, type: type)
            result.isOptional = true
            return result
        }
        func relation(
            _ name: String, _ destination: String, _ inverse: String, many: Bool = false, ordered: Bool = false
        ) -> RelationshipDefinition {
            var result = RelationshipDefinition(name: name, destinationEntityName: destination)
            result.inverseName = inverse
            result.isOptional = true
            result.isToMany = many
            result.isOrdered = ordered
            result.maximumCount = many ? 0 : 1
            return result
        }
        var animal = EntityDefinition(name: "Animal")
        animal.attributes = [attribute("name", .string), attribute("weight", .double)]
        animal.relationships = [relation("owner", "Person", "pets")]
        var dog = EntityDefinition(name: "Dog")
        dog.superentityName = "Animal"
        dog.attributes = [attribute("breed", .string)]
        var person = EntityDefinition(name: "Person")
        person.attributes = [
            attribute("age", .integer32), attribute("born", .date), attribute("name", .string),
            attribute("photo", .binaryData),
        ]
        person.relationships = [
            relation("boss", "Person", "reports"), relation("reports", "Person", "boss", many: true),
            relation("pets", "Animal", "owner", many: true, ordered: true),
            relation("tags", "Tag", "people", many: true, ordered: true),
        ]
        var tag = EntityDefinition(name: "Tag")
        tag.attributes = [attribute("label", .string)]
        tag.relationships = [relation("people", "Person", "tags", many: true)]
        var definition = ModelDefinition()
        definition.entities = [animal, dog, person, tag]
        model = try ManagedObjectModel(definition)
        schema = StoreSchema(model: model)
    }

    func table(_ entity: String) throws -> Int {
        guard let entity = model.entity(named: entity) else { throw FixtureError.noEntity }
        return schema.tableIndex(of: entity)
    }

    func column(_ table: Int, _ name: String) throws -> Int {
        guard let index = schema.tables[table].columns.firstIndex(where: { $0.name == name }) else {
            throw FixtureError.noColumn(name)
        }
        return index
    }

    /// Opens a database with stock SQLite, read-write.
    static func stock(_ path: String) throws -> Connection {
        try Connection(path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    }

    /// Makes an empty store and leaves it open.
    func make(_ path: String, setup: String = "PRAGMA page_size=4096", mode: String = "DELETE") throws -> Connection {
        let connection = try Self.stock(path)
        try connection.execute(setup)
        _ = try connection.prepare("PRAGMA journal_mode=\(mode)").step()
        // Data first written to the -wal shall stay there.
        try connection.execute("PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF")
        for statement in schema.tableStatements() { try connection.execute(statement) }
        for index in schema.tables.indices {
            for statement in schema.indexStatements(forTable: index) { try connection.execute(statement) }
        }
        for join in schema.joinTables { try connection.execute(join.index.statement) }
        for statement in schema.fixedTableStatements() { try connection.execute(statement) }
        for entity in model.entities {
            let parent = entity.superentity.map { schema.entityNumbers[$0.index] } ?? 0
            try connection.execute(
                "INSERT INTO Z_PRIMARYKEY VALUES (\(schema.entityNumbers[entity.index]), '\(entity.name ?? "")', "
                    + "\(parent), \(parent == 0 ? 1000 : 0))")
        }
        let plist = PropertyListValue.dictionary([
            "NSStoreType": .string("SQLite"), "NSStoreModelVersionHashesVersion": .integer(3),
            "NSPersistenceFrameworkVersion": .integer(1526),
            "NSStoreModelVersionHashes": .dictionary(["Person": .data([1, 2, 3])]),
            "NSStoreModelVersionIdentifiers": .array([.string("v1")]), "appKey": .string("kept"),
        ])
        let insert = try connection.prepare("INSERT INTO Z_METADATA VALUES (1, ?, ?)")
        insert.bind("6F9619FF-8B86-D011-B42D-00CF4FC964FF", at: 1)
        insert.bind(try BinaryPropertyList.encode(plist), at: 2)
        try insert.run()
        return connection
    }

    /// Rows with every kind of value and link.
    static let rows = [
        "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZBOSS, ZBORN, ZNAME, ZPHOTO) VALUES "
            + "(1, 3, 1, 40, NULL, 12.5, 'Ada', x'0102'), (2, 3, 2, 30, 1, 99, 'Bo', NULL), "
            + "(5, 3, 1, NULL, 2, NULL, '', x''), (9, 3, 1, -7, 77, 0.25, 'Zoë', x'00')",
        "INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT, ZOWNER, Z_FOK_OWNER, ZWEIGHT, ZNAME, ZBREED) VALUES "
            + "(1, 1, 1, 1, 3072, 1.5, 'cat', NULL), (2, 2, 1, 1, 2048, 20, 'rex', 'mutt'), "
            + "(3, 2, 1, NULL, NULL, 7, 'stray', 'mix'), (4, 1, 1, 2, 2048, NULL, 'fish', NULL)",
        "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZLABEL) VALUES (1, 4, 1, 'red'), (2, 4, 1, 'blue'), (3, 4, 1, 'old')",
    ]

    /// Links (person, tag, place of the tag).
    static let links: [(Int, Int, Int)] = [(1, 1, 3072), (1, 2, 2048), (2, 1, 2048), (5, 3, 2048), (9, 42, 2048)]

    func insertRows(_ connection: Connection) throws {
        for statement in Self.rows { try connection.execute(statement) }
        let join = schema.joinTables[0]
        let people = try peopleSide()
        let order = join.sides[1 - people].orderColumn ?? "?"
        for (person, tag, place) in Self.links {
            try connection.execute(
                "INSERT INTO \(join.name) (\(join.sides[people].column), \(join.sides[1 - people].column), \(order)) "
                    + "VALUES (\(person), \(tag), \(place))")
        }
    }

    /// The side of the join table that holds persons' keys.
    func peopleSide() throws -> Int {
        guard let person = model.entity(named: "Person"), let tags = person.relationship(named: "tags"),
            case .join(0, let side) = schema.storage(of: tags)
        else { throw FixtureError.noEntity }
        return side
    }

    /// A closed store with rows, in rollback mode.
    func store(in folder: TemporaryFolder, setup: String = "PRAGMA page_size=4096") throws -> String {
        let path = folder.file("store.sqlite")
        let connection = try make(path, setup: setup)
        try insertRows(connection)
        try connection.close()
        return path
    }

    enum FixtureError: Error {
        case noEntity
        case noColumn(String)
    }
}

extension SourceStore {
    /// Opens with limits that fit tests.
    convenience init(testing path: String, valueLimit: Int = 1 << 26, temporaryDirectory: String? = nil)
        throws(MigrationError)
    {
        try self.init(
            path: path, cacheBytes: 1 << 20, valueLimit: valueLimit, temporaryDirectory: temporaryDirectory)
    }
}

/// Text of a batch's rows: key, then cells.
func lines(_ reader: any RowReader, slots: Int, rowCapacity: Int = 3) throws -> [String] {
    var batch = RowBatch(slots: slots, rowCapacity: rowCapacity, byteTarget: 1 << 16)
    var result: [String] = []
    while try reader.next(into: &batch) {
        for row in 0..<batch.count { result.append(line(batch, row)) }
    }
    return result
}

func line(_ batch: borrowing RowBatch, _ row: Int) -> String {
    var parts = ["\(batch.key(row))"]
    for slot in 0..<batch.slots {
        let cell = batch[row, slot]
        switch cell.kind {
        case .null: parts.append("-")
        case .integer: parts.append("\(cell.integerValue)")
        case .real: parts.append("\(cell.realValue)r")
        case .text: parts.append("'" + String(decoding: batch.bytes(cell), as: UTF8.self) + "'")
        case .blob: parts.append("x" + batch.bytes(cell).hexadecimal)
        default: parts.append("?")
        }
    }
    return parts.joined(separator: " ")
}

/// The state of a folder: names, sizes, content and times.
func state(of folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
        let path = folder.appendingPathComponent(name).path
        var status = stat()
        guard stat(path, &status) == 0 else { return "\(name) gone" }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        if let data = FileManager.default.contents(atPath: path) {
            for byte in data { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return "\(name) \(status.st_size) \(hash) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) "
            + "\(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec) \(status.st_mode)"
    }
}

extension ReadingFixture {
    /// The bytes of a store whose rows are in its -wal only, and those of the -wal.
    func logged(_ path: String) throws -> (main: Data, log: Data) {
        let writer = try make(path, mode: "WAL")
        _ = try writer.prepare("PRAGMA wal_checkpoint(TRUNCATE)").step()
        try insertRows(writer)
        return (
            try Data(contentsOf: URL(fileURLWithPath: path)), try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        )
    }

    /// A -wal with some bytes changed, most in the headers of log and frames, and at times cut off.
    ///
    /// - Parameters:
    ///   - changes: bytes changed at most.
    ///   - headOnce: one change of so many goes to the log's own header.
    ///   - reach: bytes from a frame's beginning on that others go to.
    static func damaged(
        _ log: Data, changes: Int, headOnce: Int, reach: Int, _ random: inout SeededGenerator
    ) -> Data {
        var copy = log
        for _ in 0...random.below(changes) {
            let frame = random.below(1 + (copy.count - 32) / 4120)
            let place = random.chance(headOnce) ? random.below(32) : 32 + frame * 4120 + random.below(reach)
            copy[min(copy.count - 1, place)] = UInt8(truncatingIfNeeded: random.next())
        }
        return random.chance(4) ? copy.prefix(random.below(copy.count)) : copy
    }
}
