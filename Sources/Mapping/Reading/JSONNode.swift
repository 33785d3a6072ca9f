import ManagedModel

/// A value of a JSON text, with the place where it begins.
struct JSONNode {
    let value: JSONValue
    let position: TextPosition
}

/// The content of a JSON value. Numbers stay text, because their users decide on the type.
indirect enum JSONValue {
    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    case array([JSONNode])
    /// The members in the order of the text; keys are unique.
    case object([JSONMember])

    /// The kind of the value in messages: `a string`, `null`, …
    var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// A key and its value.
struct JSONMember {
    let key: String
    /// The place of the key's quotation mark.
    let keyPosition: TextPosition
    let value: JSONNode
}
