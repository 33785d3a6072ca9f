import Foundation

/// Equality and order of values.
enum ValueOrder {
    /// Tells whether two values are equal. Values of different types are not equal; nil equals nil.
    static func areEqual(_ left: EvaluatedValue, _ right: EvaluatedValue, _ folding: TextFolding) -> Bool {
        switch (left, right) {
        case (.null, .null): return true
        case (.null, _), (_, .null): return false
        case (.text(let one), .text(let other)): return TextSearch.order(one, other, folding) == 0
        case (.url(let one), .url(let other)):
            return TextSearch.order(one.absoluteString, other.absoluteString, folding) == 0
        case (.date(let one), .date(let other)): return one == other
        case (.uuid(let one), .uuid(let other)): return one == other
        case (.data(let one), .data(let other)): return one == other
        case (.collection(let one), .collection(let other)): return areEqual(one, other)
        case (.dictionary(let one), .dictionary(let other)):
            return (one.object as? NSObject).map { $0.isEqual(other.object) } ?? (one === other)
        case (.object(let one), .object(let other)): return areSame(one, other)
        default: return left.isNumber && right.isNumber && order(left, right) == 0
        }
    }

    private static func areEqual(_ left: EvaluatedCollection, _ right: EvaluatedCollection) -> Bool {
        if left === right { return true }
        guard left.count == right.count, (left.kind == .set) == (right.kind == .set) else { return false }
        if left.kind == .set { return Set(left.members) == Set(right.members) }
        return zip(left.members, right.members).allSatisfy { areEqual($0, $1, TextFolding([])) }
    }

    private static func areSame(_ left: Any, _ right: Any) -> Bool {
        if let one = left as? NSObject, let other = right as? NSObject { return one.isEqual(other) }
        if type(of: left) is AnyClass || type(of: right) is AnyClass {
            return type(of: left) is AnyClass && type(of: right) is AnyClass
                && (left as AnyObject) === (right as AnyObject)
        }
        if let one = left as? AnyHashable, let other = right as? AnyHashable { return one == other }
        return false
    }

    /// Returns -1, 0 or 1 for two numbers; nil if either is not a number.
    static func order(_ left: EvaluatedValue, _ right: EvaluatedValue) -> Int? {
        switch (left.widened, right.widened) {
        case (.real(let one), .real(let other)): return order(one, other)
        case (.decimal, _), (_, .decimal):
            // If either number is a decimal, both are compared exactly in base ten.
            guard let one = base10(left), let other = base10(right) else {
                return order(left.real ?? .nan, right.real ?? .nan)
            }
            return Decimal.compare(one, other)
        case (.real(let one), _): return order(right.whole ?? 0, one).map { -$0 }
        case (_, .real(let other)): return order(left.whole ?? 0, other)
        default:
            let (one, other) = (left.whole ?? 0, right.whole ?? 0)
            return one < other ? -1 : one == other ? 0 : 1
        }
    }

    private static func base10(_ value: EvaluatedValue) -> Decimal? {
        switch value {
        case .float(let number): return Decimal(printed: number)
        case .real(let number): return Decimal(printed: number)
        default: return value.exact
        }
    }

    static func order(_ a: Double, _ b: Double) -> Int? { a < b ? -1 : a == b ? 0 : a > b ? 1 : nil }

    /// Compares an integer with a floating-point number, without rounding the integer.
    static func order(_ a: Int64, _ b: Double) -> Int? {
        if b.isNaN { return nil }
        if b >= 9_223_372_036_854_775_808 { return -1 }
        if b < -9_223_372_036_854_775_808 { return 1 }
        let whole = Int64(b)
        if a != whole { return a < whole ? -1 : 1 }
        return order(0.0 as Double, b - Double(whole))
    }

    /// Returns -1, 0 or 1 for two values that are not nil; nil if either is not a number.
    ///
    /// - Throws: `expression.type` for values of different types and for types without an order.
    static func order(
        _ left: EvaluatedValue, _ right: EvaluatedValue, _ folding: TextFolding
    ) throws(ProgramFault) -> Int? {
        switch (left, right) {
        case (.text(let one), .text(let other)): return TextSearch.order(one, other, folding)
        case (.url(let one), .url(let other)):
            return TextSearch.order(one.absoluteString, other.absoluteString, folding)
        case (.date(let one), .date(let other)): return order(one, other)
        case _ where left.isNumber && right.isNumber: return order(left, right)
        default: break
        }
        if left.label == right.label { throw .type("values of type \(left.label) have no order") }
        throw .type(
            "a value of type \(left.label) is not compared with one of type \(right.label)",
            remedy: ExpressionType.remedy(comparing: left.scalarType, right.scalarType))
    }

    /// Returns the order of two values in a sort, with nil first.
    ///
    /// - Parameter selector: the comparison of texts, by Core Data's selectors; nil is `compare:`.
    static func sorted(
        _ left: EvaluatedValue, _ right: EvaluatedValue, by selector: String?
    ) throws(ProgramFault) -> ComparisonResult {
        switch (left, right) {
        case (.null, .null): return .orderedSame
        case (.null, _): return .orderedAscending
        case (_, .null): return .orderedDescending
        default: break
        }
        if case .text(let one) = left, case .text(let other) = right, let selector, selector != "compare:" {
            return try order(one, other, by: selector)
        }
        guard let order = try order(left, right, TextFolding([])) else { return .orderedSame }
        return order < 0 ? .orderedAscending : order == 0 ? .orderedSame : .orderedDescending
    }

    private static func order(
        _ left: String, _ right: String, by selector: String
    ) throws(ProgramFault) -> ComparisonResult {
        switch selector {
        case "caseInsensitiveCompare:", "localizedCaseInsensitiveCompare:":
            return left.compare(right, options: .caseInsensitive)
        case "localizedCompare:": return left.compare(right, options: .forcedOrdering)
        case "localizedStandardCompare:":
            return left.compare(right, options: [.caseInsensitive, .numeric, .widthInsensitive, .forcedOrdering])
        default: throw .unsupported("the comparison '\(selector)' is unknown")
        }
    }
}

/// Equality and hashing by value. Numbers of all types count as one type.
extension EvaluatedValue: Hashable {
    static func == (left: EvaluatedValue, right: EvaluatedValue) -> Bool {
        ValueOrder.areEqual(left, right, TextFolding([]))
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .boolean, .integer, .float, .real, .decimal: hasher.combine(real ?? 0)
        // Do not use String's own hash: equality here is by bytes.
        case .text(let text): for byte in text.utf8 { hasher.combine(byte) }
        case .date(let seconds): hasher.combine(seconds)
        case .uuid(let uuid): hasher.combine(uuid)
        case .url(let url): hasher.combine(url.absoluteString)
        case .data(let data): hasher.combine(data)
        case .collection(let collection): hasher.combine(collection.count)
        case .dictionary(let dictionary): hasher.combine(dictionary.count)
        case .object(let object):
            if let object = object as? NSObject {
                hasher.combine(object.hash)
            } else if type(of: object) is AnyClass {
                hasher.combine(ObjectIdentifier(object as AnyObject))
            } else if let value = object as? AnyHashable {
                hasher.combine(value)
            }
        }
    }
}
