import Diagnostics
import Foundation

extension ChainPlan {
    /// The plan as JSON with sorted keys and a line end: one plan for each run.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }

    /// Reads a saved plan of a chain, or what `stagecoach plan --format json` prints of one.
    ///
    /// - Parameters:
    ///   - json: the text, as a plan is saved.
    ///   - path: for messages.
    /// - Returns: nil where the text is the plan of a single migration, or none at all.
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
        do {
            if outline.runs != nil {
                guard outline.formatVersion == currentFormatVersion else {
                    throw MigrationError(
                        "plan.version", .configuration,
                        "The plan has the form \(outline.formatVersion ?? 0), and this program reads "
                            + "\(currentFormatVersion)", remedy: "Make a new plan", context: .init(path: path))
                }
                return try JSONDecoder().decode(ChainPlan.self, from: json)
            }
            guard let chain = outline.chain, chain.runs.count > 1 else { return nil }
            struct Printed: Decodable { var chain: ChainPlan }
            return try JSONDecoder().decode(Printed.self, from: json).chain
        } catch let error as MigrationError {
            throw error
        } catch {
            throw MigrationError(
                "plan.parse", .configuration, "The file is no plan: \(MigrationPlan.place(of: error))",
                remedy: "Make one with stagecoach plan --save", context: .init(path: path))
        }
    }

    /// How many steps each run has.
    var stepCounts: [Int] { runs.map(\.steps.count) }
}
