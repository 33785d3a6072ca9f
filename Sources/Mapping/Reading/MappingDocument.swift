import Diagnostics

/// A mapping model's JSON text, with what every reading of it needs: keys, types and places.
struct MappingDocument {
    /// The version that is written; this and all before it are read. 2 has more keys than 1 (`sourceExpression`, version
    /// hashes, `unlisted`, `convertedFrom`, properties as objects), which a program that reads 1 only would call unknown.
    static let formatVersion = 2
    /// The keys of an entity mapping.
    static let entityMappingKeys = [
        "name", "mappingType", "sourceEntity", "destinationEntity", "sourceEntityVersionHash",
        "destinationEntityVersionHash", "sourceFilter", "sourceExpression", "migrationPolicy", "userInfo", "unlisted",
        "convertedFrom", "attributes", "relationships",
    ]
    /// The keys of a property that is written as an object.
    static let propertyKeys = ["expression", "keyPath", "entityMapping", "unmappable", "userInfo"]

    let root: JSONNode
    let path: String

    /// - Throws: `mapping.json`, `mapping.duplicateKey` (78).
    init(_ bytes: [UInt8], path: String) throws(MigrationError) {
        self.path = path
        root = try JSONParser.parse(bytes, path: path)
    }

    /// An error at a place of the text.
    func failure(
        _ code: MigrationError.Code, _ message: String, at place: TextPosition, remedy: String? = nil,
        context: MigrationError.Context = .init()
    ) -> MigrationError {
        MigrationError(
            code, .configuration, message, remedy: remedy,
            context: MigrationError.Context(path: path, line: place.line, column: place.column).filled(from: context))
    }

    /// The members of an object whose keys must all be known.
    ///
    /// - Throws: `mapping.valueType`, `mapping.unknownKey` (78).
    func members(
        of node: JSONNode, what: String, known: [String]
    ) throws(MigrationError) -> [String: JSONMember] {
        guard case .object(let members) = node.value else {
            throw wrongType(of: node, what: what, expected: "an object")
        }
        var byKey: [String: JSONMember] = [:]
        for member in members {
            guard known.contains(member.key) else {
                throw failure(
                    "mapping.unknownKey", "Unknown key \"\(member.key)\" in \(what)", at: member.keyPosition,
                    remedy: "Known keys are " + known.joined(separator: ", "))
            }
            byKey[member.key] = member
        }
        return byKey
    }

    /// The string of a member, nil where the member is absent.
    ///
    /// - Throws: `mapping.valueType` (78), also for an empty string.
    func string(_ member: JSONMember?) throws(MigrationError) -> String? {
        guard let member else { return nil }
        guard case .string(let text) = member.value.value else {
            throw wrongType(of: member.value, what: "\"\(member.key)\"", expected: "a string")
        }
        guard !text.isEmpty else {
            throw failure("mapping.valueType", "\"\(member.key)\" must not be empty", at: member.value.position)
        }
        return text
    }

    func wrongType(of node: JSONNode, what: String, expected: String) -> MigrationError {
        failure(
            "mapping.valueType",
            "\(what.first == "\"" ? what : what.capitalizedFirst) must be \(expected), not \(node.value.kind)",
            at: node.position)
    }

    /// The error of an expression that does not parse, at the string that holds it. Where in the expression is in the
    /// parser's message.
    func failure(
        parsing node: JSONNode, _ error: MigrationError, context: MigrationError.Context
    ) -> MigrationError {
        failure(
            "mapping.expression", "The text does not parse: " + error.message, at: node.position, remedy: error.remedy,
            context: context.filled(from: error.context))
    }
}

extension String {
    /// The text with its first letter in upper case.
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
