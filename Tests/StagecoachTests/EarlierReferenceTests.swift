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
    /// Gives each author that it relates the book that has the number of the author's source as its pages.
    final class Adopter: EntityMigrationPolicy {
        override func createRelationships(
            forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
            let sources = manager.sourceInstances(
                forEntityMappingName: mapping.name, destinationInstances: [dInstance])
            let request = FetchRequest<ManagedObject>(entityName: "Book")
            request.predicate = FormatPredicate(format: "pages == %d", Int(sources.first?.objectID.key ?? 0))
            for book in try manager.destinationContext.fetch(request) { book.setValue(dInstance, forKey: "author") }
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
        ///   - needsAuthor: whether the destination requires a book's author.
        init(lookup: String? = nil, policy: String? = nil, needsAuthor: Bool = false) throws {
            let scene = try FailureScene(
                { book in if needsAuthor { book.relationships[0].isOptional = false } },
                author: { $0.attributes[0].isOptional = false })
            try scene.change("UPDATE ZAUTHOR SET ZNAME = NULL WHERE Z_PK = 2")
            func part(_ entity: String, _ name: String) throws -> MappingModel {
                let model = try #require(scene.mapping.copy() as? MappingModel)
                model.entityMappings = model.entityMappings.filter { $0.destinationEntityName == entity }
                model.entityMappings[0].name = name
                model.entityMappings[0].relationshipMappings = nil
                return model
            }
            let authors = try part("Author", "Authors")
            authors.entityMappings[0].entityMigrationPolicyClassName = policy
            if let lookup {
                authors.entityMappings[0].relationshipMappings = [
                    PropertyMapping(name: "books", valueExpression: try ValueExpression(parsing: lookup))
                ]
            }
            self.scene = scene
            self.authors = authors
            books = try part("Book", "Books")
        }

        func manager(isStaged: Bool = false) -> MigrationManager {
            let manager = MigrationManager(sourceModel: scene.source, destinationModel: scene.destination)
            manager.policies = PolicyRegistry()
            manager.policies.register("Adopter") { Adopter() }
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
        try scene.call(scene.manager(), scene.books)
        let manager = scene.manager()
        try scene.call(manager, scene.authors)
        #expect(manager.report?.isAppended == true && manager.report?.rejects?.objects == 1)
        #expect(try scene.rows("ZNAME", of: "ZAUTHOR") == ["Author 1", "Author 3", "Author 4"])
        let found = try scene.rows("(SELECT ZNAME FROM ZAUTHOR AS a WHERE a.Z_PK = ZBOOK.ZAUTHOR)", of: "ZBOOK")
        let expected = ["Author 1", "NULL", "Author 3", "Author 4"] + (5...40).map { _ in "NULL" }
        #expect(found == expected)
        #expect(try scene.rows("count(*)", of: "ZBOOK WHERE ZAUTHOR NOT IN (SELECT Z_PK FROM ZAUTHOR)") == ["0"])
    }

    @Test("A row of an appended store that needs the rejected object ends the run, and stays as it was")
    func needed() throws {
        let scene = try Scene(policy: "Adopter", needsAuthor: true)
        // The store that stands there, whose books have authors.
        let first = scene.manager()
        first.options.onInvalid = .fail
        try scene.scene.change("UPDATE ZAUTHOR SET ZNAME = 'Author 2' WHERE Z_PK = 2")
        try first.migrateStore(
            from: URL(fileURLWithPath: scene.scene.sourcePath), type: .sqlite, mapping: scene.scene.mapping,
            to: URL(fileURLWithPath: scene.scene.destinationPath), type: .sqlite)
        try scene.scene.change("UPDATE ZAUTHOR SET ZNAME = NULL WHERE Z_PK = 2")
        let manager = scene.manager()
        let (error, changes) = try scene.scene.ending { _ in try scene.call(manager, scene.authors) }
        #expect(changes == [])
        #expect(error?.category == .data)
        #expect(error?.context.entity == "Book" && error?.context.property == "author", "\(String(describing: error))")
        #expect(error?.context.objectID == "Book/p2")
        manager.options.appendsToExisting = true
        let checked = try Migration(
            from: scene.scene.sourcePath, model: scene.scene.source, mapping: scene.authors,
            to: scene.scene.destinationPath, model: scene.scene.destination, options: manager.options,
            manager: manager
        ).check()
        #expect(checked.hasInvalidEarlierObjects && checked.fails(manager.options))
    }

    /// Gives every book that it relates to the earlier author 1.
    final class Hoarder: EntityMigrationPolicy {
        override func createRelationships(
            forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
            let request = FetchRequest<ManagedObject>(entityName: "Author")
            request.predicate = FormatPredicate(format: "name == 'Author 1'")
            dInstance.setValue(try manager.destinationContext.fetch(request).first, forKey: "author")
        }
    }

    @Test("A row that only rejected objects would make invalid is valid: for a run and for a check")
    func healed() throws {
        let scene = try FailureScene(
            { $0.attributes[1].isOptional = false }, author: { $0.relationships[0].maximumCount = 10 })
        try scene.migration(scene.options()).run()
        // Two more books for author 1, who has ten: both without an isbn.
        try scene.change("DELETE FROM ZBOOK WHERE Z_PK > 2; UPDATE ZBOOK SET ZISBN = NULL")
        let books = try #require(scene.mapping.copy() as? MappingModel)
        books.entityMappings = books.entityMappings.filter { $0.destinationEntityName == "Book" }
        books.entityMappings[0].relationshipMappings = nil
        books.entityMappings[0].entityMigrationPolicyClassName = "Hoarder"
        let manager = MigrationManager(sourceModel: scene.source, destinationModel: scene.destination)
        manager.policies = PolicyRegistry()
        manager.policies.register("Hoarder") { Hoarder() }
        var options = scene.options()
        options.appendsToExisting = true
        options.onInvalid = .reject
        let migration = Migration(
            from: scene.sourcePath, model: scene.source, mapping: books, to: scene.destinationPath,
            model: scene.destination, options: options, manager: manager)
        let checked = try migration.check()
        #expect(checked.rejectedObjects == 2 && !checked.hasInvalidEarlierObjects && !checked.fails(options))
        let report = try migration.run()
        #expect(report.rejects?.objects == 2 && report.isAppended)
    }
}
