import Archives
import Diagnostics
import ManagedModel

import struct Foundation.Data

extension MappingModel {
    /// Reads a compiled mapping model, a `.cdm` file, literally, without its models: no expression counts as automatic, and
    /// unlisted properties are not touched. The compiler has filled in all defaults, so ``complete(source:destination:…)``
    /// recognises them by their spelling.
    ///
    /// - Throws: `mapping.archive` (78).
    /// - Complexity: O(file) time and memory.
    package static func reading(compiled bytes: [UInt8], path: String) throws(MigrationError) -> MappingModel {
        do throws(MigrationError) {
            let model = try CompiledMappingReader(bytes).read()
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
    private let expressions = ArchivedExpressionReader()

    init(_ bytes: [UInt8]) throws(MigrationError) {
        let limits = BinaryPropertyList.Limits(bytes: 64 << 20, expandedValues: 2 << 20, depth: 64)
        archive = try KeyedArchive(decoding: bytes, limits: limits)
    }

    static func malformed(_ message: String) -> MigrationError { .archive("archive.mapping", message) }

    func read() throws(MigrationError) -> MappingModel {
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

    private func elements(_ object: ArchivedObject, _ key: String) throws(MigrationError) -> [ArchivedValue]? {
        // Old compilers may store the mappings by name, in a dictionary with the known keys or another one.
        let value = try object.value(key)
        if case .null = value { return nil }
        var members = try value.elements()
        if members == nil { members = try value.entries()?.map(\.value) }
        guard let members else { throw Self.malformed("\(key) of \(object.className) is a \(value.kindName)") }
        // Shared collections must not multiply.
        try expressions.tree.charge(bytes: 128 * (1 + members.count))
        return members
    }

    private func name(_ object: ArchivedObject, _ key: String) throws(MigrationError) -> String? {
        guard let name = try object.string(key), !name.isEmpty else { return nil }
        guard name.utf8.count <= 10_000 else { throw Self.malformed("\(key) is longer than 10000 bytes") }
        return name
    }

    private func entityMapping(_ object: ArchivedObject) throws(MigrationError) -> EntityMapping {
        let mapping = EntityMapping()
        mapping.sourceEntityName = try name(object, "NSSourceEntityName")
        mapping.destinationEntityName = try name(object, "NSDestinationEntityName")
        mapping.name = try name(object, "NSMappingName") ?? mapping.defaultName
        do throws(MigrationError) { try fill(mapping, from: object) } catch {
            throw error.inside(.init(entityMapping: mapping.name))
        }
        return mapping
    }

    private func fill(_ mapping: EntityMapping, from object: ArchivedObject) throws(MigrationError) {
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

    private func properties(_ object: ArchivedObject, _ key: String) throws(MigrationError) -> [PropertyMapping] {
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
