import CoreData

/// Leans on the app: a base class, extensions, global log and helpers that are in other files.
final class BudgetPolicy: AppMigrationPolicy {
    var manager: NSMigrationManager?
    override func migrateValues(from source: NSManagedObject, to destination: NSManagedObject) throws {
        destination.setValue(source.stringValue("name")?.trimmed, forKey: "name")
        destination.copyValues(from: source, except: ["total"])
        let total: Decimal = source.decimal(forKey: "total") ?? 0
        destination.setValue(NSDecimalNumber(decimal: total), forKey: "total")
        appLog.debug("Budget \(source.objectID)", context: "migration")
        logger.info("done")
        trackEvent("budget", value: 1)
        let rate = exchangeRate(for: "EUR")
        destination.setValue(rate * 2, forKey: "rate")
        if let account = manager?.account(for: source) { print(account) }
        UserDefaults.shared.set(true, forKey: "migrated")
        UserDefaults.standard.lastMigration = Date()
        NotificationCenter.default.post(name: .budgetMigrated, object: nil)
        AppDelegate.shared.showProgress(0.5)
        guard let settings = SettingsStore.load() else { throw BudgetError.noSettings }
        print(settings.currency, kDefaultCurrency, NSStringFromSelector(#selector(getter: BudgetPolicy.hash)))
        Task { @MainActor in ProgressHUD.show(text: "x") }
        source.managedObjectContext?.saveOrRollback()
        manager?.destinationContext.perform { print("later") }
    }

    override var policyName: String { "budget" }

    override func createDestinationInstances(forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        self.manager = manager
        let result = try Budget.fetchAll(in: manager.destinationContext)
        for (index, budget) in result.enumerated() { budget.order = Int16(index) }
        let old = sInstance as! OldBudget
        print(old.amount)
    }
}
