import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

/// R-trees and indexes over expressions: taken over from a source that has them.
@Suite("Indexes taken over from the source")
struct CarriedIndexTests {
    private static func version(
        _ extra: [AttributeDefinition] = [], name: AttributeType = .string, swapped: Bool = false
    ) throws -> ManagedObjectModel {
        var place = entity(
            "Place", [attribute("lat", .double), attribute("lon", .double), attribute("name", name)] + extra)
        var tree = FetchIndexDefinition(name: "area")
        tree.elements = (swapped ? ["lon", "lat"] : ["lat", "lon"]).map { name in
            var element = FetchIndexElement(propertyName: name)
            element.isRTree = true
            return element
        }
        var lower = FetchIndexDefinition(name: "lower")
        var element = FetchIndexElement(propertyName: nil)
        element.expression = "lowercase:(name)"
        lower.elements = [element]
        var odd = lower
        odd.name = "odd"
        place.indexes = [tree, lower, odd]
        return try model(place, entity("Note", [attribute("text", .string)]))
    }

    private static let tree = [
        "CREATE VIRTUAL TABLE Z_RT_Place_area USING RTREE (Z_PK INTEGER PRIMARY KEY, ZLAT_MIN FLOAT, ZLAT_MAX FLOAT, ZLON_MIN FLOAT, ZLON_MAX FLOAT)",
        "CREATE TRIGGER Z_RT_Place_area_INSERT AFTER INSERT ON ZPLACE FOR EACH ROW WHEN (NEW.ZLAT NOT NULL AND NEW.ZLON NOT NULL) BEGIN INSERT OR REPLACE INTO Z_RT_Place_area VALUES (NEW.Z_PK, NEW.ZLAT, NEW.ZLAT, NEW.ZLON, NEW.ZLON) ; END",
        "CREATE TRIGGER Z_RT_Place_area_DELETE AFTER DELETE ON ZPLACE FOR EACH ROW BEGIN DELETE FROM Z_RT_Place_area WHERE Z_PK = OLD.Z_PK ; END",
    ]

    private static func source(_ model: ManagedObjectModel, _ folder: TemporaryFolder) throws -> String {
        var store = ReferenceStore(model: model)
        store.insert("Place", 3, ["lat": .real(48.5), "lon": .real(9.25), "name": .text("Tübingen")])
        store.insert("Place", 7, ["lat": .real(52.5), "lon": .real(13.5), "name": .text("Berlin")])
        store.insert("Place", 8, ["name": .text("Nowhere")])
        try store.write(path: folder.file("old.sqlite"))
        let connection = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        for sql in tree { try connection.execute(sql) }
        try connection.execute("CREATE INDEX Z_Place_lower ON ZPLACE (lower(ZNAME) COLLATE BINARY ASC)")
        try connection.close()
        return folder.file("old.sqlite")
    }

    private static func statements(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let found = try connection.prepare(
            "SELECT sql FROM sqlite_master WHERE name LIKE 'Z_RT_Place_area%' OR name LIKE 'Z_Place%' ORDER BY name")
        var lines: [String] = []
        while try found.step() { if let sql = found.text(0) { lines.append(sql) } }
        return lines
    }

