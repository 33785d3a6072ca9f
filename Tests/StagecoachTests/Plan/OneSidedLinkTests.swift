import CSQLite
import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// One-to-one links of which the source has one side only.
@Suite("One-to-one links on one side only")
struct OneSidedLinkTests {
    private static func version() throws -> ManagedObjectModel {
        try model(
            entity(
                "Person", [attribute("name", .string)],
                [
                    toOne("car", "Car", inverse: "owner"), toOne("spouse", "Person", inverse: "spouse"),
                ]),
            entity("Car", [attribute("plate", .string)], [toOne("owner", "Person", inverse: "car")]))
    }

    /// p1 and c1 name each other; p2 names c2, which names nobody; c3 names p3, which names nobody; p4 and p5 both name c4,
    /// which names p4. p1 names p2 as spouse, which names nobody.
    private static func source(_ folder: TemporaryFolder) throws -> String {
        var store = ReferenceStore(model: try version())
        for (key, car, spouse) in [(1, 1, 2), (2, 2, nil), (3, nil, nil), (4, 4, nil), (5, 4, nil)]
            as [(Int64, Int64?, Int64?)]
        {
            store.insert("Person", key)
            store.setToOne("Person", key, "car", car)
            store.setToOne("Person", key, "spouse", spouse)
        }
        for (key, owner) in [(1, 1), (2, nil), (3, 3), (4, 4)] as [(Int64, Int64?)] {
            store.insert("Car", key)
            store.setToOne("Car", key, "owner", owner)
        }
        try store.write(path: folder.file("old.sqlite"))
        return folder.file("old.sqlite")
    }

    private static func columns(_ path: String) throws -> [String] {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        return try [
            "SELECT group_concat(ifnull(ZCAR, '-'), '') FROM (SELECT ZCAR FROM ZPERSON ORDER BY Z_PK)",
            "SELECT group_concat(ifnull(ZSPOUSE, '-'), '') FROM (SELECT ZSPOUSE FROM ZPERSON ORDER BY Z_PK)",
            "SELECT group_concat(ifnull(ZOWNER, '-'), '') FROM (SELECT ZOWNER FROM ZCAR ORDER BY Z_PK)",
        ].map { sql in
            let statement = try connection.prepare(sql)
            return try statement.step() ? statement.text(0) ?? "" : ""
        }
    }

    private func run(
        _ rules: RulesOfTheSource, _ options: MigrationOptions = .init()
    ) throws -> (columns: [String], report: MigrationReport) {
        let folder = try TemporaryFolder()
        let version = try Self.version()
        let mapping = try MappingModel.inferred(from: version, to: version)
        mapping.rulesOfTheSource = rules
        let migration = Migration(
            from: try Self.source(folder), model: version, mapping: mapping, to: folder.file("new.sqlite"),
            model: version, options: options)
        let report = try migration.run()
        let verified = try StoreVerification(migration).run()
        #expect(verified.differences.isEmpty, "\(verified.differences)")
        return (try Self.columns(folder.file("new.sqlite")), report)
    }

    @Test("An inferred migration keeps both columns unchanged, and counts", arguments: [true, false])
    func kept(usesRows: Bool) throws {
        var options = MigrationOptions()
        options.usesStoreSpecificMigrationManager = usesRows
        let (columns, report) = try run(.warn, options)
        #expect(columns == ["12-44", "2----", "1-34"])
        let lines = try #require(report.counts.oneSidedLinks)
        #expect(Set(lines.map(\.relationship)) == ["Car.owner", "Person.spouse"])
        #expect(lines.first { $0.relationship == "Car.owner" }?.count == 3)
        #expect(lines.first { $0.relationship == "Person.spouse" }?.count == 1)
        #expect(lines.allSatisfy { !$0.isCompleted })
        #expect(report.notes.filter { $0.contains("on one side only") && $0.contains("kept as they stand") }.count == 2)
    }

    @Test("Any other mapping model completes them, and counts", arguments: [true, false])
    func completed(usesRows: Bool) throws {
        var options = MigrationOptions()
        options.usesStoreSpecificMigrationManager = usesRows
        let (columns, report) = try run(.error, options)
        #expect(columns[0] == "123-4" || columns[0] == "1234-")
        #expect(columns[1] == "21---")
        let lines = try #require(report.counts.oneSidedLinks)
        #expect(lines.map(\.count).reduce(0, +) == 4 && lines.allSatisfy(\.isCompleted))
        #expect(report.notes.filter { $0.contains("on one side only") && $0.contains("manager") }.count == 2)
    }

    @Test("Renumbered objects, and objects of which some are filtered, keep their columns")
    func renumbered() throws {
        var options = MigrationOptions()
        options.keys = .sequential
        let (columns, _) = try run(.warn, options)
        #expect(columns == ["12-44", "2----", "1-34"])
    }

    @Test("A store whose links agree has no such line")
    func agreeing() throws {
        let folder = try TemporaryFolder()
        let version = try Self.version()
        var store = ReferenceStore(model: version)
        store.insert("Person", 1, toOne: ["car": 7])
        store.insert("Car", 7, toOne: ["owner": 1])
        try store.write(path: folder.file("old.sqlite"))
        let report = try Migration(
            from: folder.file("old.sqlite"), model: version, mapping: .inferred(from: version, to: version),
            to: folder.file("new.sqlite"), model: version
        ).run()
        #expect(report.counts.oneSidedLinks == nil && report.notes.isEmpty, "\(report.notes)")
    }
}
