// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

// The keys and constants of Core Data that policies and the programs around them name, with Core Data's values.

// MARK: - Value expressions

/// `$manager` in a value expression's context.
public let NSMigrationManagerKey = "manager"
/// `$source`.
public let NSMigrationSourceObjectKey = "source"
/// `$destination`.
public let NSMigrationDestinationObjectKey = "destination"
/// `$entityMapping`.
public let NSMigrationEntityMappingKey = "entityMapping"
/// `$propertyMapping`.
public let NSMigrationPropertyMappingKey = "propertyMapping"
/// `$entityPolicy`.
public let NSMigrationEntityPolicyKey = "entityPolicy"

// MARK: - Stores

/// The type of stores in SQLite databases.
public let NSSQLiteStoreType = "SQLite"
/// The type of binary stores, which are not read here.
public let NSBinaryStoreType = "Binary"
/// The type of stores in memory, which are not read here.
public let NSInMemoryStoreType = "InMemory"
/// The type of XML stores, which are not read here.
public let NSXMLStoreType = "XML"
/// The store's type, in its metadata.
public let NSStoreTypeKey = "NSStoreType"
/// The store's UUID, in its metadata.
public let NSStoreUUIDKey = "NSStoreUUID"
/// The version hashes by entity, in the metadata.
public let NSStoreModelVersionHashesKey = "NSStoreModelVersionHashes"
/// The model's version identifiers, in the metadata.
public let NSStoreModelVersionIdentifiersKey = "NSStoreModelVersionIdentifiers"
/// The systems that can open the store, in the metadata.
public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"
/// The option that a store of another version is migrated when a coordinator adds it.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// The option that the mapping model of such a migration may be inferred.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// Core Data's option of this name, which changes nothing here.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// The option that a store which a coordinator adds is only read.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// The option of pragmas by name for a store that a coordinator adds; `journal_mode` with `DELETE` has an effect.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// Core Data's option of this name, which changes nothing here.
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// Core Data's option of this name, which changes nothing here.
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// The option of a ``StagedMigrationManager`` that migrates a store of another version when it is added.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey =
    "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"

/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreForceDestroyOption = "NSPersistentStoreForceDestroyOption"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSize"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
    "NSPersistentStoreDeferredLightweightMigrationOptionKey"
/// Core Data's option of this name, which changes nothing here.
public let NSValidateXMLStoreOption = "NSValidateXMLStoreOption"
/// Core Data's option of this name, which changes nothing here.
public let NSBinaryStoreSecureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
/// Core Data's option of this name, which changes nothing here.
public let NSBinaryStoreInsecureDecodingCompatibilityOption = "NSBinaryStoreInsecureDecodingCompatibilityOption"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreUbiquitousContentNameKey = "NSPersistentStoreUbiquitousContentNameKey"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreUbiquitousContentURLKey = "NSPersistentStoreUbiquitousContentURLKey"
/// Core Data's option of this name, which changes nothing here.
public let NSPersistentStoreRemoveUbiquitousMetadataOption = "NSPersistentStoreRemoveUbiquitousMetadataOption"

// MARK: - Errors

/// The domain of errors of SQLite.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
/// The individual errors, in the user info of an error that combines several.
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// The object, in the user info of a validation error.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
/// The property, in the user info of a validation error.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"
/// The rule, in the user info of a validation error.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
/// The value, in the user info of a validation error.
public let NSValidationValueErrorKey = "NSValidationErrorValue"
/// The stores, in an error's user info.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
/// The objects, in an error's user info.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
/// The conflicts, in an error's user info.
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"

