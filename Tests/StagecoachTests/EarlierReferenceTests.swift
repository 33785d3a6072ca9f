import CSQLite
import Diagnostics
import Foundation
import Mapping
import PersistentStore
import Stagecoach
import TestSupport
import Testing

/// Rows that stood in the destination, or that an earlier mapping model made, refer to objects that are then rejected.
@Suite("References from earlier rows to rejected objects")
struct EarlierReferenceTests {
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
    private struct Scene {
        let scene: FailureScene
        let books: MappingModel
        let authors: MappingModel

        /// - Parameters:
        ///   - lookup: the value expression of the authors' books; nil: none.
        ///   - policy: of the authors.
        init(lookup: String? = nil, policy: String? = nil) throws {
            scene = try FailureScene(author: { $0.attributes[0].isOptional = false })
            try scene.change("UPDATE ZAUTHOR SET ZNAME = NULL WHERE Z_PK = 2")
            books = try EarlierReferenceTests.part("Book", of: scene, named: "Books")
            authors = try EarlierReferenceTests.part("Author", of: scene, named: "Authors", policy: policy)
            if let lookup {
                authors.entityMappings[0].relationshipMappings = [
                    PropertyMapping(name: "books", valueExpression: try ValueExpression(parsing: lookup))
                ]
            }
        }

        func manager(isStaged: Bool = false) -> MigrationManager {
            let manager = EarlierReferenceTests.manager(scene)
            manager.options = scene.options(isStaged: isStaged)
            manager.usesStoreSpecificMigrationManager = !isStaged
            manager.options.onInvalid = .reject
            manager.options.fullCheck = true
            return manager
        }

        func call(_ manager: MigrationManager, _ model: MappingModel) throws {
            try manager.migrateStore(
                from: URL(fileURLWithPath: scene.sourcePath), type: .sqlite, mapping: model,
                to: URL(fileURLWithPath: scene.destinationPath), type: .sqlite)
        }

        /// A table's rows as text, by key.
        func rows(_ columns: String, of table: String) throws -> [String] {
            let connection = try Connection(path: scene.destinationPath, flags: SQLITE_OPEN_READONLY)
            let statement = try connection.prepare("SELECT \(columns) FROM \(table) ORDER BY Z_PK")
            var rows: [String] = []
            while try statement.step() { rows.append(statement.text(0) ?? "NULL") }
            return rows
        }
    }

    /// The scene's mapping of one entity, without relationships.
    private static func part(
        _ entity: String, of scene: FailureScene, named name: String, policy: String? = nil
    ) throws -> MappingModel {
        let model = try #require(scene.mapping.copy() as? MappingModel)
        model.entityMappings = model.entityMappings.filter { $0.destinationEntityName == entity }
        model.entityMappings[0].name = name
        model.entityMappings[0].relationshipMappings = nil
        model.entityMappings[0].entityMigrationPolicyClassName = policy
        return model
    }

    private static func manager(_ scene: FailureScene) -> MigrationManager {
        let manager = MigrationManager(sourceModel: scene.source, destinationModel: scene.destination)
        manager.policies = PolicyRegistry()
        manager.policies.register("Adopter") { Adopter() }
        manager.policies.register("Hoarder") { Hoarder() }
        return manager
    }

    /// The scene's mapping model with names of our own, then a second one.
    private static func inTurn(_ scene: FailureScene, _ second: MappingModel) throws -> Migration {
        let lookup =
            "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Authors', $source.author)"
        let first = try part("Author", of: scene, named: "Authors")
        let books = try part("Book", of: scene, named: "Books").entityMappings[0]
        books.relationshipMappings = [
            PropertyMapping(name: "author", valueExpression: try ValueExpression(parsing: lookup))
        ]
        first.entityMappings.append(books)
        var options = scene.options()
        options.onInvalid = .reject
        return Migration(
            from: scene.sourcePath, model: scene.source, mappings: [first, second], to: scene.destinationPath,
            model: scene.destination, options: options, manager: manager(scene))
    }

    private static let lookup =
        "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Books', $source.books)"

