import Diagnostics
import Foundation

/// Reads the XML of a model version, `Version.xcdatamodel/contents`, as written by Xcode 4 to 16.
package enum ModelXMLReader {
    /// Reads a file's bytes without resolving names.
    ///
    /// - Parameters:
    ///   - data: the whole file, at most 16 MiB, in UTF-8.
    ///   - path: its path, for errors.
    /// - Throws: errors of category `configuration`, with path, line and column of the tag, and entity and property if
    ///   they are known: `model.xml` (not well-formed), `model.encoding`, `model.documentType`, `model.tooLarge`,
    ///   `model.tooDeep`, `model.notAModel`, `model.missingAttribute`, `model.misplacedElement`,
    ///   `model.duplicateName`, `model.unknownType`, `model.untyped`, `model.invalidFlag`, `model.invalidNumber`,
    ///   `model.invalidChoice`, `model.invalidDefault`, `model.invalidBound`.
    /// - Complexity: O(file) time; memory: the bytes twice, and the definition.
    package static func read(_ data: Data, path: String) throws(MigrationError) -> ModelDefinition {
        try XMLTagParser.parse(try XMLSource(data, path: path), into: ModelTagHandler()).definition
    }

    /// Reads a file's bytes and resolves names, inheritance and inverses.
    ///
    /// - Parameters: as ``read(_:path:)``.
    /// - Throws: the errors of ``read(_:path:)`` and ``ManagedObjectModel/init(_:)``; the latter with the line and column of
    ///   the entity or property concerned.
    package static func readModel(_ data: Data, path: String) throws(MigrationError) -> ManagedObjectModel {
        let source = try XMLSource(data, path: path)
        let handler = try XMLTagParser.parse(source, into: ModelTagHandler())
        do { return try ManagedObjectModel(handler.definition) } catch {
            let offset = error.context.entity.flatMap { entity in
                handler.offsets[.init(entity: entity, property: error.context.property)]
                    ?? handler.offsets[.init(entity: entity)]
            }
            let position = offset.map { source.position(at: $0) }
            throw error.inside(.init(path: path, line: position?.line, column: position?.column))
        }
    }

    /// Reads a text as ``readModel(_:path:)`` reads a file's bytes.
    ///
    /// - Throws: as ``readModel(_:path:)``.
    package static func readModel(_ text: String) throws(MigrationError) -> ManagedObjectModel {
        try readModel(Data(text.utf8), path: ModelBundle.contentsName)
    }
}
