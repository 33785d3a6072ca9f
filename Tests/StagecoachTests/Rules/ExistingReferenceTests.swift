import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Rows that the destination had before, or that a previous mapping model made, refer to objects that are then rejected.
@Suite("References from earlier rows to rejected objects")
struct ExistingReferenceTests {
    /// Gives each author that it relates the earlier book that has the key of the author's source.
    final class Adopter: EntityMigrationPolicy {
        override func createRelationships(
            forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
            let sources = manager.sourceInstances(
                forEntityMappingName: mapping.name, destinationInstances: [dInstance])
            for book in manager.destinationInstances(forEntityMappingName: "Books", sourceInstances: nil)
            where book.objectID.key == sources.first?.objectID.key {
                book.setValue(dInstance, forKey: "author")
            }
        }
    }

    /// Gives every book that it relates to the earlier author 1.
    final class Hoarder: EntityMigrationPolicy {
        override func createRelationships(
            forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
            let authors = manager.destinationInstances(forEntityMappingName: "Authors", sourceInstances: nil)
            dInstance.setValue(authors.first { $0.objectID.key == 1 }, forKey: "author")
        }
    }

    /// Four authors, of whom the second has no name, which the destination requires; a mapping model for books without
    /// their authors, and one for authors.
    private struct Fixture {
        let fixture: FailureFixture
        let books: MappingModel
        let authors: MappingModel

        /// - Parameters:
        ///   - lookup: the value expression of the authors' books; nil: none.
        ///   - policy: of the authors.
        init(lookup: String? = nil, policy: String? = nil) throws {
            fixture = try FailureFixture(author: { $0.attributes[0].isOptional = false })
            try fixture.change("UPDATE ZAUTHOR SET ZNAME = NULL WHERE Z_PK = 2")
            books = try ExistingReferenceTests.part("Book", of: fixture, named: "Books")
            authors = try ExistingReferenceTests.part("Author", of: fixture, named: "Authors", policy: policy)
            if let lookup {
                authors.entityMappings[0].relationshipMappings = [
                    PropertyMapping(name: "books", valueExpression: try ValueExpression(parsing: lookup))
                ]
            }
        }

        func manager(isStaged: Bool = false) -> MigrationManager {
            let manager = ExistingReferenceTests.manager(fixture)
            manager.options = fixture.options(isStaged: isStaged)
            manager.usesStoreSpecificMigrationManager = !isStaged
            manager.options.onInvalid = .reject
            manager.options.fullCheck = true
            return manager
        }

        func call(_ manager: MigrationManager, _ model: MappingModel) throws {
            try manager.migrateStore(
                from: URL(fileURLWithPath: fixture.sourcePath), type: .sqlite, mapping: model,
                to: URL(fileURLWithPath: fixture.destinationPath), type: .sqlite)
        }

        /// A table's rows as text, by key.
        func rows(_ columns: String, of table: String) throws -> [String] {
            let connection = try Connection(path: fixture.destinationPath, flags: SQLITE_OPEN_READONLY)
            return try connection.firstColumn("SELECT \(columns) FROM \(table) ORDER BY Z_PK")
        }
    }

    /// The fixture's mapping of one entity, without relationships.
    private static func part(
        _ entity: String, of fixture: FailureFixture, named name: String, policy: String? = nil
    ) throws -> MappingModel {
        let model = try #require(fixture.mapping.copy() as? MappingModel)
        model.entityMappings = model.entityMappings.filter { $0.destinationEntityName == entity }
        model.entityMappings[0].name = name
        model.entityMappings[0].relationshipMappings = nil
        model.entityMappings[0].entityMigrationPolicyClassName = policy
        return model
    }

    private static func manager(_ fixture: FailureFixture) -> MigrationManager {
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        manager.policies.register("Adopter") { Adopter() }
        manager.policies.register("Hoarder") { Hoarder() }
        return manager
    }

    /// The fixture's mapping model with names of our own, then a second one.
    private static func inTurn(_ fixture: FailureFixture, _ second: MappingModel) throws -> Migration {
        let lookup =
            "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Authors', $source.author)"
        let first = try part("Author", of: fixture, named: "Authors")
        let books = try part("Book", of: fixture, named: "Books").entityMappings[0]
        books.relationshipMappings = [
            PropertyMapping(name: "author", valueExpression: try ValueExpression(parsing: lookup))
        ]
        first.entityMappings.append(books)
        var options = fixture.options()
        options.onInvalid = .reject
        return Migration(
            from: fixture.sourcePath, model: fixture.source, mappings: [first, second], to: fixture.destinationPath,
            model: fixture.destination, options: options, manager: manager(fixture))
    }

