import Diagnostics
import ManagedModel

/// The content of a mapping model's file, read without its two models, for display.
///
/// Keys and types are checked. Names of entities and properties are not, and neither are expressions in JSON.
package struct MappingOutline: Sendable, Equatable, Encodable {
    /// A property and its expression; nil for none.
    package struct Property: Sendable, Equatable, Encodable {
        package let name: String
        package let expression: String?
        /// True if the expression is omitted and will be filled in.
        package var isAutomatic = false
    }

    /// An entity mapping as written in the file; omitted parts are nil or empty.
    package struct EntityMapping: Sendable, Equatable, Encodable {
        package let name: String?
        package let mappingType: String?
        package let sourceEntity: String?
        package let destinationEntity: String?
        /// Hexadecimal digits; nil if the file states no hash.
        package var sourceEntityVersionHash: String?
        package var destinationEntityVersionHash: String?
        package let sourceFilter: String?
        /// The source expression if it is not a plain fetch of the source entity; else nil.
        package let sourceExpression: String?
        package let migrationPolicy: String?
        /// The attributes, in the order of the file.
        package let attributes: [Property]
        package let relationships: [Property]
    }

    package let form: MappingForm
    /// The format version, for JSON only.
    package let formatVersion: String?
    /// The path of the model for Xcode, relative to a project.
    package var sourceModelPath: String?
    package var destinationModelPath: String?
    /// The rules of the source and, below, the versions of the mapping model, for JSON only.
    package private(set) var rulesOfTheSource: String?
    package private(set) var from: String?
    package private(set) var to: String?
    package let entityMappings: [EntityMapping]

    /// Reads the outline of a file in any form.
    ///
    /// - Throws: the errors of reading the form (78), with path, and line and column if the form has them.
    /// - Complexity: O(file).
    package static func reading(_ file: MappingFile) throws(MigrationError) -> MappingOutline {
        switch file.form {
        case .json: try reading(json: file.bytes, path: file.path)
        case .xcode: MappingOutline(try XcodeMapping(file.bytes, path: file.path))
        case .compiled: MappingOutline(try MappingModel.reading(compiled: file.bytes, path: file.path))
        }
    }

    private init(formatVersion: String, _ entityMappings: [EntityMapping]) {
        form = .json
        self.formatVersion = formatVersion
        self.entityMappings = entityMappings
    }

    private init(_ mapping: XcodeMapping) {
        form = .xcode
        formatVersion = nil
        sourceModelPath = mapping.sourceModelPath
        destinationModelPath = mapping.destinationModelPath
        entityMappings = mapping.entities.map { entity in
            EntityMapping(
                name: entity.name, mappingType: entity.mappingType.jsonName, sourceEntity: entity.source,
                destinationEntity: entity.destination, sourceFilter: entity.filter?.format,
                sourceExpression: entity.sourceExpression?.format, migrationPolicy: entity.policy,
                attributes: entity.properties.filter { !$0.isRelationship }.map(Property.init),
                relationships: entity.properties.filter(\.isRelationship).map(Property.init))
        }
    }

    private init(_ model: MappingModel) {
        func properties(_ mappings: [PropertyMapping]?) -> [Property] {
            (mappings ?? []).map { Property(name: $0.name ?? "", expression: $0.valueExpression?.format) }
        }
        form = .compiled
        formatVersion = nil
        entityMappings = (model.entityMappings ?? []).map { mapping in
            EntityMapping(
                name: mapping.name, mappingType: mapping.effectiveType.jsonName,
                sourceEntity: mapping.sourceEntityName, destinationEntity: mapping.destinationEntityName,
                sourceEntityVersionHash: mapping.sourceEntityVersionHash?.hexadecimal,
                destinationEntityVersionHash: mapping.destinationEntityVersionHash?.hexadecimal,
                sourceFilter: mapping.sourceFilter?.format, sourceExpression: mapping.sourceExpression?.format,
                migrationPolicy: mapping.entityMigrationPolicyClassName,
                attributes: properties(mapping.attributeMappings),
                relationships: properties(mapping.relationshipMappings))
        }
    }

    /// Reads the outline of a JSON text.
    ///
    /// - Throws: `mapping.json`, `mapping.duplicateKey`, `mapping.unknownKey`, `mapping.missingKey`,
    ///   `mapping.valueType` (78), with path, line and column.
    /// - Complexity: O(n) in the text.
    package static func reading(json: [UInt8], path: String) throws(MigrationError) -> MappingOutline {
        let document = try MappingDocument(json, path: path)
        let members = try document.members(
            of: document.root, what: "the mapping model", known: MappingDocument.modelKeys)
        guard let version = members["formatVersion"] else {
            throw document.failure(
                "mapping.missingKey", "The key \"formatVersion\" is missing", at: document.root.position,
                remedy: "Write \"formatVersion\": \(MappingDocument.formatVersion)")
        }
        guard case .number(let number) = version.value.value else {
            throw document.wrongType(of: version.value, what: "\"formatVersion\"", expected: "a number")
        }
        guard let list = members["entityMappings"] else {
            throw document.failure(
                "mapping.missingKey", "The key \"entityMappings\" is missing", at: document.root.position)
        }
        guard case .array(let elements) = list.value.value else {
            throw document.wrongType(of: list.value, what: "\"entityMappings\"", expected: "an array")
        }
        var mappings: [EntityMapping] = []
        for element in elements { mappings.append(try mapping(element, in: document)) }
        var outline = MappingOutline(formatVersion: number, mappings)
        let statements = try document.statements(members)
        outline.rulesOfTheSource = statements.rules.rawValue
        (outline.from, outline.to) = (statements.from, statements.to)
        return outline
    }

    private static func mapping(
        _ node: JSONNode, in document: MappingDocument
    ) throws(MigrationError) -> EntityMapping {
        let members = try document.members(
            of: node, what: "an entity mapping",
            known: MappingDocument.entityMappingKeys)
        return EntityMapping(
            name: try document.string(members["name"]), mappingType: try document.string(members["mappingType"]),
            sourceEntity: try document.string(members["sourceEntity"]),
            destinationEntity: try document.string(members["destinationEntity"]),
            sourceEntityVersionHash: try document.hash(members["sourceEntityVersionHash"])?.hexadecimal,
            destinationEntityVersionHash: try document.hash(members["destinationEntityVersionHash"])?.hexadecimal,
            sourceFilter: try document.string(members["sourceFilter"]),
            sourceExpression: try document.string(members["sourceExpression"]),
            migrationPolicy: try document.string(members["migrationPolicy"]),
            attributes: try properties(members["attributes"], in: document),
            relationships: try properties(members["relationships"], in: document))
    }

    private static func properties(
        _ member: JSONMember?, in document: MappingDocument
    ) throws(MigrationError) -> [Property] {
        guard let member else { return [] }
        guard case .object(let entries) = member.value.value else {
            throw document.wrongType(of: member.value, what: "\"\(member.key)\"", expected: "an object")
        }
        var properties: [Property] = []
        for entry in entries {
            var value: JSONNode? = entry.value
            if case .object = entry.value.value {
                let members = try document.members(
                    of: entry.value, what: "a property", known: MappingDocument.propertyKeys)
                value = members["expression"]?.value
                let lookup = [
                    try document.string(members["keyPath"]),
                    try document.string(members["entityMapping"]).map { "by \($0)" },
                ].compactMap { $0 }
                if value == nil, !lookup.isEmpty {
                    properties.append(Property(name: entry.key, expression: lookup.joined(separator: " ")))
                    continue
                }
            }
            switch value?.value {
            case nil: properties.append(Property(name: entry.key, expression: nil, isAutomatic: true))
            case .null: properties.append(Property(name: entry.key, expression: nil))
            case .string(let text): properties.append(Property(name: entry.key, expression: text))
            default:
                throw document.wrongType(
                    of: entry.value, what: "\"\(entry.key)\"", expected: "a string with an expression, or null")
            }
        }
        return properties
    }
}

extension MappingOutline.Property {
    fileprivate init(_ property: XcodeMapping.Property) {
        name = property.name
        switch property.content {
        case .automatic: (expression, isAutomatic) = (nil, true)
        case .unset: expression = nil
        case .expression(let own): expression = own.format
        case .lookup(let keyPath, let mapping):
            expression = [keyPath?.format, mapping.map { "by \($0)" }].compactMap { $0 }.joined(separator: " ")
        }
    }
}
