import Diagnostics
import Foundation
import ManagedModel

extension MappingModel {
    /// Reads a mapping model in Stagecoach's JSON form.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - sourceModel: the version that the mapping model migrates from.
    ///   - destinationModel: the version that it migrates to.
    ///   - earlier: mapping models that run before, whose entity mappings expressions may look up.
    /// - Throws: `mapping.unreadable` (66), `mapping.…` and `expression.…` (78) with line and column.
    /// - Complexity: O(file) time and memory.
    public static func read(
        path: String, sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel,
        after earlier: [MappingModel] = []
    ) throws(MigrationError) -> MappingModel {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw MigrationError(
                "mapping.unreadable", .noInput, "The mapping model cannot be read", context: .init(path: path),
                cause: error)
        }
        return try reading(
            json: Array(data), path: path, source: sourceModel, destination: destinationModel,
            earlier: Set(earlier.flatMap(\.entityMappingNames)))
    }
}
