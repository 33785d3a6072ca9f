import Diagnostics
import ManagedModel

import struct Foundation.Data

/// The JSON text of a mapping model, with the common parts of all ways of reading it: keys, types and places.
struct MappingDocument {
    /// The version that is written; this and all earlier ones are read. Version 2 has more keys than 1 (`rulesOfTheSource`,
    /// `from`, `to`, `sourceExpression`, version hashes, `unlisted`, `convertedFrom`, properties as objects), which a program
    /// for version 1 would refuse as unknown.
    static let formatVersion = 2
    /// The keys of the mapping model itself.
    static let modelKeys = ["formatVersion", "rulesOfTheSource", "from", "to", "entityMappings"]
    /// The keys of an entity mapping.
    static let entityMappingKeys = [
        "name", "mappingType", "sourceEntity", "destinationEntity", "sourceEntityVersionHash",
        "destinationEntityVersionHash", "sourceFilter", "sourceExpression", "migrationPolicy", "userInfo", "unlisted",
        "convertedFrom", "attributes", "relationships",
    ]
    /// The keys of a property written as an object.
    static let propertyKeys = ["expression", "keyPath", "entityMapping", "unmappable", "userInfo"]

    let root: JSONNode
    let path: String

    /// - Throws: `mapping.json`, `mapping.duplicateKey` (78).
    init(_ bytes: [UInt8], path: String) throws(MigrationError) {
        self.path = path
        root = try JSONParser.parse(bytes, path: path)
    }

    /// Makes an error at a place of the text.
    func failure(
        _ code: MigrationError.Code, _ message: String, at place: TextPosition, remedy: String? = nil,
        context: MigrationError.Context = .init()
    ) -> MigrationError {
        MigrationError(
            code, .configuration, message, remedy: remedy,
            context: MigrationError.Context(path: path, line: place.line, column: place.column).filled(from: context))
    }

    /// Returns the members of an object; all keys must be known.
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

    /// Returns the string of a member, nil if the member is absent.
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

    /// Makes the error of an expression that does not parse, at the place of its string. The parser's message has the place in
    /// the expression.
    func failure(
        parsing node: JSONNode, _ error: MigrationError, context: MigrationError.Context
    ) -> MigrationError {
        failure(
            "mapping.expression", "The text does not parse: " + error.message, at: node.position, remedy: error.remedy,
            context: context.filled(from: error.context))
    }
}

extension MappingDocument {
    /// The statements of the mapping model about the rules of the source and about its versions.
    struct Statements {
        var rules = RulesOfTheSource.error
        /// The line of `rulesOfTheSource`, or of `formatVersion`, beside which it may be added.
        var rulesLine: Int?
        var from: String?
        var to: String?
    }

    /// Returns the version hash of a member, in hexadecimal digits or base64; nil if the member is absent.
    ///
    /// - Throws: `mapping.valueType` (78).
    func hash(_ member: JSONMember?) throws(MigrationError) -> Data? {
        guard let member, let text = try string(member) else { return nil }
        let forms = [Data(hexadecimal: text), Data(base64Encoded: text)]
        guard let hash = forms.lazy.compactMap({ $0 }).first(where: { $0.count == VersionHash.byteCount }) else {
            throw failure(
                "mapping.valueType",
                "\"\(member.key)\" must be 32 bytes, in 64 hexadecimal digits or in base64", at: member.value.position,
                remedy: "stagecoach inspect MODEL prints the version hashes of a model's entities")
        }
        return hash
    }

    /// Reads the statements from the mapping model's members.
    ///
    /// - Throws: `mapping.valueType`, `mapping.missingKey` (78).
    func statements(_ members: [String: JSONMember]) throws(MigrationError) -> Statements {
        var statements = Statements()
        if let member = members["rulesOfTheSource"], let word = try string(member) {
            guard let rules = RulesOfTheSource(rawValue: word) else {
                throw failure(
                    "mapping.valueType", "\"rulesOfTheSource\" must be \"warn\" or \"error\", not \"\(word)\"",
                    at: member.value.position)
            }
            statements.rules = rules
        }
        statements.rulesLine = (members["rulesOfTheSource"] ?? members["formatVersion"])?.keyPosition.line
        statements.from = try string(members["from"])
        statements.to = try string(members["to"])
        if let only = members["from"] ?? members["to"], statements.from == nil || statements.to == nil {
            throw failure(
                "mapping.missingKey", "\"from\" and \"to\" name the versions of a mapping model together",
                at: only.keyPosition, remedy: "Write both, or neither")
        }
        return statements
    }
}

extension String {
    /// The text with its first letter in upper case.
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
