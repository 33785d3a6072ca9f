import CoreData
import HealthKit
import os.log

private let log = Logger(subsystem: "org.example.strides", category: "migration")

/// Version 3 keeps an activity as the number of HealthKit, and a route as its own object.
final class WorkoutPolicy: NSEntityMigrationPolicy {
    private var routes: [String: NSManagedObject]
    private var skipped = 0

    override init() {
        routes = [:]
        super.init()
    }

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        log.info("\(mapping.name, privacy: .public) begins")
        manager.destinationContext.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
        try super.begin(mapping, with: manager)
    }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        guard let name = sInstance.value(forKey: "activityName") as? String else {
            skipped += 1
            return
        }
        let workout = NSEntityDescription.insertNewObject(forEntityName: "Workout", into: manager.destinationContext)
        for key in sInstance.entity.attributesByName.keys where workout.entity.attributesByName[key] != nil {
            workout.setValue(sInstance.value(forKey: key), forKey: key)
        }
        workout.setValue(Int32(activity(named: name).rawValue), forKey: "activityType")

        let samples = (sInstance.value(forKey: "samples") as? NSSet) ?? []
        var energy = 0.0
        for sample in samples {
            let kilocalories = (sample as AnyObject).value(forKey: "energy") as? Double ?? 0
            energy += HKQuantity(unit: HKUnit.kilocalorie(), doubleValue: kilocalories).doubleValue(for: HKUnit.joule())
        }
        workout.setValue(energy, forKey: "joules")
        if let route = sInstance.value(forKey: "routeName") as? String {
            workout.setValue(self.route(named: route, in: manager.destinationContext), forKey: "route")
        }
        manager.associate(sourceInstance: sInstance, withDestinationInstance: workout, for: mapping)
    }

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        os_log("%d workouts have no activity", log: .default, type: .info, skipped)
        routes.removeAll()
    }

    private func activity(named name: String) -> HKWorkoutActivityType {
        switch name.lowercased() {
        case "run", "jog": return HKWorkoutActivityType.running
        case "ride": return HKWorkoutActivityType.cycling
        default: return HKWorkoutActivityType(rawValue: 3000) ?? HKWorkoutActivityType.other
        }
    }

    private func route(named name: String, in context: NSManagedObjectContext) -> NSManagedObject {
        if let known = routes[name] { return known }
        let route = NSEntityDescription.insertNewObject(forEntityName: "Route", into: context)
        route.setValue(name, forKey: "name")
        routes[name] = route
        return route
    }
}
