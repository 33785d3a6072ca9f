import Foundation

/// A value of a `userInfo`, in the forms that JSON has and in those that it has not.
///
/// JSON gives Swift's own types: String, Int (Double where a number has a fraction, an exponent or more than 63 bits),
/// Bool, `[Any]`, `[String: Any]`, NSNull. Archives and code may give Foundation's; the two kinds compare as equal.
enum UserInfoValue: Hashable {
    case null
    case boolean(Bool)
    case integer(Int)
    case double(Double)
    case string(String)
    case array([UserInfoValue])
    case object([String: UserInfoValue])
    /// What JSON cannot hold: its type's name, and a description that tells two apart.
    case foreign(type: String, description: String)

    /// - Complexity: O(n) in nested values.
    init(_ value: Any) {
        let type = Swift.type(of: value)
        // Numbers and Booleans convert into each other by `as?`, so Swift's own are told by their type.
        if type == Bool.self, let flag = value as? Bool {
            self = .boolean(flag)
        } else if let number = value as? any BinaryInteger, let integer = Int(exactly: number) {
            self = .integer(integer)
        } else if type == Double.self || type == Float.self, let number = value as? any BinaryFloatingPoint {
            self.init(finite: Double(number))
        } else if value is NSNull {
            self = .null
        } else if let text = value as? String {
            self = .string(text)
        } else if let number = value as? NSNumber, !(number is NSDecimalNumber) {
            self.init(number)
        } else if let array = value as? [Any] {
            self = .array(array.map(UserInfoValue.init))
        } else if let object = value as? [AnyHashable: Any], let members = Self.members(object) {
            self = .object(members)
        } else {
            self = .foreign(type: String(describing: type), description: String(reflecting: value))
        }
    }

    /// The value that JSON reading gives for a node.
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
            self = .object(
                Dictionary(members.map { ($0.key, UserInfoValue($0.value)) }, uniquingKeysWith: { first, _ in first }))
        }
    }

    private init(finite number: Double) {
        self = number.isFinite ? .double(number) : .foreign(type: "Double", description: "\(number)")
    }

    private init(_ number: NSNumber) {
        switch String(cString: number.objCType) {
        case "c", "B": self = number == 0 || number == 1 ? .boolean(number.boolValue) : .integer(number.intValue)
        case "f", "d": self.init(finite: number.doubleValue)
        case "Q" where number.uint64Value > UInt64(Int.max):
            self = .foreign(type: "NSNumber", description: "\(number)")
        default: self = .integer(number.intValue)
        }
    }

    /// A dictionary's members; nil where a key is no string.
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
        case .foreign(_, let description): description
        }
    }

    /// The name of the first type that JSON cannot hold, depth first; nil where all can be written.
    var foreignType: String? {
        switch self {
        case .null, .boolean, .integer, .double, .string: nil
        case .array(let elements): elements.lazy.compactMap(\.foreignType).first
        case .object(let members): members.sorted { $0.key < $1.key }.lazy.compactMap(\.value.foreignType).first
        case .foreign(let type, _): type
        }
    }

    /// Writes the value; object keys by name. What JSON cannot hold becomes a string: ask ``foreignType`` first.
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
            writer.container("{", "}") { writer in
                for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                    writer.key(key)
                    value.write(to: &writer)
                }
            }
        case .foreign(_, let description): writer.string(description)
        }
    }
}
