import CoreData

/// Orders with their totals. The superclass, which knows the tax and copies what all entities have, is in another module.
final class OrderPolicy: ShopMigrationPolicy {
    private var failed = 0

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        try super.begin(mapping, with: manager)
        counter = 0
        self.started = Date()
        logger.info("begin \(mapping.name ?? "")")
    }

    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        guard shouldMigrate(sInstance) else { return }
        let order = makeDestination(for: sInstance, mapping: mapping, manager: manager)
        copyCommonAttributes(from: sInstance, to: order, except: ["total"])
        let total = sInstance.value(forKey: "total") as? NSDecimalNumber ?? .zero
        order.setValue(total.multiplying(by: taxFactor), forKey: "gross")
        if let date = dateFormatter.date(from: sInstance.value(forKey: "due") as? String ?? "") {
            order.setValue(date, forKey: "dueDate")
        }
        counter += 1
        if counter > maximumCount { throw OrderFailure.tooMany(counter) }
        if counter % 100 == 0 { report(progress: counter) }
        // Names that the superclass has, and that are members of other types elsewhere.
        if let shop = order.value(forKey: "shop") as? String, text != nil { order.setValue(text + level + shop, forKey: "note") }
        manager.associate(sourceInstance: sInstance, withDestinationInstance: order, for: mapping)
    }

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        if Date().timeIntervalSince(started) > TimeInterval.fiveMinutes { failed += 1 }
        try super.end(mapping, manager: manager)
    }
}
