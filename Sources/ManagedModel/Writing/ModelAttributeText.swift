import Foundation

/// The texts of an attribute's default and bounds in Xcode's form, as ``AttributeTag`` reads them.
enum ModelAttributeText {
    /// Returns the default, for the types whose default has a text.
    static func defaultValue(of attribute: AttributeDefinition) -> ModelXMLWriter.Attribute {
        switch (attribute.type, attribute.defaultValue) {
        case (.date, .date(let seconds)?): ("defaultDateTimeInterval", number(seconds))
        case (.boolean, .boolean(let flag)?): ("defaultValueString", flag ? "YES" : "NO")
        case (.integer16, .integer(let number)?):
            ("defaultValueString", Int16(exactly: number).map { String($0) })
        case (.integer32, .integer(let number)?):
            ("defaultValueString", Int32(exactly: number).map { String($0) })
        case (.integer64, .integer(let number)?): ("defaultValueString", String(number))
        case (.double, let value?), (.float, let value?), (.decimal, let value?): ("defaultValueString", number(value))
        case (.string, .string(let text)?), (.uri, .uri(let text)?): ("defaultValueString", text)
        default: ("defaultValueString", nil)
        }
    }

    /// Returns the bounds, for the types whose bounds have a text.
    static func bounds(of attribute: AttributeDefinition) -> [ModelXMLWriter.Attribute] {
        switch attribute.type {
        case .string:
            [
                ("minValueString", attribute.minimumLength.map { String($0) }),
                ("maxValueString", attribute.maximumLength.map { String($0) }),
                ("regularExpressionString", attribute.regularExpression),
            ]
        case .date:
            [
                ("minDateTimeInterval", attribute.minimum.flatMap(seconds)),
                ("maxDateTimeInterval", attribute.maximum.flatMap(seconds)),
            ]
        case .integer16, .integer32, .integer64, .decimal, .double, .float:
            [
                ("minValueString", attribute.minimum.flatMap(number)),
                ("maxValueString", attribute.maximum.flatMap(number)),
            ]
        default: []
        }
    }

    private static func seconds(_ value: AttributeValue) -> String? {
        if case .date(let seconds) = value { number(seconds) } else { nil }
    }

    private static func number(_ value: AttributeValue) -> String? {
        switch value {
        case .integer(let number): String(number)
        case .double(let number): self.number(number)
        case .decimal(let number): number.isNaN ? nil : "\(number)"
        default: nil
        }
    }

    /// Returns a number without a fraction of zero; nil if it is infinite or not a number.
    private static func number(_ number: Double) -> String? {
        guard number.isFinite else { return nil }
        return Int64(exactly: number).map { number == 0 && number.sign == .minus ? "-0.0" : String($0) } ?? "\(number)"
    }
}
