import Foundation
import CoreData

// Written for Swift 2, and never touched since.
class LedgerPolicy: NSEntityMigrationPolicy {

    var accounts = [String: NSManagedObject]()

    override func beginEntityMapping(mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.beginEntityMapping(mapping, manager: manager)
        accounts = [:]
    }

    override func createDestinationInstancesForSourceInstance(sInstance: NSManagedObject, entityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let context = manager.destinationContext
        let entry = NSEntityDescription.insertNewObjectForEntityForName("Entry", inManagedObjectContext: context)
        let amount = sInstance.valueForKey("amount") as? NSNumber ?? NSNumber(double: 0)
        entry.setValue(NSNumber(integer: Int((amount.doubleValue * 100).rounded())), forKey: "cents")
        let memo = sInstance.valueForKey("memo") as? String ?? ""
        let words = memo.componentsSeparatedByString(" ")
        entry.setValue(words.first?.lowercaseString, forKey: "keyword")
        entry.setValue(memo.stringByReplacingOccurrencesOfString("\t", withString: " "), forKey: "memo")
        entry.setValue(NSUUID().UUIDString, forKey: "identifier")
        if let name = sInstance.valueForKey("account") as? String {
            entry.setValue(try account(named: name, in: context), forKey: "account")
        }
        manager.associateSourceInstance(sInstance, withDestinationInstance: entry, forEntityMapping: mapping)
    }

    func account(named name: String, in context: NSManagedObjectContext) throws -> NSManagedObject {
        if let known = accounts[name] { return known }
        let request = NSFetchRequest(entityName: "Account")
        request.predicate = NSPredicate(format: "name == %@", name)
        let found = try context.executeFetchRequest(request).first
        let entity = NSEntityDescription.entityForName("Account", inManagedObjectContext: context)!
        let account = found ?? NSManagedObject(entity: entity, insertIntoManagedObjectContext: context)
        account.setValue(name, forKey: "name")
        accounts[name] = account
        return account
    }

    override func createRelationshipsForDestinationInstance(dInstance: NSManagedObject, entityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.createRelationshipsForDestinationInstance(dInstance, entityMapping: mapping, manager: manager)
        let sources = manager.sourceInstancesForEntityMappingNamed(mapping.name, destinationInstances: [dInstance])
        let parents = manager.destinationInstancesForEntityMappingNamed("EntryToEntry", sourceInstances: sources)
        dInstance.mutableSetValueForKey("related").addObject(parents[0])
    }

    override func endInstanceCreationForEntityMapping(mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.endInstanceCreationForEntityMapping(mapping, manager: manager)
    }

    override func performCustomValidationForEntityMapping(mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        for account in accounts.values where account.valueForKey("name") == nil {
            manager.destinationContext.deleteObject(account)
        }
    }

    override func endEntityMapping(mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        accounts.removeAll()
    }
}
