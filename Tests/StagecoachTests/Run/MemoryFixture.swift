import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import TestSupport

/// A store of many objects in the shapes whose links need whole tables at a time, and the models of its migration.
///
/// A one-to-one pair that is no split, a one-to-many that becomes ordered, a many-to-many that is ordered on both sides,
/// a to-many without inverse, a hierarchy of thirty subentities. An entity new in version 2 shifts all entity numbers.
struct MemoryFixture {
    let folder: TemporaryFolder
    let people: Int
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    var storePath: String { folder.file("source.sqlite") }
    var sourceModelPath: String { folder.file("one.xcdatamodel") }
    var destinationModelPath: String { folder.file("two.xcdatamodel") }

    private static let kinds = (1...30).map { $0 < 10 ? "Thing0\($0)" : "Thing\($0)" }

    /// Objects in the store: of every hundred people 60 have passports, 120 are their pets, 20 clubs, 40 photos, 60 things.
    var objects: Int { people + people / 5 * 3 + people / 5 * 6 + people / 5 + people / 5 * 2 + people / 5 * 3 }

    init(people: Int) throws {
        self.people = people
        folder = try TemporaryFolder()
        for (name, text) in [("one", Self.model(version: 1)), ("two", Self.model(version: 2))] {
            let path = folder.file("\(name).xcdatamodel")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/contents"))
        }
        source = try ModelLocator.load(folder.file("one.xcdatamodel")).model
        destination = try ModelLocator.load(folder.file("two.xcdatamodel")).model
        try fill()
    }

    // MARK: Models

