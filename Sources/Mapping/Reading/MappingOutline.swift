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
        /// The expressions whose distinct values make one object each; nil if every source object makes one.
        package let distinctBy: [String]?
        /// The expressions by whose values source objects are merged; nil if none are.
        package let mergeBy: [String]?
        /// The expression whose members make one object each; nil if every source object makes one.
        package let forEach: String?
        /// The attributes by which source objects become rows of the destination; nil if none do.
        package let matchBy: [String]?
        package let migrationPolicy: String?
        /// The attributes, in the order of the file.
        package let attributes: [Property]
        package let relationships: [Property]
    }

    package let form: MappingForm
    /// The format version, for JSON only.
    package private(set) var formatVersion: String?
    /// The path of the model for Xcode, relative to a project.
    package var sourceModelPath: String?
    package var destinationModelPath: String?
    /// The rules of the source and, below, the versions of the mapping model, for JSON only.
    package private(set) var rulesOfTheSource: String?
    package private(set) var from: String?
    package private(set) var to: String?
    /// The data that is meant to stay behind, for JSON only; nil if the file names none.
    package private(set) var losses: [String]?
    /// The word `infer` if entities that are not listed are mapped as inference maps them, for JSON only; else nil.
    package private(set) var unlisted: String?
    package let entityMappings: [EntityMapping]

    /// Reads the outline of a file in any form.
    ///
    /// - Throws: the errors of reading the form (78), with path, and line and column if the form has them.
    /// - Complexity: O(file).
    package static func reading(_ file: MappingFile) throws(MigrationError) -> MappingOutline {
        switch file.form {
        case .json: return try reading(json: file.bytes, path: file.path)
        case .xcode:
            let mapping = try XcodeMapping(file.bytes, path: file.path)
            var outline = MappingOutline(form: .xcode, entityMappings: mapping.entities.map { .init($0) })
            outline.sourceModelPath = mapping.sourceModelPath
            outline.destinationModelPath = mapping.destinationModelPath
            return outline
        case .compiled:
            let model = try MappingModel.reading(compiled: file.bytes, path: file.path)
            return MappingOutline(form: .compiled, entityMappings: model.entityMappings.map { .init($0) })
        }
    }

    /// Reads the outline of a JSON text.
    ///
    /// - Throws: `mapping.json`, `mapping.duplicateKey`, `mapping.unknownKey`, `mapping.missingKey`,
    ///   `mapping.valueType` (78), with path, line and column.
    /// - Complexity: O(n) in the text.
    package static func reading(json: [UInt8], path: String) throws(MigrationError) -> MappingOutline {
        let document = try MappingDocument(json, path: path)
        let head = try document.head(isOutline: true)
        let mappings = try head.entityMappings.map { node throws(MigrationError) in try mapping(node, in: document) }
        var outline = MappingOutline(form: .json, entityMappings: mappings)
        outline.formatVersion = head.formatVersion
        (outline.rulesOfTheSource, outline.from, outline.to) = (head.rules.rawValue, head.from, head.to)
        outline.unlisted = head.inference == nil ? nil : "infer"
        outline.losses = head.losses.isEmpty ? nil : head.losses.map(\.name)
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
            distinctBy: try document.strings(members["distinctBy"])?.map(\.text),
            mergeBy: try document.strings(members["mergeBy"])?.map(\.text),
            forEach: try document.string(members["forEach"]),
            matchBy: try document.strings(members["matchBy"])?.map(\.text),
            migrationPolicy: try document.string(members["migrationPolicy"]),
            attributes: try properties(members["attributes"], in: document),
            relationships: try properties(members["relationships"], in: document))
    }

    private static func properties(
        _ member: JSONMember?, in document: MappingDocument
    ) throws(MigrationError) -> [Property] {
        try document.object(member).map { entry throws(MigrationError) in
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
                    return Property(name: entry.key, expression: lookup.joined(separator: " "))
                }
            }
            switch value?.value {
            case nil: return Property(name: entry.key, expression: nil, isAutomatic: true)
            case .null: return Property(name: entry.key, expression: nil)
            case .string(let text): return Property(name: entry.key, expression: text)
            default:
                throw document.wrongType(
                    of: entry.value, what: "\"\(entry.key)\"", expected: "a string with an expression, or null")
            }
        }
    }
}

extension MappingOutline.EntityMapping {
    fileprivate init(_ mapping: Mapping.EntityMapping) {
        self.init(
            name: mapping.name, mappingType: mapping.effectiveType.jsonName, sourceEntity: mapping.sourceEntityName,
            destinationEntity: mapping.destinationEntityName,
            sourceEntityVersionHash: mapping.sourceEntityVersionHash?.hexadecimal,
            destinationEntityVersionHash: mapping.destinationEntityVersionHash?.hexadecimal,
            sourceFilter: mapping.sourceFilter?.format, sourceExpression: mapping.sourceExpression?.format,
            distinctBy: mapping.grouping.flatMap { $0.merge == nil ? $0.expressions.map(\.expression.format) : nil },
            mergeBy: mapping.grouping.flatMap { $0.merge == nil ? nil : $0.expressions.map(\.expression.format) },
            forEach: mapping.forEach?.format,
            matchBy: mapping.matching?.keys.map(\.name),
            migrationPolicy: mapping.entityMigrationPolicyClassName,
            attributes: (mapping.attributeMappings ?? []).map { .init($0) },
            relationships: (mapping.relationshipMappings ?? []).map { .init($0) })
    }
}

extension MappingOutline.Property {
    fileprivate init(_ property: PropertyMapping) {
        name = property.name ?? ""
        switch property.openValue {
        case nil: expression = property.valueExpression?.format
        case .automatic: (expression, isAutomatic) = (nil, true)
        case .lookup(let keyPath, let mapping):
            expression = [keyPath?.format, mapping.map { "by \($0)" }].compactMap { $0 }.joined(separator: " ")
        }
    }
}
