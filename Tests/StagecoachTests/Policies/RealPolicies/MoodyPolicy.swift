import Stagecoach

/// Moody 5 to 6: a country's continent code becomes an object that its countries share.
final class Country5ToCountry6Policy: NSEntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let code = sInstance.value(forKey: "isoContinent") as? NSNumber, code != 0 else { return }
        guard
            let country = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [sInstance]
            ).first
        else { return }
        let context = manager.destinationContext
        country.setValue(try continent(code, in: context), forKey: "continent")
    }

    private func continent(_ code: NSNumber, in context: NSManagedObjectContext) throws -> NSManagedObject {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Continent")
        request.predicate = NSPredicate(format: "%K == %@", "numericISO3166Code", code)
        request.fetchLimit = 1
        if let known = try context.fetch(request).first { return known }
        let continent = NSEntityDescription.insertNewObject(forEntityName: "Continent", into: context)
        continent.setValue(code, forKey: "numericISO3166Code")
        return continent
    }
}
