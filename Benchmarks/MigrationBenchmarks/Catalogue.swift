import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// The work: two versions of a library's model and the mapping model between them, read from `Fixtures/Benchmark`.
///
/// A rename, Fahrenheit to Celsius, two strings merged, one dropped, defaults added, Book split into Book and
/// BookDetail: entity numbers shift, every relationship is kept, every index is rebuilt.
struct Catalogue {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    let mapping: MappingModel

    /// The folder of the fixtures in the repository that this program was built from.
    static let folder: String = {
        var path: Substring = #filePath
        for _ in 0..<3 { path = path[..<(path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)] }
        return "\(path)/Fixtures/Benchmark"
    }()
    static let sourcePath = folder + "/Catalogue.xcdatamodeld:Catalogue 1"
    static let destinationPath = folder + "/Catalogue.xcdatamodeld:Catalogue 2"
    static let mappingPath = folder + "/catalogue.json"

    /// Reads the fixtures.
    ///
    /// - Throws: `model.…`, `mapping.…`; `mapping.notFound` (66).
    init() throws(MigrationError) {
        source = try ModelLocator.load(Catalogue.sourcePath).model
        destination = try ModelLocator.load(Catalogue.destinationPath).model
        mapping = try Catalogue.readMapping(Catalogue.mappingPath, from: source, to: destination)
    }

    /// Reads a mapping model's JSON.
    static func readMapping(
        _ path: String, from source: ManagedObjectModel, to destination: ManagedObjectModel
    ) throws(MigrationError) -> MappingModel {
        guard let json = FileManager.default.contents(atPath: path) else {
            throw MigrationError(
                "mapping.notFound", .noInput, "The mapping model cannot be read", context: .init(path: path))
        }
        return try MappingModel.reading(json: Array(json), path: path, source: source, destination: destination)
    }
}
