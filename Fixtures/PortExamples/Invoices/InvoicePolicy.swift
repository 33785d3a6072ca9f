import CoreData

/// Typed subclasses, generated accessors, and casts to them.
final class InvoicePolicy: NSEntityMigrationPolicy {
    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        let context = manager.destinationContext
        let customerRequest: NSFetchRequest<Customer> = Customer.fetchRequest()
        customerRequest.predicate = NSPredicate(format: "%K = %@", #keyPath(Customer.number), sInstance.value(forKey: "customerNumber") as? NSNumber ?? 0)
        let existing = try context.fetch(customerRequest).first
        let customer = existing ?? NSEntityDescription.insertNewObject(forEntityName: "Customer", into: context)
        let invoice = NSEntityDescription.insertNewObject(forEntityName: "Invoice", into: context) as! Invoice
        invoice.number = (sInstance.value(forKey: "number") as? NSNumber)?.int64Value ?? 0
        invoice.total = sInstance.value(forKey: "total") as? NSDecimalNumber
        let lines = sInstance.mutableOrderedSetValue(forKey: "lines")
        lines.enumerateObjects { object, index, stop in
            guard let line = object as? NSManagedObject else { return }
            if line.value(forKey: "deleted") as? Bool == true { stop.pointee = true }
            print(index)
        }
        let items = sInstance.value(forKey: "lines") as? NSOrderedSet
        for case let line as NSManagedObject in items?.array ?? [] {
            let item = InvoiceLine(context: context)
            item.text = line.value(forKey: "text") as? String
            invoice.addToLines(item)
        }
        let all = (sInstance.value(forKey: "tags") as? NSSet)?.allObjects as? [NSManagedObject] ?? []
        let sorted = (all as NSArray).sortedArray(using: [NSSortDescriptor(key: "name", ascending: true)])
        print(sorted.count)
        (customer as? Customer)?.invoices?.insert(invoice)
        let helper = MoneyFormatter.shared
        helper.currency = "EUR"
        invoice.setValue(helper.string(from: invoice.total), forKey: #keyPath(Invoice.totalText))
        manager.associate(sourceInstance: sInstance, withDestinationInstance: invoice, for: mapping)
    }
}

@objc(Invoice)
class Invoice: NSManagedObject {
    @NSManaged var number: Int64
    @NSManaged var total: NSDecimalNumber?
    @NSManaged var totalText: String?
    @NSManaged var lines: NSOrderedSet?
    @NSManaged var customer: Customer?
    @NSManaged var payments: Set<Payment>?
    @NSManaged private var primitiveNumber: NSNumber
    convenience init(number: Int64, in context: NSManagedObjectContext) {
        self.init(context: context)
        self.number = number
    }
}

// MARK: Generated accessors for lines
extension Invoice {
    @objc(insertObject:inLinesAtIndex:)
    @NSManaged public func insertIntoLines(_ value: InvoiceLine, at idx: Int)

    @objc(addLinesObject:)
    @NSManaged public func addToLines(_ value: InvoiceLine)

    @objc(addLines:)
    @NSManaged public func addToLines(_ values: NSOrderedSet)

    @objc(removeLines:)
    @NSManaged public func removeFromLines(_ values: NSOrderedSet)
}

public class InvoiceLine: NSManagedObject {
    @NSManaged public var text: String?
    @NSManaged public var quantity: Int32
}

public class Customer: NSManagedObject, Identifiable {
    @NSManaged public var number: NSNumber!
    @NSManaged var invoices: Set<Invoice>?
    @nonobjc public class func fetchRequest() -> NSFetchRequest<Customer> {
        return NSFetchRequest<Customer>(entityName: "Customer")
    }
    public class func find(_ number: Int, in context: NSManagedObjectContext) -> Customer? {
        let request: NSFetchRequest<Customer> = fetchRequest()
        request.predicate = NSPredicate(format: "number == %d", number)
        request.fetchLimit = 1
        return (try? context.fetch(request))?.first
    }
}
