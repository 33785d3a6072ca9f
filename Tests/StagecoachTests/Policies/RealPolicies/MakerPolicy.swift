import Stagecoach

/// SampleModel 2 to 3: the maker's name of a car, of three entities with one mapping each, becomes a shared Maker.
final class V2to3MakerPolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let makerName = sInstance.value(forKey: "maker") as? String,
            let car = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [sInstance]
            ).first
        else { return }

        // The makers of all three mappings are in the manager's userInfo.
        var makers = manager.userInfo?["makers"] as? [String: NSManagedObject] ?? [:]
        let maker: NSManagedObject
        if let known = makers[makerName] {
            maker = known
        } else {
            let entity = NSEntityDescription.entity(forEntityName: "Maker", in: manager.destinationContext)
            maker = NSManagedObject(entity: entity!, insertInto: manager.destinationContext)
            maker.setValue(makerName, forKey: "name")
            makers[makerName] = maker
            var userInfo = manager.userInfo ?? [:]
            userInfo["makers"] = makers
            manager.userInfo = userInfo
        }
        let cars = maker.mutableSetValue(forKey: "cars")
        cars.add(car)
    }
}
