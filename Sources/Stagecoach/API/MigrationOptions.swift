import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// The options of a migration, beyond its stores, models and mapping models.
///
/// ```swift
/// var options = MigrationOptions()
/// options.memoryLimit = 64 << 20
/// options.onInvalid = .reject
/// options.rejectFile = "rejects.jsonl"
/// options.onLoss = .refuse
/// let migration = Migration(
///     from: "Library.sqlite", model: old, mapping: mappingModel, to: "New.sqlite", model: new, options: options)
/// print(try migration.run().rejects?.objects ?? 0, "rejected")
/// ```
public struct MigrationOptions: Sendable {
    /// The peak resident memory of the process in bytes; nil: 256 MiB, or three quarters of the cgroup's limit if that
    /// is lower.
    public var memoryLimit: Int?
    /// Bytes that the run may use above the process's memory at its start, instead of a limit: for a process that does
    /// other work too.
    package var memoryRoom: Int?
    /// The number of rows fetched at a time, and of members that a lookup holds in memory; nil: the memory limit decides.
    public var batchSize: Int?
    /// The folder for spills and association tables; nil: beside the destination.
    public var workDirectory: String?
    /// The choice of keys for destination rows.
    public var keys: KeyChoice = .auto
    /// The number of passes to cut the work into. If there are fewer tables, they are cut by key range. Nil: the
    /// planner decides.
    public var passes: Int?
    /// The names of entity mappings, pass by pass. Mappings that are not named come in a last pass of their own. A
    /// table whose keys are kept is loaded in the last pass that names one of its mappings.
    public var passNames: [[String]] = []
    /// A plan to run. Its passes and keys are used; it is refused if the inputs have changed since it was made.
    public var plan: MigrationPlan?
    /// The path of a new file for the map from source to destination objects: comma-separated values if its name ends
    /// in `.csv`, an SQLite database if it ends in `.sqlite`.
    public var idMap: String?
    /// True to add objects to an existing store at the destination, whose keys and metadata stay; else it is refused.
    public var appendsToExisting = false
    /// True to run everything and publish nothing.
    public var isDryRun = false
    /// The handling of properties that inference cannot map, if a mapping model is inferred.
    public var unmappable: UnmappableProperties = .refuse
    /// The handling of version hashes that only Core Data can compute.
    public var unknownHashes: UnknownHashes = .refuse
    /// True to make broken rules errors for inferred mappings too, even if the source model has the same rules.
    public var strictValidation = false
    /// The handling of objects that break the destination model's rules.
    public var onInvalid: InvalidObjects = .fail
    /// The largest number of objects that may be rejected; nil: any number.
    public var maximumRejects: Int?
    /// The handling of a migration that leaves data of the source behind.
    public var onLoss: LossHandling = .warn
    /// Data of the source that may stay behind: `Entity.property` for values or links, `Entity` for objects that become nothing.
    /// Names count for subentities too. In a chain they are those of the source or of the version whose step leaves the data.
    public var allowedLosses: Set<String> = []
    /// The path of a new file for the rejected objects, one line of JSON each; nil: they are only counted.
    public var rejectFile: String?
    /// True to begin anew instead of resuming a run to the same destination that did not end.
    public var restarts = false
    /// True to give the destination a fresh UUID.
    public var newUUID = false
    /// True to run SQLite's integrity check on the finished store before it is published.
    public var fullCheck = false
    /// The size in bytes above which a value of an attribute that allows external storage becomes a file of its own.
    public var externalThreshold = MigrationOptions.defaultExternalThreshold
    /// The treatment of the source's persistent history.
    public var history: PersistentHistory = .auto
    /// The choice for a source that CloudKit mirrors.
    public var cloudKit: CloudKitMirroring = .refuse
    /// False gives policies and expressions the bytes of transformable attributes, and takes bytes from them, instead of the
    /// objects that a ``ValueTransformer`` makes.
    public var transformsValues = true
    /// False sends every entity mapping through the stages as if user code ran, with the same result.
    public var usesStoreSpecificMigrationManager = true
    /// The way rows are written into a fresh store. Both writers give the same rows; page numbers differ.
    public var writer: StoreWriter = .pages
    /// The way the source's rows are read. Both readers give the same rows.
    public var reader: StoreReader = .pages

