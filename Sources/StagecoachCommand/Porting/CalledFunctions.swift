import Diagnostics
import Mapping

/// A function that an expression of a mapping model calls on `$entityPolicy`.
struct CalledFunction: Encodable, Equatable {
    /// The policy's class, without its module.
    let policy: String
    let selector: String
    let file: String
    let entityMapping: String
    let property: String

    /// Reads the calls in mapping models, in any form and without their models.
    static func calls(in files: [String]) throws(MigrationError) -> [CalledFunction] {
        var found: [CalledFunction] = []
        for file in files {
            for mapping in try MappingOutline.reading(try MappingFile(path: file)).entityMappings {
                guard let policy = mapping.migrationPolicy?.split(separator: ".").last else { continue }
                for property in mapping.attributes + mapping.relationships {
                    for selector in try selectors(in: property.expression) {
                        found.append(
                            CalledFunction(
                                policy: String(policy), selector: selector, file: file,
                                entityMapping: mapping.name ?? "", property: property.name))
                    }
                }
            }
        }
        return found
    }

    /// Returns the selectors that an expression calls on `$entityPolicy`: in its canonical text they stand in single quotes.
    static func selectors(in expression: String?) throws(MigrationError) -> [String] {
        guard let expression else { return [] }
        let text = try ValueExpression(parsing: expression).format
        return text.split(separator: "FUNCTION($entityPolicy, '").dropFirst(
            text.hasPrefix("FUNCTION($entityPolicy, '") ? 0 : 1
        )
        .map { String($0.prefix { $0 != "'" }) }
    }
}
