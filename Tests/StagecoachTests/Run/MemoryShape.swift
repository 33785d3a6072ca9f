import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Synchronization
import TestSupport

/// A store whose model, not its size, is what memory has to bear; keys are 1, 2, 3, …
enum MemoryShape: String, CaseIterable, CustomStringConvertible {
    /// Sixty inverse pairs between two entities.
    case manyPairs
    /// Three hundred entity mappings into one root table.
    case manyMappings
    /// Three hundred root entities in a chain.
    case manyTables
    /// A table of 2,000 columns, SQLite's most: 1,997 attributes and Core Data's three.
    case manyColumns
    /// One hierarchy that is a single chain: each object is the parent of the next one.
    case deepChain
    /// One object with nearly all others of the store in one relationship.
    case manyMembers
    /// The same with an order.
    case orderedMembers

    var description: String { rawValue }

    /// The shapes to run: those that `STAGECOACH_MEMORY_SHAPES` names (`manyMembers,deepChain`), else all.
    static var chosen: [MemoryShape] {
        guard let names = ProcessInfo.processInfo.environment["STAGECOACH_MEMORY_SHAPES"] else { return allCases }
        return names.split(separator: ",").compactMap { MemoryShape(rawValue: String($0)) }
    }

    /// Rows of the largest table.
    var rows: Int {
        let factor = ProcessInfo.processInfo.environment["STAGECOACH_MEMORY_FACTOR"].flatMap(Int.init) ?? 1
        switch self {
        case .manyPairs: return 4000 * factor
        case .manyMappings: return 30_000 * factor
        case .manyTables: return 300 * factor
        case .manyColumns: return 1000 * factor
        case .manyMembers, .orderedMembers, .deepChain: return 100_000 * factor
        }
    }

    // MARK: Models

    private static func text(_ number: Int) -> String { String(String(number + 1000).dropFirst()) }

    private static func relationship(
        _ name: String, _ destination: String, _ inverse: String, many: Bool, isOrdered: Bool = false
    ) -> String {
        "<relationship name=\"\(name)\" optional=\"YES\" deletionRule=\"Nullify\" destinationEntity=\"\(destination)\" "
            + (many ? "toMany=\"YES\"" : "maxCount=\"1\"") + (isOrdered ? " ordered=\"YES\"" : "")
            + " inverseName=\"\(inverse)\" inverseEntity=\"\(destination)\"/>"
    }

    private static func entity(_ name: String, _ properties: [String] = [], _ head: String = "") -> String {
        "<entity name=\"\(name)\" \(head)><attribute name=\"number\(head.contains("parent") ? name : "")\" optional=\"YES\" "
            + "attributeType=\"Integer 64\"/>\(properties.joined(separator: "\n"))</entity>\n"
    }

    private var entities: String {
        switch self {
        case .manyPairs:
            let numbers = (1...60).map(Self.text)
            return Self.entity("Hub", numbers.map { Self.relationship("to\($0)", "Spoke", "from\($0)", many: false) })
                + Self.entity("Spoke", numbers.map { Self.relationship("from\($0)", "Hub", "to\($0)", many: true) })
        case .manyMappings:
            return Self.entity(
                "Base",
                [
                    Self.relationship("next", "Base", "previous", many: false),
                    Self.relationship("previous", "Base", "next", many: true),
                ], "isAbstract=\"YES\"")
                + (1...300).map { Self.entity("Kind\(Self.text($0))", [], "parentEntity=\"Base\"") }.joined()
        case .manyTables:
            return (1...300).map { number in
                let before = "Kind\(Self.text(number == 1 ? 300 : number - 1))"
                let after = "Kind\(Self.text(number == 300 ? 1 : number + 1))"
                return Self.entity(
                    "Kind\(Self.text(number))",
                    [
                        Self.relationship("next", after, "previous", many: false),
                        Self.relationship("previous", before, "next", many: true),
                    ])
            }.joined()
        case .manyColumns:
            return Self.entity(
                "Wide",
                (1...1996).map {
                    "<attribute name=\"a\($0)\" optional=\"YES\" attributeType=\"\($0 % 3 == 0 ? "String" : "Integer 32")\"/>"
                })
        case .deepChain:
            return Self.entity(
                "Node",
                [
                    Self.relationship("parent", "Node", "child", many: false),
                    Self.relationship("child", "Node", "parent", many: false),
                ])
        case .manyMembers, .orderedMembers:
            return Self.entity(
                "Group",
                [Self.relationship("members", "Member", "group", many: true, isOrdered: self == .orderedMembers)])
                + Self.entity("Member", [Self.relationship("group", "Group", "members", many: false)])
        }
    }

