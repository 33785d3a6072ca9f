import Diagnostics
import ManagedModel

import struct Foundation.Data

/// The JSON text of a mapping model, with the common parts of all ways of reading it: keys, types and places.
struct MappingDocument {
    /// The version that is written; this and all earlier ones are read. Version 2 has more keys than 1 (`rulesOfTheSource`,
    /// `from`, `to`, `losses`, `sourceExpression`, `distinctBy`, `mergeBy`, `forEach`, `matchBy`, `orderBy`, version hashes,
    /// `unlisted`, `convertedFrom`, properties as objects), which a program for version 1 would refuse as unknown.
    static let formatVersion = 2
    /// The keys of the mapping model itself.
    static let modelKeys = ["formatVersion", "rulesOfTheSource", "from", "to", "losses", "unlisted", "entityMappings"]
    /// The keys of an entity mapping.
    static let entityMappingKeys = [
        "name", "mappingType", "sourceEntity", "destinationEntity", "sourceEntityVersionHash",
        "destinationEntityVersionHash", "sourceFilter", "sourceExpression", "distinctBy", "mergeBy", "keep", "fill",
        "compare", "nilIsAValue", "forEach", "matchBy", "onMatch",
        "migrationPolicy", "userInfo", "unlisted", "convertedFrom", "attributes", "relationships",
    ]
    /// The keys of a property written as an object.
    static let propertyKeys = ["expression", "orderBy", "keyPath", "entityMapping", "unmappable", "why", "userInfo"]

    let root: JSONNode
    let path: String

    init(root: JSONNode, path: String) { (self.root, self.path) = (root, path) }

    /// Parses the JSON text of a mapping model.
    ///
    /// - Parameter path: the file's path, for error messages.
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
            context: MigrationError.Context(path: path, place).filled(from: context))
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
                    remedy: EditDistance.question(member.key, among: known)
                        ?? "Known keys are " + known.joined(separator: ", "))
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
            "\(what.prefix(1).uppercased())\(what.dropFirst()) must be \(expected), not \(node.value.kind)",
            at: node.position)
    }

    /// Returns a parsed text. The parser's message has the place in the text.
    ///
    /// - Throws: `mapping.expression` (78) at the place of the string.
    func parsed<Value>(
        _ node: JSONNode, _ text: String, context: MigrationError.Context = .init(),
        _ parse: (String) throws(MigrationError) -> Value
    ) throws(MigrationError) -> Value {
        do throws(MigrationError) { return try parse(text) } catch {
            throw failure(
                "mapping.expression", "The text does not parse: " + error.message, at: node.position,
                remedy: error.remedy, context: context.filled(from: error.context))
        }
    }

    /// Returns the members of an object; none if the member is absent.
    ///
    /// - Throws: `mapping.valueType` (78).
    func object(_ member: JSONMember?) throws(MigrationError) -> [JSONMember] {
        guard let member else { return [] }
        guard case .object(let entries) = member.value.value else {
            throw wrongType(of: member.value, what: "\"\(member.key)\"", expected: "an object")
        }
        return entries
    }

    /// Returns the strings of a member that is an array, each with its node; nil if the member is absent.
    ///
    /// - Throws: `mapping.valueType` (78), also for an empty array and for an empty string.
    func strings(_ member: JSONMember?) throws(MigrationError) -> [(text: String, node: JSONNode)]? {
        guard let member else { return nil }
        guard case .array(let elements) = member.value.value, !elements.isEmpty else {
            throw wrongType(of: member.value, what: "\"\(member.key)\"", expected: "an array of one or more strings")
        }
        return try elements.map { element throws(MigrationError) in
            guard case .string(let text) = element.value, !text.isEmpty else {
                throw wrongType(of: element, what: "an element of \"\(member.key)\"", expected: "a string with text")
            }
            return (text, element)
        }
    }

    /// Returns a member that is true or false; nil if it is absent.
    ///
    /// - Throws: `mapping.valueType` (78).
    func boolean(_ member: JSONMember?) throws(MigrationError) -> Bool? {
        guard let member else { return nil }
        guard case .boolean(let value) = member.value.value else {
            throw wrongType(of: member.value, what: "\"\(member.key)\"", expected: "true or false")
        }
        return value
    }

    /// Returns the value of one of two words; nil if the member is absent.
    ///
    /// - Throws: `mapping.valueType` (78) for another word.
    func choice<Value>(
        _ member: JSONMember?, _ first: (word: String, Value), _ second: (word: String, Value)
    ) throws(MigrationError) -> Value? {
        guard let member, let word = try string(member) else { return nil }
        if word == first.word { return first.1 }
        if word == second.word { return second.1 }
        throw failure(
            "mapping.valueType",
            "\"\(member.key)\" must be \"\(first.word)\" or \"\(second.word)\", not \"\(word)\"",
            at: member.value.position)
    }
}

