import Diagnostics
import Foundation

extension ChainPlan {
    /// Returns the plan as JSON with sorted keys and a line end: one plan for each run.
    public func json() throws -> String { try JSONEncoder.text(self) }

    /// Reads a saved plan of a chain, or the output of `stagecoach plan --format json` for a chain.
    ///
    /// - Parameters:
    ///   - json: the text of the saved plan.
    ///   - path: the file's path, for error messages.
    /// - Returns: nil if the text is the plan of a single migration, or no plan at all.
    /// - Throws: `plan.parse`, `plan.version` (78).
    public static func read(json: Data, path: String? = nil) throws(MigrationError) -> ChainPlan? {
        struct Outline: Decodable {
            struct Part: Decodable {}
            struct Chain: Decodable {
                var runs: [Part]
            }
            var runs: [Part]?
            var chain: Chain?
            var formatVersion: Int?
        }
        guard let outline = try? JSONDecoder().decode(Outline.self, from: json) else { return nil }
        return try MigrationPlan.reading(path) { () throws -> ChainPlan? in
            if outline.runs != nil {
                try MigrationPlan.check(version: outline.formatVersion ?? 0, is: currentFormatVersion, path)
                return try JSONDecoder().decode(ChainPlan.self, from: json)
            }
            guard let chain = outline.chain, chain.runs.count > 1 else { return nil }
            struct Printed: Decodable { var chain: ChainPlan }
            return try JSONDecoder().decode(Printed.self, from: json).chain
        }
    }

    /// The number of steps in each run.
    var stepCounts: [Int] { runs.map(\.steps.count) }
}
