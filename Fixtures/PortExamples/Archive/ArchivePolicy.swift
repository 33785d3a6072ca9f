//  Written for Swift 2.2
import Foundation
import CoreData
import CocoaLumberjack

@objc class ArchivePolicy: NSEntityMigrationPolicy
{
    var lookup: [NSManagedObjectID: NSManagedObject] = [:]
    let queue = dispatch_queue_create("archive", DISPATCH_QUEUE_SERIAL)
    static let sharedFormatter = NSNumberFormatter()

    override func createDestinationInstancesForSourceInstance(sInstance: NSManagedObject, entityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws
    {
        let context = manager.destinationContext
        let name = mapping.destinationEntityName!
        let object = NSEntityDescription.insertNewObjectForEntityForName(name, inManagedObjectContext: context)
        let keys = (sInstance.entity.attributesByName as NSDictionary).allKeys as! [String]
        let values = sInstance.dictionaryWithValuesForKeys(keys)
        object.setValuesForKeysWithDictionary(values)
        var count = 0
        for key in keys {
            if let value = sInstance.valueForKey(key) where !(value is NSNull) {
                object.setValue(value, forKey: key)
                count++
            }
        }
        var error: NSError? = nil
        let request = NSFetchRequest(entityName: name)
        request.predicate = NSPredicate(format: "%K == %@", argumentArray: ["name", sInstance.valueForKey("name") ?? NSNull()])
        let existing = context.countForFetchRequest(request, error: &error)
        if existing == NSNotFound { DDLogError("count: \(error?.localizedDescription)") }
        let sorted = keys.sort { $0 < $1 }
        let position = sorted.indexOf("name") ?? 0
        object.setValue(position, forKey: "position")
        object.setValue(helper(sInstance, key: "note"), forKey: "note")
        object.setValue(Kind.First.rawValue, forKey: "kind")
        switch object.entity.attributesByName["kind"]!.attributeType {
        case .Integer16AttributeType, .Integer32AttributeType: break
        case .StringAttributeType: object.setValue("x", forKey: "kind")
        default: break
        }
        if let url = NSURL(string: "http://a/b"), let last = url.host where last.characters.count > 1 {
            object.setValue(last.stringByReplacingOccurrencesOfString("a", withString: "b").uppercaseString, forKey: "url")
        }
        let date = sInstance.valueForKey("date") as? NSDate ?? NSDate(timeIntervalSince1970: 0)
        if date.compare(NSDate()) == .OrderedAscending { object.setValue(date.dateByAddingTimeInterval(60), forKey: "date") }
        let components = NSCalendar.currentCalendar().components([.Year, .Month], fromDate: date)
        object.setValue(components.year, forKey: "year")
        dispatch_sync(queue) { self.lookup[sInstance.objectID] = object }
        manager.associateSourceInstance(sInstance, withDestinationInstance: object, forEntityMapping: mapping)
    }

    func helper(source: NSManagedObject, key: String) -> String? {
        return (source.valueForKey(key) as? String)?.stringByTrimmingCharactersInSet(NSCharacterSet.whitespaceCharacterSet())
    }

    override func createRelationshipsForDestinationInstance(dInstance: NSManagedObject, entityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        do {
            try super.createRelationshipsForDestinationInstance(dInstance, entityMapping: mapping, manager: manager)
        } catch let error as NSError {
            NSLog("%@", error)
            throw error
        }
    }

    enum Kind: Int { case First = 1, Second }
}
