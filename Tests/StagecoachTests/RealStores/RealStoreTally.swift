import Diagnostics
import Foundation
import TestSupport

/// Runs migrations of real stores, tells what is neither right nor refused for a clear reason, and counts.
struct RealStoreTally {
    private(set) var migrated = 0
    private(set) var refused = 0
    private(set) var invalid = 0
    private(set) var different = 0
    /// A line for each difference from what is expected, and for each refusal that does not name its reason.
    private(set) var problems: [String] = []
    /// The last refusal or violation.
    private(set) var lastError: MigrationError?

    /// Runs one migration in a folder of its own.
    ///
    /// - Returns: how it ended.
    @discardableResult
    mutating func add(
        _ pair: String, _ make: (TemporaryFolder) throws -> RealStoreMigration
    ) throws -> RealStoreMigration.Outcome {
        let folder = try TemporaryFolder()
        return try add(pair, make(folder))
    }

    /// Runs one migration.
    @discardableResult
    mutating func add(_ pair: String, _ migration: RealStoreMigration) throws -> RealStoreMigration.Outcome {
        let outcome = try migration.run()
        switch outcome {
        case .migrated(_, let lines):
            migrated += 1
            note(lines, pair)
        case .refused(let error):
            refused += 1
            lastError = error
            check(error, pair)
            print("\(pair) refused: \(error.context.entity ?? "").\(error.context.property ?? ""): \(error.message)")
        case .invalid(let error, let lines):
            invalid += 1
            lastError = error
            note(lines, pair)
            print("\(pair) invalid: \(error)")
        }
        return outcome
    }

    private mutating func note(_ lines: [String], _ pair: String) {
        guard !lines.isEmpty else { return }
        different += 1
        problems += ["\(pair)"] + lines.prefix(12)
    }

    /// A refusal names entity, property and reason.
    private mutating func check(_ error: MigrationError, _ pair: String) {
        let isAboutHierarchies = error.code == "inference.hierarchies"
        let isClear =
            error.code.rawValue.hasPrefix("inference.") && error.category == .configuration
            && error.context.entity != nil
            && (isAboutHierarchies || error.context.property != nil && error.message.contains("incompatible"))
        if !isClear { problems.append("\(pair): an unclear refusal: \(error)") }
    }

    /// Prints the counts.
    func close(_ name: String, stores: Int) {
        print(
            "\(name): \(stores) stores, \(migrated) migrated, \(refused) refused, \(invalid) with invalid rows, "
                + "\(different) different")
    }
}
