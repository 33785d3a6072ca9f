import Stagecoach

/// Splits a contact's full name in two, and turns the name of its company into one shared object.
final class ContactPolicy: NSEntityMigrationPolicy, ResumablePolicy {
    /// Company objects by name: each company is made once.
    private var companies: [String: NSManagedObject] = [:]
    /// The company objects of a killed run, until they are asked for.
    private var earlier: [String: URL] = [:]

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard
            let contact = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [sInstance]
            ).first
        else { return }

        let fullName = sInstance.value(forKey: "fullName") as? String ?? ""
        let names = fullName.split(separator: " ", maxSplits: 1).map(String.init)
        contact.setValue(names.first, forKey: "firstName")
        contact.setValue(names.count > 1 ? names[1] : nil, forKey: "lastName")

        if let name = sInstance.value(forKey: "companyName") as? String {
            contact.setValue(company(named: name, in: manager.destinationContext), forKey: "company")
        }
    }

    private func company(named name: String, in context: NSManagedObjectContext) -> NSManagedObject {
        if let known = companies[name] ?? earlierCompany(named: name, in: context) { return known }
        let company = NSEntityDescription.insertNewObject(forEntityName: "Company", into: context)
        company.setValue(name, forKey: "name")
        companies[name] = company
        return company
    }

    // MARK: - After a kill

    func checkpoint() throws -> Data {
        let made = companies.mapValues { $0.objectID.uriRepresentation() }
        return try JSONEncoder().encode(earlier.merging(made) { $1 })
    }

    func restore(from checkpoint: Data) throws {
        earlier = try JSONDecoder().decode([String: URL].self, from: checkpoint)
    }

    private func earlierCompany(named name: String, in context: NSManagedObjectContext) -> NSManagedObject? {
        guard let url = earlier.removeValue(forKey: name),
            let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: url)
        else { return nil }
        companies[name] = context.object(with: id)
        return companies[name]
    }

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        for name in earlier.keys { _ = earlierCompany(named: name, in: manager.destinationContext) }
        for company in companies.values {
            let employees = company.value(forKey: "employees") as? Set<NSManagedObject> ?? []
            company.setValue(employees.count, forKey: "numberOfEmployees")
        }
        companies.removeAll()
    }

    /// `FUNCTION($entityPolicy, 'initialsOfName:', $source.fullName)` in the mapping model.
    func initials(ofName name: String?) -> String? {
        name.map { $0.split(separator: " ").compactMap(\.first).map(String.init).joined() }
    }
}
