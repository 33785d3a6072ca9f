import AtomicStores
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Synchronization

/// Migrates a store from one model version to the next, as Core Data's manager does, within a memory limit.
///
/// Policies reach the associations, the contexts and the models through it. Between runs the manager is idle, and its
/// contexts have no store.
///
/// ```swift
/// let manager = MigrationManager(sourceModel: old, destinationModel: new)
/// manager.options.memoryLimit = 64 << 20
/// try manager.migrateStore(
///     from: URL(fileURLWithPath: "Library.sqlite"), type: .sqlite, mapping: mappingModel,
///     to: URL(fileURLWithPath: "New.sqlite"), type: .sqlite)
/// print(manager.report?.counts.created["Book"] ?? 0, "books")
/// ```
open class MigrationManager: NSObject {
    /// The model version of the source.
    public let sourceModel: ManagedObjectModel
    /// The model version of the destination.
    public let destinationModel: ManagedObjectModel
    /// The registry in which policies are found by name.
    public var policies: PolicyRegistry = .shared
    /// The options of the runs: memory limit, batch size, work directory, keys and so on.
    public var options = MigrationOptions()
    /// Values for the caller's and the policies' own use.
    // Computed: as in Core Data, an assignment to a member of it may read it (`userInfo?["n"] = userInfo?["n"] …`).
    open var userInfo: [AnyHashable: Any]? {
        get { givenUserInfo }
        set { givenUserInfo = newValue }
    }
    private var givenUserInfo: [AnyHashable: Any]?
    /// True if entity mappings without a policy take the row path. If false, all mappings go through the stages with
    /// barriers, with the same result.
    open var usesStoreSpecificMigrationManager = true

    /// The progress of the run: figures at one moment, or a sequence of them in ``ProgressCounter/updates``.
    public let progress = ProgressCounter()
    private let mirror = Mutex<ProgressMirror?>(nil)
    /// The progress of the current run, or of the next one, as a Foundation `Progress` with a thousand units a run.
    /// Cancelling it ends the run with a `CancellationError`. May be used from any thread.
    public var foundationProgress: Progress { currentMirror().progress }
    /// Called with ``migrationProgress`` each time another thousandth of a run is done, on the thread that migrates: it takes
    /// the place of key-value observing, which Linux does not have. Set it before the run.
    public var migrationProgressHandler: ((Float) -> Void)?
    /// The observers of ``observe(_:options:changeHandler:)``.
    var observers: [WeakObservation] = []
    private let cancellation = CancellationFlag()
    /// The run of a ``Migration`` that uses this manager without having been started by it; nil if there is none.
    private let taken = Mutex<TakenRun?>(nil)
    // Read by every default method; only one thread sets it.
    @exclusivity(unchecked) private var running: PolicyRuntime?
    /// The functions registered by ``registerFunctions(_:)``; nil until they are first needed.
    var functions: RegisteredFunctions?
    /// The associations of previous calls, until ``reset()``.
    private var memory: AssociationMemory?

    /// The mapping model of the run; if idle, one without entity mappings.
    open var mappingModel: MappingModel { modelOfRun ?? idleModel }
    /// The entity mapping at work; if there is none, one without a name and entities.
    open var currentEntityMapping: EntityMapping { mappingAtWork ?? idleMapping }
    /// The mapping model of the run; nil if idle.
    private(set) var modelOfRun: MappingModel?
    /// The entity mapping at work; nil if there is none.
    private(set) var mappingAtWork: EntityMapping?
    private let idleModel = MappingModel()
    private let idleMapping = EntityMapping()
    /// The failure of the last run, with the place where it happened: the entity mapping, the object and, as class and
    /// method, the policy. The run itself throws a policy's error unchanged; it is the failure's cause. Nil if the last run
    /// succeeded, or ended with an error of a cancellation.
    public private(set) var failure: MigrationError?
    /// The report of the last run.
    public private(set) var report: MigrationReport?

    /// Creates a manager between two model versions.
    public init(sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel) {
        self.sourceModel = sourceModel
        self.destinationModel = destinationModel
    }

    /// The type of a source or destination store of a migration: see ``PersistentStore/StoreType``.
    public typealias StoreType = PersistentStore.StoreType

