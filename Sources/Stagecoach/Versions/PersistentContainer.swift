import Dispatch
import Foundation
import ManagedModel
import Mapping

/// The private store of a staged migration's handler, with contexts in which its objects are read and changed; or stores that a
/// program adds, whose objects only a migration reads.
///
/// In a handler the first context that is asked for begins a migration of the private store to its own version, which pauses before it
/// saves: until the handler returns, its contexts work on the objects of that migration. Then it goes on, checks the model's
/// rules, and replaces the private store. So all contexts of a handler are one; `save()` does nothing, and what a handler does
/// before it throws is dropped. An object that broke a rule before is an error then, too;
/// ``StagedMigrationManager/transformStore(with:)`` with an inferred mapping model excuses it.
open class PersistentContainer: NSObject {
    /// The store's file name without its ending.
    public let name: String
    /// The version of the private store, or the model of a program's stores.
    public let managedObjectModel: ManagedObjectModel
    /// The stores that ``loadPersistentStores(completionHandler:)`` adds.
    open var persistentStoreDescriptions: [PersistentStoreDescription] = []
    private let begin: ((@escaping (MigrationManager) throws -> Void) throws -> Void)?
    private let replace: () throws -> Void
    private var paused: PausedMigration?
    /// The context without objects: of a program's stores, and of a migration that has failed.
    private lazy var idle = {
        let context = ManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
        context.persistentStoreCoordinator = PersistentStoreCoordinator(managedObjectModel: managedObjectModel)
        return context
    }()

    /// Creates a container for stores of a model, at first of one: `<name>.sqlite` in ``defaultDirectoryURL()``.
    ///
    /// Its contexts have no objects: they are read and changed in a migration only.
    public init(name: String, managedObjectModel model: ManagedObjectModel) {
        self.name = name
        managedObjectModel = model
        begin = nil
        replace = {}
        super.init()
        let folder = type(of: self).defaultDirectoryURL()
        persistentStoreDescriptions = [
            PersistentStoreDescription(url: folder.appendingPathComponent("\(name).sqlite"))
        ]
    }

    /// Creates a container for a store of the model of the same name in the program's bundle; without one it has no entities.
    public convenience init(name: String) {
        let reference = ManagedObjectModelReference(name: name, in: nil, versionChecksum: "")
        self.init(name: name, managedObjectModel: reference.found ?? ManagedObjectModel())
    }

    /// The folder of the first store of a container: Application Support.
    open class func defaultDirectoryURL() -> URL {
        FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
            ?? URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    }

    /// Adds the stores of the descriptions to the coordinator: see
    /// ``PersistentStoreCoordinator/addPersistentStore(with:completionHandler:)``.
    ///
    /// - Parameter block: called for each description before the method returns, with the error if there was one.
    open func loadPersistentStores(
        completionHandler block: @escaping (PersistentStoreDescription, (any Error)?) -> Void
    ) {
        for description in persistentStoreDescriptions {
            persistentStoreCoordinator.addPersistentStore(with: description, completionHandler: block)
        }
    }

    /// - Parameters:
    ///   - begin: migrates the private store; calls a closure before it saves.
    ///   - replace: puts the migrated store in the private one's place.
    init(
        name: String, model: ManagedObjectModel,
        begin: @escaping (@escaping (MigrationManager) throws -> Void) throws -> Void,
        replace: @escaping () throws -> Void
    ) {
        self.name = name
        managedObjectModel = model
        self.begin = begin
        self.replace = replace
    }

    /// The context of the store's objects.
    public var viewContext: ManagedObjectContext { context }
    /// The coordinator of the store's contexts.
    public var persistentStoreCoordinator: PersistentStoreCoordinator { context.persistentStoreCoordinator }

    /// Returns the context of the store's objects.
    open func newBackgroundContext() -> ManagedObjectContext { context }

    /// Calls a closure with the context of the store's objects, at once.
    open func performBackgroundTask(_ block: @escaping (ManagedObjectContext) -> Void) {
        let context = context
        context.performAndWait { block(context) }
    }

