import Archives
import Diagnostics
import ManagedModel

import struct Foundation.Data

extension MappingModel {
    /// Reads a compiled mapping model, a `.cdm` file, against its two models.
    ///
    /// The compiler has filled in all defaults, so defaults are recognised by their spelling: an expression equal to the
    /// automatic one counts as automatic. Version hashes in the file must be those of the models, as far as these are known.
    /// Core Data, too, refuses a mapping model of other versions.
    ///
    /// - Parameter earlier: the names of entity mappings of mapping models that run before.
    /// - Throws: `mapping.archive` for damage (the archive's error is the cause), `mapping.versionHash`,
    ///   `mapping.unknownEntity`, `mapping.unknownProperty`, and the errors of ``validate(source:destination:)``; all 78,
    ///   with path, entity mapping and property.
    /// - Complexity: O(file) time and memory.
    static func reading(
        compiled bytes: [UInt8], path: String, source: ManagedObjectModel, destination: ManagedObjectModel,
        earlier: Set<String> = [], misfits: MisfittingExpressions = .refused
    ) throws(MigrationError) -> MappingModel {
        let model = try reading(compiled: bytes, path: path)
        try model.complete(source: source, destination: destination, earlier: earlier, misfits: misfits)
        return model
    }

    /// Reads a compiled mapping model literally, without its models: no expression counts as automatic, and unlisted properties
    /// are not touched.
    ///
    /// - Throws: `mapping.archive` (78).
    /// - Complexity: O(file) time and memory.
    package static func reading(compiled bytes: [UInt8], path: String) throws(MigrationError) -> MappingModel {
        do throws(MigrationError) {
            var reader = try CompiledMappingReader(bytes)
            let model = try reader.read()
            model.path = path
            return model
        } catch {
            throw MigrationError(
                "mapping.archive", .configuration, "The compiled mapping model cannot be read",
                remedy: "Name a .cdm file that Xcode's compiler made",
                context: error.context.filled(from: .init(path: path)),
                cause: error)
        }
    }
}

/// Reads the object graph of a compiled mapping model (SampleModel's V2toV3.cdm).
private struct CompiledMappingReader {
    private let archive: KeyedArchive
    /// The number of collection members that may still be read, so that shared ones cannot multiply.
    private var remainingMembers = 500_000
    private let expressions = ArchivedExpressionReader()

    init(_ bytes: [UInt8]) throws(MigrationError) {
        let limits = BinaryPropertyList.Limits(bytes: 64 << 20, expandedValues: 2 << 20, depth: 64)
        archive = try KeyedArchive(decoding: bytes, limits: limits)
    }

    static func malformed(_ message: String) -> MigrationError { .archive("archive.mapping", message) }

    mutating func read() throws(MigrationError) -> MappingModel {
        let root = try archive.root()
        guard root.isKind(of: "NSMappingModel") else {
            throw Self.malformed("The archive holds a \(root.className), not a mapping model")
        }
        let model = MappingModel()
        // The dictionary by name leads to the same objects. A mapping model without the list would have no order.
        for value in try elements(root, "NSEntityMappings") ?? [] {
            guard let object = value.object, object.isKind(of: "NSEntityMapping") else {
                throw Self.malformed("The mapping model holds a \(value.kindName) where an entity mapping is expected")
            }
            model.entityMappings.append(try entityMapping(object))
        }
        return model
    }

    private mutating func elements(
        _ object: ArchivedObject, _ key: String
    ) throws(MigrationError) -> [ArchivedValue]? {
        // Old compilers may store the mappings by name, in a dictionary with the known keys or another one.
        let value = try object.value(key)
        if case .null = value { return nil }
        var members = try value.elements()
        if members == nil { members = try value.entries()?.map(\.value) }
        guard let members else { throw Self.malformed("\(key) of \(object.className) is a \(value.kindName)") }
        remainingMembers -= 1 + members.count
        guard remainingMembers >= 0 else {
            throw .archive("archive.limit", "The archived mapping model shares its collections too often")
        }
        return members
    }

    private func name(_ object: ArchivedObject, _ key: String) throws(MigrationError) -> String? {
        guard let name = try object.string(key), !name.isEmpty else { return nil }
        guard name.utf8.count <= 10_000 else { throw Self.malformed("\(key) is longer than 10000 bytes") }
        return name
    }

    private mutating func entityMapping(_ object: ArchivedObject) throws(MigrationError) -> EntityMapping {
        let mapping = EntityMapping()
        mapping.sourceEntityName = try name(object, "NSSourceEntityName")
        mapping.destinationEntityName = try name(object, "NSDestinationEntityName")
        mapping.name = try name(object, "NSMappingName") ?? mapping.defaultName
        do throws(MigrationError) { try fill(mapping, from: object) } catch {
            throw error.inside(.init(entityMapping: mapping.name))
        }
        return mapping
    }

    private mutating func fill(_ mapping: EntityMapping, from object: ArchivedObject) throws(MigrationError) {
        let code = try object.integer("NSMappingType") ?? 0
        guard let type = UInt(exactly: code).flatMap({ EntityMappingType(rawValue: $0) }) else {
            throw Self.malformed("The mapping type \(code) is not known")
        }
        mapping.mappingType = type
        mapping.sourceEntityVersionHash = try hash(object, "NSSourceEntityVersionHash")
        mapping.destinationEntityVersionHash = try hash(object, "NSDestinationEntityVersionHash")
        mapping.statesVersionHashes =
            mapping.sourceEntityVersionHash != nil || mapping.destinationEntityVersionHash != nil
        mapping.entityMigrationPolicyClassName = try name(object, "NSEntityMigrationPolicyClassName")
        mapping.userInfo = try expressions.userInfo(try object.value("NSUserInfo"))
        mapping.sourceExpression = try expressions.expression(try object.value("NSSourceExpression"))
        mapping.replaceSourceFetchByFilter()
        mapping.convertedFrom = .compiled
        mapping.attributeMappings = try properties(object, "NSAttributeMappings")
        mapping.relationshipMappings = try properties(object, "NSRelationshipMappings")
    }

    private func hash(_ object: ArchivedObject, _ key: String) throws(MigrationError) -> Data? {
        guard let bytes = try object.data(key), !bytes.isEmpty else { return nil }
        guard bytes.count == 32 else { throw Self.malformed("\(key) has \(bytes.count) bytes, not 32") }
        return Data(bytes)
    }

    private mutating func properties(
        _ object: ArchivedObject, _ key: String
    ) throws(MigrationError) -> [PropertyMapping] {
        var mappings: [PropertyMapping] = []
        for value in try elements(object, key) ?? [] {
            guard let property = value.object, property.isKind(of: "NSPropertyMapping") else {
                throw Self.malformed("\(key) holds a \(value.kindName) where a property mapping is expected")
            }
            guard let name = try name(property, "NSDestinationPropertyName") else {
                throw Self.malformed("A property mapping in \(key) has no name")
            }
            let mapping = PropertyMapping()
            mapping.name = name
            do throws(MigrationError) {
                mapping.valueExpression = try expressions.expression(try property.value("NSValueExpression"))
                mapping.userInfo = try expressions.userInfo(try property.value("NSUserInfo"))
            } catch {
                throw error.inside(.init(property: name))
            }
            mappings.append(mapping)
        }
        return mappings
    }
}
