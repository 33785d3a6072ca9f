import Foundation

/// A store that a coordinator or a container is to add.
open class PersistentStoreDescription: NSObject, NSCopying {
    /// The store's type: `NSSQLiteStoreType`, the only one that is read.
    open var type = NSSQLiteStoreType
    /// A configuration of the model; nil for the whole model.
    open var configuration: String?
    /// The store's file.
    open var url: URL?
    /// The options for ``PersistentStoreCoordinator/addPersistentStore(ofType:configurationName:at:options:)``.
    open private(set) var options: [String: NSObject] = [
        NSMigratePersistentStoresAutomaticallyOption: NSNumber(value: true),
        NSInferMappingModelAutomaticallyOption: NSNumber(value: true),
    ]

    /// Describes the store of a file.
    public init(url: URL) { self.url = url }

    /// Describes a store without a file.
    public override init() {}

    /// Sets an option; nil removes it.
    open func setOption(_ option: NSObject?, forKey key: String) { options[key] = option }

    /// The pragmas among the options.
    open var sqlitePragmas: [String: NSObject] { options[NSSQLitePragmasOption] as? [String: NSObject] ?? [:] }

    /// Sets a pragma, an option: `journal_mode` with `DELETE` moves the content of a `-wal` file into the store.
    open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
        var pragmas = sqlitePragmas
        pragmas[name] = value
        options[NSSQLitePragmasOption] = NSDictionary(dictionary: pragmas)
    }

    /// True if the store is only read, an option.
    open var isReadOnly: Bool {
        get { flag(NSReadOnlyPersistentStoreOption) }
        set { set(NSReadOnlyPersistentStoreOption, newValue) }
    }
    /// True if a store of another version is migrated when it is added, an option.
    open var shouldMigrateStoreAutomatically: Bool {
        get { flag(NSMigratePersistentStoresAutomaticallyOption) }
        set { set(NSMigratePersistentStoresAutomaticallyOption, newValue) }
    }
    /// True if the mapping model of such a migration may be inferred, an option.
    open var shouldInferMappingModelAutomatically: Bool {
        get { flag(NSInferMappingModelAutomaticallyOption) }
        set { set(NSInferMappingModelAutomaticallyOption, newValue) }
    }
    /// Has no effect, an option.
    open var timeout: TimeInterval {
        get { (options[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 240 }
        set { options[NSPersistentStoreTimeoutOption] = NSNumber(value: newValue) }
    }
    /// Has no effect: a store is added before the call returns.
    open var shouldAddStoreAsynchronously = false

    private func flag(_ key: String) -> Bool { (options[key] as? NSNumber)?.boolValue ?? false }
    private func set(_ key: String, _ value: Bool) { options[key] = NSNumber(value: value) }

    /// Returns a description of the same store.
    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = PersistentStoreDescription()
        (copy.type, copy.configuration, copy.url, copy.options) = (type, configuration, url, options)
        copy.shouldAddStoreAsynchronously = shouldAddStoreAsynchronously
        return copy
    }
}