    /// True to measure the stages, for ``MigrationReport/profile``.
    public var profiles = false

    /// True if the source's tables tell which version wrote it, as its hashes are missing or of no known version:
    /// ``StoreVersion/Evidence/schema``. If false, a store whose hashes are not those of the source model is refused.
    public var sourceIsKnownByTables = false

    /// True to read tables and columns that a damaged source lacks as empty or nil, if its metadata say that the model
    /// version that wrote it has them. Each is named and counted in ``MigrationPlan/repairs`` and
    /// ``MigrationReport/repairs``. If false, such a source is refused. The source itself is not changed.
    public var repairs = false

    /// Digests of the libraries that contain the policies. A run that did not end is not resumed with other code.
    package var policyCode: [String] = []

    /// The size in bytes above which a value becomes a file by default. Apple documents no figure; the largest value that a
    /// known real store keeps in the column has 99,812 bytes (`store1-24.wiredatabase`).
    static let defaultExternalThreshold = 100 << 10

    /// Creates the default options.
    public init() {}
}

extension MigrationOptions {
    /// The handling of a source that lacks a table or a column.
    var damage: DamageChoice { repairs ? .repair : .offerRepair }

    /// Refuses allowed losses that no version has.
    ///
    /// - Parameter models: the models of the versions that a migration begins a step with.
    /// - Throws: `loss.unknownName` (78).
    func checkAllowedLosses(in models: [ManagedObjectModel]) throws(MigrationError) {
        for name in allowedLosses.sorted() {
            let problems = models.map { LossName(name).problem(in: $0) }
            guard !problems.contains(where: { $0 == nil }), let problem = problems.first ?? nil else { continue }
            throw MigrationError(
                "loss.unknownName", .configuration, "--allow-loss \(name): \(problem.message)", remedy: problem.remedy)
        }
    }

    /// The same options for a run whose destination is a private store, without those that concern only the last store.
    var ofPrivateRun: MigrationOptions {
        var options = self
        options.appendsToExisting = false
        options.newUUID = false
        options.isDryRun = false
        options.idMap = nil
        options.rejectFile = nil
        options.unknownHashes = .omit
        return options
    }
}

/// The choice of what becomes of a source's persistent history. A new store without the history still has the source's history
/// tables, but they are empty.
public enum PersistentHistory: String, Sendable, CaseIterable {
    /// The history is carried over if all keys and all entity numbers are kept, and otherwise left behind.
    case auto
    /// The history is left behind. Programs that follow it start over, as after a migration by Core Data's migration manager.
    case drop
    /// The history is carried over with the destination's entity numbers, if all keys are kept.
    case keep
}

/// The choice for a source that CloudKit mirrors: one with tables of `NSPersistentCloudKitContainer`, `ANSCK…`.
public enum CloudKitMirroring: String, Sendable, CaseIterable {
    /// Such a store is refused: a copy without the state of the sync may duplicate what is in the cloud.
    case refuse
    /// The copy has neither the state of the sync nor history.
    case drop
}

/// The treatment of version hashes that only Core Data can compute: those of entities with attributes derived in an unknown
/// form, or with composites in composites, where neither a compiled model nor a store states them.
public enum UnknownHashes: String, Sendable, CaseIterable {
    /// The migration is refused and no store is written.
    case refuse
    /// The hashes are left out, together with digest and checksum. Core Data takes the store for one of another
    /// version. Stagecoach recognises it by its cached model.
    case omit
}

/// The way the rows of a fresh store are written.
public enum StoreWriter: String, Sendable, CaseIterable {
    /// Directly as pages of the file if that is safe, else through SQLite.
    case pages
    /// Always through SQLite. Tests compare the page writer with it.
    case sqlite
}

/// The way the rows of a source are read.
public enum StoreReader: String, Sendable, CaseIterable {
    /// Directly from the file's pages if that is safe, else through SQLite.
    case pages
    /// Always through SQLite. Tests compare the page reader with it.
    case sqlite
}
