import Foundation

// Core Data's names of its codes, and their comparison with an error as Foundation on Apple's systems does it.
extension CocoaError.Code {
    /// ``NSManagedObjectValidationError``.
    public static let managedObjectValidation = of(NSManagedObjectValidationError)
    /// ``NSManagedObjectConstraintValidationError``.
    public static let managedObjectConstraintValidation = of(NSManagedObjectConstraintValidationError)
    /// ``NSValidationMultipleErrorsError``.
    public static let validationMultipleErrors = of(NSValidationMultipleErrorsError)
    /// ``NSValidationMissingMandatoryPropertyError``.
    public static let validationMissingMandatoryProperty = of(NSValidationMissingMandatoryPropertyError)
    /// ``NSValidationRelationshipLacksMinimumCountError``.
    public static let validationRelationshipLacksMinimumCount = of(NSValidationRelationshipLacksMinimumCountError)
    /// ``NSValidationRelationshipExceedsMaximumCountError``.
    public static let validationRelationshipExceedsMaximumCount = of(NSValidationRelationshipExceedsMaximumCountError)
    /// ``NSValidationRelationshipDeniedDeleteError``.
    public static let validationRelationshipDeniedDelete = of(NSValidationRelationshipDeniedDeleteError)
    /// ``NSValidationNumberTooLargeError``.
    public static let validationNumberTooLarge = of(NSValidationNumberTooLargeError)
    /// ``NSValidationNumberTooSmallError``.
    public static let validationNumberTooSmall = of(NSValidationNumberTooSmallError)
    /// ``NSValidationDateTooLateError``.
    public static let validationDateTooLate = of(NSValidationDateTooLateError)
    /// ``NSValidationDateTooSoonError``.
    public static let validationDateTooSoon = of(NSValidationDateTooSoonError)
    /// ``NSValidationInvalidDateError``.
    public static let validationInvalidDate = of(NSValidationInvalidDateError)
    /// ``NSValidationStringTooLongError``.
    public static let validationStringTooLong = of(NSValidationStringTooLongError)
    /// ``NSValidationStringTooShortError``.
    public static let validationStringTooShort = of(NSValidationStringTooShortError)
    /// ``NSValidationStringPatternMatchingError``.
    public static let validationStringPatternMatching = of(NSValidationStringPatternMatchingError)
    /// ``NSManagedObjectContextLockingError``.
    public static let managedObjectContextLocking = of(NSManagedObjectContextLockingError)
    /// ``NSPersistentStoreCoordinatorLockingError``.
    public static let persistentStoreCoordinatorLocking = of(NSPersistentStoreCoordinatorLockingError)
    /// ``NSManagedObjectReferentialIntegrityError``.
    public static let managedObjectReferentialIntegrity = of(NSManagedObjectReferentialIntegrityError)
    /// ``NSManagedObjectExternalRelationshipError``.
    public static let managedObjectExternalRelationship = of(NSManagedObjectExternalRelationshipError)
    /// ``NSManagedObjectMergeError``.
    public static let managedObjectMerge = of(NSManagedObjectMergeError)
    /// ``NSManagedObjectConstraintMergeError``.
    public static let managedObjectConstraintMerge = of(NSManagedObjectConstraintMergeError)
    /// ``NSPersistentStoreInvalidTypeError``.
    public static let persistentStoreInvalidType = of(NSPersistentStoreInvalidTypeError)
    /// ``NSPersistentStoreTypeMismatchError``.
    public static let persistentStoreTypeMismatch = of(NSPersistentStoreTypeMismatchError)
    /// ``NSPersistentStoreIncompatibleSchemaError``.
    public static let persistentStoreIncompatibleSchema = of(NSPersistentStoreIncompatibleSchemaError)
    /// ``NSPersistentStoreSaveError``.
    public static let persistentStoreSave = of(NSPersistentStoreSaveError)
    /// ``NSPersistentStoreIncompleteSaveError``.
    public static let persistentStoreIncompleteSave = of(NSPersistentStoreIncompleteSaveError)
    /// ``NSPersistentStoreSaveConflictsError``.
    public static let persistentStoreSaveConflicts = of(NSPersistentStoreSaveConflictsError)
    /// ``NSCoreDataError``.
    public static let coreData = of(NSCoreDataError)
    /// ``NSPersistentStoreOperationError``.
    public static let persistentStoreOperation = of(NSPersistentStoreOperationError)
    /// ``NSPersistentStoreOpenError``.
    public static let persistentStoreOpen = of(NSPersistentStoreOpenError)
    /// ``NSPersistentStoreTimeoutError``.
    public static let persistentStoreTimeout = of(NSPersistentStoreTimeoutError)
    /// ``NSPersistentStoreUnsupportedRequestTypeError``.
    public static let persistentStoreUnsupportedRequestType = of(NSPersistentStoreUnsupportedRequestTypeError)
    /// ``NSPersistentStoreIncompatibleVersionHashError``.
    public static let persistentStoreIncompatibleVersionHash = of(NSPersistentStoreIncompatibleVersionHashError)
    /// ``NSMigrationError``.
    public static let migration = of(NSMigrationError)
    /// ``NSMigrationConstraintViolationError``.
    public static let migrationConstraintViolation = of(NSMigrationConstraintViolationError)
    /// ``NSMigrationCancelledError``.
    public static let migrationCancelled = of(NSMigrationCancelledError)
    /// ``NSMigrationMissingSourceModelError``.
    public static let migrationMissingSourceModel = of(NSMigrationMissingSourceModelError)
    /// ``NSMigrationMissingMappingModelError``.
    public static let migrationMissingMappingModel = of(NSMigrationMissingMappingModelError)
    /// ``NSMigrationManagerSourceStoreError``.
    public static let migrationManagerSourceStore = of(NSMigrationManagerSourceStoreError)
    /// ``NSMigrationManagerDestinationStoreError``.
    public static let migrationManagerDestinationStore = of(NSMigrationManagerDestinationStoreError)
    /// ``NSEntityMigrationPolicyError``.
    public static let entityMigrationPolicy = of(NSEntityMigrationPolicyError)
    /// ``NSSQLiteError``.
    public static let sqlite = of(NSSQLiteError)
    /// ``NSInferredMappingModelError``.
    public static let inferredMappingModel = of(NSInferredMappingModelError)
    /// ``NSExternalRecordImportError``.
    public static let externalRecordImport = of(NSExternalRecordImportError)
    /// ``NSPersistentHistoryTokenExpiredError``.
    public static let persistentHistoryTokenExpired = of(NSPersistentHistoryTokenExpiredError)
    /// ``NSManagedObjectModelReferenceNotFoundError``.
    public static let managedObjectModelReferenceNotFound = of(NSManagedObjectModelReferenceNotFoundError)
    /// ``NSStagedMigrationFrameworkVersionMismatchError``.
    public static let stagedMigrationFrameworkVersionMismatch = of(NSStagedMigrationFrameworkVersionMismatchError)
    /// ``NSStagedMigrationBackwardMigrationError``.
    public static let stagedMigrationBackwardMigration = of(NSStagedMigrationBackwardMigrationError)

    private static func of(_ code: Int) -> Self { .init(rawValue: code) }

    /// Tells whether an error has this code in Cocoa's domain: `catch CocoaError.Code.migrationCancelled`.
    public static func ~= (code: CocoaError.Code, error: any Error) -> Bool {
        let error = error as NSError
        return error.domain == NSCocoaErrorDomain && error.code == code.rawValue
    }
}