    private static func model(version: Int) -> String {
        func attribute(_ name: String, _ type: String) -> String {
            "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type)\"/>"
        }
        func relationship(_ name: String, _ destination: String, _ inverse: String?, many: Bool, ordered: Bool = false)
            -> String
        {
            "<relationship name=\"\(name)\" optional=\"YES\" deletionRule=\"Nullify\" destinationEntity=\"\(destination)\""
                + (many ? " toMany=\"YES\"" : " maxCount=\"1\"") + (ordered ? " ordered=\"YES\"" : "")
                + (inverse.map { " inverseName=\"\($0)\" inverseEntity=\"\(destination)\"" } ?? "") + "/>"
        }
        func entity(_ name: String, _ properties: [String], head: String = "") -> String {
            "<entity name=\"\(name)\" \(head)>" + properties.joined(separator: "\n") + "</entity>\n"
        }
        let number = attribute("number", "Integer 64")
        // Renamed in version 2.
        let label =
            version == 1
            ? attribute("label", "String")
            : "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\" elementID=\"label\"/>"
        let isSecond = version == 2
        var entities = isSecond ? entity("Archive", [number]) : ""
        entities += entity(
            "Club",
            [
                number, label, relationship("members", "Person", "clubs", many: true, ordered: true),
                relationship("photos", "Photo", nil, many: true),
            ])
        entities += entity("Passport", [number, label, relationship("holder", "Person", "passport", many: false)])
        entities += entity(
            "Person",
            [
                number, label, relationship("clubs", "Club", "members", many: true, ordered: true),
                relationship("passport", "Passport", "holder", many: false),
                relationship("pets", "Pet", "owner", many: true, ordered: isSecond),
                relationship("things", "Thing", "owner", many: true),
            ])
        entities += entity("Pet", [number, label, relationship("owner", "Person", "pets", many: false)])
        entities += entity("Photo", [number, label])
        entities += entity(
            "Thing", [number, label, relationship("owner", "Person", "things", many: false)], head: "isAbstract=\"YES\""
        )
        for kind in kinds {
            entities += entity(
                kind, [attribute("weight" + kind.suffix(2), "Integer 32")], head: "parentEntity=\"Thing\"")
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
            \(entities)</model>
            """
    }

    // MARK: Rows

    private func fill() throws {
        try ReferenceStore(model: source).write(path: storePath)
        let connection = try Connection(path: storePath, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(
            "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA cache_size = -100000; BEGIN")
        let schema = StoreSchema(model: source)
        let fifth = people / 5
        /// Rows i = 1…count with key i·3/2, so that there are gaps.
        func rows(_ entity: String, _ count: Int, _ columns: String = "", _ values: String = "", number: String? = nil)
            throws
        {
            let description = source.entity(named: entity)
            let own = description.map { schema.number(of: $0) } ?? 0
            try connection.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                INSERT INTO Z\(entity.uppercased()) (Z_PK, Z_ENT, Z_OPT, ZNUMBER, ZLABEL\(columns))
                SELECT i * 3 / 2, \(number ?? String(own)), 1 + i % 3, i, '\(entity) ' || i || hex(zeroblob(i % 20))\(values)
                FROM n
                """)
            try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = \(count * 3 / 2) WHERE Z_ENT = \(own)")
        }
        func key(_ expression: String) -> String { "(1 + (\(expression))) * 3 / 2" }
        // A passport's holder lies anywhere; each person has one passport at most.
        let passports = fifth * 3
        try rows("Passport", passports, ", ZHOLDER", ", \(key("(i * 7919) % \(people)"))")
        try rows("Person", people)
        try connection.execute(
            """
            CREATE TEMP TABLE h (person INTEGER PRIMARY KEY, passport INTEGER);
            INSERT OR IGNORE INTO h SELECT ZHOLDER, Z_PK FROM ZPASSPORT;
            UPDATE ZPASSPORT SET ZHOLDER = NULL WHERE Z_PK NOT IN (SELECT passport FROM h);
            UPDATE ZPERSON SET ZPASSPORT = (SELECT passport FROM h WHERE person = ZPERSON.Z_PK)
            """)
        try rows("Pet", fifth * 6, ", ZOWNER", ", \(key("(i * 104729) % \(people)"))")
        try rows("Club", fifth)
        let club = source.entity(named: "Club").map { schema.number(of: $0) } ?? 0
        try rows("Photo", fifth * 2, ", Z\(club)PHOTOS", ", \(key("(i * 31) % \(fifth)"))")
        let thing = source.entity(named: "Thing").map { schema.number(of: $0) } ?? 0
        try rows(
            "Thing", fifth * 3, ", ZOWNER, ZWEIGHT07",
            ", \(key("(i * 613) % \(people)")), CASE WHEN i % 30 = 6 THEN i % 50 END",
            number: "\(thing + 1) + i % 30")
        let join = schema.joinTables[0]
        let isClubFirst = join.sides[0].relationship.name == "members"
        let (clubs, members) = isClubFirst ? (join.sides[0], join.sides[1]) : (join.sides[1], join.sides[0])
        // Orders that follow neither side's keys.
        try connection.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(people * 2 - 1))
            INSERT OR IGNORE INTO \(join.name)
                (\(clubs.column), \(members.column), \(clubs.orderColumn ?? ""), \(members.orderColumn ?? ""))
            SELECT \(key("(i * 17 + i / \(people)) % \(fifth)")), \(key("i % \(people)")), i * 5 % 1000, i * 11 % 2000 FROM n
            """)
        try connection.execute("COMMIT")
        try connection.close()
    }

    // MARK: What must be the same on both sides

    /// Counts and sums that do not depend on keys: of every entity's rows, and of every relationship's pairs seen
    /// from its own side. Orders enter where the source has them.
    func digest(path: String, isSource: Bool) throws -> [String: String] {
        let model = isSource ? source : destination
        let schema = StoreSchema(model: model)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        var digest: [String: String] = [:]
        func add(_ name: String, _ query: String) throws {
            let statement = try connection.prepare(query)
            guard try statement.step() else { return }
            digest[name] = (0..<sqlite3_column_count(statement.handle)).map { statement.text($0) ?? "-" }
                .joined(separator: " ")
        }
        for entity in source.entities {
            guard let name = entity.definition.name as String?, let own = model.entity(named: name) else { continue }
            let table = schema.tables[schema.tableIndex(of: own)].name
            let label = isSource ? "ZLABEL" : "ZTITLE"
            let extra = table == "ZTHING" ? ", sum(ZWEIGHT07)" : ""
            try add(
                name,
                "SELECT count(*), sum(ZNUMBER), sum(length(\(label)) * (ZNUMBER % 97))\(extra) FROM \(table) "
                    + "WHERE Z_ENT = \(schema.number(of: own))")
            for definition in entity.definition.relationships {
                guard let relationship = own.relationship(named: definition.name),
                    let pairs = pairs(relationship, schema, withOrder: definition.isOrdered)
                else { continue }
                let members = schema.tables[schema.tableIndex(of: relationship.destination)].name
                try add(
                    "\(name).\(definition.name)",
                    "SELECT count(*), sum(o.ZNUMBER % 1009 * (m.ZNUMBER % 1013)), sum(coalesce(place, 0) * (m.ZNUMBER % 11)) "
                        + "FROM (\(pairs)) JOIN \(table) o ON o.Z_PK = owner JOIN \(members) m ON m.Z_PK = member")
            }
        }
        return digest
    }

    /// The pairs of a relationship: owner, member, place.
    private func pairs(_ relationship: RelationshipDescription, _ schema: StoreSchema, withOrder: Bool) -> String? {
        func place(_ column: String?) -> String { withOrder ? column ?? "NULL" : "NULL" }
        switch schema.storage(of: relationship) {
        case .none: return nil
        case .toOne(let table, let column, _, _):
            let table = schema.tables[table]
            return "SELECT Z_PK AS owner, \(table.columns[column].name) AS member, NULL AS place FROM \(table.name)"
        case .toManyByInverse(let table, let column, _, let order), .toManyHidden(let table, let column, let order):
            let table = schema.tables[table]
            return "SELECT \(table.columns[column].name) AS owner, Z_PK AS member, "
                + "\(place(order.map { table.columns[$0].name })) AS place FROM \(table.name)"
        case .join(let index, let side):
            let join = schema.joinTables[index]
            return "SELECT \(join.sides[side].column) AS owner, \(join.sides[1 - side].column) AS member, "
                + "\(place(join.sides[1 - side].orderColumn)) AS place FROM \(join.name)"
        }
    }

    /// Pets whose place is not the one counted among their owner's pets by ascending key: 2048, 3072, …
    func petsOutOfPlace(path: String) throws -> Int64? {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        return try connection.integer(
            """
            SELECT count(*) FROM (
                SELECT Z_FOK_OWNER AS place, row_number() OVER (PARTITION BY ZOWNER ORDER BY Z_PK) AS number
                FROM ZPET WHERE ZOWNER IS NOT NULL)
            WHERE place IS NOT 1024 + 1024 * number
            """)
    }
}
