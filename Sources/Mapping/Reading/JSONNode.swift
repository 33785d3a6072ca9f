/// A place in a text: one-based line and column, columns in Unicode scalars.
struct TextPosition: Hashable {
    var line: Int
    var column: Int
}

/// A value of a JSON text with the place where it begins.
struct JSONNode {
    let value: JSONValue
    let position: TextPosition
}

/// What a JSON value is. Numbers keep their text: their type is decided by who wants them.
indirect enum JSONValue {
    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    case array([JSONNode])
    /// In the order of the text; keys are unique.
    case object([JSONMember])

    /// What it is, for messages: `a string`, `null`, …
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
    /// Where the key's quotation mark stands.
    let keyPosition: TextPosition
    let value: JSONNode
}
