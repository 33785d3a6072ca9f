import CoreData
import Combine

/// Observes progress, migrates in a host with async work.
class TaskPolicy: NSEntityMigrationPolicy {
    var orders: [NSManagedObjectID: Int16] = [:]
    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let userInfo = mapping.userInfo
        let version = userInfo?["version"] as? Int ?? 0
        switch version {
        case 2, 3: try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        default: break
        }
        manager.userInfo = (manager.userInfo ?? [:]).merging(["last": sInstance.objectID]) { $1 }
        var info = manager.userInfo ?? [AnyHashable: Any]()
        info["seen"] = true
        manager.userInfo = info
        let predicate = NSPredicate { object, _ in (object as? NSManagedObject)?.value(forKey: "done") as? Bool ?? false }
        let set = sInstance.value(forKey: "subtasks") as? Set<NSManagedObject> ?? Set()
        print(set.filter { predicate.evaluate(with: $0) }.count)
        let names = (sInstance.value(forKey: "subtasks") as? NSSet)?.value(forKey: "name") as? Set<String>
        print(names ?? [])
        let sortedTasks = (sInstance.value(forKey: "subtasks") as? NSSet)?.sortedArray(using: [NSSortDescriptor(key: "order", ascending: true)]) as? [NSManagedObject]
        sortedTasks?.enumerated().forEach { index, task in orders[task.objectID] = Int16(index) }
    }
    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Task")
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = ["identifier"]
        request.returnsDistinctResults = true
        let results = try manager.destinationContext.fetch(request) as! [[String: Any]]
        print(results.count)
        let fetched = try manager.destinationContext.fetch(NSFetchRequest<NSFetchRequestResult>(entityName: "Task")) as! [NSManagedObject]
        for object in fetched { manager.destinationContext.delete(object) }
        if manager.destinationContext.hasChanges { try manager.destinationContext.save() }
    }
}

final class TaskMigrator: NSObject {
    private var observation: NSKeyValueObservation?
    private var cancellables = Set<AnyCancellable>()
    @objc dynamic var progress: Float = 0

    func migrate(from source: URL, to destination: URL, old: NSManagedObjectModel, new: NSManagedObjectModel) throws {
        guard let mapping = NSMappingModel(from: [Bundle.main], forSourceModel: old, destinationModel: new) else { return }
        let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
        observation = manager.observe(\.migrationProgress, options: [.new]) { [weak self] manager, change in
            self?.progress = manager.migrationProgress
        }
        manager.addObserver(self, forKeyPath: #keyPath(NSMigrationManager.migrationProgress), options: .new, context: nil)
        manager.publisher(for: \.migrationProgress).sink { print($0) }.store(in: &cancellables)
        try manager.migrateStore(from: source, sourceType: NSSQLiteStoreType, options: nil, with: mapping, toDestinationURL: destination, destinationType: NSSQLiteStoreType, destinationOptions: nil)
        manager.removeObserver(self, forKeyPath: "migrationProgress")
        NotificationCenter.default.addObserver(self, selector: #selector(changed(_:)), name: .NSManagedObjectContextObjectsDidChange, object: nil)
        NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: nil, queue: .main) { note in
            print(note.userInfo?[NSInsertedObjectsKey] ?? "")
        }
    }

    override func observeValue(forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?, context: UnsafeMutableRawPointer?) {
        if keyPath == "migrationProgress", let manager = object as? NSMigrationManager {
            progress = manager.migrationProgress
        } else {
            super.observeValue(forKeyPath: keyPath, of: object, change: change, context: context)
        }
    }

    @objc func changed(_ notification: Notification) {}

    func migrateInBackground(_ source: URL) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
            DispatchQueue.global(qos: .userInitiated).async {
                continuation.resume()
            }
        }
        await MainActor.run { print("done") }
        Task { try? await Task.sleep(nanoseconds: 1) }
    }
}
