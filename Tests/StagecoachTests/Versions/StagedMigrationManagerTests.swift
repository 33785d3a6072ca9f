import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Staged migration")
struct StagedMigrationManagerTests {
    private struct Fixture {
        let versions: [ModelVersion]
        let folder: TemporaryFolder
        let source: URL
        var destination: URL { URL(fileURLWithPath: folder.file("new.sqlite")) }

        init() throws {
            versions = try ChainTests.versions()
            folder = try TemporaryFolder()
            source = URL(fileURLWithPath: try ChainTests.source(folder, versions[0]))
        }

        func checksum(_ number: Int) throws -> String { try #require(versions[number - 1].model.versionChecksum) }
        func reference(_ number: Int) throws -> NSManagedObjectModelReference {
            NSManagedObjectModelReference(
                model: versions[number - 1].model, versionChecksum: try checksum(number))
        }
    }

    @Test("A lightweight stage leads directly to its last version, a custom one calls its handlers")
    func stages() throws {
        let fixture = try Fixture()
        let light = NSLightweightMigrationStage([try fixture.checksum(1), try fixture.checksum(2)])
        let custom = NSCustomMigrationStage(
            migratingFrom: try fixture.reference(2), to: try fixture.reference(3))
        custom.label = "tags"
        var seen: [String] = []
        custom.willMigrateHandler = { manager, stage in
            let path = try #require(manager.storeURL).path
            #expect(manager.model === fixture.versions[1].model && stage.label == "tags")
            seen += try StoreQuery.texts("SELECT ZTITLE FROM ZBOOK ORDER BY Z_PK", in: path)
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
            try connection.execute("UPDATE ZBOOK SET ZTITLE = ZTITLE || '?' WHERE Z_PK = 9")
            try connection.close()
        }
        custom.didMigrateHandler = { manager, _ in
            let path = try #require(manager.storeURL).path
            seen += try StoreQuery.texts("SELECT ZNAME FROM ZBOOK ORDER BY Z_PK", in: path)
            let mapping = try MappingModel.inferred(from: fixture.versions[2].model, to: fixture.versions[2].model)
            let book = try #require(mapping.entityMappings.first { $0.destinationEntityName == "Book" })
            book.attributeMappings?.first { $0.name == "pages" }?.valueExpression = try NSExpression(
                parsing: "$source.pages * 2")
            try manager.transformStore(with: mapping)
        }
        let manager = NSStagedMigrationManager([light, custom])
        manager.models = [fixture.versions[0].model]
        let before = try Data(contentsOf: fixture.source)
        let reports = try manager.migrateStore(
            from: fixture.source, to: fixture.destination, destinationModel: fixture.versions[3].model)
        #expect(seen == ["A", "none", "A", "none?"])
        #expect(
            try StoreQuery.texts("SELECT ZHEADING || ZPAGES FROM ZBOOK ORDER BY Z_PK", in: fixture.destination.path)
                == ["A14", "none?14"])
        #expect(reports.count == 3 && manager.storeURL == nil && manager.model == nil)
        #expect(manager.progress.snapshot.fraction == 1)
        #expect(try Data(contentsOf: fixture.source) == before)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path).sorted()
                == ["new.sqlite", "old.sqlite"])
    }

    @Test("A handler reads and changes objects in the contexts of the container")
    func container() throws {
        let fixture = try Fixture()
        let light = NSLightweightMigrationStage([try fixture.checksum(1), try fixture.checksum(2)])
        let custom = NSCustomMigrationStage(
            migratingFrom: try fixture.reference(2), to: try fixture.reference(3))
        custom.willMigrateHandler = { manager, stage in
            let container = try #require(manager.container)
            #expect(container.managedObjectModel === fixture.versions[1].model)
            let context = container.newBackgroundContext()
            #expect(context === container.viewContext)
            #expect(context.persistentStoreCoordinator === container.persistentStoreCoordinator)
            try context.performAndWait {
                let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Book")
                request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
                let books = try #require(try context.fetch(request) as? [NSManagedObject])
                #expect(books.map { $0.value(forKey: "title") as? String } == ["none", "A"])
                books[0].setValue("changed", forKey: "title")
                let made = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
                made.setValue("made", forKey: "title")
                try context.save()
            }
        }
        custom.didMigrateHandler = { manager, _ in
            let container = try #require(manager.container)
            #expect(container.name == "step-2")
            container.performBackgroundTask { context in
                let tag = NSEntityDescription.insertNewObject(forEntityName: "Tag", into: context)
                tag.setValue("tag", forKey: "name")
            }
            // The changes so far are saved before the store is transformed; later contexts see what became of them.
            let mapping = try NSMappingModel.inferredMappingModel(
                forSourceModel: fixture.versions[2].model, destinationModel: fixture.versions[2].model)
            let tags = mapping.entityMappings.first { $0.destinationEntityName == "Tag" }
            tags?.attributeMappings?.first?.valueExpression = NSExpression(format: "$source.name + '!'")
            try manager.transformStore(with: mapping)
            let request = NSFetchRequest<NSManagedObject>(entityName: "Tag")
            #expect(try container.viewContext.fetch(request).map { $0.value(forKey: "name") as? String } == ["tag!"])
        }
        let manager = NSStagedMigrationManager([light, custom])
        manager.models = fixture.versions.map(\.model)
        try manager.migrateStore(
            from: fixture.source, to: fixture.destination, destinationModel: fixture.versions[2].model)
        // The keys of the objects are kept.
        #expect(
            try StoreQuery.texts("SELECT Z_PK || ZNAME FROM ZBOOK ORDER BY Z_PK", in: fixture.destination.path)
                == ["3A", "9changed", "10made"])
        #expect(try StoreQuery.texts("SELECT ZNAME FROM ZTAG", in: fixture.destination.path) == ["tag!"])
        #expect(manager.container == nil)
    }

    @Test("What a handler did before it threw is dropped; invalid objects end the run")
    func containerFailures() throws {
        func run(_ handler: @escaping (NSManagedObjectContext) throws -> Void) throws -> [String] {
            let fixture = try Fixture()
            let custom = NSCustomMigrationStage(
                migratingFrom: try fixture.reference(1), to: try fixture.reference(2))
            custom.didMigrateHandler = { manager, _ in
                try handler(try #require(manager.container?.viewContext))
            }
            defer {
                #expect(
                    (try? FileManager.default.contentsOfDirectory(atPath: fixture.folder.path)) == ["old.sqlite"])
            }
            try NSStagedMigrationManager([custom]).migrateStore(
                from: fixture.source, to: fixture.destination, destinationModel: fixture.versions[1].model)
            return []
        }
        struct Refusal: Error {}
        #expect(throws: Refusal.self) {
            try run { context in
                _ = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
                throw Refusal()
            }
        }
        let error = #expect(throws: MigrationError.self) {
            try run { context in
                let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
                for book in try context.fetch(request) { book.setValue(nil, forKey: "title") }
            }
        }
        #expect(error?.code == "validation.missing")
    }

    @Test("A store that is added is migrated in its place by the manager among the options")
    func option() throws {
        let fixture = try Fixture()
        let manager = NSStagedMigrationManager([
            NSLightweightMigrationStage([try fixture.checksum(1), try fixture.checksum(2)])
        ])
        manager.models = [fixture.versions[0].model]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: fixture.versions[1].model)
        func add(_ options: [AnyHashable: Any]) throws {
            let store = try coordinator.addPersistentStore(
                ofType: NSSQLiteStoreType, configurationName: nil, at: fixture.source, options: options)
            try coordinator.remove(store)
        }
        let error = #expect(throws: MigrationError.self) { try add([:]) }
        #expect(error?.code == "store.incompatibleModel")
        let wrong = NSStagedMigrationManager([])
        #expect(throws: MigrationError.self) { try add([NSPersistentStoreStagedMigrationManagerOptionKey: wrong]) }
        #expect(
            try StoreQuery.texts("SELECT ZTITLE FROM ZBOOK ORDER BY Z_PK", in: fixture.source.path) == ["A", "nil"])
        try add([NSPersistentStoreStagedMigrationManagerOptionKey: manager])
        #expect(
            try StoreQuery.texts("SELECT ZTITLE FROM ZBOOK ORDER BY Z_PK", in: fixture.source.path) == ["A", "none"])
        try add([:])
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["old.sqlite"])
    }

    @Test("The last handler's changes are checked by the model's rules, and a handler's error ends the run unchanged")
    func lastHandler() throws {
        let fixture = try Fixture()
        let custom = NSCustomMigrationStage(
            migratingFrom: try fixture.reference(1), to: try fixture.reference(2))
        custom.didMigrateHandler = { manager, _ in
            let path = try #require(manager.storeURL).path
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
            try connection.execute("UPDATE ZBOOK SET ZTITLE = 'new'")
            try connection.close()
        }
        let manager = StagedMigrationManager([custom])
        try manager.migrateStore(
            from: fixture.source, to: fixture.destination, destinationModel: fixture.versions[1].model)
        #expect(try StoreQuery.texts("SELECT DISTINCT ZTITLE FROM ZBOOK", in: fixture.destination.path) == ["new"])

        struct Refusal: Error {}
        let other = try Fixture()
        custom.didMigrateHandler = { _, _ in throw Refusal() }
        #expect(throws: Refusal.self) {
            try manager.migrateStore(
                from: other.source, to: other.destination, destinationModel: other.versions[1].model)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.folder.path) == ["old.sqlite"])
    }

    @Test("A store is taken up at its version, and goes to a version inside a stage")
    func positions() throws {
        let fixture = try Fixture()
        let all = StagedMigrationManager([
            LightweightMigrationStage([try fixture.checksum(1), try fixture.checksum(2)]),
            LightweightMigrationStage([try fixture.checksum(3), try fixture.checksum(4)]),
        ])
        all.models = fixture.versions.map(\.model)
        #expect(
            try all.migrateStore(
                from: fixture.source, to: fixture.destination, destinationModel: fixture.versions[3].model
            ).count == 2)
        let third = fixture.folder.file("third.sqlite")
        #expect(
            try all.migrateStore(
                from: fixture.source, to: URL(fileURLWithPath: third), destinationModel: fixture.versions[2].model
            ).count == 2)
        #expect(try StoreQuery.texts("SELECT ZNAME FROM ZBOOK ORDER BY Z_PK", in: third) == ["A", "none"])
        #expect(
            try all.migrateStore(
                from: URL(fileURLWithPath: third), to: URL(fileURLWithPath: fixture.folder.file("fourth.sqlite")),
                destinationModel: fixture.versions[3].model
            ).count == 1)
        let back = try #require(throws: MigrationError.self) {
            try all.migrateStore(
                from: URL(fileURLWithPath: third), to: URL(fileURLWithPath: fixture.folder.file("back.sqlite")),
                destinationModel: fixture.versions[0].model)
        }
        #expect(back.code == "staged.backward")
    }

    @Test("Wrong stages are refused before anything is written")
    func refusals() throws {
        let fixture = try Fixture()
        func code(_ stages: [MigrationStage], models: [ManagedObjectModel] = []) throws -> String {
            let manager = StagedMigrationManager(stages)
            manager.models = models
            return try #require(throws: MigrationError.self) {
                try manager.migrateStore(
                    from: fixture.source, to: fixture.destination, destinationModel: fixture.versions[3].model)
            }.code.rawValue
        }
        let (one, two) = (try fixture.checksum(1), try fixture.checksum(2))
        #expect(
            try code([LightweightMigrationStage([one, two]), LightweightMigrationStage([one])])
                == "staged.duplicateVersion")
        #expect(try code([LightweightMigrationStage([two])]) == "staged.unknownVersion")
        #expect(try code([]) == "staged.unknownVersion")
        let wrong = ManagedObjectModelReference(model: fixture.versions[2].model, versionChecksum: two)
        #expect(
            try code([CustomMigrationStage(migratingFrom: try fixture.reference(1), to: wrong)])
                == "staged.modelNotFound")
        let absent = ManagedObjectModelReference(name: "Nowhere", in: nil, versionChecksum: two)
        #expect(
            try code([CustomMigrationStage(migratingFrom: try fixture.reference(1), to: absent)])
                == "staged.modelNotFound")
        let manager = StagedMigrationManager([])
        let idle = #expect(throws: MigrationError.self) {
            try manager.transformStore(with: .inferred(from: fixture.versions[0].model, to: fixture.versions[0].model))
        }
        #expect(idle?.code == "staged.idle")
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["old.sqlite"])
    }

    @Test("A reference finds its model on disk and by hashes")
    func references() throws {
        let bundle = SharedStores.repository.appendingPathComponent("Fixtures/Models/Library.xcdatamodeld")
        let model = try ModelLocator.load(bundle.path).model
        let checksum = try #require(model.versionChecksum)
        let file = NSManagedObjectModelReference(fileURL: bundle, versionChecksum: checksum)
        #expect(try file.resolved().versionChecksum == checksum)
        let other = NSManagedObjectModelReference(fileURL: bundle, versionChecksum: "other")
        #expect(throws: MigrationError.self) { try other.resolved() }
        let hashes = NSManagedObjectModelReference(
            entityVersionHashes: model.entityVersionHashesByName,
            in: Bundle(path: bundle.deletingLastPathComponent().path), versionChecksum: checksum)
        #expect(try hashes.resolved().versionChecksum == checksum)
        #expect(hashes.resolvedModel.entities.count == model.entities.count && other.resolvedModel == nil)
    }
}