    /// Migrates a store. If a store exists at the destination already, the objects are appended to it.
    ///
    /// For a large store, mapping models that share no entity mapping may be run one after the other, with one manager,
    /// from the same source to the same destination. Lookups then also find the objects of previous calls, until
    /// ``reset()``; if two calls used the same mapping name, the later one counts. A call with another source or
    /// destination begins anew.
    ///
    /// - Parameters:
    ///   - source: URL of the store; the store is not changed by a byte.
    ///   - type: the source's type: SQLite, XML or binary, as the file is.
    ///   - sourceOptions: Core Data's options of the source, which change nothing here.
    ///   - mapping: the mapping model; nil: inferred.
    ///   - destination: URL of the destination; an existing store stays as it is until the call succeeds.
    ///   - destinationType: the destination's type. A store of type XML or binary is made anew, never appended to.
    ///   - destinationOptions: Core Data's options of the destination, which change nothing here.
    /// - Throws: `manager.storeType` (78) for stores in memory, and a type that is not that of the file; ``MigrationError``; the
    ///   error of a policy's method or of the cancellation, unchanged. ``failure`` says where it happened.
    open func migrateStore(
        from source: URL, type: StoreType, options sourceOptions: [AnyHashable: Any]? = nil,
        mapping: MappingModel?, to destination: URL, type destinationType: StoreType,
        options destinationOptions: [AnyHashable: Any]? = nil
    ) throws {
        try migrateStore(
            from: source, sourceType: type.rawValue, options: sourceOptions, with: mapping,
            toDestinationURL: destination, destinationType: destinationType.rawValue,
            destinationOptions: destinationOptions)
    }

    /// Migrates a store, under the method's older name, with the store types as strings. The newer one calls it, so that an
    /// override sees both.
    ///
    /// - Throws: the errors of
    ///   ``migrateStore(from:type:options:mapping:to:type:options:)``.
    open func migrateStore(
        from source: URL, sourceType: String, options sOptions: [AnyHashable: Any]? = nil,
        with mappings: MappingModel?, toDestinationURL destination: URL, destinationType: String,
        destinationOptions dOptions: [AnyHashable: Any]? = nil
    ) throws {
        let format = try AtomicSource.format(sourceType, of: source.path)
        let destinationFormat = try AtomicSource.format(destinationType)
        let mapping =
            try mappings
            ?? MappingModel.inferred(
                from: sourceModel, to: destinationModel, unmappable: options.unmappable,
                mergesDuplicates: options.onInvalid == .merge)
        var options = options
        options.usesStoreSpecificMigrationManager = usesStoreSpecificMigrationManager
        options.appendsToExisting = true
        cancellation.reset()
        progress.reset()
        failure = nil
        modelOfRun = mapping
        defer {
            modelOfRun = nil
            mappingAtWork = nil
            running = nil
            self.mirror.withLock { $0 = nil }
        }
        let memory = try AssociationMemory.forCall(
            after: memory, from: source.path, to: destination.path, workDirectory: options.workDirectory)
        self.memory = memory
        let mirror = currentMirror()
        mirror.follow(progressFollower)
        do {
            report = try rim(source.path, format, destination.path, destinationFormat) { place in
                try Migration(
                    from: source.path, model: sourceModel, mappings: [mapping], to: place,
                    model: destinationModel, options: options, manager: self, progress: progress,
                    cancellation: cancellation, archive: memory.archive, mirror: mirror
                ).run()
            }
        } catch let error as MigrationError {
            failure = error
            throw error.errorOfPolicy ?? error
        }
        try memory.endCall()
    }

    /// Runs work between a source and a destination of any type.
    ///
    /// - Parameter work: makes an SQLite store at the path that it gets.
    private func rim(
        _ source: String, _ format: StoreFormat, _ destination: String, _ destinationFormat: StoreFormat,
        _ work: (String) throws -> MigrationReport
    ) throws -> MigrationReport {
        let cancellation = cancellation
        func checkCancelled() throws { if let error = cancellation.error { throw error } }
        return try AtomicSource.during(
            source, folder: options.workDirectory, memoryLimit: options.memoryLimit, checkCancelled: checkCancelled,
            chooseModel: { header throws(MigrationError) in
                try AtomicSource.model(for: header, of: source, named: sourceModel, bundle: nil)
            },
            {
                let made = try AtomicDestination.during(
                    destination, format: destinationFormat, model: destinationModel, source: source,
                    leavingTo: nil, checkCancelled: checkCancelled, work)
                var report = made.value
                report.notes += [made.note].compactMap(\.self)
                report.place(at: destination)
                return report
            })
    }

    /// Forgets the associations of all calls, so that the manager can be used anew. Source and destination contexts are
    /// not touched.
    ///
    /// Within a run it changes nothing, and the run ends with `manager.reset` (65).
    open func reset() {
        guard modelOfRun == nil else {
            let error = MigrationError(
                "manager.reset", .data, "reset() was called on a manager that is migrating",
                remedy: "Call it between migrations")
            if let running {
                _ = running.recording { _ -> Void in throw error }
            } else {
                cancelMigrationWithError(error)
            }
            return
        }
        memory = nil
        modelOfRun = nil
        mappingAtWork = nil
    }

    /// Stops the run from any thread; the run ends with this error.
    open func cancelMigrationWithError(_ error: any Error) {
        (taken.withLock { $0?.cancellation } ?? cancellation).cancel(error)
    }

    /// The share of the run that is done, 0 to 1; 1 if idle.
    open var migrationProgress: Float {
        guard modelOfRun != nil else { return 1 }
        return Float((taken.withLock { $0?.progress } ?? progress).snapshot.fraction)
    }

