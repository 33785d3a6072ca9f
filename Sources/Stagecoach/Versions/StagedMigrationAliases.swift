// Core Data's names of the staged migration manager and its stages.

/// Core Data's name of ``StagedMigrationManager``.
public typealias NSStagedMigrationManager = StagedMigrationManager
/// Core Data's name of ``MigrationStage``.
public typealias NSMigrationStage = MigrationStage
/// Core Data's name of ``LightweightMigrationStage``.
public typealias NSLightweightMigrationStage = LightweightMigrationStage
/// Core Data's name of ``CustomMigrationStage``.
public typealias NSCustomMigrationStage = CustomMigrationStage
/// Core Data's name of ``ManagedObjectModelReference``.
public typealias NSManagedObjectModelReference = ManagedObjectModelReference
/// Core Data's name of ``PersistentContainer``.
public typealias NSPersistentContainer = PersistentContainer
