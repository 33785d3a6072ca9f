import ManagedModel

/// What a value of an expression is, as far as the types of attributes and literals tell before any row is read.
enum ExpressionType: Equatable {
    /// nil and nothing else.
    case null
    case boolean
    case integer
    /// Float: a 32-bit number, which counts as the floating number that it is in 64 bits.
    case float
    /// Double, and what floating arithmetic gives.
    case real
    case decimal
    case text
    /// Seconds since 2001.
    case date
    case uuid
    case uri
    case data
    case transformable
    /// An object, of which only being nil and being the same can be asked.
    case reference

    /// The type of an attribute's values; nil where an expression cannot use them.
    init?(_ type: AttributeType) {
        switch type {
        case .integer16, .integer32, .integer64: self = .integer
        case .boolean: self = .boolean
        case .double: self = .real
        case .float: self = .float
        case .decimal: self = .decimal
        case .string: self = .text
        case .date: self = .date
        case .uuid: self = .uuid
        case .uri: self = .uri
        case .binaryData: self = .data
        case .transformable: self = .transformable
        case .objectID: self = .reference
        case .undefined, .composite: return nil
        }
    }

    /// Whether it takes part in arithmetic by itself. A Boolean counts as 0 or 1.
    var isNumber: Bool {
        switch self {
        case .boolean, .integer, .float, .real, .decimal: true
        default: false
        }
    }

    var isWhole: Bool { self == .boolean || self == .integer }
    var isFloating: Bool { self == .float || self == .real }

    /// Whether its values lie in an arena.
    var hasBytes: Bool {
        switch self {
        case .text, .uuid, .uri, .data, .transformable: true
        default: false
        }
    }

    /// Whether an attribute of this type takes a value of another as it is. A transformable value is its bytes.
    func takes(_ other: ExpressionType) -> Bool {
        self == other || isNumber && other.isNumber || self == .data && other == .transformable
            || self == .transformable && other == .data
    }

    /// The type that two numbers are computed in: whole with whole stays whole, a decimal stays exact beside whole
    /// numbers, everything else is floating.
    static func common(_ left: ExpressionType, _ right: ExpressionType) -> ExpressionType {
        if left.isWhole && right.isWhole { return .integer }
        if left.isFloating || right.isFloating { return .real }
        return .decimal
    }

    /// The type in words.
    var label: String {
        switch self {
        case .null: "nil"
        case .boolean: "Boolean"
        case .integer: "integer"
        case .float, .real: "floating number"
        case .decimal: "Decimal"
        case .text: "String"
        case .date: "Date"
        case .uuid: "UUID"
        case .uri: "URI"
        case .data: "Binary Data"
        case .transformable: "Transformable"
        case .reference: "object"
        }
    }
}

extension AttributeType {
    /// Whether a value of this type is stored just as one of the other type is, so that its cell may be copied.
    func isStoredLike(_ other: AttributeType) -> Bool {
        if self == other { return self != .undefined && self != .composite && self != .objectID }
        switch (self, other) {
        case (.integer16, .integer32), (.integer16, .integer64), (.integer32, .integer64): return true
        case (.boolean, .integer16), (.boolean, .integer32), (.boolean, .integer64): return true
        case (.transformable, .binaryData), (.binaryData, .transformable): return true
        case (.boolean, .decimal), (.integer16, .decimal), (.integer32, .decimal), (.integer64, .decimal): return true
        default: return false
        }
    }
}
