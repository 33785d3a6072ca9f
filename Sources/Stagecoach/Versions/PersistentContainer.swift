import Dispatch
import Foundation
import ManagedModel
import Mapping

/// The private store of a staged migration's handler, with contexts in which its objects are read and changed.
///
/// The first context that is asked for begins a migration of the private store to its own version, which pauses before it
/// saves: until the handler returns, its contexts work on the objects of that migration. Then it goes on, checks the model's
/// rules, and replaces the private store. So all contexts of a handler are one; `save()` does nothing, and what a handler does
/// before it throws is dropped. An object that broke a rule before is an error then, too;
/// ``StagedMigrationManager/transformStore(with:)`` with an inferred mapping model excuses it.
public final class PersistentContainer: NSObject {
    /// The store's file name without its ending.
    public let name: String
    /// The version of the private store.
    public let managedObjectModel: ManagedObjectModel
    private let begin: (@escaping (MigrationManager) throws -> Void) throws -> Void
    private let replace: () throws -> Void
    private var paused: PausedMigration?

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
    public func newBackgroundContext() -> ManagedObjectContext { context }

    /// Calls a closure with the context of the store's objects, at once.
    public func performBackgroundTask(_ block: @escaping (ManagedObjectContext) -> Void) { block(context) }

    private var context: ManagedObjectContext {
        let paused = paused ?? PausedMigration(begin)
        self.paused = paused
        if let context = paused.context { return context }
        // The migration has failed; the end of the handler says why.
        let none = ManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        none.persistentStoreCoordinator = PersistentStoreCoordinator(managedObjectModel: managedObjectModel)
        return none
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
        let thread = Thread { [self] in
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
        thread.stackSize = 8 << 20
        thread.start()
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
