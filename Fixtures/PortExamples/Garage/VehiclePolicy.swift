import CoreData
import Foundation

// What apps write that Linux takes in another way: errors of Foundation in patterns, public signatures with types of the app,
// errors of the app that are made and thrown, extensions of types that are elsewhere.

public class VehiclePolicy: NSEntityMigrationPolicy {
    public var paint: VehiclePaint?

    public override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        NSLog("Begins")
        NSLog("Migrating %@, %d wheels", sInstance, 4)
        do {
            try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        } catch let error as NSError {
            NSLog("Failed: \(error), \(error.userInfo)")
            throw error
        }
        do {
            _ = try manager.destinationContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Wheel"))
        } catch let problem as NSError where problem.code == 3 {
            print(problem.domain)
        } catch let problem as NSError {
            print(problem.localizedDescription)
        }
        guard sInstance.value(forKey: "plate") != nil else { throw GarageProblem(code: 3, message: "no plate") }
        GarageDefaults[.migrated] = true
        GarageWorker(name: "wheels").start()
    }

    public func painted(_ brush: GarageBrush, with paint: VehiclePaint?) -> GarageResult {
        return brush.paint(paint)
    }

    public override func createRelationships(
        forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        let wheels: NSSet? = dInstance.value(forKey: "wheels") as? NSSet
        for wheel in wheels ?? [] { print(wheel) }
        let plates = ["a", ""].filter { !$0.isLicensePlate }
        print(plates.count, #keyPath(GarageOwner.vehicles))
    }
}

extension GarageTag {
    convenience init(name: String, context: NSManagedObjectContext) {
        self.init(context: context)
        self.name = name
    }
}

extension GarageColor {
    convenience init(hex: String) { self.init() }
}

extension GarageSize {
    init?(number: Int) { self.init(value: number) }
}