    @Test("An unchanged entity keeps its R-tree, filled, with its triggers, and its index over an expression")
    func carried() throws {
        let folder = try TemporaryFolder()
        let old = try Self.version()
        let path = try Self.source(old, folder)
        var options = MigrationOptions()
        options.fullCheck = true
        let migration = Migration(
            from: path, model: old, mapping: try .inferred(from: old, to: old), to: folder.file("new.sqlite"),
            model: old, options: options)
        let report = try migration.run()
        #expect(report.notes.filter { $0.contains("left out") }.map { $0.contains("index odd") } == [true])
        let made = try Self.statements(folder.file("new.sqlite"))
        for sql in Self.tree { #expect(made.contains(sql)) }
        #expect(made.contains("CREATE INDEX Z_Place_lower ON ZPLACE (lower(ZNAME) COLLATE BINARY ASC)"))
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(
            try connection.integer(
                "SELECT sum(Z_PK) FROM Z_RT_Place_area WHERE ZLAT_MIN > 40 AND ZLAT_MAX < 60 AND ZLON_MIN > 9") == 10)
        #expect(try connection.integer("SELECT count(*) FROM Z_RT_Place_area") == 2)
        let verified = try StoreVerification(migration).run()
        #expect(verified.differences.isEmpty, "\(verified.differences)")
    }

    @Test("An entity that has got another attribute keeps them too")
    func grown() throws {
        let folder = try TemporaryFolder()
        let (old, new) = (try Self.version(), try Self.version([attribute("height", .double)]))
        let report = try Migration(
            from: try Self.source(old, folder), model: old, mapping: .inferred(from: old, to: new),
            to: folder.file("new.sqlite"), model: new
        ).run()
        #expect(report.notes.filter { $0.contains("is left out") }.count == 1)
        let made = try Self.statements(folder.file("new.sqlite"))
        for sql in Self.tree { #expect(made.contains(sql)) }
        #expect(made.contains { $0.hasPrefix("CREATE INDEX Z_Place_lower") })
    }

    @Test("An R-tree that is declared otherwise now is made anew, as the model asks for it")
    func redeclared() throws {
        let folder = try TemporaryFolder()
        let (old, new) = (try Self.version(), try Self.version(swapped: true))
        let report = try Migration(
            from: try Self.source(old, folder), model: old, mapping: .inferred(from: old, to: new),
            to: folder.file("new.sqlite"), model: new
        ).run()
        #expect(!report.notes.contains { $0.contains("index area of Place is left out") })
        let made = try Self.statements(folder.file("new.sqlite"))
        #expect(
            made.contains {
                $0.hasPrefix("CREATE VIRTUAL TABLE Z_RT_Place_area") && $0.contains("ZLON_MIN FLOAT, ZLON_MAX")
            })
        for sql in Self.tree { #expect(!made.contains(sql) || sql.contains("_DELETE")) }
        #expect(made.filter { $0.hasPrefix("CREATE TRIGGER") }.count == 3)
    }

    @Test("An index over an attribute that is another now is not taken over")
    func retyped() throws {
        let folder = try TemporaryFolder()
        let (old, new) = (try Self.version(), try Self.version(name: .binaryData))
        let mapping = try MappingModel.inferred(from: old, to: old)
        for entity in mapping.entityMappings { entity.attributeMappings?.removeAll { $0.name == "name" } }
        let report = try Migration(
            from: try Self.source(old, folder), model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new
        ).run()
        #expect(report.notes.contains { $0.contains("index lower of Place is left out") })
        #expect(!(try Self.statements(folder.file("new.sqlite")).contains { $0.contains("Z_Place_lower") }))
    }

    @Test("An append fills the R-tree with the objects that it adds, in the form that the destination has")
    func appended() throws {
        let model = try Self.version()
        for hasTree in [true, false] {
            let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
            let path = try Self.source(model, folder)
            if !hasTree {
                let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
                for event in ["INSERT", "DELETE"] { try connection.execute("DROP TRIGGER Z_RT_Place_area_\(event)") }
                try connection.execute("DROP TABLE Z_RT_Place_area")
                try connection.close()
            }
            let mapping = try MappingModel.inferred(from: model, to: model)
            try Migration(from: path, model: model, mapping: mapping, to: folder.file("new.sqlite"), model: model).run()
            var options = MigrationOptions()
            options.appendsToExisting = true
            let append = Migration(
                from: try Self.source(model, other), model: model, mapping: mapping, to: folder.file("new.sqlite"),
                model: model, options: options)
            try append.run()
            let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
            // The source's trigger leaves out places without coordinates, today's form does not.
            #expect(try connection.integer("SELECT count(*) FROM Z_RT_Place_area") == (hasTree ? 4 : 6))
            #expect(try connection.integer("SELECT count(*) FROM Z_RT_Place_area WHERE ZLAT_MIN > 50") == 2)
        }
    }

    /// Migrates a store whose R-tree has another insert trigger to the same version.
    ///
    /// - Parameter trigger: the text behind `FOR EACH ROW`.
    private static func migrate(_ folder: TemporaryFolder, trigger: String) throws -> MigrationReport {
        let model = try version()
        let path = try source(model, folder)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("DROP TRIGGER Z_RT_Place_area_INSERT")
        try connection.execute(
            "CREATE TRIGGER Z_RT_Place_area_INSERT AFTER INSERT ON ZPLACE FOR EACH ROW \(trigger)")
        try connection.close()
        return try Migration(
            from: path, model: model, mapping: .inferred(from: model, to: model), to: folder.file("new.sqlite"),
            model: model
        ).run()
    }

    @Test("A trigger that names the tree's columns is understood, in any order of them")
    func namedColumns() throws {
        let folder = try TemporaryFolder()
        let report = try Self.migrate(
            folder,
            trigger: """
                WHEN (NEW.ZLAT NOT NULL) BEGIN \
                INSERT OR REPLACE INTO "Z_RT_Place_area" (ZLON_MIN, ZLON_MAX, "Z_PK", ZLAT_MIN, ZLAT_MAX) \
                VALUES (NEW.ZLON, NEW.ZLON, NEW.Z_PK, NEW.ZLAT, NEW.ZLAT) ; END
                """)
        #expect(!report.notes.contains { $0.contains("index area of Place is left out") }, "\(report.notes)")
        let made = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        let rows = try made.prepare("SELECT Z_PK, ZLAT_MIN, ZLON_MAX FROM Z_RT_Place_area ORDER BY Z_PK")
        var found: [String] = []
        while try rows.step() { found.append((0..<3).map { rows.text(Int32($0)) ?? "" }.joined(separator: " ")) }
        #expect(found == ["3 48.5 9.25", "7 52.5 13.5"])
    }

    @Test(
        "Triggers that do anything else are not understood, and the tree is made as the model asks for it",
        arguments: [
            "INSERT OR REPLACE INTO Z_RT_Place_area VALUES (NEW.Z_PK, foo(NEW.ZLAT), 'x', 1, 2) ; DELETE FROM ZNOTE",
            "INSERT OR REPLACE INTO ZNOTE VALUES (NEW.Z_PK, 1, 1, 'x')",
            "INSERT OR REPLACE INTO Z_RT_Place_area VALUES (NEW.Z_PK, (SELECT 1), 1, 1, 2)",
            "INSERT OR IGNORE INTO Z_RT_Place_area (Z_PK, ZLAT_MIN) VALUES (NEW.Z_PK, NEW.ZLAT)",
            "INSERT OR REPLACE INTO Z_RT_Place_area (Z_PK) SELECT Z_PK FROM ZPLACE WHERE Z_PK IN (VALUES (NEW.Z_PK))",
        ])
    func strange(body: String) throws {
        let folder = try TemporaryFolder()
        let report = try Self.migrate(folder, trigger: "BEGIN \(body) ; END")
        #expect(!report.notes.contains { $0.contains("index area of Place is left out") })
        let made = try Self.statements(folder.file("new.sqlite"))
        #expect(made.filter { $0.hasPrefix("CREATE TRIGGER") }.count == 3)
        #expect(!made.contains { $0.contains(body) })
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM Z_RT_Place_area") == 3)
    }
}
