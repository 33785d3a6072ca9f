import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("The id map")
struct ObjectIDMapTests {
    /// The lines of a map in the fixture's folder, the first one left out; of a database its rows in the same form.
    private func lines(_ path: String) throws -> [String] {
        guard path.hasSuffix(".sqlite") else {
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
            #expect(lines.first == "entityMapping,sourceEntity,sourceKey,destinationEntity,destinationKey")
            return Array(lines.dropFirst())
        }
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let statement = try connection.prepare("SELECT * FROM id_map ORDER BY rowid")
        var lines: [String] = []
        while try statement.step() {
            lines.append((0..<5).map { statement.text($0) ?? "" }.joined(separator: ","))
        }
        return lines
    }

    @Test("Every association is a line, by mapping and source key, in both forms", arguments: ["csv", "sqlite"])
    func plain(ending: String) throws {
        let fixture = try FailureFixture(books: 12)
        try fixture.change("DELETE FROM ZBOOK WHERE Z_PK = 3")
        var options = fixture.options()
        options.keys = .sequential
        options.idMap = fixture.folder.file("map.\(ending)")
        try fixture.migration(options).run()
        let expected =
            ["IEM_Copy_Author,Author,1,Author,1"]
            + (1...12).filter { $0 != 3 }.map { "IEM_Transform_Book,Book,\($0),Book,\($0 < 3 ? $0 : $0 - 1)" }
        #expect(try lines(try #require(options.idMap)) == expected)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path).sorted() == [
                "in", "map.\(ending)", "out",
            ])
    }

    @Test("The map has the objects that policies associate, without those that they delete")
    func policies() throws {
        let fixture = try FailureFixture(books: 4)
        fixture.mapping.entityMappings[1].entityMigrationPolicyClassName = "Twice"
        fixture.mapping.entityMappings[1].name = "Book, \"twice\""
        fixture.mapping.entityMappings[0].relationshipMappings = []
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        manager.policies.register("Twice") { TwicePolicy() }
        var options = fixture.options()
        options.idMap = fixture.folder.file("map.csv")
        try fixture.migration(options, manager: manager).run()
        // Each book twice; the second one of book 2 is deleted at the end.
        let keys: [(Int, Int)] = [(1, 1), (1, 2), (2, 3), (3, 5), (3, 6), (4, 7), (4, 8)]
        let expected =
            ["IEM_Copy_Author,Author,1,Author,1"] + keys.map { "\"Book, \"\"twice\"\"\",Book,\($0),Book,\($1)" }
        #expect(try lines(try #require(options.idMap)) == expected)
    }

    @Test("Rejected objects are not in it")
    func rejects() throws {
        let fixture = try FailureFixture(books: 6) { book in
            for index in book.attributes.indices where book.attributes[index].name == "isbn" {
                book.attributes[index].isOptional = false
            }
        }
        try fixture.change("UPDATE ZBOOK SET ZISBN = NULL WHERE Z_PK IN (2, 5)")
        var options = fixture.options()
        options.onInvalid = .reject
        options.strictValidation = true
        options.idMap = fixture.folder.file("map.csv")
        let report = try fixture.migration(options).run()
        #expect(report.rejects?.objects == 2)
        let books = try lines(try #require(options.idMap)).filter { $0.contains("Book") }
        #expect(books.map { $0.split(separator: ",")[2] } == ["1", "3", "4", "6"])
    }

    @Test("An existing file, or a name of another ending, is refused; a run that fails leaves none")
    func refused() throws {
        let fixture = try FailureFixture()
        var options = fixture.options()
        options.idMap = fixture.folder.file("map.txt")
        #expect(
            try fixture.problems("output.ending", .usage, naming: [".csv"]) { try $0.migration(options).run() } == [])
        options.idMap = fixture.folder.file("map.csv")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: fixture.folder.file("map.csv")))
        #expect(
            try fixture.problems("output.exists", .cannotCreate, naming: ["id map", "map.csv"]) {
                try $0.migration(options).run()
            } == [])
        try FileManager.default.removeItem(atPath: fixture.folder.file("map.csv"))
        let cancellation = CancellationFlag()
        cancellation.cancel(MigrationError("test.ended", .temporary, "ended"))
        #expect(
            try fixture.problems("test.ended", .temporary) {
                try $0.migration(options, cancellation: cancellation).run()
            } == [])
    }
}

/// Makes two objects of each source object, and deletes the second one of the second source object in the end.
private final class TwicePolicy: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    }

    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
        let sources = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: nil)
        guard let second = sources.first(where: { ($0.value(forKey: "pages") as? NSNumber)?.intValue == 2 }) else {
            return
        }
        let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [second])
        if let last = made.last { manager.destinationContext.delete(last) }
    }
}
