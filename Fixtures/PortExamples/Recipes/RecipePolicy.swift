import CoreData
import UIKit

enum RecipeMigrationError: ErrorType {
    case MissingTitle(String)
    case NoDestination
}

/// Swift 2, with the Foundation of its time.
@objc(RecipePolicy)
class RecipePolicy: NSEntityMigrationPolicy {

    private let formatter: NSDateFormatter = {
        let formatter = NSDateFormatter()
        formatter.locale = NSLocale(localeIdentifier: "en_US_POSIX")
        formatter.timeZone = NSTimeZone(forSecondsFromGMT: 0)
        formatter.dateFormat = "yyyy-MM-dd"
        return formatter
    }()

    private var cookbooks: [String: NSManagedObject] = [:]
    private var failures: [NSError] = []

    override func createDestinationInstancesForSourceInstance(sInstance: NSManagedObject, entityMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.createDestinationInstancesForSourceInstance(sInstance, entityMapping: mapping, manager: manager)
        guard let recipe = manager.destinationInstancesForEntityMappingNamed(mapping.name, sourceInstances: [sInstance]).first else {
            throw RecipeMigrationError.NoDestination
        }
        guard let title = sInstance.valueForKey("title") as? String where !title.isEmpty else {
            let info: [NSObject : AnyObject] = [NSLocalizedDescriptionKey: "A recipe has no title"]
            failures.append(NSError(domain: "recipes", code: 1, userInfo: info))
            throw RecipeMigrationError.MissingTitle(sInstance.objectID.URIRepresentation().absoluteString)
        }
        recipe.setValue(title.stringByTrimmingCharactersInSet(NSCharacterSet.whitespaceAndNewlineCharacterSet()), forKey: "title")
        recipe.setValue(title.characters.count, forKey: "titleLength")
        if let text = sInstance.valueForKey("cookedOn") as? String, date = formatter.dateFromString(text) {
            recipe.setValue(date, forKey: "cookedOn")
        }
        if let path = sInstance.valueForKey("photoPath") as? String {
            let documents = NSFileManager.defaultManager().URLsForDirectory(.DocumentDirectory, inDomains: .UserDomainMask)[0]
            let url = documents.URLByAppendingPathComponent(path)
            if NSFileManager.defaultManager().fileExistsAtPath(url.path!) {
                recipe.setValue(NSData(contentsOfURL: url), forKey: "photo")
            }
        }
        if let json = sInstance.valueForKey("ingredients") as? String, data = json.dataUsingEncoding(NSUTF8StringEncoding) {
            let parsed = try NSJSONSerialization.JSONObjectWithData(data, options: [])
            if let list = parsed as? [AnyObject] {
                let names = list.flatMap { $0 as? String }
                recipe.setValue(names.joinWithSeparator(", "), forKey: "ingredientList")
            }
        }
        for (index, word) in title.componentsSeparatedByString(" ").enumerate() where index == 0 {
            recipe.setValue(word.lowercaseString, forKey: "keyword")
        }
    }

    override func endEntityMapping(mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let defaults = NSUserDefaults.standardUserDefaults()
        defaults.setBool(true, forKey: "RecipesMigrated")
        defaults.setInteger(failures.count, forKey: "RecipeFailures")
        defaults.synchronize()
        let version = NSBundle.mainBundle().objectForInfoDictionaryKey("CFBundleVersion") as? String ?? "?"
        print("Migrated by \(version) after \(NSProcessInfo.processInfo().systemUptime) s at \(NSDate())")
        dispatch_async(dispatch_get_main_queue()) {
            NSNotificationCenter.defaultCenter().postNotificationName("RecipesMigrated", object: nil)
        }
    }
}
