import Foundation
import CoreData

/// The code that all policies of the app share.
@objcMembers
class BasePolicy: NSEntityMigrationPolicy {
    let steps = [#selector(BasePolicy.toInt16(value:)), Selector("toInt16WithValue:")]

    func toInt16(value: Any?) -> NSNumber? {
        guard let text = value as? String, let number = Int16(text) else { return nil }
        return NSNumber(value: number)
    }

    func setDatabase() -> NSString { "local" as NSString }

    @nonobjc func helper<Value>(_ value: Value) -> Value { value }

    override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let request = NSFetchRequest<NSManagedObject>(entityName: mapping.destinationEntityName ?? "")
        request.predicate = NSPredicate(format: "%K == nil", #keyPath(Book.title))
        guard try manager.destinationContext.count(for: request) == 0 else {
            throw NSError(domain: NSCocoaErrorDomain, code: NSManagedObjectValidationError)
        }
    }
}

extension BasePolicy {
    @objc func number(forX x: NSNumber, manager: NSMigrationManager) -> NSNumber { x }
}
