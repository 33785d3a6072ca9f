import CSQLite
import CoreDataStore
import Stagecoach
import TestSupport
import Testing

/// What programs around a migration do with whole stores.
@Suite("Coordinators of whole stores")
struct StoreCoordinatorTests {
    private let fixture: PolicySourceFixture
    private let coordinator: NSPersistentStoreCoordinator
    private var url: URL { fixture.sourceURL }

    init() throws {
        fixture = try PolicySourceFixture()
        coordinator = NSPersistentStoreCoordinator(managedObjectModel: fixture.manager.sourceModel)
    }

    private func other(_ name: String) -> URL { URL(fileURLWithPath: fixture.folder.file(name)) }
    private func titles(_ url: URL) throws -> [String] {
        try ReferenceStore.read(path: url.path, model: fixture.manager.sourceModel).texts("Book", "title")
    }

    @Test("A store of the model is added and taken out; one of another version is an error of Core Data's code")
    func adding() throws {
        let store = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSReadOnlyPersistentStoreOption: true]
        )
        #expect(coordinator.persistentStores.count == 1 && store.persistentStoreCoordinator === coordinator)
        #expect(store.url == url && store.isReadOnly && store.metadata[NSStoreTypeKey] as? String == "SQLite")
        #expect(coordinator.persistentStore(for: url) === store)
        let uri = try #require(URL(string: "x-coredata://\(store.identifier ?? "")/Book/p2"))
        #expect(coordinator.managedObjectID(forURIRepresentation: uri)?.entity.name == "Book")
        try coordinator.remove(store)
        #expect(coordinator.persistentStores.isEmpty && store.persistentStoreCoordinator == nil)
        #expect(throws: MigrationError.self) { try coordinator.remove(store) }
        #expect(coordinator.managedObjectID(forURIRepresentation: uri) == nil)

        let newer = NSPersistentStoreCoordinator(managedObjectModel: fixture.manager.destinationModel)
        let error = #expect(throws: MigrationError.self) { try newer.addPersistentStore(type: .sqlite, at: url) }
        #expect(error?.code == "store.incompatibleModel" && error?.context.path == url.path)
        let refused = #expect(throws: MigrationError.self) {
            try coordinator.addPersistentStore(
                ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
        }
        #expect(refused?.code == "manager.storeType")
    }

    @Test("A store that does not exist is made empty, with the model's hashes and cache")
    func making() throws {
        let made = other("made.sqlite")
        try coordinator.addPersistentStore(type: .sqlite, at: made)
        #expect(try titles(made).isEmpty)
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: made)
        #expect(fixture.manager.sourceModel.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        #expect(metadata[NSStoreUUIDKey] as? String != "00000000-0000-0000-0000-000000000000")
        // It can be migrated by its cached model.
        let store = try SourceStore(path: made.path, cacheBytes: 1 << 16, valueLimit: 1 << 20, temporaryDirectory: nil)
        #expect(try store.cachedModel()?.entitiesByName["Book"] != nil)
        try store.close()
        let none = #expect(throws: MigrationError.self) {
            try coordinator.addPersistentStore(
                ofType: NSSQLiteStoreType, configurationName: nil, at: other("none.sqlite"),
                options: [NSReadOnlyPersistentStoreOption: true])
        }
        #expect(none?.category == .noInput)
    }

    /// A store whose last change is in its `-wal` only: a copy taken while a connection keeps it open.
    private func withWAL(_ name: String) throws -> URL {
        let connection = try Connection(path: url.path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute("UPDATE ZBOOK SET ZTITLE = 'Persuasion' WHERE Z_PK = 1")
        let copy = other(name)
        for ending in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: url.path + ending, toPath: copy.path + ending)
        }
        try connection.close()
        return copy
    }

    @Test("journal_mode DELETE moves the content of the -wal into the store")
    func checkpointing() throws {
        let store = try withWAL("wal.sqlite")
        #expect(FileManager.default.fileExists(atPath: store.path + "-wal"))
        let added = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: store,
            options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
        try coordinator.remove(added)
        #expect(!FileManager.default.fileExists(atPath: store.path + "-wal"))
        #expect(try titles(store).first == "Persuasion")
    }

    @Test("A store replaces another one, with journals and external values; a store that is none replaces nothing")
    func replacing() throws {
        let store = try withWAL("new.sqlite")
        let files = FileManager.default
        let values = fixture.folder.file(".new_SUPPORT/_EXTERNAL_DATA")
        try files.createDirectory(atPath: values, withIntermediateDirectories: true)
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: values + "/A"))
        let old = try withWAL("old.sqlite")
        try coordinator.replacePersistentStore(
            at: old, destinationOptions: nil, withPersistentStoreFrom: store, sourceOptions: nil,
            ofType: NSSQLiteStoreType)
        #expect(try titles(old).first == "Persuasion")
        #expect(!files.fileExists(atPath: old.path + "-wal"))
        #expect(files.contents(atPath: fixture.folder.file(".old_SUPPORT/_EXTERNAL_DATA/A")) == Data([1, 2, 3]))
        let left = try files.contentsOfDirectory(atPath: fixture.folder.path).sorted()
        #expect(!left.contains { $0.contains("stagecoach-copy") })

        let junk = other("junk.sqlite")
        try Data("no store".utf8).write(to: junk)
        #expect(throws: MigrationError.self) {
            try coordinator.replacePersistentStore(at: old, withPersistentStoreFrom: junk, type: .sqlite)
        }
        #expect(try titles(old).first == "Persuasion")
        #expect(try files.contentsOfDirectory(atPath: fixture.folder.path).count == left.count + 1)
        // A store replaces itself by doing nothing.
        try coordinator.replacePersistentStore(at: old, withPersistentStoreFrom: old, type: .sqlite)
        #expect(try titles(old).count == 4)

        try coordinator.destroyPersistentStore(at: old, ofType: NSSQLiteStoreType)
        try coordinator.destroyPersistentStore(at: old, type: .sqlite)
        #expect(try !files.contentsOfDirectory(atPath: fixture.folder.path).contains { $0.contains("old") })
    }

    @Test("A store is copied to another place, and the copy added in its stead")
    func moving() throws {
        let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
        let place = other("moved.sqlite")
        let copy = try coordinator.migratePersistentStore(store, to: place, options: nil, withType: NSSQLiteStoreType)
        #expect(coordinator.persistentStores.map(\.url) == [place] && copy.identifier == store.identifier)
        #expect(try titles(place) == titles(url))
    }

    @Test("The newer names of moving and of metadata; parts of a coordinator and a store")
    func newerNames() throws {
        let store = try coordinator.addPersistentStore(type: .sqlite, at: url, options: ["own": 1])
        #expect(store.options?["own"] as? Int == 1 && coordinator.url(for: store) == url)
        coordinator.name = "library"
        var wasRun = false
        coordinator.perform { wasRun = true }
        #expect(wasRun && coordinator == store.persistentStoreCoordinator)
        let copy = try coordinator.migratePersistentStore(store, to: other("newer.sqlite"), type: .sqlite)
        #expect(coordinator.persistentStores == [copy])
        let place = try #require(copy.url)
        try NSPersistentStoreCoordinator.setMetadata(["version": 2], type: .sqlite, at: place)
        #expect(try NSPersistentStore.metadataForPersistentStore(with: place)["version"] as? Int == 2)
        let uri = try #require(URL(string: "x-coredata://\(copy.identifier ?? "")/Book/p2"))
        #expect(coordinator.managedObjectID(forURIRepresentation: uri)?.persistentStore === copy)
    }

    @Test("Stores in memory, and of other types, are refused with a reason")
    func otherTypes() throws {
        func refusal(_ body: () throws -> Void) -> MigrationError? {
            #expect(throws: MigrationError.self) { try body() }
        }
        let memory = URL(fileURLWithPath: "/dev/null")
        let error = refusal { try coordinator.addPersistentStore(type: .sqlite, at: memory) }
        #expect(error?.code == "manager.storeType" && error?.message.contains("without a file") == true)
        for type in [NSPersistentStore.StoreType.inMemory, .binary, .xml, .init(rawValue: "Own")] {
            #expect(refusal { try coordinator.addPersistentStore(type: type, at: url) }?.code == "manager.storeType")
            let migrated = refusal {
                try fixture.manager.migrateStore(
                    from: url, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL, type: type)
            }
            // Binary stores are only read, and the model has what XML stores do not keep.
            #expect(migrated?.code == ([.binary, .xml].contains(type) ? "store.unwritable" : "manager.storeType"))
        }
    }

    @Test("A store is added by its description, alone and by a container")
    func descriptions() throws {
        let description = NSPersistentStoreDescription(url: url)
        #expect(description.type == NSSQLiteStoreType && description.shouldMigrateStoreAutomatically)
        description.shouldInferMappingModelAutomatically = false
        description.isReadOnly = true
        description.timeout = 3
        description.setValue("DELETE" as NSString, forPragmaNamed: "journal_mode")
        description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
        #expect(description.sqlitePragmas["journal_mode"] as? String == "DELETE")
        let same = try #require(description.copy() as? NSPersistentStoreDescription)
        #expect(same.isReadOnly && same.url == url && same.options.count == description.options.count)
        #expect(same.options[NSPersistentStoreTimeoutOption] as? Int == 3)
        var told = 0
        coordinator.addPersistentStore(with: same) { given, error in
            #expect(given === same && error == nil)
            told += 1
        }
        #expect(told == 1 && coordinator.persistentStores.first?.isReadOnly == true)

        let container = NSPersistentContainer(name: "Library", managedObjectModel: fixture.manager.sourceModel)
        let standard = try #require(container.persistentStoreDescriptions.first?.url)
        #expect(standard == NSPersistentContainer.defaultDirectoryURL().appendingPathComponent("Library.sqlite"))
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url), .init()]
        var errors: [(any Error)?] = []
        container.loadPersistentStores { errors.append($1) }
        #expect(errors.count == 2 && errors[0] == nil && (errors[1] as? MigrationError)?.code == "manager.storeType")
        #expect(container.persistentStoreCoordinator.persistentStores.first?.url == url)
        let context = container.newBackgroundContext()
        #expect(NSEntityDescription.entity(forEntityName: "Book", in: context)?.name == "Book")
        #expect(throws: MigrationError.self) {
            try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Book"))
        }
        #expect(NSPersistentContainer(name: "None").managedObjectModel.entities.isEmpty)
    }

    @Test("A store of another version is migrated when it is added, if the options ask for that")
    func automatic() throws {
        let old = try PolicyFixture()
        let newer = NSPersistentStoreCoordinator(managedObjectModel: old.destination)
        var options = [NSMigratePersistentStoresAutomaticallyOption: true]
        func add() throws { try newer.addPersistentStore(type: .sqlite, at: old.sourceURL, options: options) }
        let lacking = #expect(throws: MigrationError.self) { try add() }
        #expect(lacking?.code == "model.unknownVersion")
        #expect(lacking.map { $0 as NSError }?.code == NSMigrationMissingSourceModelError)
        // A store that was made here holds its model.
        let made = other("automatic.sqlite")
        let older = NSPersistentStoreCoordinator(managedObjectModel: old.source)
        try older.remove(try older.addPersistentStore(type: .sqlite, at: made))
        let before = try Data(contentsOf: made)
        let unmapped = #expect(throws: MigrationError.self) {
            try newer.addPersistentStore(type: .sqlite, at: made, options: options)
        }
        #expect(unmapped?.code == "mapping.notFound")
        #expect(try Data(contentsOf: made) == before)
        options[NSInferMappingModelAutomaticallyOption] = true
        let store = try newer.addPersistentStore(type: .sqlite, at: made, options: options)
        #expect(old.destination.isConfiguration(withName: nil, compatibleWithStoreMetadata: store.metadata))
        let left = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path)
        #expect(!left.contains { $0.contains("migrated-") })
    }

    @Test("The application's metadata is replaced; Core Data's stays")
    func metadata() throws {
        let before = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
        let date = Date(timeIntervalSinceReferenceDate: 1)
        try NSPersistentStoreCoordinator.setMetadata(
            [
                "version": 7, "share": 0.5, "done": true, "list": ["a", 1], "map": ["b": date],
                NSStoreUUIDKey: "ignored",
            ], forPersistentStoreOfType: NSSQLiteStoreType, at: url)
        let after = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
        #expect(after["version"] as? Int == 7 && after["share"] as? Double == 0.5 && after["done"] as? Bool == true)
        #expect((after["list"] as? [Any])?.count == 2)
        #expect((after["map"] as? [String: Any])?["b"] as? Date == date)
        #expect(after[NSStoreUUIDKey] as? String == before[NSStoreUUIDKey] as? String)
        #expect(fixture.manager.sourceModel.isConfiguration(withName: nil, compatibleWithStoreMetadata: after))
        let error = #expect(throws: MigrationError.self) {
            try NSPersistentStoreCoordinator.setMetadata(
                ["x": NSObject()], forPersistentStoreOfType: nil, at: url)
        }
        #expect(error?.code == "metadata.value")

        let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
        coordinator.setMetadata(["only": "this"], for: store)
        #expect(coordinator.metadata(for: store)["only"] as? String == "this" && store.metadata["version"] == nil)
    }

    final class MetadataPolicy: NSEntityMigrationPolicy {
        override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
            let coordinator = try #require(manager.destinationContext.persistentStoreCoordinator)
            coordinator.setMetadata(["a": 1], for: coordinator.persistentStores[0])
        }
    }

    @Test("A policy that sets the metadata of a migration's store ends the migration with an error that says so")
    func migrating() throws {
        let error = #expect(throws: MigrationError.self) { _ = try fixture.run(MetadataPolicy.self) }
        #expect(error?.code == "manager.metadata")
    }

    @Test("A model's versions have checksums; a reference gives its model")
    func checksums() throws {
        let bundle = SharedStores.repository.appendingPathComponent("Fixtures/Models/Library.xcdatamodeld")
        let checksums = try NSManagedObjectModel.checksumsForVersionedModel(at: bundle)
        #expect(checksums.count > 1 && Set(checksums.values).count == checksums.count)
        let model = try #require(NSManagedObjectModel(contentsOf: bundle))
        let own = try #require(model.versionChecksum)
        #expect(checksums.values.contains(own))
        #expect(NSManagedObjectModelReference(model: model, versionChecksum: own).resolvedModel === model)
        #expect(NSManagedObjectModelReference(model: model, versionChecksum: "x").resolvedModel == nil)
        #expect(throws: MigrationError.self) {
            try NSManagedObjectModel.checksumsForVersionedModel(at: bundle.appendingPathComponent("none"))
        }
        let identifiers: Set<AnyHashable> = model.versionIdentifiers
        #expect(!identifiers.isEmpty)
    }
}
