import Foundation

// Core Data's names of its codes, and their comparison with an error as Foundation on Apple's systems does it.
extension CocoaError.Code {
    /// ``NSManagedObjectValidationError``.
    public static var managedObjectValidation: CocoaError.Code { .init(rawValue: NSManagedObjectValidationError) }
    /// ``NSManagedObjectConstraintValidationError``.
    public static var managedObjectConstraintValidation: CocoaError.Code {
        .init(rawValue: NSManagedObjectConstraintValidationError)
    }
    /// ``NSValidationMultipleErrorsError``.
    public static var validationMultipleErrors: CocoaError.Code { .init(rawValue: NSValidationMultipleErrorsError) }
    /// ``NSValidationMissingMandatoryPropertyError``.
    public static var validationMissingMandatoryProperty: CocoaError.Code {
        .init(rawValue: NSValidationMissingMandatoryPropertyError)
    }
    /// ``NSValidationRelationshipLacksMinimumCountError``.
    public static var validationRelationshipLacksMinimumCount: CocoaError.Code {
        .init(rawValue: NSValidationRelationshipLacksMinimumCountError)
    }
    /// ``NSValidationRelationshipExceedsMaximumCountError``.
    public static var validationRelationshipExceedsMaximumCount: CocoaError.Code {
        .init(rawValue: NSValidationRelationshipExceedsMaximumCountError)
    }
    /// ``NSValidationRelationshipDeniedDeleteError``.
    public static var validationRelationshipDeniedDelete: CocoaError.Code {
        .init(rawValue: NSValidationRelationshipDeniedDeleteError)
    }
    /// ``NSValidationNumberTooLargeError``.
    public static var validationNumberTooLarge: CocoaError.Code { .init(rawValue: NSValidationNumberTooLargeError) }
    /// ``NSValidationNumberTooSmallError``.
    public static var validationNumberTooSmall: CocoaError.Code { .init(rawValue: NSValidationNumberTooSmallError) }
    /// ``NSValidationDateTooLateError``.
    public static var validationDateTooLate: CocoaError.Code { .init(rawValue: NSValidationDateTooLateError) }
    /// ``NSValidationDateTooSoonError``.
    public static var validationDateTooSoon: CocoaError.Code { .init(rawValue: NSValidationDateTooSoonError) }
    /// ``NSValidationInvalidDateError``.
    public static var validationInvalidDate: CocoaError.Code { .init(rawValue: NSValidationInvalidDateError) }
    /// ``NSValidationStringTooLongError``.
    public static var validationStringTooLong: CocoaError.Code { .init(rawValue: NSValidationStringTooLongError) }
    /// ``NSValidationStringTooShortError``.
    public static var validationStringTooShort: CocoaError.Code { .init(rawValue: NSValidationStringTooShortError) }
    /// ``NSValidationStringPatternMatchingError``.
    public static var validationStringPatternMatching: CocoaError.Code {
        .init(rawValue: NSValidationStringPatternMatchingError)
    }
    /// ``NSManagedObjectContextLockingError``.
    public static var managedObjectContextLocking: CocoaError.Code {
        .init(rawValue: NSManagedObjectContextLockingError)
    }
    /// ``NSPersistentStoreCoordinatorLockingError``.
    public static var persistentStoreCoordinatorLocking: CocoaError.Code {
        .init(rawValue: NSPersistentStoreCoordinatorLockingError)
    }
    /// ``NSManagedObjectReferentialIntegrityError``.
    public static var managedObjectReferentialIntegrity: CocoaError.Code {
        .init(rawValue: NSManagedObjectReferentialIntegrityError)
    }
    /// ``NSManagedObjectExternalRelationshipError``.
    public static var managedObjectExternalRelationship: CocoaError.Code {
        .init(rawValue: NSManagedObjectExternalRelationshipError)
    }
    /// ``NSManagedObjectMergeError``.
    public static var managedObjectMerge: CocoaError.Code { .init(rawValue: NSManagedObjectMergeError) }
    /// ``NSManagedObjectConstraintMergeError``.
    public static var managedObjectConstraintMerge: CocoaError.Code {
        .init(rawValue: NSManagedObjectConstraintMergeError)
    }
    /// ``NSPersistentStoreInvalidTypeError``.
    public static var persistentStoreInvalidType: CocoaError.Code { .init(rawValue: NSPersistentStoreInvalidTypeError) }
    /// ``NSPersistentStoreTypeMismatchError``.
    public static var persistentStoreTypeMismatch: CocoaError.Code {
        .init(rawValue: NSPersistentStoreTypeMismatchError)
    }
    /// ``NSPersistentStoreIncompatibleSchemaError``.
    public static var persistentStoreIncompatibleSchema: CocoaError.Code {
        .init(rawValue: NSPersistentStoreIncompatibleSchemaError)
    }
    /// ``NSPersistentStoreSaveError``.
    public static var persistentStoreSave: CocoaError.Code { .init(rawValue: NSPersistentStoreSaveError) }
    /// ``NSPersistentStoreIncompleteSaveError``.
    public static var persistentStoreIncompleteSave: CocoaError.Code {
        .init(rawValue: NSPersistentStoreIncompleteSaveError)
    }
    /// ``NSPersistentStoreSaveConflictsError``.
    public static var persistentStoreSaveConflicts: CocoaError.Code {
        .init(rawValue: NSPersistentStoreSaveConflictsError)
    }
    /// ``NSCoreDataError``.
    public static var coreData: CocoaError.Code { .init(rawValue: NSCoreDataError) }
    /// ``NSPersistentStoreOperationError``.
    public static var persistentStoreOperation: CocoaError.Code { .init(rawValue: NSPersistentStoreOperationError) }
    /// ``NSPersistentStoreOpenError``.
    public static var persistentStoreOpen: CocoaError.Code { .init(rawValue: NSPersistentStoreOpenError) }
    /// ``NSPersistentStoreTimeoutError``.
    public static var persistentStoreTimeout: CocoaError.Code { .init(rawValue: NSPersistentStoreTimeoutError) }
    /// ``NSPersistentStoreUnsupportedRequestTypeError``.
    public static var persistentStoreUnsupportedRequestType: CocoaError.Code {
        .init(rawValue: NSPersistentStoreUnsupportedRequestTypeError)
    }
    /// ``NSPersistentStoreIncompatibleVersionHashError``.
    public static var persistentStoreIncompatibleVersionHash: CocoaError.Code {
        .init(rawValue: NSPersistentStoreIncompatibleVersionHashError)
    }
    /// ``NSMigrationError``.
    public static var migration: CocoaError.Code { .init(rawValue: NSMigrationError) }
    /// ``NSMigrationConstraintViolationError``.
    public static var migrationConstraintViolation: CocoaError.Code {
        .init(rawValue: NSMigrationConstraintViolationError)
    }
    /// ``NSMigrationCancelledError``.
    public static var migrationCancelled: CocoaError.Code { .init(rawValue: NSMigrationCancelledError) }
    /// ``NSMigrationMissingSourceModelError``.
    public static var migrationMissingSourceModel: CocoaError.Code {
        .init(rawValue: NSMigrationMissingSourceModelError)
    }
    /// ``NSMigrationMissingMappingModelError``.
    public static var migrationMissingMappingModel: CocoaError.Code {
        .init(rawValue: NSMigrationMissingMappingModelError)
    }
    /// ``NSMigrationManagerSourceStoreError``.
    public static var migrationManagerSourceStore: CocoaError.Code {
        .init(rawValue: NSMigrationManagerSourceStoreError)
    }
    /// ``NSMigrationManagerDestinationStoreError``.
    public static var migrationManagerDestinationStore: CocoaError.Code {
        .init(rawValue: NSMigrationManagerDestinationStoreError)
    }
    /// ``NSEntityMigrationPolicyError``.
    public static var entityMigrationPolicy: CocoaError.Code { .init(rawValue: NSEntityMigrationPolicyError) }
    /// ``NSSQLiteError``.
    public static var sqlite: CocoaError.Code { .init(rawValue: NSSQLiteError) }
    /// ``NSInferredMappingModelError``.
    public static var inferredMappingModel: CocoaError.Code { .init(rawValue: NSInferredMappingModelError) }
    /// ``NSExternalRecordImportError``.
    public static var externalRecordImport: CocoaError.Code { .init(rawValue: NSExternalRecordImportError) }
    /// ``NSPersistentHistoryTokenExpiredError``.
    public static var persistentHistoryTokenExpired: CocoaError.Code {
        .init(rawValue: NSPersistentHistoryTokenExpiredError)
    }
    /// ``NSManagedObjectModelReferenceNotFoundError``.
    public static var managedObjectModelReferenceNotFound: CocoaError.Code {
        .init(rawValue: NSManagedObjectModelReferenceNotFoundError)
    }
    /// ``NSStagedMigrationFrameworkVersionMismatchError``.
    public static var stagedMigrationFrameworkVersionMismatch: CocoaError.Code {
        .init(rawValue: NSStagedMigrationFrameworkVersionMismatchError)
    }
    /// ``NSStagedMigrationBackwardMigrationError``.
    public static var stagedMigrationBackwardMigration: CocoaError.Code {
        .init(rawValue: NSStagedMigrationBackwardMigrationError)
    }

    /// Tells whether an error has this code in Cocoa's domain: `catch CocoaError.Code.migrationCancelled`.
    public static func ~= (code: CocoaError.Code, error: any Error) -> Bool {
        let error = error as NSError
        return error.domain == NSCocoaErrorDomain && error.code == code.rawValue
    }
}
