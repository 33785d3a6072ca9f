import ManagedModel

/// The type of an expression's value, as far as attribute types and literals tell it before any row is read.
enum ExpressionType: Equatable {
    /// Only nil.
    case null
    case boolean
    case integer
    /// Float: a 32-bit number, computed with as the 64-bit number of the same value.
    case float
    /// Double, and the result of floating-point arithmetic.
    case real
    case decimal
    case text
    /// Seconds since 2001.
    case date
    case uuid
    case uri
    case data
    case transformable
    /// An object. Expressions can only ask if it is nil or the same as another.
    case reference

    /// Makes the type of an attribute's values; nil if expressions cannot use them.
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

    /// The attribute type that stores values of this type unchanged; nil if only nil or an object has it, or if none is known.
    var stored: AttributeType? {
        switch self {
        case .null, .reference, .transformable: nil
        case .boolean: .boolean
        case .integer: .integer64
        case .float: .float
        case .real: .double
        case .decimal: .decimal
        case .text: .string
        case .date: .date
        case .uuid: .uuid
        case .uri: .uri
        case .data: .binaryData
        }
    }

    /// True if values take part in arithmetic without a cast. A Boolean counts as 0 or 1.
    var isNumber: Bool {
        switch self {
        case .boolean, .integer, .float, .real, .decimal: true
        default: false
        }
    }

    var isWhole: Bool { self == .boolean || self == .integer }
    var isFloating: Bool { self == .float || self == .real }

    /// Tells whether an attribute of this type takes a value of another type unchanged. A transformable value is its bytes.
    func takes(_ other: ExpressionType) -> Bool {
        self == other || isNumber && other.isNumber || self == .data && other == .transformable
            || self == .transformable && other == .data
    }

    /// Returns the type in which two numbers are computed. Two integers stay integer, a decimal with an integer stays decimal,
    /// and everything else becomes floating-point.
    static func common(_ left: ExpressionType, _ right: ExpressionType) -> ExpressionType {
        if left.isWhole && right.isWhole { return .integer }
        if left.isFloating || right.isFloating { return .real }
        return .decimal
    }

    /// The types by the names that casts use. NSNumber keeps the type of a number.
    static let castTargets: [String: ExpressionType] = {
        let names: [(ExpressionType, [String])] = [
            (.real, ["NSNumber", "double", "float", "Double", "Float", "CGFloat"]),
            (.integer, ["integer", "NSInteger", "int", "int16", "int32", "int64", "Int", "Int16", "Int32", "Int64"]),
            (.boolean, ["BOOL", "bool", "boolean", "Bool"]), (.decimal, ["NSDecimalNumber", "NSDecimal", "Decimal"]),
            (.text, ["NSString", "String"]), (.date, ["NSDate", "Date"]), (.uri, ["NSURL", "URL"]),
            (.uuid, ["NSUUID", "UUID"]), (.data, ["NSData", "Data"]),
        ]
        return Dictionary(uniqueKeysWithValues: names.flatMap { type, names in names.map { ($0, type) } })
    }()

    /// Returns the type whose range the values of a cast to a kind of integer have; nil for 64 bits.
    static func range(ofCastTo name: String) -> AttributeType? {
        switch name {
        case "int16", "Int16": .integer16
        case "int32", "Int32", "int": .integer32
        default: nil
        }
    }

    /// Returns how to write a comparison of two values that have different types; nil if there is no way.
    static func remedy(comparing left: ExpressionType?, _ right: ExpressionType?) -> String? {
        let types = [left, right]
        guard !types.contains(.date) else { return "Use CAST(…, 'NSDate') for seconds since 2001" }
        guard types.contains(.text) else { return nil }
        if types.contains(.uuid) { return "Write the text as a UUID: CAST('…', 'NSUUID')" }
        if types.contains(.uri) { return "Write the text as a URI: CAST('…', 'NSURL')" }
        if types.contains(.data) { return "Write the text, two digits a byte, as data: CAST('0aff', 'NSData')" }
        let isWithNumber = types.contains { $0?.isNumber == true }
        return isWithNumber ? "Write a number without quotes, or make text of it: CAST(…, 'NSString')" : nil
    }

    /// The name of the type for error messages.
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
    /// Tells whether values of both types are stored alike, so that a cell may be copied.
    func isStoredLike(_ other: AttributeType) -> Bool {
        if self == other { return self != .undefined && self != .composite && self != .objectID }
        if other.holdsEveryValue(of: self) { return true }
        switch (self, other) {
        case (.transformable, .binaryData), (.binaryData, .transformable): return true
        case (.boolean, .decimal), (.integer16, .decimal), (.integer32, .decimal), (.integer64, .decimal): return true
        default: return false
        }
    }
}