    /// The models; version 2 has one entity more, which shifts the others' numbers.
    private func model(_ version: Int) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        \(version == 2 ? Self.entity("Archive") : "")\(entities)</model>
        """
    }

    // MARK: Rows

    private func statements(_ schema: StoreSchema, _ model: ManagedObjectModel) -> [String] {
        func number(_ name: String) -> Int { model.entity(named: name).map { schema.number(of: $0) } ?? 0 }
        func fill(_ entity: String, _ count: Int, _ columns: [(String, String)], number: String) -> String {
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO Z\(entity.uppercased()) (Z_PK, Z_ENT, Z_OPT, ZNUMBER\(columns.map { ", " + $0.0 }.joined()))
            SELECT i, \(number), 1, i * 3\(columns.map { ", " + $0.1 }.joined()) FROM n
            """
        }
        switch self {
        case .manyPairs:
            let spokes = rows / 10
            return [
                fill("Spoke", spokes, [], number: "\(number("Spoke"))"),
                fill(
                    "Hub", rows,
                    (1...60).map {
                        ("ZTO\(Self.text($0))", "CASE WHEN i % \($0 + 1) THEN 1 + i * \(2 * $0 + 1) % \(spokes) END")
                    },
                    number: "\(number("Hub"))"),
            ]
        case .manyMappings:
            return [
                fill(
                    "Base", rows,
                    [
                        ("ZNEXT", "1 + i * 7919 % \(rows)"),
                        ("Z\(number("Base"))_NEXT", "\(number("Kind001")) + (i * 7919 % \(rows) + 1) % 300"),
                    ],
                    number: "\(number("Kind001")) + i % 300")
            ]
        case .manyTables:
            return (1...300).map { index in
                let name = "Kind\(Self.text(index))"
                return fill(name, rows, [("ZNEXT", "1 + i * 7 % \(rows)")], number: "\(number(name))")
            }
        case .manyColumns:
            let columns = (1...1996).map { ("ZA\($0)", $0 % 3 == 0 ? "'text ' || (i * \($0))" : "i + \($0)") }
            return [fill("Wide", rows, columns, number: "\(number("Wide"))")]
        case .deepChain:
            let columns = [
                ("ZPARENT", "CASE WHEN i > 1 THEN i - 1 END"), ("ZCHILD", "CASE WHEN i < \(rows) THEN i + 1 END"),
            ]
            return [fill("Node", rows, columns, number: "\(number("Node"))")]
        case .manyMembers, .orderedMembers:
            return [
                fill("Group", 3, [], number: "\(number("Group"))"),
                fill(
                    "Member", rows, [("ZGROUP", "CASE WHEN i % 1000 THEN 2 ELSE 1 + i / 1000 % 3 END")],
                    number: "\(number("Member"))"),
            ]
        }
    }

    /// Counts and sums that do not depend on keys.
    var digest: String {
        switch self {
        case .manyPairs:
            "SELECT count(*), "
                + (1...60).map { "sum(ZTO\(Self.text($0)) * (ZNUMBER % 1009))" }.joined(separator: ", ") + " FROM ZHUB"
        case .manyMappings:
            "SELECT count(*), sum(a.ZNUMBER % 1009 * (b.ZNUMBER % 1013)), count(DISTINCT a.Z_ENT) FROM ZBASE a JOIN ZBASE b ON b.Z_PK = a.ZNEXT"
        case .manyTables:
            "SELECT count(*), sum(number * link) FROM ("
                + stride(from: 1, through: 300, by: 13)
                .map { "SELECT ZNUMBER AS number, ZNEXT AS link FROM ZKIND\(Self.text($0))" }
                .joined(separator: " UNION ALL ") + ")"
        case .manyColumns:
            "SELECT count(*), "
                + (1...1996).filter { $0 % 29 == 0 }
                .map { $0 % 3 == 0 ? "sum(length(ZA\($0)))" : "sum(ZA\($0) * (ZNUMBER % 97))" }.joined(separator: ", ")
                + " FROM ZWIDE"
        case .deepChain:
            "SELECT count(*), sum(a.ZNUMBER % 1009 * (b.ZNUMBER % 1013)), count(c.Z_PK) FROM ZNODE a LEFT JOIN ZNODE b ON b.Z_PK = a.ZPARENT LEFT JOIN ZNODE c ON c.Z_PK = a.ZCHILD"
        case .manyMembers, .orderedMembers:
            "SELECT count(*), sum(ZNUMBER * ZGROUP), count(DISTINCT ZGROUP) FROM ZMEMBER"
        }
    }

    /// Writes models and store into a folder: `one.xcdatamodel`, `two.xcdatamodel`, `source.sqlite`.
    func write(into folder: TemporaryFolder) throws {
        for (version, name) in [(1, "one"), (2, "two")] {
            let path = folder.file("\(name).xcdatamodel")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try Data(model(version).utf8).write(to: URL(fileURLWithPath: path + "/contents"))
        }
        let source = try ModelLocator.load(folder.file("one.xcdatamodel")).model
        let path = folder.file("source.sqlite")
        try ReferenceStore(model: source).write(path: path)
        let schema = StoreSchema(model: source)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN")
        for statement in statements(schema, source) { try connection.execute(statement) }
        try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = \(rows); COMMIT")
        try connection.close()
    }

    /// A folder with a shape's models and store, and the store's digest.
    struct Source {
        let folder: TemporaryFolder
        let digest: String
    }

    private static let sources = Mutex<[MemoryShape: Source]>([:])

    /// Returns the models and the store of the shape, made once for all tests; read only.
    func source() throws -> Source {
        try Self.sources.withLock { sources in
            if let made = sources[self] { return made }
            // A static is never released: the folders go with the process.
            if sources.isEmpty {
                atexit {
                    for source in MemoryShape.sources.withLock({ $0 }).values {
                        try? FileManager.default.removeItem(at: source.folder.url)
                    }
                }
            }
            let folder = try TemporaryFolder()
            try write(into: folder)
            let made = Source(folder: folder, digest: try digest(of: folder.file("source.sqlite")))
            sources[self] = made
            return made
        }
    }

    /// Returns the result of ``digest`` on a store.
    func digest(of path: String) throws -> String {
        let statement = try Connection(path: path, flags: SQLITE_OPEN_READONLY).prepare(digest)
        guard try statement.step() else { return "" }
        return (0..<sqlite3_column_count(statement.handle)).map { statement.text($0) ?? "-" }.joined(separator: " ")
    }
}