    @Test(
        "The books of an earlier mapping model lose an author who is rejected, and no other", arguments: [false, true],
        [false, true])
    func severalModels(inOneRun: Bool, isStaged: Bool) throws {
        let scene = try Scene(lookup: Self.lookup)
        let manager = scene.manager(isStaged: isStaged)
        if inOneRun {
            let report = try Migration(
                from: scene.scene.sourcePath, model: scene.scene.source, mappings: [scene.books, scene.authors],
                to: scene.scene.destinationPath, model: scene.scene.destination, options: manager.options
            ).run()
            #expect(report.rejects?.objects == 1)
        } else {
            try scene.call(manager, scene.books)
            try scene.call(manager, scene.authors)
            #expect(manager.report?.rejects?.objects == 1)
        }
        #expect(try scene.rows("Z_PK", of: "ZAUTHOR") == ["1", "3", "4"])
        let expected = (1...40).map { $0 % 4 == 1 ? "NULL" : "\(1 + $0 % 4)" }
        #expect(try scene.rows("ZAUTHOR", of: "ZBOOK") == expected)
    }

    @Test("A row of an appended store loses the object that a policy gave it where that is rejected")
    func appended() throws {
        let scene = try Scene(policy: "Adopter")
        let manager = scene.manager()
        try scene.call(manager, scene.books)
        try scene.call(manager, scene.authors)
        #expect(manager.report?.isAppended == true && manager.report?.rejects?.objects == 1)
        #expect(try scene.rows("ZNAME", of: "ZAUTHOR") == ["Author 1", "Author 3", "Author 4"])
        let found = try scene.rows("(SELECT ZNAME FROM ZAUTHOR AS a WHERE a.Z_PK = ZBOOK.ZAUTHOR)", of: "ZBOOK")
        let expected = ["Author 1", "NULL", "Author 3", "Author 4"] + (5...40).map { _ in "NULL" }
        #expect(found == expected)
        #expect(try scene.rows("count(*)", of: "ZBOOK WHERE ZAUTHOR NOT IN (SELECT Z_PK FROM ZAUTHOR)") == ["0"])
    }

    @Test("A row that needs the rejected object ends the run; a check says so")
    func needed() throws {
        let scene = try FailureScene(
            { $0.relationships[0].isOptional = false }, author: { $0.attributes[0].isOptional = false })
        let authors = try Self.part("Author", of: scene, named: "MoreAuthors", policy: "Adopter")
        authors.entityMappings[0].attributeMapping(named: "name")?.valueExpression = try ValueExpression(
            parsing: "TERNARY($source.name == 'Author 2', nil, $source.name)")
        let migration = try Self.inTurn(scene, authors)
        let checked = try migration.check()
        #expect(checked.hasInvalidEarlierObjects && checked.fails(migration.options))
        let (error, changes) = try scene.ending { _ in try migration.run() }
        #expect(changes == [])
        #expect(error?.category == .data)
        #expect(
            error?.context.property == "author" && error?.context.objectID == "Book/p2", "\(String(describing: error))")
    }

    @Test("A row that only rejected objects would break is valid: for a run and for a check", arguments: [true, false])
    func healed(areRejected: Bool) throws {
        let scene = try FailureScene(
            { $0.attributes[1].isOptional = false }, author: { $0.relationships[0].maximumCount = 10 })
        // Forty more books for author 1, who has ten.
        let books = try Self.part("Book", of: scene, named: "MoreBooks", policy: "Hoarder")
        if areRejected {
            books.entityMappings[0].attributeMapping(named: "isbn")?.valueExpression = try ValueExpression(
                parsing: "nil")
        }
        let migration = try Self.inTurn(scene, books)
        let checked = try migration.check()
        #expect(checked.hasInvalidEarlierObjects != areRejected && checked.fails(migration.options) != areRejected)
        #expect(checked.rejectedObjects == (areRejected ? 40 : 0))
        if areRejected {
            #expect(try migration.run().rejects?.objects == 40)
        } else {
            let (error, changes) = try scene.ending { _ in try migration.run() }
            #expect(changes == [] && error?.context.objectID == "Author/p1", "\(String(describing: error))")
        }
    }
}
