import Diagnostics
import TestSupport

extension Result where Success == ReferenceOutcome, Failure == ReferenceFailure {
    /// Migrates, and compares how that ends with how the reference ended.
    ///
    /// - Parameters:
    ///   - migrate: errors of it other than `MigrationError` are thrown on.
    ///   - differences: compares with what the reference made, where both succeed.
    /// - Returns: a line for each difference. Where the reference refuses any error will do, but an internal one.
    func differences(
        _ migrate: () throws -> Void, comparing differences: (ReferenceOutcome) throws -> [String]
    ) throws -> [String] {
        do {
            try migrate()
        } catch let error as MigrationError {
            switch self {
            case .success: return ["the engine fails with \(error.code): \(error)"]
            case .failure: return error.category == .internal ? ["internal error: \(error)"] : []
            }
        }
        switch self {
        case .success(let outcome): return try differences(outcome)
        case .failure(let failure): return ["the reference refuses: \(failure); the engine does not"]
        }
    }
}
