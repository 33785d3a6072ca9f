import Diagnostics
import Foundation

/// The errors of broken rules, to be thrown as one: the first, whose `NSError` has all of them in `NSDetailedErrors`.
struct BrokenRuleErrors {
    /// The largest number of errors in one.
    static let most = 100

    private var errors: [MigrationError] = []

    var isFull: Bool { errors.count >= Self.most }

    mutating func add(_ error: MigrationError) { errors.append(error) }

    /// Makes a check, and keeps the error of a broken rule. Other errors are thrown, and so are all if there are too many.
    mutating func keep(_ check: () throws -> Void) throws {
        do { try check() } catch let error as MigrationError where error.cocoa != nil { add(error) }
        if isFull { try end() }
    }

    /// Throws what was kept.
    ///
    /// - Parameter object: the object that breaks all these rules; nil if there are several.
    func end(of object: Any? = nil) throws {
        guard var first = errors.first else { return }
        if errors.count > 1 {
            var info: [String: Any] = [NSDetailedErrorsKey: errors.map { $0 as NSError }]
            info[NSValidationObjectErrorKey] = object
            first.cocoa = CocoaDetails(NSValidationMultipleErrorsError, info)
        }
        throw first
    }
}
