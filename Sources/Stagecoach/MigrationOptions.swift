import Mapping
import PersistentStore

/// What a migration may be told beyond its stores, models and mapping model.
public struct MigrationOptions: Sendable {
    /// Peak resident memory of the process in bytes; nil: 256 MiB, or three quarters of the cgroup's limit where that
    /// is lower.
    public var memoryLimit: Int?
    /// Bytes above what the process holds when the run begins, in the place of a limit: for tests, which share their
    /// process with others that run at the same time.
    package var memoryRoom: Int?
    /// Members that a relationship set by a lookup holds in memory; more are sorted on the disk. For tests, which have few.
    package var heldMembers = 16_384
    /// Rows fetched at a time; nil lets the memory limit decide.
    public var batchSize: Int?
    /// Folder for spills and association tables; nil: beside the destination.
    public var workDirectory: String?
    /// Which keys destination rows get.
    public var keys: KeyChoice = .auto
    /// Passes to cut the work into, tables by key range where they are fewer; nil lets the planner decide.
    public var passes: Int?
    /// Names of entity mappings, pass by pass; those that are not named come in a pass of their own at the end. A table
    /// whose keys are kept is loaded in the last pass that names one of its mappings.
    public var passNames: [[String]] = []
    /// A plan to run: its passes and keys are taken, and it is refused where the inputs are not those that it was made for.
    public var plan: MigrationPlan?
    /// A new file for the map from source to destination objects: a table of comma-separated values where its name ends in
    /// `.csv`, an SQLite database where it ends in `.sqlite`.
    public var idMap: String?
    /// Add to a store that stands at the destination, whose keys and metadata stay; without it such a store is refused.
    public var appendsToExisting = false
    /// Run everything, publish nothing.
    public var isDryRun = false
    /// What becomes of properties that inference cannot map, where a mapping model is inferred.
    public var unmappable: UnmappableProperties = .refuse
    /// What becomes of version hashes that only Core Data can compute.
    public var unknownHashes: UnknownHashes = .refuse
    /// Make rules that the source model already had errors for inferred mappings too.
    public var strictValidation = false
    /// What becomes of objects that break the destination model's rules.
    public var onInvalid: InvalidObjects = .fail
    /// The most objects that may be rejected; nil: any number.
    public var maximumRejects: Int?
    /// What becomes of a migration that leaves data of the source behind.
    public var onLoss: LossHandling = .warn
    /// A new file for the rejected objects, a line of JSON each; nil: they are counted only.
    public var rejectFile: String?
    /// Begin anew where an earlier run to the same destination did not end, instead of going on from where it was.
    public var restarts = false
    /// Give the destination a fresh UUID.
    public var newUUID = false
    /// Run SQLite's integrity check on the finished store before it is published.
    public var fullCheck = false
    /// Bytes above which a value of an attribute that allows external storage becomes a file of its own.
    public var externalThreshold = ExternalFiles.defaultThreshold
    /// What becomes of the source's persistent history.
    public var history: PersistentHistory = .auto
    /// The choice for a source that CloudKit mirrors.
    public var cloudKit: CloudKitMirroring = .refuse
    /// False sends every entity mapping through the stages as if user code ran, with the same result.
    public var usesStoreSpecificMigrationManager = true
    /// How rows come into a fresh store. The stores hold the same rows; page numbers differ.
    public var writer: StoreWriter = .pages
    /// How the source's rows are read. Both readers give the same rows.
    public var reader: StoreReader = .pages

    /// Measure the stages, for ``MigrationReport/profile``.
    public var profiles = false

    /// Whether the source's tables say which version wrote it, because its hashes are missing or of no known version:
    /// ``StoreVersion/Evidence/schema``. Else a store whose hashes are not the source model's is refused.
    public var sourceIsKnownByTables = false

    /// Read what a damaged source lacks as empty or nil: a table or a column of the model version that wrote it, as its
    /// metadata say. Each is named and counted: ``MigrationPlan/repairs``, ``MigrationReport/repairs``. Else such a source is
    /// refused. The source itself is not changed.
    public var repairs = false

    /// Digests of the libraries that policies come from: a run that did not end is not gone on with by other code.
    package var policyCode: [String] = []

    /// For tests: time between two states of a run; nil: half a second.
    package var checkpointInterval: Duration?
    /// For tests: the record of the journal from which on none can be written; nil: all can.
    package var journalFailure: Int?
    /// For tests: whether policies that may be are called by two threads; nil: where there are two processors.
    package var worksAhead: Bool?

    /// The defaults.
    public init() {}
}

extension MigrationOptions {
    /// What becomes of a source that lacks a table or a column.
    var damage: DamageChoice { repairs ? .repair : .offerRepair }
}

/// The choice for a source's persistent history. A copy without it has the tables of a source that has them, empty.
public enum PersistentHistory: String, Sendable, CaseIterable {
    /// It is carried over where all keys and all entity numbers are kept, else left behind.
    case auto
    /// It is left behind: who follows it begins anew, as after a migration by Core Data's migration manager.
    case drop
    /// It is carried over with the destination's entity numbers, where all keys are kept.
    case keep
}

/// The choice for a source that CloudKit mirrors: one with tables of `NSPersistentCloudKitContainer`, `ANSCK…`.
public enum CloudKitMirroring: String, Sendable, CaseIterable {
    /// It is refused: a copy without the state of the sync may duplicate what is in the cloud.
    case refuse
    /// The copy has neither the state of the sync nor history.
    case drop
}

/// What becomes of a fresh store's version hashes that only Core Data can compute: those of entities with derived or composite
/// attributes, where no compiled model states them.
public enum UnknownHashes: String, Sendable, CaseIterable {
    /// No store is written.
    case refuse
    /// They are left out, and digest and checksum with them: Core Data takes the store for one of another version. Stagecoach
    /// knows it by its cached model.
    case omit
}

/// How the rows of a fresh store are written.
public enum StoreWriter: String, Sendable, CaseIterable {
    /// By the file's pages, where that is safe, else through SQLite.
    case pages
    /// Through SQLite always: what the pages are compared with.
    case sqlite
}

/// How the rows of a source are read.
public enum StoreReader: String, Sendable, CaseIterable {
    /// From the file's pages, where that is safe, else through SQLite.
    case pages
    /// Through SQLite always: what the pages are compared with.
    case sqlite
}
