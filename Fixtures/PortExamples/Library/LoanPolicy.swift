import Foundation
import CoreData

protocol EntityCopying: class {
    associatedtype Element: NSManagedObject
    func copyAttributes(from source: NSManagedObject, to destination: Element)
}

/// Generic helpers, key paths, result builders of the app, property wrappers.
@objcMembers public class LoanPolicy: NSEntityMigrationPolicy, EntityCopying {
    public typealias Element = NSManagedObject
    @Atomic var counter = 0
    weak var delegate: LoanPolicyDelegate?
    private var progress: Progress?
    private let lock = NSLock()
    private static let queue: OperationQueue = { let q = OperationQueue(); q.maxConcurrentOperationCount = 1; return q }()
    static var handler: ((String) -> Void)? = nil
    static let mappings: [String: Any] = ["a": 1]

    public func copyAttributes(from source: NSManagedObject, to destination: NSManagedObject) {
        let sourceKeys = Set(source.entity.attributesByName.keys)
        for key in destination.entity.attributesByName.keys where sourceKeys.contains(key) {
            source.willAccessValue(forKey: key)
            let value = source.primitiveValue(forKey: key)
            source.didAccessValue(forKey: key)
            destination.willChangeValue(forKey: key)
            destination.setPrimitiveValue(value, forKey: key)
            destination.didChangeValue(forKey: key)
        }
    }

    public override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        lock.lock(); defer { lock.unlock() }
        let destination = NSManagedObject(entity: NSEntityDescription.entity(forEntityName: mapping.destinationEntityName!, in: manager.destinationContext)!, insertInto: manager.destinationContext)
        copyAttributes(from: sInstance, to: destination)
        for propertyMapping in mapping.attributeMappings! {
            guard let name = propertyMapping.name, let expression = propertyMapping.valueExpression else { continue }
            let context: NSMutableDictionary = [NSMigrationManagerKey: manager, NSMigrationSourceObjectKey: sInstance, NSMigrationEntityPolicyKey: self]
            destination.setValue(expression.expressionValue(with: sInstance, context: context), forKey: name)
        }
        try validate(destination)
        let borrower: NSManagedObject? = fetchFirst("Borrower", \LoanKey.name, in: manager.destinationContext)
        destination.setValue(borrower, forKey: "borrower")
        manager.associate(sourceInstance: sInstance, withDestinationInstance: destination, for: mapping)
        delegate?.loanPolicy(self, didMigrate: sInstance)
        counter += 1
    }

    private func fetchFirst<T: NSFetchRequestResult, Value>(_ name: String, _ path: KeyPath<LoanKey, Value>, in context: NSManagedObjectContext) -> T? {
        let request = NSFetchRequest<T>(entityName: name)
        request.fetchLimit = 1
        do { return try context.fetch(request).first } catch { assertionFailure(error.localizedDescription); return nil }
    }

    private func validate(_ object: NSManagedObject) throws {
        do {
            try object.validateForInsert()
        } catch let error as NSError {
            if error.code == NSValidationMultipleErrorsError, let errors = error.userInfo[NSDetailedErrorsKey] as? [NSError] {
                errors.forEach { print($0.localizedDescription, $0.userInfo[NSValidationKeyErrorKey] as? String ?? "") }
            }
            throw error
        }
    }
}

struct LoanKey { var name = "" }

@objc protocol LoanPolicyDelegate: AnyObject {
    func loanPolicy(_ policy: LoanPolicy, didMigrate object: NSManagedObject)
    @objc optional func finished()
}

@propertyWrapper
struct Atomic<Value> {
    private var value: Value
    init(wrappedValue: Value) { value = wrappedValue }
    var wrappedValue: Value { get { value } set { value = newValue } }
}
