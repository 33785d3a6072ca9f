import Archives
import Foundation

/// A value of a `userInfo`, in JSON's types or others.
///
/// JSON gives Swift's own types: String, Int (Double if a number has a fraction, an exponent or more than 63 bits), Bool,
/// `[Any]`, `[String: Any]`, NSNull. Archives and code may give Foundation's types; equal values of both kinds compare as
/// equal.
///
/// Dates, data and decimals are written as objects with one key: `{"$date": 483291.5}` (seconds since 2001-01-01 00:00:00 UTC),
/// `{"$data": "AP8="}` (base64), `{"$decimal": "12.5"}`. An object that would be read as one of these is written as
/// `{"$object": {…}}`.
package enum UserInfoValue: Hashable {
    case null
    case boolean(Bool)
    case integer(Int)
    case double(Double)
    case string(String)
    case array([UserInfoValue])
    case object([String: UserInfoValue])
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case data([UInt8])
    case decimal(Decimal)
    /// A value that JSON cannot hold: the name of its type, and a description to compare values by.
    case foreign(type: String, description: String)

    /// - Complexity: O(n) in nested values.
    package init(_ value: Any) {
        func foreign(_ description: String) -> UserInfoValue {
            .foreign(type: String(describing: Swift.type(of: value)), description: description)
        }
        func finite(_ number: Double) -> UserInfoValue { number.isFinite ? .double(number) : foreign("\(number)") }
        self =
            switch EvaluatedValue(value) {
            case .null: .null
            case .boolean(let flag): .boolean(flag)
            case .integer(let number): .integer(Int(number))
            case .float(let number): finite(Double(number))
            case .real(let number): finite(number)
            case .decimal(let number) where number.isFinite && !(value is any BinaryInteger): .decimal(number)
            case .decimal(let number): foreign("\(number)")
            case .text(let text): .string(text)
            case .date(let seconds): .date(seconds)
            case .data(let data): .data(Array(data))
            case .collection(let list) where list.kind == .array:
                .array(list.members.map { UserInfoValue($0.object ?? NSNull()) })
            case .dictionary(let dictionary):
                (dictionary.object as? [AnyHashable: Any]).flatMap(Self.members).map { .object($0) }
                    ?? foreign(String(reflecting: value))
            case .uuid, .url, .collection, .object: foreign(String(reflecting: value))
            }
    }

    /// Makes the value of a JSON node.
    init(_ node: JSONNode) {
        switch node.value {
        case .null: self = .null
        case .boolean(let flag): self = .boolean(flag)
        case .number(let text):
            if let integer = Int(text), text != "-0" {
                self = .integer(integer)
            } else {
                self = .double(Double(text) ?? .infinity)
            }
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { UserInfoValue($0) })
        case .object(let members):
            let special = members.count == 1 ? members.first.flatMap(Self.special) : nil
            self = special ?? UserInfoValue(members: members)
        }
    }

    private init(members: [JSONMember]) {
        self = .object(
            Dictionary(members.map { ($0.key, UserInfoValue($0.value)) }, uniquingKeysWith: { first, _ in first }))
    }

    /// Returns the value for an object with this only member; nil if it is an ordinary object.
    private static func special(_ member: JSONMember) -> UserInfoValue? {
        switch (member.key, member.value.value) {
        case (dateKey, .number(let text)): return Double(text).map { .date($0) }
        case (dataKey, .string(let text)): return Data(base64Encoded: text).map { .data(Array($0)) }
        case (decimalKey, .string(let text)): return Decimal(exactText: text).map { .decimal($0) }
        case (objectKey, .object(let members)): return UserInfoValue(members: members)
        default: return nil
        }
    }

    private static let (dateKey, dataKey, decimalKey, objectKey) = ("$date", "$data", "$decimal", "$object")
    private static let specialKeys: Set<String> = [dateKey, dataKey, decimalKey, objectKey]

    /// Returns the members of a dictionary; nil if a key is not a string.
    static func members(_ dictionary: [AnyHashable: Any]) -> [String: UserInfoValue]? {
        var members: [String: UserInfoValue] = [:]
        for (key, value) in dictionary {
            guard let name = key.base as? String else { return nil }
            members[name] = UserInfoValue(value)
        }
        return members
    }

    /// The value as policies see it.
    var any: Any {
        switch self {
        case .null: NSNull()
        case .boolean(let flag): flag
        case .integer(let number): number
        case .double(let number): number
        case .string(let text): text
        case .array(let elements): elements.map(\.any)
        case .object(let members): members.mapValues(\.any)
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .data(let bytes): Data(bytes)
        case .decimal(let number): HashableDecimal(decimal: number)
        case .foreign(_, let description): description
        }
    }

    /// The name of the first type that JSON cannot hold, depth first; nil if all values can be written.
    var foreignType: String? {
        switch self {
        case .null, .boolean, .integer, .double, .string, .data, .decimal: nil
        case .date(let seconds): seconds.isFinite ? nil : "Date"
        case .array(let elements): elements.lazy.compactMap(\.foreignType).first
        case .object(let members): members.sorted { $0.key < $1.key }.lazy.compactMap(\.value.foreignType).first
        case .foreign(let type, _): type
        }
    }

    /// Writes the value, with object keys sorted by name. A value that JSON cannot hold becomes a string, so check
    /// ``foreignType`` first.
    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.literal("null")
        case .boolean(let flag): writer.literal(flag ? "true" : "false")
        case .integer(let number): writer.literal(String(number))
        case .double(let number): writer.literal("\(number)")
        case .string(let text): writer.string(text)
        case .array(let elements):
            writer.container("[", "]") { writer in
                for element in elements {
                    writer.element()
                    element.write(to: &writer)
                }
            }
        case .object(let members):
            if members.count == 1, let key = members.keys.first, Self.specialKeys.contains(key) {
                Self.write(Self.objectKey, to: &writer) { Self.write(members, to: &$0) }
            } else {
                Self.write(members, to: &writer)
            }
        case .date(let seconds): Self.write(Self.dateKey, to: &writer) { $0.literal("\(seconds)") }
        case .data(let bytes): Self.write(Self.dataKey, to: &writer) { $0.string(Data(bytes).base64EncodedString()) }
        case .decimal(let number): Self.write(Self.decimalKey, to: &writer) { $0.string("\(number)") }
        case .foreign(_, let description): writer.string(description)
        }
    }

    /// Writes the members of a dictionary literally, sorted by key.
    static func write(_ members: [String: UserInfoValue], to writer: inout JSONWriter) {
        writer.container("{", "}") { writer in
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                writer.key(key)
                value.write(to: &writer)
            }
        }
    }

    private static func write(_ key: String, to writer: inout JSONWriter, _ value: (inout JSONWriter) -> Void) {
        writer.container("{", "}") { writer in
            writer.key(key)
            value(&writer)
        }
    }
}