    /// The context of the source's objects. Changes and deletions are kept beside the source; if idle, a context without a store.
    open var sourceContext: ManagedObjectContext { filtering ?? running?.sourceContext ?? idleSource }
    /// The context of a scan by a source filter, which may fetch; nil at other times.
    var filtering: ManagedObjectContext?
    /// The context of the destination's objects; if idle, a context without a store.
    open var destinationContext: ManagedObjectContext { running?.destinationContext ?? idleDestination }
    private let idleSource = ManagedObjectContext(idle: false)
    private let idleDestination = ManagedObjectContext(idle: true)

    /// Returns the source entity of an entity mapping; nil if it has none.
    open func sourceEntity(for mapping: EntityMapping) -> EntityDescription? {
        mapping.sourceEntityName.flatMap(sourceModel.entity(named:))
    }
    /// Returns the destination entity of an entity mapping; nil if it has none.
    open func destinationEntity(for mapping: EntityMapping) -> EntityDescription? {
        mapping.destinationEntityName.flatMap(destinationModel.entity(named:))
    }

    /// Associates a destination object with a source object for an entity mapping. A pair that is given twice counts
    /// once.
    open func associate(
        sourceInstance: ManagedObject, withDestinationInstance destinationInstance: ManagedObject,
        for entityMapping: EntityMapping
    ) {
        running?.recording { try $0.pairs.add(sourceInstance, destinationInstance, entityMapping) }
    }

    /// Returns the destination objects that a mapping made from the given source objects: in the order of the source
    /// objects, then of association. Nil gives all.
    open func destinationInstances(
        forEntityMappingName mappingName: String, sourceInstances: [ManagedObject]?
    ) -> [ManagedObject] {
        running?.recording { try $0.pairs.destinationInstances(mappingName, sourceInstances) } ?? []
    }

    /// Calls a closure with all destination objects that a mapping made, one after the other: what
    /// ``destinationInstances(forEntityMappingName:sourceInstances:)`` gives for nil, without an object for each of them at a
    /// time.
    ///
    /// Objects that the closure associates are not shown. Memory: an object, unless the closure keeps it.
    ///
    /// - Parameters:
    ///   - mappingName: the entity mapping's name.
    ///   - body: gets each object.
    /// - Throws: `manager.unknownMapping` (65); `manager.idle` (70) outside of a run; what the closure throws.
    open func forEachDestinationInstance(
        forEntityMappingName mappingName: String, _ body: (ManagedObject) throws -> Void
    ) throws {
        try runtime().pairs.forEachDestinationInstance(mappingName, body)
    }

    /// Returns the source objects from which a mapping made the given destination objects. Nil gives all.
    open func sourceInstances(
        forEntityMappingName mappingName: String, destinationInstances: [ManagedObject]?
    ) -> [ManagedObject] {
        running?.recording { try $0.pairs.sourceInstances(mappingName, destinationInstances) } ?? []
    }

    /// Registers the methods of a subclass that value expressions call: `FUNCTION($manager, 'selector:', …)`.
    ///
    ///     override func registerFunctions(_ functions: ExpressionFunctionTable) {
    ///         functions.add("currencyForCountry:", TradeManager.currency(forCountry:))
    ///     }
    open func registerFunctions(_ functions: ExpressionFunctionTable) {}

    /// Returns the Foundation progress of the current or the next run. Each run gets a new one, made on first use.
    private func currentMirror() -> ProgressMirror {
        let cancellation = cancellation
        return mirror.withLock { current in
            let mirror = current ?? ProgressMirror(cancellation: cancellation)
            current = mirror
            return mirror
        }
    }

    // MARK: - The engine's side

    /// Returns the objects and associations of the run.
    ///
    /// - Throws: `manager.idle` outside of a run.
    func runtime() throws(MigrationError) -> PolicyRuntime {
        guard let running else {
            throw MigrationError("manager.idle", .internal, "The migration manager is not migrating")
        }
        return running
    }

    /// The progress and the cancellation of a ``Migration`` that was started without this manager.
    private struct TakenRun {
        let progress: ProgressCounter
        let cancellation: CancellationFlag
    }

    /// Lends the manager to a ``Migration`` that was started without it, for its policies.
    ///
    /// - Returns: false if the manager runs the migration itself.
    func beginRun(_ model: MappingModel, progress: ProgressCounter, cancellation: CancellationFlag) -> Bool {
        guard modelOfRun == nil else { return false }
        modelOfRun = model
        taken.withLock { $0 = TakenRun(progress: progress, cancellation: cancellation) }
        return true
    }

    /// Ends the run that used the manager.
    func endRun() {
        modelOfRun = nil
        mappingAtWork = nil
        running = nil
        taken.withLock { $0 = nil }
    }

    /// Begins the work of a mapping model.
    func begin(_ model: MappingModel) { modelOfRun = model }

    func attach(_ runtime: PolicyRuntime) { running = runtime }
    func detach() {
        running = nil
        mappingAtWork = nil
    }
    func enter(_ mapping: EntityMapping?) { mappingAtWork = mapping }
}