    /// Calls a closure with the context of the store's objects, at once, and returns its value.
    public nonisolated(nonsending) func performBackgroundTask<Value>(
        _ block: @escaping (ManagedObjectContext) throws -> Value
    ) async rethrows -> Value {
        let context = context
        return try context.performAndWait { try block(context) }
    }

    private var context: ManagedObjectContext {
        guard let begin else { return idle }
        let paused = paused ?? PausedMigration(begin)
        self.paused = paused
        // If the migration has failed, the end of the handler says why.
        return paused.context ?? idle
    }

    /// Saves the changes of the contexts that were used since the last call.
    ///
    /// - Throws: the errors of the migration.
    func save() throws {
        guard let paused else { return }
        self.paused = nil
        try paused.end(with: nil)
        try replace()
    }

    /// Drops the changes.
    ///
    /// - Returns: the error that explains the given one.
    func drop(after error: any Error) -> any Error {
        guard let paused else { return error }
        self.paused = nil
        let failed = paused.context == nil
        do { try paused.end(with: error) } catch { if failed { return error } }
        return error
    }
}

/// Pauses a migration before it saves, when all its objects are there.
final class PausingPolicy: EntityMigrationPolicy {
    private static let name = "Stagecoach.PausingPolicy"
    private var pause: ((MigrationManager) throws -> Void)?

    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws { try pause?(manager) }

    /// Returns a mapping model from a version to itself that names the policy.
    ///
    /// The policy has an entity mapping of its own, without objects, so that the objects of all others keep their keys.
    static func mappingModel(of model: ManagedObjectModel) throws -> MappingModel {
        let mapping = try MappingModel.inferred(from: model, to: model)
        mapping.rulesOfTheSource = .error
        let pausing = EntityMapping()
        pausing.name = "(handler)"
        pausing.mappingType = .customEntityMappingType
        pausing.sourceEntityName = model.entities.first { !$0.isAbstract }?.name
        pausing.sourceFilter = SourcePredicate(node: .constant(false))
        pausing.entityMigrationPolicyClassName = name
        mapping.entityMappings.append(pausing)
        return mapping
    }

    /// Returns a registry of the policy alone.
    static func registry(_ pause: @escaping (MigrationManager) throws -> Void) -> PolicyRegistry {
        // The policy is made and called on the migration's thread only.
        nonisolated(unsafe) let pause = pause
        let registry = PolicyRegistry()
        registry.register(name) {
            let policy = PausingPolicy()
            policy.pause = pause
            return policy
        }
        return registry
    }
}

/// A migration on a thread of its own that waits for another thread before it saves. Only one of the two runs at a time.
private final class PausedMigration: @unchecked Sendable {
    private let paused = DispatchSemaphore(value: 0)
    private let goesOn = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private var refusal: (any Error)?
    private var failure: (any Error)?
    /// The context of the migration's objects; nil if it failed before it paused.
    private(set) var context: ManagedObjectContext?

    /// Begins a migration, and returns when it pauses or has failed.
    init(_ run: @escaping (@escaping (MigrationManager) throws -> Void) throws -> Void) {
        nonisolated(unsafe) let run = run
        let thread = BackgroundThread(stack: 8 << 20) { [self] in
            do {
                try run { [self] manager in
                    context = manager.destinationContext
                    paused.signal()
                    goesOn.wait()
                    if let refusal { throw refusal }
                }
            } catch { failure = error }
            paused.signal()
            ended.signal()
        }
        guard thread != nil else {
            failure = MigrationError(
                "thread.refused", .io, "The system makes no thread for the migration that a handler asks for",
                remedy: "Raise the limit of processes (ulimit -u) and run the command again")
            ended.signal()
            return
        }
        paused.wait()
    }

    /// Lets the migration go on, and waits for its end.
    ///
    /// - Parameter error: the error with which it ends; nil: it saves.
    func end(with error: (any Error)?) throws {
        refusal = error
        goesOn.signal()
        ended.wait()
        if let failure { throw failure }
    }
}
