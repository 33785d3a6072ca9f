#if canImport(CoreData)
import CoreData
#endif
import Foundation
import HealthKit
import WidgetKit
import FirebaseCrashlytics

/// Dedupes with a dictionary, fetches in batches, tells crash reporters and widgets.
public class HabitPolicy: NSEntityMigrationPolicy {
    typealias Habit = NSManagedObject
    private var cache: NSCache<NSString, NSManagedObject> = NSCache()
    private var map: NSMapTable<NSManagedObject, NSManagedObject> = NSMapTable.strongToStrongObjects()
    private var counted = NSCountedSet()
    private var start: CFAbsoluteTime = 0
    private var days: IndexSet = []

    override public func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        start = CFAbsoluteTimeGetCurrent()
        Crashlytics.crashlytics().log("begin \(mapping.name!)")
        Analytics.logEvent("migration", parameters: ["mapping": mapping.name as Any])
    }

    override public func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        precondition(Thread.isMainThread == false || true)
        let name = sInstance.primitiveValue(forKey: "name") as! NSString
        if let existing = cache.object(forKey: name) {
            manager.associate(sourceInstance: sInstance, withDestinationInstance: existing, for: mapping)
            return
        }
        let habit = Habit(entity: manager.destinationEntity(for: mapping)!, insertInto: manager.destinationContext)
        cache.setObject(habit, forKey: name)
        map.setObject(habit, forKey: sInstance)
        counted.add(name)
        let frequency = sInstance.value(forKey: "frequency") as? Int16 ?? 1
        habit.setValue(Frequency(rawValue: Int(frequency))?.rawValue ?? 0, forKey: "frequency")
        habit.setValue(name.lowercased, forKey: "lower")
        habit.setValue((name as String).components(separatedBy: CharacterSet.alphanumerics.inverted).joined(), forKey: "slug")
        habit.setValue(NSLocalizedString("habit.default", comment: ""), forKey: "note")
        habit.setValue(ProcessInfo.processInfo.globallyUniqueString, forKey: "identifier")
        habit.setValue(arc4random_uniform(10), forKey: "seed")
        habit.setValue(UIDevice.current.name, forKey: "device")
        habit.setValue(HKQuantityType.quantityType(forIdentifier: .stepCount)?.identifier, forKey: "type")
        let set = NSMutableSet(array: [habit])
        set.union(sInstance.value(forKey: "marks") as! Set<AnyHashable>)
        habit.setValue(sInstance.objectIDs(forRelationshipNamed: "marks").count, forKey: "markCount")
        habit.setValue(sInstance.committedValues(forKeys: ["name"])["name"], forKey: "old")
        if sInstance.hasFault(forRelationshipNamed: "marks") { manager.sourceContext.refresh(sInstance, mergeChanges: false) }
        manager.associate(sourceInstance: sInstance, withDestinationInstance: habit, for: mapping)
    }

    override public func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let elapsed = CFAbsoluteTimeGetCurrent() - start
        NSLog("%@ took %.2f s", mapping.name ?? "", elapsed)
        debugPrint("took", elapsed)
        WidgetCenter.shared.reloadAllTimelines()
        #if DEBUG
        dump(counted.count)
        #endif
        let store = manager.sourceContext.persistentStoreCoordinator?.persistentStores.first
        let metadata = store?.metadata[NSStoreModelVersionIdentifiersKey] as? [String]
        print(metadata ?? [], store?.url?.lastPathComponent ?? "", store?.identifier ?? "", store?.type ?? "")
        let id = manager.sourceContext.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: URL(string: "x-coredata://a")!)
        if let id = id, let object = try? manager.sourceContext.existingObject(with: id) { print(object.isFault) }
        manager.destinationContext.performAndWait { manager.destinationContext.processPendingChanges() }
        let fetchedResult = try manager.destinationContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Habit"))
        let grouped = Dictionary(grouping: fetchedResult) { $0.value(forKey: "name") as? String ?? "" }
        for (_, group) in grouped where group.count > 1 { group.dropFirst().forEach(manager.destinationContext.delete) }
    }

    private enum Frequency: Int { case daily = 1, weekly = 7 }
}
