import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Mapping
import SpillStorage
import Stagecoach
import TestSupport
import Testing

/// Apple's recipe for large stores: one manager, several mapping models, one call each.
@Suite("A manager's calls: associations until reset, progress, cancellation")
struct ManagerCallsTests {
    /// The fixture's mapping model in two: authors, then books that look their authors up.
    private static func parts(_ fixture: FailureFixture) throws -> (authors: MappingModel, books: MappingModel) {
        func mapping(_ entity: String, _ relationships: [PropertyMapping]) throws -> MappingModel {
            let inferred = try #require(fixture.mapping.entityMappings.first { $0.destinationEntityName == entity })
            let mapping = EntityMapping()
            mapping.name = "\(entity)s"
            mapping.mappingType = .transformEntityMappingType
            mapping.sourceEntityName = entity
            mapping.destinationEntityName = entity
            mapping.attributeMappings = inferred.attributeMappings
            mapping.relationshipMappings = relationships
            let model = MappingModel()
            model.entityMappings = [mapping]
            return model
        }
        let lookup = try ValueExpression(
            parsing:
                "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Authors', $source.author)"
        )
        return (
            try mapping("Author", []),
            try mapping("Book", [PropertyMapping(name: "author", valueExpression: lookup)])
        )
    }

    private static func migrate(
        _ manager: MigrationManager, _ fixture: FailureFixture, _ model: MappingModel, to path: String? = nil
    ) throws {
        try manager.migrateStore(
            from: URL(fileURLWithPath: fixture.sourcePath), type: .sqlite, mapping: model,
            to: URL(fileURLWithPath: path ?? fixture.destinationPath), type: .sqlite)
    }

    private static func manager(_ fixture: FailureFixture, isStaged: Bool = false) -> MigrationManager {
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        manager.options.memoryLimit = 8 << 30
        manager.usesStoreSpecificMigrationManager = !isStaged
        return manager
    }

    private static let unlinked = "SELECT count(*) FROM ZBOOK WHERE ZAUTHOR IS NOT 1 + Z_PK % 4"

    @Test("A later call finds the objects of an earlier one", arguments: [false, true])
    func laterCall(isStaged: Bool) throws {
        let fixture = try FailureFixture()
        let (authors, books) = try Self.parts(fixture)
        let manager = Self.manager(fixture, isStaged: isStaged)
        try Self.migrate(manager, fixture, authors)
        #expect(manager.report?.isAppended == false)
        #expect(manager.report?.counts.withoutMapping == ["Book": 40])
        try Self.migrate(manager, fixture, books)
        #expect(manager.report?.isAppended == true)
        #expect(manager.report?.isStaged == isStaged)
        // Authors were migrated by the earlier call.
        #expect(manager.report?.counts.withoutMapping == [:])
        #expect(manager.report?.counts.mappings.map(\.name) == ["Books"])
        #expect(manager.report?.keys == ["Book": "kept"])
        #expect(try StoreQuery.integer(Self.unlinked, in: fixture.destinationPath) == 0)
    }

    @Test("After reset an earlier call's mapping is unknown, and the manager migrates again")
    func reset() throws {
        let fixture = try FailureFixture()
        let (authors, books) = try Self.parts(fixture)
        let manager = Self.manager(fixture)
        try Self.migrate(manager, fixture, authors)
        manager.reset()
        let before = try fixture.snapshot()
        let error = #expect(throws: MigrationError.self) { try Self.migrate(manager, fixture, books) }
        #expect(error?.code == "mapping.unknownMapping")
        #expect(try fixture.snapshot() == before)
        try Self.migrate(manager, fixture, authors)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR", in: fixture.destinationPath) == 8)
        // Of equal names the latest call's objects are found.
        try Self.migrate(manager, fixture, books)
        #expect(try StoreQuery.integer("SELECT min(ZAUTHOR) FROM ZBOOK", in: fixture.destinationPath) == 5)
    }

    @Test("A failed call leaves the associations of the calls before it")
    func failedCall() throws {
        let fixture = try FailureFixture()
        let (authors, books) = try Self.parts(fixture)
        let manager = Self.manager(fixture)
        try Self.migrate(manager, fixture, authors)
        let broken = MappingModel()
        broken.entityMappings = books.entityMappings
        books.entityMappings[0].entityMigrationPolicyClassName = "Nobody"
        #expect(throws: MigrationError.self) { try Self.migrate(manager, fixture, broken) }
        books.entityMappings[0].entityMigrationPolicyClassName = nil
        try Self.migrate(manager, fixture, books)
        #expect(try StoreQuery.integer(Self.unlinked, in: fixture.destinationPath) == 0)
    }

