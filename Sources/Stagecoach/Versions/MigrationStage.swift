import Foundation
import Mapping

/// A stage of a staged migration: a ``LightweightMigrationStage`` or a ``CustomMigrationStage``.
open class MigrationStage: NSObject {
    /// The name of the stage in messages.
    open var label: String?

    override init() {}

    /// The checksums of the versions from and to which the stage migrates.
    var checksums: [String] { [] }
}

/// A stage of versions between which mapping models are inferred.
///
/// A store of any of these versions migrates directly to the last one, as in Core Data.
public final class LightweightMigrationStage: MigrationStage {
    /// The versions, oldest first, as ``ManagedObjectModel/versionChecksum``. `VersionInfo.plist` and the store's metadata have
    /// the same values.
    public let versionChecksums: [String]

    /// - Parameter versionChecksums: the versions, oldest first; at least one.
    public init(_ versionChecksums: [String]) {
        self.versionChecksums = versionChecksums
        super.init()
    }

    override var checksums: [String] { versionChecksums }
}

/// A stage from one version to the next, with handlers before and after.
///
/// Between the handlers a mapping model is inferred, as in Core Data. Unlike there, a mapping model with policies may be given
/// instead.
public final class CustomMigrationStage: MigrationStage {
    /// A handler. It receives the manager, whose ``StagedMigrationManager/storeURL`` is the private store, and the stage.
    public typealias Handler = (StagedMigrationManager, CustomMigrationStage) throws -> Void

    /// The version from which the stage migrates.
    public let currentModel: ManagedObjectModelReference
    /// The version to which the stage migrates.
    public let nextModel: ManagedObjectModelReference
    /// The handler that is called while the private store has the version ``currentModel``.
    public var willMigrateHandler: Handler?
    /// The handler that is called once the private store has the version ``nextModel``.
    public var didMigrateHandler: Handler?
    /// The mapping model between the two versions; nil to infer it.
    public var mappingModel: MappingModel?

    /// Creates a stage between two versions, without handlers.
    public init(migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference) {
        self.currentModel = currentModel
        self.nextModel = nextModel
        super.init()
    }

    override var checksums: [String] { [currentModel.versionChecksum, nextModel.versionChecksum] }
}
