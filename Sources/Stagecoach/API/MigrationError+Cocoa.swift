import Diagnostics
import Foundation

/// The error as an `NSError` of Cocoa's domain, with Core Data's code for it.
extension MigrationError: LocalizedError, CustomNSError {
    public static var errorDomain: String { NSCocoaErrorDomain }

    /// Core Data's code: one of the validation codes for a broken rule, `NSMigrationError` if there is no nearer one.
    public var errorCode: Int {
        if let code = cocoa?.code { return code }
        let area = code.rawValue.prefix { $0 != "." }
        return Self.cocoaCodes[code.rawValue] ?? Self.cocoaCodes[String(area)] ?? NSMigrationError
    }

    /// The entries of Cocoa and Core Data: description, reason, suggestion, path, underlying error, entity, property. Those
    /// of a broken rule are added: key, value, predicate and object, and the single errors if several rules are broken.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedFailureReasonErrorKey: message, "reason": message]
        info[NSLocalizedDescriptionKey] = errorDescription
        info[NSLocalizedRecoverySuggestionErrorKey] = remedy
        info[NSFilePathErrorKey] = context.path
        info[NSUnderlyingErrorKey] = cause.map { $0 as NSError }
        info["entity"] = context.entity
        info["property"] = context.property
        if 1550..<1700 ~= errorCode, errorCode != NSValidationMultipleErrorsError {
            info[NSValidationKeyErrorKey] = context.property
        }
        return info.merging(cocoa?.userInfo ?? [:]) { $1 }
    }

    /// The place and the problem, without the remedy.
    public var errorDescription: String? {
        var error = self
        error.remedy = nil
        return error.description
    }
    public var failureReason: String? { message }
    public var recoverySuggestion: String? { remedy }

    /// Returns the error that says where user code threw another one. An error of this type gets the place itself.
    static func ofUserCode(
        _ error: any Error, _ message: String = "The migration policy failed", in context: Context
    ) -> MigrationError {
        (error as? MigrationError)?.inside(context)
            ?? MigrationError(
                "policy.failed", .data, message, remedy: suggestion(error), context: context, cause: error)
    }

    /// The error that user code threw, if this one says where it did.
    package var errorOfPolicy: (any Error)? { code == "policy.failed" ? cause : nil }

    /// Core Data's codes by code, or by its first word.
    private static let cocoaCodes = [
        "validation": NSManagedObjectValidationError, "value": NSManagedObjectValidationError,
        "validation.missing": NSValidationMissingMandatoryPropertyError,
        "validation.reference": NSValidationMissingMandatoryPropertyError,
        "validation.tooSmall": NSValidationNumberTooSmallError,
        "validation.tooLarge": NSValidationNumberTooLargeError,
        "validation.tooShort": NSValidationStringTooShortError,
        "validation.tooLong": NSValidationStringTooLongError,
        "validation.pattern": NSValidationStringPatternMatchingError,
        "validation.tooFew": NSValidationRelationshipLacksMinimumCountError,
        "validation.tooMany": NSValidationRelationshipExceedsMaximumCountError,
        "validation.deniedDelete": NSValidationRelationshipDeniedDeleteError,
        "validation.uniqueness": NSMigrationConstraintViolationError,
        "interrupted": NSMigrationCancelledError, "store.interrupted": NSMigrationCancelledError,
        "model.unknownVersion": NSMigrationMissingSourceModelError,
        "chain.unknownVersion": NSMigrationMissingSourceModelError,
        "chain": NSMigrationMissingMappingModelError, "mapping": NSMigrationMissingMappingModelError,
        "inference": NSInferredMappingModelError,
        "policy": NSEntityMigrationPolicyError, "policies": NSEntityMigrationPolicyError,
        "store": NSMigrationManagerSourceStoreError, "store.notFound": NSPersistentStoreOpenError,
        "store.cannotOpen": NSPersistentStoreOpenError, "store.permission": NSPersistentStoreOpenError,
        "store.otherModel": NSPersistentStoreIncompatibleVersionHashError,
        "store.sqlite": NSSQLiteError, "store.constraint": NSSQLiteError,
        "store.full": CocoaError.fileWriteOutOfSpace.rawValue,
        "disk.tooSmall": CocoaError.fileWriteOutOfSpace.rawValue, "spill.full": CocoaError.fileWriteOutOfSpace.rawValue,
        "destination": NSMigrationManagerDestinationStoreError,
        "destination.otherModel": NSPersistentStoreIncompatibleVersionHashError,
        "manager.storeType": NSPersistentStoreInvalidTypeError,
        "staged.modelNotFound": NSManagedObjectModelReferenceNotFoundError,
        "staged.unknownVersion": NSManagedObjectModelReferenceNotFoundError,
        "staged.backward": NSStagedMigrationBackwardMigrationError,
    ]
}