// Codes of NSCocoaErrorDomain.
/// Core Data's error code of this name.
public let NSManagedObjectValidationError = 1550
/// Core Data's error code of this name.
public let NSManagedObjectConstraintValidationError = 1551
/// Core Data's error code of this name.
public let NSValidationMultipleErrorsError = 1560
/// Core Data's error code of this name.
public let NSValidationMissingMandatoryPropertyError = 1570
/// Core Data's error code of this name.
public let NSValidationRelationshipLacksMinimumCountError = 1580
/// Core Data's error code of this name.
public let NSValidationRelationshipExceedsMaximumCountError = 1590
/// Core Data's error code of this name.
public let NSValidationRelationshipDeniedDeleteError = 1600
/// Core Data's error code of this name.
public let NSValidationNumberTooLargeError = 1610
/// Core Data's error code of this name.
public let NSValidationNumberTooSmallError = 1620
/// Core Data's error code of this name.
public let NSValidationDateTooLateError = 1630
/// Core Data's error code of this name.
public let NSValidationDateTooSoonError = 1640
/// Core Data's error code of this name.
public let NSValidationInvalidDateError = 1650
/// Core Data's error code of this name.
public let NSValidationStringTooLongError = 1660
/// Core Data's error code of this name.
public let NSValidationStringTooShortError = 1670
/// Core Data's error code of this name.
public let NSValidationStringPatternMatchingError = 1680
/// Core Data's error code of this name.
public let NSValidationInvalidURIError = 1690
/// Core Data's error code of this name.
public let NSManagedObjectContextLockingError = 132_000
/// Core Data's error code of this name.
public let NSPersistentStoreCoordinatorLockingError = 132_010
/// Core Data's error code of this name.
public let NSManagedObjectReferentialIntegrityError = 133_000
/// Core Data's error code of this name.
public let NSManagedObjectExternalRelationshipError = 133_010
/// Core Data's error code of this name.
public let NSManagedObjectMergeError = 133_020
/// Core Data's error code of this name.
public let NSManagedObjectConstraintMergeError = 133_021
/// Core Data's error code of this name.
public let NSPersistentStoreInvalidTypeError = 134_000
/// Core Data's error code of this name.
public let NSPersistentStoreTypeMismatchError = 134_010
/// Core Data's error code of this name.
public let NSPersistentStoreIncompatibleSchemaError = 134_020
/// Core Data's error code of this name.
public let NSPersistentStoreSaveError = 134_030
/// Core Data's error code of this name.
public let NSPersistentStoreIncompleteSaveError = 134_040
/// Core Data's error code of this name.
public let NSPersistentStoreSaveConflictsError = 134_050
/// Core Data's error code of this name.
public let NSCoreDataError = 134_060
/// Core Data's error code of this name.
public let NSPersistentStoreOperationError = 134_070
/// Core Data's error code of this name.
public let NSPersistentStoreOpenError = 134_080
/// Core Data's error code of this name.
public let NSPersistentStoreTimeoutError = 134_090
/// Core Data's error code of this name.
public let NSPersistentStoreUnsupportedRequestTypeError = 134_091
/// Core Data's error code of this name.
public let NSPersistentStoreIncompatibleVersionHashError = 134_100
/// Core Data's error code of this name.
public let NSMigrationError = 134_110
/// Core Data's error code of this name.
public let NSMigrationConstraintViolationError = 134_111
/// Core Data's error code of this name.
public let NSMigrationCancelledError = 134_120
/// Core Data's error code of this name.
public let NSMigrationMissingSourceModelError = 134_130
/// Core Data's error code of this name.
public let NSMigrationMissingMappingModelError = 134_140
/// Core Data's error code of this name.
public let NSMigrationManagerSourceStoreError = 134_150
/// Core Data's error code of this name.
public let NSMigrationManagerDestinationStoreError = 134_160
/// Core Data's error code of this name.
public let NSEntityMigrationPolicyError = 134_170
/// Core Data's error code of this name.
public let NSSQLiteError = 134_180
/// Core Data's error code of this name.
public let NSInferredMappingModelError = 134_190
/// Core Data's error code of this name.
public let NSExternalRecordImportError = 134_200
/// Core Data's error code of this name.
public let NSPersistentHistoryTokenExpiredError = 134_301
/// Core Data's error code of this name.
public let NSManagedObjectModelReferenceNotFoundError = 134_504
/// Core Data's error code of this name.
public let NSStagedMigrationFrameworkVersionMismatchError = 134_505
/// Core Data's error code of this name.
public let NSStagedMigrationBackwardMigrationError = 134_506

/// Runs a closure, as Apple's does; Linux has no autorelease pools.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
