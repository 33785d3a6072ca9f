import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Synchronization

/// Migrates a store from one model version to the next, as Core Data's manager does, out of core.
///
/// A policy finds here the associations, the contexts and the models. Between runs the manager is idle and its
/// contexts are nil.
open class MigrationManager: NSObject {
    /// The version of the source.
    public let sourceModel: ManagedObjectModel
    /// The version of the destination.
    public let destinationModel: ManagedObjectModel
    /// Where policies are found by name.
    public var policies: PolicyRegistry = .shared
    /// Memory limit, batch size, work directory, keys.
    public var options = MigrationOptions()
    /// The caller's own.
    // Computed: as in Core Data, an assignment to a member of it may read it (`userInfo?["n"] = userInfo?["n"] …`).
    open var userInfo: [AnyHashable: Any]? {
        get { givenUserInfo }
        set { givenUserInfo = newValue }
    }
    private var givenUserInfo: [AnyHashable: Any]?
    /// Whether entity mappings without a policy take the row path. False sends everything through the stages with
    /// barriers, with the same result.
    open var usesStoreSpecificMigrationManager = true

    /// How far the run is: figures at a moment, or ``ProgressCounter/updates`` while it goes on.
    public let progress = ProgressCounter()
    private let mirror = Mutex<ProgressMirror?>(nil)
    /// The progress of the run at work, or of the next one, for interfaces made for Foundation's: a thousand units a run.
    /// Cancelling it ends the run with a `CancellationError`. From any thread.
    public var foundationProgress: Progress { currentMirror().progress }
    private let cancellation = CancellationFlag()
    /// A run that the manager did not start itself: nil while there is none.
    private let taken = Mutex<TakenRun?>(nil)
    // Asked for by every default method; one thread sets it.
    @exclusivity(unchecked) private var running: StagedRuntime?
    /// What ``registerFunctions(_:)`` registered; nil until somebody asks.
    var functions: RegisteredFunctions?
    /// The associations of earlier calls, until ``reset()``.
    private var memory: AssociationMemory?

    /// The mapping model of the run; nil when idle.
    open private(set) var mappingModel: MappingModel!
    /// The entity mapping at work; nil when idle.
    open private(set) var currentEntityMapping: EntityMapping!
    /// What the last run did.
    public private(set) var report: MigrationReport?

    /// A manager that has migrated nothing yet.
    public init(sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel) {
        self.sourceModel = sourceModel
        self.destinationModel = destinationModel
    }

    /// The kind of a store. Only SQLite stores are migrated.
    public struct StoreType: Sendable, Hashable {
        /// Core Data's name of the type.
        public let rawValue: String
        /// The one type of store that is read and written.
        public static let sqlite = StoreType(rawValue: "SQLite")
    }

    /// Migrates a store. Where a store stands at the destination already, it is appended to.
    ///
    /// For a large store, mapping models that share no entity mapping may be run one after the other, with one manager,
    /// from the same source to the same destination: lookups find the objects of earlier calls too, of equal names those
    /// of the latest, until ``reset()``. A call with another source or to another destination begins anew.
    ///
    /// - Parameters:
    ///   - source: URL of the store; it is not changed by a byte.
    ///   - type: the source's type; there is one.
    ///   - sourceOptions: Core Data's options of the source, which change nothing here.
    ///   - mapping: nil: inferred.
    ///   - destination: URL of the destination; the store there stays as it is until the call succeeds.
    ///   - destinationType: the destination's type; there is one.
    ///   - destinationOptions: Core Data's options of the destination, which change nothing here.
    /// - Throws: ``MigrationError``; the error of a policy's method or of the cancellation as it is.
    open func migrateStore(
        from source: URL, type: StoreType, options sourceOptions: [AnyHashable: Any]? = nil,
        mapping: MappingModel?, to destination: URL, type destinationType: StoreType,
        options destinationOptions: [AnyHashable: Any]? = nil
    ) throws {
        let mapping =
            try mapping
            ?? MappingModel.inferred(from: sourceModel, to: destinationModel, unmappable: options.unmappable)
        var options = options
        options.usesStoreSpecificMigrationManager = usesStoreSpecificMigrationManager
        options.appendsToExisting = true
        cancellation.reset()
        progress.reset()
        mappingModel = mapping
        defer {
            mappingModel = nil
            currentEntityMapping = nil
            running = nil
            mirror.withLock { $0 = nil }
        }
        let memory = try AssociationMemory.forCall(
            after: memory, from: source.path, to: destination.path, workDirectory: options.workDirectory)
        self.memory = memory
        report = try Migration(
            from: source.path, model: sourceModel, mappings: [mapping], to: destination.path,
            model: destinationModel, options: options, manager: self, progress: progress, cancellation: cancellation,
            archive: memory.archive, mirror: currentMirror()
        ).run()
        try memory.endCall()
    }

