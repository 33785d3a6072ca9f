import Diagnostics

/// What a mapping model's JSON file says, without the two models it speaks of: for looking at it.
///
/// Keys and types are checked; names of entities and properties, and expressions, are not.
package struct MappingOutline: Sendable, Equatable, Encodable {
    /// A property and its expression; nil for `null`.
    package struct Property: Sendable, Equatable, Encodable {
        package let name: String
        package let expression: String?
    }

    /// An entity mapping as it is written: what is left out is nil or empty.
    package struct EntityMapping: Sendable, Equatable, Encodable {
        package let name: String?
        package let mappingType: String?
        package let sourceEntity: String?
        package let destinationEntity: String?
        package let sourceFilter: String?
        package let migrationPolicy: String?
        /// In the order of the file.
        package let attributes: [Property]
        package let relationships: [Property]
    }

    package let formatVersion: String
    package let entityMappings: [EntityMapping]

    /// Reads the outline.
    ///
    /// - Throws: `mapping.json`, `mapping.duplicateKey`, `mapping.unknownKey`, `mapping.missingKey`,
    ///   `mapping.valueType` (78), with path, line and column.
    /// - Complexity: O(n) in the text.
    package static func reading(json: [UInt8], path: String) throws(MigrationError) -> MappingOutline {
        let document = try MappingDocument(json, path: path)
        let members = try document.members(
            of: document.root, what: "the mapping model", known: ["formatVersion", "entityMappings"])
        guard let version = members["formatVersion"] else {
            throw document.failure(
                "mapping.missingKey", "The key \"formatVersion\" is missing", at: document.root.position,
                remedy: "Write \"formatVersion\": 1")
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
        return MappingOutline(formatVersion: number, entityMappings: mappings)
    }

    private static func mapping(
        _ node: JSONNode, in document: MappingDocument
    ) throws(MigrationError) -> EntityMapping {
        let members = try document.members(
            of: node, what: "an entity mapping",
            known: [
                "name", "mappingType", "sourceEntity", "destinationEntity", "sourceFilter", "migrationPolicy",
                "userInfo", "attributes", "relationships",
            ])
        return EntityMapping(
            name: try document.string(members["name"]), mappingType: try document.string(members["mappingType"]),
            sourceEntity: try document.string(members["sourceEntity"]),
            destinationEntity: try document.string(members["destinationEntity"]),
            sourceFilter: try document.string(members["sourceFilter"]),
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
            switch entry.value.value {
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