    private static let lookup =
        "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Books', $source.books)"

    @Test(
        "The books of an earlier mapping model lose an author who is rejected, and no other", arguments: [false, true],
        [false, true])
    func severalModels(inOneRun: Bool, isStaged: Bool) throws {
        let fixture = try Fixture(lookup: Self.lookup)
        let manager = fixture.manager(isStaged: isStaged)
        if inOneRun {
            let report = try Migration(
                from: fixture.fixture.sourcePath, model: fixture.fixture.source,
                mappings: [fixture.books, fixture.authors],
                to: fixture.fixture.destinationPath, model: fixture.fixture.destination, options: manager.options
            ).run()
            #expect(report.rejects?.objects == 1)
        } else {
            try fixture.call(manager, fixture.books)
            try fixture.call(manager, fixture.authors)
            #expect(manager.report?.rejects?.objects == 1)
        }
        #expect(try fixture.rows("Z_PK", of: "ZAUTHOR") == ["1", "3", "4"])
        let expected = (1...40).map { $0 % 4 == 1 ? "nil" : "\(1 + $0 % 4)" }
        #expect(try fixture.rows("ZAUTHOR", of: "ZBOOK") == expected)
    }

    @Test("A row of an appended store loses the object that a policy gave it if that is rejected")
    func appended() throws {
        let fixture = try Fixture(policy: "Adopter")
        let manager = fixture.manager()
        try fixture.call(manager, fixture.books)
        try fixture.call(manager, fixture.authors)
        #expect(manager.report?.isAppended == true && manager.report?.rejects?.objects == 1)
        #expect(try fixture.rows("ZNAME", of: "ZAUTHOR") == ["Author 1", "Author 3", "Author 4"])
        let found = try fixture.rows("(SELECT ZNAME FROM ZAUTHOR AS a WHERE a.Z_PK = ZBOOK.ZAUTHOR)", of: "ZBOOK")
        let expected = ["Author 1", "nil", "Author 3", "Author 4"] + (5...40).map { _ in "nil" }
        #expect(found == expected)
        #expect(try fixture.rows("count(*)", of: "ZBOOK WHERE ZAUTHOR NOT IN (SELECT Z_PK FROM ZAUTHOR)") == ["0"])
    }

    @Test("A row that needs the rejected object ends the run; a check says so")
    func needed() throws {
        let fixture = try FailureFixture(
            { $0.relationships[0].isOptional = false }, author: { $0.attributes[0].isOptional = false })
        let authors = try Self.part("Author", of: fixture, named: "MoreAuthors", policy: "Adopter")
        authors.entityMappings[0].attributeMapping(named: "name")?.valueExpression = try ValueExpression(
            parsing: "TERNARY($source.name == 'Author 2', nil, $source.name)")
        let migration = try Self.inTurn(fixture, authors)
        let checked = try migration.check()
        #expect(checked.hasInvalidExistingObjects && checked.fails(migration.options))
        let (error, changes) = try fixture.ending { _ in try migration.run() }
        #expect(changes == [])
        #expect(error?.category == .data)
        #expect(
            error?.context.property == "author" && error?.context.objectID == "Book/p2", "\(String(describing: error))")
    }

    @Test("A row that only rejected objects would break is valid: for a run and for a check", arguments: [true, false])
    func healed(areRejected: Bool) throws {
        let fixture = try FailureFixture(
            { $0.attributes[1].isOptional = false }, author: { $0.relationships[0].maximumCount = 10 })
        // Forty more books for author 1, who has ten.
        let books = try Self.part("Book", of: fixture, named: "MoreBooks", policy: "Hoarder")
        if areRejected {
            books.entityMappings[0].attributeMapping(named: "isbn")?.valueExpression = try ValueExpression(
                parsing: "nil")
        }
        let migration = try Self.inTurn(fixture, books)
        let checked = try migration.check()
        #expect(checked.hasInvalidExistingObjects != areRejected && checked.fails(migration.options) != areRejected)
        #expect(checked.rejectedObjects == (areRejected ? 40 : 0))
        if areRejected {
            #expect(try migration.run().rejects?.objects == 40)
        } else {
            let (error, changes) = try fixture.ending { _ in try migration.run() }
            #expect(changes == [] && error?.context.objectID == "Author/p1", "\(String(describing: error))")
        }
    }
}
