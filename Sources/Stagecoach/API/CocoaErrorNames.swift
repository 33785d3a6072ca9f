import Foundation

// Core Data's names of its codes and of the parts of its errors, as properties of ``CocoaError``: `catch CocoaError.migration`.
extension CocoaError {
    /// ``NSManagedObjectValidationError``.
    public static let managedObjectValidation = Code.managedObjectValidation
    /// ``NSManagedObjectConstraintValidationError``.
    public static let managedObjectConstraintValidation = Code.managedObjectConstraintValidation
    /// ``NSValidationMultipleErrorsError``.
    public static let validationMultipleErrors = Code.validationMultipleErrors
    /// ``NSValidationMissingMandatoryPropertyError``.
    public static let validationMissingMandatoryProperty = Code.validationMissingMandatoryProperty
    /// ``NSValidationRelationshipLacksMinimumCountError``.
    public static let validationRelationshipLacksMinimumCount = Code.validationRelationshipLacksMinimumCount
    /// ``NSValidationRelationshipExceedsMaximumCountError``.
    public static let validationRelationshipExceedsMaximumCount = Code.validationRelationshipExceedsMaximumCount
    /// ``NSValidationRelationshipDeniedDeleteError``.
    public static let validationRelationshipDeniedDelete = Code.validationRelationshipDeniedDelete
    /// ``NSValidationNumberTooLargeError``.
    public static let validationNumberTooLarge = Code.validationNumberTooLarge
    /// ``NSValidationNumberTooSmallError``.
    public static let validationNumberTooSmall = Code.validationNumberTooSmall
    /// ``NSValidationDateTooLateError``.
    public static let validationDateTooLate = Code.validationDateTooLate
    /// ``NSValidationDateTooSoonError``.
    public static let validationDateTooSoon = Code.validationDateTooSoon
    /// ``NSValidationInvalidDateError``.
    public static let validationInvalidDate = Code.validationInvalidDate
    /// ``NSValidationStringTooLongError``.
    public static let validationStringTooLong = Code.validationStringTooLong
    /// ``NSValidationStringTooShortError``.
    public static let validationStringTooShort = Code.validationStringTooShort
    /// ``NSValidationStringPatternMatchingError``.
    public static let validationStringPatternMatching = Code.validationStringPatternMatching
    /// ``NSManagedObjectContextLockingError``.
    public static let managedObjectContextLocking = Code.managedObjectContextLocking
    /// ``NSPersistentStoreCoordinatorLockingError``.
    public static let persistentStoreCoordinatorLocking = Code.persistentStoreCoordinatorLocking
    /// ``NSManagedObjectReferentialIntegrityError``.
    public static let managedObjectReferentialIntegrity = Code.managedObjectReferentialIntegrity
    /// ``NSManagedObjectExternalRelationshipError``.
    public static let managedObjectExternalRelationship = Code.managedObjectExternalRelationship
    /// ``NSManagedObjectMergeError``.
    public static let managedObjectMerge = Code.managedObjectMerge
    /// ``NSManagedObjectConstraintMergeError``.
    public static let managedObjectConstraintMerge = Code.managedObjectConstraintMerge
    /// ``NSPersistentStoreInvalidTypeError``.
    public static let persistentStoreInvalidType = Code.persistentStoreInvalidType
    /// ``NSPersistentStoreTypeMismatchError``.
    public static let persistentStoreTypeMismatch = Code.persistentStoreTypeMismatch
    /// ``NSPersistentStoreIncompatibleSchemaError``.
    public static let persistentStoreIncompatibleSchema = Code.persistentStoreIncompatibleSchema
    /// ``NSPersistentStoreSaveError``.
    public static let persistentStoreSave = Code.persistentStoreSave
    /// ``NSPersistentStoreIncompleteSaveError``.
    public static let persistentStoreIncompleteSave = Code.persistentStoreIncompleteSave
    /// ``NSPersistentStoreSaveConflictsError``.
    public static let persistentStoreSaveConflicts = Code.persistentStoreSaveConflicts
    /// ``NSCoreDataError``.
    public static let coreData = Code.coreData
    /// ``NSPersistentStoreOperationError``.
    public static let persistentStoreOperation = Code.persistentStoreOperation
    /// ``NSPersistentStoreOpenError``.
    public static let persistentStoreOpen = Code.persistentStoreOpen
    /// ``NSPersistentStoreTimeoutError``.
    public static let persistentStoreTimeout = Code.persistentStoreTimeout
    /// ``NSPersistentStoreUnsupportedRequestTypeError``.
    public static let persistentStoreUnsupportedRequestType = Code.persistentStoreUnsupportedRequestType
    /// ``NSPersistentStoreIncompatibleVersionHashError``.
    public static let persistentStoreIncompatibleVersionHash = Code.persistentStoreIncompatibleVersionHash
    /// ``NSMigrationError``.
    public static let migration = Code.migration
    /// ``NSMigrationConstraintViolationError``.
    public static let migrationConstraintViolation = Code.migrationConstraintViolation
    /// ``NSMigrationCancelledError``.
    public static let migrationCancelled = Code.migrationCancelled
    /// ``NSMigrationMissingSourceModelError``.
    public static let migrationMissingSourceModel = Code.migrationMissingSourceModel
    /// ``NSMigrationMissingMappingModelError``.
    public static let migrationMissingMappingModel = Code.migrationMissingMappingModel
    /// ``NSMigrationManagerSourceStoreError``.
    public static let migrationManagerSourceStore = Code.migrationManagerSourceStore
    /// ``NSMigrationManagerDestinationStoreError``.
    public static let migrationManagerDestinationStore = Code.migrationManagerDestinationStore
    /// ``NSEntityMigrationPolicyError``.
    public static let entityMigrationPolicy = Code.entityMigrationPolicy
    /// ``NSSQLiteError``.
    public static let sqlite = Code.sqlite
    /// ``NSInferredMappingModelError``.
    public static let inferredMappingModel = Code.inferredMappingModel
    /// ``NSExternalRecordImportError``.
    public static let externalRecordImport = Code.externalRecordImport
    /// ``NSPersistentHistoryTokenExpiredError``.
    public static let persistentHistoryTokenExpired = Code.persistentHistoryTokenExpired
    /// ``NSManagedObjectModelReferenceNotFoundError``.
    public static let managedObjectModelReferenceNotFound = Code.managedObjectModelReferenceNotFound
    /// ``NSStagedMigrationFrameworkVersionMismatchError``.
    public static let stagedMigrationFrameworkVersionMismatch = Code.stagedMigrationFrameworkVersionMismatch
    /// ``NSStagedMigrationBackwardMigrationError``.
    public static let stagedMigrationBackwardMigration = Code.stagedMigrationBackwardMigration

    /// The object that broke a rule.
    public var validationObject: Any? { userInfo[NSValidationObjectErrorKey] }
    /// The property that broke a rule.
    public var validationKey: String? { userInfo[NSValidationKeyErrorKey] as? String }
    /// The value that broke a rule.
    public var validationValue: Any? { userInfo[NSValidationValueErrorKey] }
    /// The rule.
    public var validationPredicate: Any? { userInfo[NSValidationPredicateErrorKey] }
    /// The objects that the error is about.
    public var affectedObjects: [Any]? { userInfo[NSAffectedObjectsErrorKey] as? [Any] }
    /// The stores that the error is about.
    public var affectedStores: [Any]? { userInfo[NSAffectedStoresErrorKey] as? [Any] }
    /// The conflicts of a save.
    public var persistentStoreSaveConflicts: [Any]? { userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [Any] }
}