    /// Forgets the associations of all calls, for another use of the manager. Source and destination contexts are not
    /// touched.
    ///
    /// - Precondition: no migration is running.
    open func reset() {
        precondition(running == nil, "a migration manager is reset between migrations")
        memory = nil
        mappingModel = nil
        currentEntityMapping = nil
    }

    /// Stops the run from any thread; it ends with the error.
    open func cancelMigrationWithError(_ error: any Error) {
        (taken.withLock { $0?.cancellation } ?? cancellation).cancel(error)
    }

    /// 0 to 1; 1 when idle.
    open var migrationProgress: Float {
        guard mappingModel != nil else { return 1 }
        return Float((taken.withLock { $0?.progress } ?? progress).snapshot.fraction)
    }

    /// The source's objects, read-only; when idle a context without a store.
    open var sourceContext: ManagedObjectContext { running?.sourceContext ?? idleSource }
    /// The destination's objects; when idle a context without a store.
    open var destinationContext: ManagedObjectContext { running?.destinationContext ?? idleDestination }
    private let idleSource = ManagedObjectContext(idle: false)
    private let idleDestination = ManagedObjectContext(idle: true)

    /// The source entity of an entity mapping; nil where it has none.
    open func sourceEntity(for mapping: EntityMapping) -> EntityDescription? {
        mapping.sourceEntityName.flatMap(sourceModel.entity(named:))
    }
    /// The destination entity of an entity mapping; nil where it has none.
    open func destinationEntity(for mapping: EntityMapping) -> EntityDescription? {
        mapping.destinationEntityName.flatMap(destinationModel.entity(named:))
    }

    /// Associates a destination object with a source object for an entity mapping. A pair twice counts once.
    open func associate(
        sourceInstance: ManagedObject, withDestinationInstance destinationInstance: ManagedObject,
        for entityMapping: EntityMapping
    ) {
        running?.recording { try $0.associate(sourceInstance, destinationInstance, entityMapping) }
    }

    /// The destination objects that a mapping made of source objects, in their order, then of association; nil gives all.
    open func destinationInstances(
        forEntityMappingName mappingName: String, sourceInstances: [ManagedObject]?
    ) -> [ManagedObject] {
        running?.recording { try $0.destinationInstances(mappingName, sourceInstances) } ?? []
    }

    /// The source objects that a mapping made destination objects of; nil gives all.
    open func sourceInstances(
        forEntityMappingName mappingName: String, destinationInstances: [ManagedObject]?
    ) -> [ManagedObject] {
        running?.recording { try $0.sourceInstances(mappingName, destinationInstances) } ?? []
    }

    /// Registers the methods of a subclass that value expressions call: `FUNCTION($manager, 'selector:', …)`.
    ///
    ///     override func registerFunctions(_ functions: ExpressionFunctionTable) {
    ///         functions.add("currencyForCountry:", TradeManager.currency(forCountry:))
    ///     }
    open func registerFunctions(_ functions: ExpressionFunctionTable) {}

    /// Made when it is asked for; a new one for each run.
    private func currentMirror() -> ProgressMirror {
        let cancellation = cancellation
        return mirror.withLock { current in
            let mirror = current ?? ProgressMirror(cancellation: cancellation)
            current = mirror
            return mirror
        }
    }

    // MARK: - The engine's side

    /// The run's objects and associations.
    ///
    /// - Throws: `manager.idle` outside a run.
    func runtime() throws(MigrationError) -> StagedRuntime {
        guard let running else {
            throw MigrationError("manager.idle", .internal, "The migration manager is not migrating")
        }
        return running
    }

    /// What a ``Migration`` that somebody ran by itself counts in, and what ends it.
    private struct TakenRun {
        let progress: ProgressCounter
        let cancellation: CancellationFlag
    }

    /// A ``Migration`` that runs by itself takes the manager for its policies.
    ///
    /// - Returns: false where the manager runs the migration itself.
    func beginRun(_ model: MappingModel, progress: ProgressCounter, cancellation: CancellationFlag) -> Bool {
        guard mappingModel == nil else { return false }
        mappingModel = model
        taken.withLock { $0 = TakenRun(progress: progress, cancellation: cancellation) }
        return true
    }

    /// The run that took the manager is over.
    func endRun() {
        mappingModel = nil
        currentEntityMapping = nil
        running = nil
        taken.withLock { $0 = nil }
    }

    /// The turn of a mapping model begins.
    func begin(_ model: MappingModel) { mappingModel = model }

    func attach(_ runtime: StagedRuntime) { running = runtime }
    func detach() {
        running = nil
        currentEntityMapping = nil
    }
    func enter(_ mapping: EntityMapping?) { currentEntityMapping = mapping }
}
