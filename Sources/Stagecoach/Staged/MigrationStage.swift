import Foundation
import ManagedModel
import Mapping

/// A stage of a staged migration: a ``LightweightMigrationStage`` or a ``CustomMigrationStage``.
open class MigrationStage: NSObject {
    /// What messages call the stage.
    open var label: String?

    override init() {}

    /// Checksums of the versions that the stage migrates from or to.
    var checksums: [String] { [] }
}

/// Versions between which mapping models are inferred.
///
/// A store of any of them migrates directly to the last one, as Core Data does it.
public final class LightweightMigrationStage: MigrationStage {
    /// The versions, oldest first: ``ManagedObjectModel/versionChecksum``, as `VersionInfo.plist` and the store's metadata
    /// have it.
    public let versionChecksums: [String]

    /// - Parameter versionChecksums: oldest first; one at least.
    public init(_ versionChecksums: [String]) {
        self.versionChecksums = versionChecksums
        super.init()
    }

    override var checksums: [String] { versionChecksums }
}

/// One version to the next, with code before and after.
///
/// Between the handlers the mapping model is inferred, as Core Data does it; here one may be given instead, with policies.
public final class CustomMigrationStage: MigrationStage {
    /// What a handler gets: the manager, whose ``StagedMigrationManager/storeURL`` is the private store, and the stage.
    public typealias Handler = (StagedMigrationManager, CustomMigrationStage) throws -> Void

    /// The version before.
    public let currentModel: ManagedObjectModelReference
    /// The version after.
    public let nextModel: ManagedObjectModelReference
    /// Called while the private store is of ``currentModel``.
    public var willMigrateHandler: Handler?
    /// Called when the private store is of ``nextModel``.
    public var didMigrateHandler: Handler?
    /// Leads from the one version to the other; nil: inferred.
    public var mappingModel: MappingModel?

    /// A stage between two versions, without handlers.
    public init(
        migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference
    ) {
        self.currentModel = currentModel
        self.nextModel = nextModel
        super.init()
    }

    override var checksums: [String] { [currentModel.versionChecksum, nextModel.versionChecksum] }
}