extension MappingDocument {
    /// The members of the mapping model itself.
    struct Head {
        let formatVersion: String
        let rules: RulesOfTheSource
        /// The line of `rulesOfTheSource`, or of `formatVersion`, beside which it may be added.
        let rulesLine: Int?
        let from: String?
        let to: String?
        /// The names of data that is meant to stay behind, each with its place.
        let losses: [(name: String, place: TextPosition)]
        /// The place of `"unlisted": "infer"`: entities that are not listed are mapped as inference maps them; else nil.
        let inference: TextPosition?
        let entityMappings: [JSONNode]
    }

    /// Returns the version hash of a member, in hexadecimal digits or base64; nil if the member is absent.
    ///
    /// - Throws: `mapping.valueType` (78).
    func hash(_ member: JSONMember?) throws(MigrationError) -> Data? {
        guard let member, let text = try string(member) else { return nil }
        let forms = [Data(hexadecimal: text), Data(base64Encoded: text)]
        if let hash = forms.lazy.compactMap({ $0 }).first(where: { $0.count == VersionHash.byteCount }) { return hash }
        throw failure(
            "mapping.valueType",
            "\"\(member.key)\" must be 32 bytes, in 64 hexadecimal digits or in base64", at: member.value.position,
            remedy: "stagecoach inspect MODEL prints the version hashes of a model's entities")
    }

    /// Reads the members of the mapping model itself.
    ///
    /// - Parameter isOutline: true to read format versions that are not known, too.
    /// - Throws: `mapping.valueType`, `mapping.unknownKey`, `mapping.missingKey`, `mapping.formatVersion` (78).
    func head(isOutline: Bool = false) throws(MigrationError) -> Head {
        let members = try members(of: root, what: "the mapping model", known: Self.modelKeys)
        guard let version = members["formatVersion"] else {
            throw failure(
                "mapping.missingKey", "The key \"formatVersion\" is missing", at: root.position,
                remedy: "Write \"formatVersion\": \(Self.formatVersion)")
        }
        guard case .number(let number) = version.value.value else {
            throw wrongType(of: version.value, what: "\"formatVersion\"", expected: "a number")
        }
        guard isOutline || (1...Self.formatVersion).contains(where: { number == "\($0)" }) else {
            throw failure(
                "mapping.formatVersion",
                "Format version \(number) is not known; this program reads versions 1 to \(Self.formatVersion)",
                at: version.value.position)
        }
        let rules = try choice(
            members["rulesOfTheSource"], ("warn", RulesOfTheSource.warn), ("error", .error))
        let isInferred = try choice(members["unlisted"], ("none", false), ("infer", true)) ?? false
        let (from, to) = (try string(members["from"]), try string(members["to"]))
        if let only = members["from"] ?? members["to"], from == nil || to == nil {
            throw failure(
                "mapping.missingKey", "\"from\" and \"to\" name the versions of a mapping model together",
                at: only.keyPosition, remedy: "Write both, or neither")
        }
        guard let list = members["entityMappings"] else {
            throw failure("mapping.missingKey", "The key \"entityMappings\" is missing", at: root.position)
        }
        guard case .array(let elements) = list.value.value else {
            throw wrongType(of: list.value, what: "\"entityMappings\"", expected: "an array")
        }
        return Head(
            formatVersion: number, rules: rules ?? (isInferred ? .warn : .error),
            rulesLine: (members["rulesOfTheSource"] ?? version).keyPosition.line, from: from, to: to,
            losses: try losses(members["losses"]), inference: isInferred ? members["unlisted"]?.keyPosition : nil,
            entityMappings: elements)
    }

    private func losses(_ member: JSONMember?) throws(MigrationError) -> [(name: String, place: TextPosition)] {
        guard let member else { return [] }
        guard case .array(let elements) = member.value.value else {
            throw wrongType(of: member.value, what: "\"losses\"", expected: "an array of names")
        }
        return try elements.map { node throws(MigrationError) in
            guard case .string(let name) = node.value else {
                throw wrongType(of: node, what: "a loss", expected: "a name, \"Entity\" or \"Entity.property\"")
            }
            return (name, node.position)
        }
    }
}