    @Test("A dry call leaves no trace: the call after it is as if it had not been")
    func dryCall() throws {
        let fixture = try FailureFixture { $0.attributes[1].isOptional = false }
        try fixture.change("UPDATE ZBOOK SET ZISBN = NULL WHERE Z_PK = 5")
        let (authors, books) = try Self.parts(fixture)
        let manager = Self.manager(fixture)
        manager.options.onInvalid = .reject
        try Self.migrate(manager, fixture, authors)
        manager.options.isDryRun = true
        for _ in 0..<2 {
            try Self.migrate(manager, fixture, books)
            #expect(manager.report?.keys == ["Book": "kept"] && manager.report?.rejects?.objects == 1)
        }
        manager.options.isDryRun = false
        try Self.migrate(manager, fixture, books)
        #expect(manager.report?.keys == ["Book": "kept"] && manager.report?.isStaged == false)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZBOOK WHERE Z_PK = 5", in: fixture.destinationPath) == 0)
        #expect(try StoreQuery.integer(Self.unlinked, in: fixture.destinationPath) == 0)
    }

    @Test("A destination that somebody changed between two calls is refused until reset")
    func changedDestination() throws {
        let fixture = try FailureFixture()
        let (authors, books) = try Self.parts(fixture)
        let manager = Self.manager(fixture)
        try Self.migrate(manager, fixture, authors)
        let connection = try Connection(path: fixture.destinationPath, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("DELETE FROM ZAUTHOR WHERE Z_PK = 2")
        try connection.close()
        let error = #expect(throws: MigrationError.self) { try Self.migrate(manager, fixture, books) }
        #expect(error?.code == "manager.destinationChanged")
        // Another destination begins anew.
        try Self.migrate(manager, fixture, authors, to: fixture.folder.file("other.sqlite"))
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR", in: fixture.folder.file("other.sqlite")) == 4)
    }

    @Test("A later policy reads and changes the objects of an earlier call", arguments: [false, true])
    func laterPolicy(isDeleting: Bool) throws {
        final class Visitor: EntityMigrationPolicy {
            var deletes = false
            override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
                let authors = manager.destinationInstances(forEntityMappingName: "Authors", sourceInstances: nil)
                #expect(authors.count == 4)
                for author in authors {
                    let books = author.value(forKey: "books") as? Set<ManagedObject> ?? []
                    #expect(books.count == 10)
                    let sources = manager.sourceInstances(
                        forEntityMappingName: "Authors", destinationInstances: [author])
                    #expect(sources.map(\.objectID.key) == [author.objectID.key])
                    author.setValue("\(author.value(forKey: "name") as? String ?? "") (\(books.count))", forKey: "name")
                    #expect((author.value(forKey: "name") as? String)?.hasSuffix(" (10)") == true)
                }
                guard deletes, let last = authors.last else { return }
                manager.destinationContext.delete(last)
            }
        }
        let fixture = try FailureFixture()
        let (authors, books) = try Self.parts(fixture)
        let manager = Self.manager(fixture)
        manager.policies.register("Visitor") {
            let visitor = Visitor()
            visitor.deletes = isDeleting
            return visitor
        }
        books.entityMappings[0].entityMigrationPolicyClassName = "Visitor"
        try Self.migrate(manager, fixture, authors)
        manager.options.fullCheck = true
        try Self.migrate(manager, fixture, books)
        let path = fixture.destinationPath
        #expect(
            try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR WHERE ZNAME LIKE 'Author % (10)'", in: path)
                == (isDeleting ? 3 : 4))
        #expect(
            try StoreQuery.integer("SELECT count(*) FROM ZBOOK WHERE ZAUTHOR IS NULL", in: path)
                == (isDeleting ? 10 : 0))
    }

    @Test("Progress only grows over all mapping models, as figures, as a sequence and as Foundation's")
    func progress() async throws {
        let fixture = try FailureFixture(books: 3000)
        let (authors, books) = try Self.parts(fixture)
        let manager = Self.manager(fixture)
        let shown = manager.foundationProgress
        #expect(shown.totalUnitCount == 1000 && shown.completedUnitCount == 0)
        let updates = manager.progress.updates
        let reader = Task {
            var seen: [ProgressCounter.Snapshot] = []
            for await snapshot in updates { seen.append(snapshot) }
            return seen
        }
        manager.options.batchSize = 1
        manager.options.appendsToExisting = false
        let migration = Migration(
            from: fixture.sourcePath, model: fixture.source, mappings: [authors, books], to: fixture.destinationPath,
            model: fixture.destination, options: manager.options, progress: manager.progress)
        try migration.run()
        let seen = await reader.value
        #expect(seen.last?.fraction == 1)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.fraction <= $1.fraction && $0.rows <= $1.rows })
        #expect(manager.migrationProgress == 1)
        try Self.migrate(manager, fixture, authors, to: fixture.folder.file("other.sqlite"))
        #expect(shown.completedUnitCount == 1000 && shown.isFinished)
        #expect(manager.foundationProgress !== shown)
    }

    @Test("The handler that takes the place of key-value observing follows a run from its begin to its end")
    func progressHandler() throws {
        let fixture = try FailureFixture(books: 3000)
        let manager = Self.manager(fixture)
        manager.options.batchSize = 1
        var seen: [Float] = []
        manager.migrationProgressHandler = { [unowned manager] share in
            seen.append(share)
            #expect(share <= 1 && manager.migrationProgress >= share)
        }
        try Self.migrate(manager, fixture, fixture.mapping)
        #expect(seen.count > 100 && seen.count <= 1000 && seen.last == 1)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("The manager's progress is observed by its key path, as long as the observation is kept")
    func observing() throws {
        let fixture = try FailureFixture(books: 300)
        let manager = Self.manager(fixture)
        manager.options.batchSize = 1
        var seen: [Float] = []
        var calls = (initial: 0, dropped: 0, invalid: 0)
        let observation = manager.observe(\.migrationProgress, options: [.new]) { manager, change in
            seen.append(change.newValue ?? -1)
            #expect(change.oldValue == nil && !change.isPrior)
        }
        let mappings = manager.observe(\.currentEntityMapping, options: .initial) { _, change in
            calls.initial += 1
            #expect(change.newValue == nil)
        }
        #expect(calls.initial == 1)
        _ = manager.observe(\.migrationProgress) { _, _ in calls.dropped += 1 }
        let ended = manager.observe(\.migrationProgress) { _, _ in calls.invalid += 1 }
        ended.invalidate()
        try Self.migrate(manager, fixture, fixture.mapping)
        #expect(seen.count > 10 && seen.last == 1 && calls.initial == seen.count + 1)
        #expect(calls.dropped == 0 && calls.invalid == 0)
        withExtendedLifetime((observation, mappings, ended)) {}
    }

    private final class OlderManager: MigrationManager {
        var calls = 0
        override func migrateStore(
            from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil,
            with mappings: MappingModel?, toDestinationURL dURL: URL, destinationType dStoreType: String,
            destinationOptions dOptions: [AnyHashable: Any]? = nil
        ) throws {
            calls += 1
            try super.migrateStore(
                from: sourceURL, sourceType: sStoreType, options: sOptions, with: mappings, toDestinationURL: dURL,
                destinationType: dStoreType, destinationOptions: dOptions)
        }
    }

    @Test("A subclass that overrides the older method sees calls of both")
    func olderMethod() throws {
        let fixture = try FailureFixture(books: 30)
        let manager = OlderManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.options.memoryLimit = 8 << 30
        try Self.migrate(manager, fixture, fixture.mapping)
        #expect(manager.calls == 1 && manager.report != nil)
    }

    @Test("Cancelling Foundation's progress ends the run, also before it begins", arguments: [false, true])
    func cancelledProgress(isStaged: Bool) throws {
        let fixture = try FailureFixture(books: 20_000)
        let manager = Self.manager(fixture, isStaged: isStaged)
        manager.foundationProgress.cancel()
        #expect(throws: CancellationError.self) { try Self.migrate(manager, fixture, fixture.mapping) }
        manager.options.batchSize = 1
        let isMet = try untilMet {
            let progress = manager.foundationProgress
            let watcher = Watcher {
                guard progress.completedUnitCount > 100 else { return false }
                progress.cancel()
                return true
            }
            defer { watcher.finish() }
            do {
                try Self.migrate(manager, fixture, fixture.mapping)
                try FileManager.default.removeItem(atPath: fixture.destinationPath)
                manager.reset()
                return false
            } catch is CancellationError {
                #expect(progress.completedUnitCount < 1000)
                return true
            }
        }
        #expect(isMet)
        #expect(try FailureFixture.contents(of: fixture.outputFolder).isEmpty)
        try Self.migrate(manager, fixture, fixture.mapping)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZBOOK", in: fixture.destinationPath) == 20_000)
    }

    @Test("A report goes through JSON and comes back")
    func report() throws {
        let fixture = try FailureFixture()
        let (authors, books) = try Self.parts(fixture)
        var options = fixture.options()
        options.fullCheck = true
        let report = try Migration(
            from: fixture.sourcePath, model: fixture.source, mappings: [authors, books], to: fixture.destinationPath,
            model: fixture.destination, options: options
        ).run()
        #expect(report.mappingModels == 2 && !report.isAppended)
        #expect(report.counts.mappings.map(\.name) == ["Authors", "Books"])
        #expect(report.counts.mappings.map(\.migrated) == [4, 40])
        #expect(report.counts.withoutMapping.isEmpty && report.counts.created == ["Author": 4, "Book": 40])
        let back = try JSONDecoder().decode(MigrationReport.self, from: try report.json())
        #expect(back.counts == report.counts)
        #expect(try back.json() == report.json())
    }

    @Test("Associations lie in the work folder between calls and go with the manager")
    func workFolder() throws {
        let fixture = try FailureFixture()
        let work = fixture.folder.file("work")
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
        let (authors, _) = try Self.parts(fixture)
        var manager: MigrationManager? = Self.manager(fixture)
        manager?.options.workDirectory = work
        if let manager { try Self.migrate(manager, fixture, authors) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: work).count == 1)
        manager?.reset()
        #expect(try FileManager.default.contentsOfDirectory(atPath: work).isEmpty)
        if let manager { try Self.migrate(manager, fixture, authors) }
        manager = nil
        #expect(try FileManager.default.contentsOfDirectory(atPath: work).isEmpty)
    }
}
