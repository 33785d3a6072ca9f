import Foundation

// Core Data's names of its codes, and their comparison with an error as Foundation on Apple's systems does it.
extension CocoaError.Code {
    /// ``NSManagedObjectValidationError``.
    public static var managedObjectValidation: Self { .of(NSManagedObjectValidationError) }
    /// ``NSManagedObjectConstraintValidationError``.
    public static var managedObjectConstraintValidation: Self { .of(NSManagedObjectConstraintValidationError) }
    /// ``NSValidationMultipleErrorsError``.
    public static var validationMultipleErrors: Self { .of(NSValidationMultipleErrorsError) }
    /// ``NSValidationMissingMandatoryPropertyError``.
    public static var validationMissingMandatoryProperty: Self { .of(NSValidationMissingMandatoryPropertyError) }
    /// ``NSValidationRelationshipLacksMinimumCountError``.
    public static var validationRelationshipLacksMinimumCount: Self {
        .of(NSValidationRelationshipLacksMinimumCountError)
    }
    /// ``NSValidationRelationshipExceedsMaximumCountError``.
    public static var validationRelationshipExceedsMaximumCount: Self {
        .of(NSValidationRelationshipExceedsMaximumCountError)
    }
    /// ``NSValidationRelationshipDeniedDeleteError``.
    public static var validationRelationshipDeniedDelete: Self { .of(NSValidationRelationshipDeniedDeleteError) }
    /// ``NSValidationNumberTooLargeError``.
    public static var validationNumberTooLarge: Self { .of(NSValidationNumberTooLargeError) }
    /// ``NSValidationNumberTooSmallError``.
    public static var validationNumberTooSmall: Self { .of(NSValidationNumberTooSmallError) }
    /// ``NSValidationDateTooLateError``.
    public static var validationDateTooLate: Self { .of(NSValidationDateTooLateError) }
    /// ``NSValidationDateTooSoonError``.
    public static var validationDateTooSoon: Self { .of(NSValidationDateTooSoonError) }
    /// ``NSValidationInvalidDateError``.
    public static var validationInvalidDate: Self { .of(NSValidationInvalidDateError) }
    /// ``NSValidationStringTooLongError``.
    public static var validationStringTooLong: Self { .of(NSValidationStringTooLongError) }
    /// ``NSValidationStringTooShortError``.
    public static var validationStringTooShort: Self { .of(NSValidationStringTooShortError) }
    /// ``NSValidationStringPatternMatchingError``.
    public static var validationStringPatternMatching: Self { .of(NSValidationStringPatternMatchingError) }
    /// ``NSManagedObjectContextLockingError``.
    public static var managedObjectContextLocking: Self { .of(NSManagedObjectContextLockingError) }
    /// ``NSPersistentStoreCoordinatorLockingError``.
    public static var persistentStoreCoordinatorLocking: Self { .of(NSPersistentStoreCoordinatorLockingError) }
    /// ``NSManagedObjectReferentialIntegrityError``.
    public static var managedObjectReferentialIntegrity: Self { .of(NSManagedObjectReferentialIntegrityError) }
    /// ``NSManagedObjectExternalRelationshipError``.
    public static var managedObjectExternalRelationship: Self { .of(NSManagedObjectExternalRelationshipError) }
    /// ``NSManagedObjectMergeError``.
    public static var managedObjectMerge: Self { .of(NSManagedObjectMergeError) }
    /// ``NSManagedObjectConstraintMergeError``.
    public static var managedObjectConstraintMerge: Self { .of(NSManagedObjectConstraintMergeError) }
    /// ``NSPersistentStoreInvalidTypeError``.
    public static var persistentStoreInvalidType: Self { .of(NSPersistentStoreInvalidTypeError) }
    /// ``NSPersistentStoreTypeMismatchError``.
    public static var persistentStoreTypeMismatch: Self { .of(NSPersistentStoreTypeMismatchError) }
    /// ``NSPersistentStoreIncompatibleSchemaError``.
    public static var persistentStoreIncompatibleSchema: Self { .of(NSPersistentStoreIncompatibleSchemaError) }
    /// ``NSPersistentStoreSaveError``.
    public static var persistentStoreSave: Self { .of(NSPersistentStoreSaveError) }
    /// ``NSPersistentStoreIncompleteSaveError``.
    public static var persistentStoreIncompleteSave: Self { .of(NSPersistentStoreIncompleteSaveError) }
    /// ``NSPersistentStoreSaveConflictsError``.
    public static var persistentStoreSaveConflicts: Self { .of(NSPersistentStoreSaveConflictsError) }
    /// ``NSCoreDataError``.
    public static var coreData: Self { .of(NSCoreDataError) }
    /// ``NSPersistentStoreOperationError``.
    public static var persistentStoreOperation: Self { .of(NSPersistentStoreOperationError) }
    /// ``NSPersistentStoreOpenError``.
    public static var persistentStoreOpen: Self { .of(NSPersistentStoreOpenError) }
    /// ``NSPersistentStoreTimeoutError``.
    public static var persistentStoreTimeout: Self { .of(NSPersistentStoreTimeoutError) }
    /// ``NSPersistentStoreUnsupportedRequestTypeError``.
    public static var persistentStoreUnsupportedRequestType: Self { .of(NSPersistentStoreUnsupportedRequestTypeError) }
    /// ``NSPersistentStoreIncompatibleVersionHashError``.
    public static var persistentStoreIncompatibleVersionHash: Self {
        .of(NSPersistentStoreIncompatibleVersionHashError)
    }
    /// ``NSMigrationError``.
    public static var migration: Self { .of(NSMigrationError) }
    /// ``NSMigrationConstraintViolationError``.
    public static var migrationConstraintViolation: Self { .of(NSMigrationConstraintViolationError) }
    /// ``NSMigrationCancelledError``.
    public static var migrationCancelled: Self { .of(NSMigrationCancelledError) }
    /// ``NSMigrationMissingSourceModelError``.
    public static var migrationMissingSourceModel: Self { .of(NSMigrationMissingSourceModelError) }
    /// ``NSMigrationMissingMappingModelError``.
    public static var migrationMissingMappingModel: Self { .of(NSMigrationMissingMappingModelError) }
    /// ``NSMigrationManagerSourceStoreError``.
    public static var migrationManagerSourceStore: Self { .of(NSMigrationManagerSourceStoreError) }
    /// ``NSMigrationManagerDestinationStoreError``.
    public static var migrationManagerDestinationStore: Self { .of(NSMigrationManagerDestinationStoreError) }
    /// ``NSEntityMigrationPolicyError``.
    public static var entityMigrationPolicy: Self { .of(NSEntityMigrationPolicyError) }
    /// ``NSSQLiteError``.
    public static var sqlite: Self { .of(NSSQLiteError) }
    /// ``NSInferredMappingModelError``.
    public static var inferredMappingModel: Self { .of(NSInferredMappingModelError) }
    /// ``NSExternalRecordImportError``.
    public static var externalRecordImport: Self { .of(NSExternalRecordImportError) }
    /// ``NSPersistentHistoryTokenExpiredError``.
    public static var persistentHistoryTokenExpired: Self { .of(NSPersistentHistoryTokenExpiredError) }
    /// ``NSManagedObjectModelReferenceNotFoundError``.
    public static var managedObjectModelReferenceNotFound: Self { .of(NSManagedObjectModelReferenceNotFoundError) }
    /// ``NSStagedMigrationFrameworkVersionMismatchError``.
    public static var stagedMigrationFrameworkVersionMismatch: Self {
        .of(NSStagedMigrationFrameworkVersionMismatchError)
    }
    /// ``NSStagedMigrationBackwardMigrationError``.
    public static var stagedMigrationBackwardMigration: Self { .of(NSStagedMigrationBackwardMigrationError) }

    private static func of(_ code: Int) -> Self { .init(rawValue: code) }

    /// Tells whether an error has this code in Cocoa's domain: `catch CocoaError.Code.migrationCancelled`.
    public static func ~= (code: CocoaError.Code, error: any Error) -> Bool {
        let error = error as NSError
        return error.domain == NSCocoaErrorDomain && error.code == code.rawValue
    }
}
