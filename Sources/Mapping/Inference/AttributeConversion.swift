import ManagedModel

/// The expression that makes the values of one attribute type from those of another, where the two do not fit as they stand.
struct AttributeConversion {
    /// The type of the cast; nil if the value is taken as it is.
    private let cast: String?
    /// The price of the conversion as a clause: what a value may lose, or how it may end the run. Nil if each comes along whole.
    let price: String?

    /// True if each value comes along whole.
    var isLossless: Bool { price == nil }

    /// Returns nil if no expression converts the values.
    init?(from old: AttributeType, to new: AttributeType) {
        switch (old, new) {
        case (.string, _) where new.isNumeric && new != .boolean:
            (cast, price) = (Self.number(new), "a text that is no number ends the run")
        case (.string, .uuid): (cast, price) = ("NSUUID", "a text that is no UUID ends the run")
        case (.string, .uri): (cast, price) = ("NSURL", "a text that is no URI ends the run")
        case (.uuid, .string), (.uri, .string): (cast, price) = ("NSString", nil)
        case (.uuid, .binaryData): (cast, price) = ("NSData", nil)
        case (.date, .double): (cast, price) = ("double", "in seconds since 2001")
        case (.double, .date), (.integer64, .date): (cast, price) = ("NSDate", "as seconds since 2001")
        case (_, .string) where old.isNumeric: (cast, price) = ("NSString", nil)
        default:
            guard let given = ExpressionType(old), let wanted = ExpressionType(new), wanted.takes(given) else {
                return nil
            }
            cast = nil
            price = Self.price(ofTaking: old, as: new)
        }
    }

    /// Returns the expression.
    ///
    /// - Parameters:
    ///   - origin: the source attribute.
    ///   - quote: the quotation mark of texts in it.
    func expression(of origin: String, quote: Character = "'") -> String {
        cast.map { "CAST($source.\(origin), \(quote)\($0)\(quote))" } ?? "$source.\(origin)"
    }

    /// The name of a number's type in casts.
    private static func number(_ type: AttributeType) -> String {
        switch type {
        case .integer16: "Int16"
        case .integer32: "Int32"
        case .integer64: "Int64"
        case .decimal: "NSDecimalNumber"
        default: "double"
        }
    }

    /// Returns what a number may lose that is taken as it is; nil if it loses nothing.
    private static func price(ofTaking old: AttributeType, as new: AttributeType) -> String? {
        guard old.isNumeric, new.isNumeric else { return nil }
        switch (old.integerBits, new.integerBits) {
        case (_?, _?): return "a number outside the range of \(new.label) ends the run"
        case (let bits?, nil) where new == .decimal || new == .double && bits <= 32: return nil
        case (nil, nil) where old == .float && new == .double: return nil
        default: return "check counts the numbers that it cuts"
        }
    }
}

extension Incompatibility {
    /// The conversion of an attribute's type; nil if there is none.
    var conversion: AttributeConversion? {
        switch self {
        case .attributeType(let old, let new), .compositeElement(_, let old, let new):
            AttributeConversion(from: old, to: new)
        case .kind, .cardinality, .owners, .destination, .renamedDestination, .hierarchies: nil
        }
    }
}
