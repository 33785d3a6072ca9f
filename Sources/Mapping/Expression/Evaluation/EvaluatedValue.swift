import Archives
import Foundation

/// A value inside an evaluation.
enum EvaluatedValue {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// The value of a Float attribute: 32 bits.
    case float(Float)
    case real(Double)
    case decimal(Decimal)
    case text(String)
    /// Seconds since 2001.
    case date(Double)
    case uuid(UUID)
    case url(URL)
    case data(Data)
    case collection(EvaluatedCollection)
    case dictionary(EvaluatedDictionary)
    /// Any other value, by reference if it is an object.
    case object(Any)

    /// Converts a value of a policy: Swift's and Foundation's scalars, collections, optionals at any depth; NSNull becomes nil.
    init(_ value: Any?) {
        guard let value else {
            self = .null
            return
        }
        // Compare exact types first instead of casting: on Linux an NSNumber casts to every scalar type.
        self = type(of: value) is AnyClass ? Self.reference(value) : Self.scalar(value)
    }

    private static func reference(_ value: Any) -> EvaluatedValue {
        // Numbers come most often, and the bridge to AnyObject below is slow.
        if let number = value as? NSNumber { return Self.number(number) }
        switch value as AnyObject {
        case is NSNull: return .null
        case let text as NSString: return .text(text as String)
        case let date as NSDate: return .date(date.timeIntervalSinceReferenceDate)
        case let set as NSSet: return .collection(EvaluatedCollection(set, .set, count: set.count))
        case let set as NSOrderedSet: return .collection(EvaluatedCollection(set, .orderedSet, count: set.count))
        case let array as NSArray: return .collection(EvaluatedCollection(array, .array, count: array.count))
        case let dictionary as NSDictionary: return .dictionary(EvaluatedDictionary(dictionary))
        case let data as NSData: return .data(Data(referencing: data))
        case let uuid as NSUUID: return .uuid(uuid as UUID)
        case let url as NSURL: return .url(url as URL)
        default: return .object(value)
        }
    }

    private static func number(_ number: NSNumber) -> EvaluatedValue {
        if let decimal = number as? NSDecimalNumber { return .decimal(decimal.decimalValue) }
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"): return .float(number.floatValue)
        case UInt8(ascii: "d"): return .real(number.doubleValue)
        case UInt8(ascii: "B"): return .boolean(number.boolValue)
        case UInt8(ascii: "c") where number.int64Value == 0 || number.int64Value == 1:
            return .boolean(number.boolValue)
        case UInt8(ascii: "Q"): return Self.unsigned(number.uint64Value)
        default: return .integer(number.int64Value)
        }
    }

    private static func unsigned(_ number: UInt64) -> EvaluatedValue {
        Int64(exactly: number).map { .integer($0) } ?? .decimal(Decimal(number))
    }

    private static func scalar(_ value: Any) -> EvaluatedValue {
        switch value {
        case let text as String: return .text(text)
        case let flag as Bool: return .boolean(flag)
        case let number as Int: return .integer(Int64(number))
        case let number as Double: return .real(number)
        case let number as Float: return .float(number)
        case let number as Decimal: return .decimal(number)
        case let date as Date: return .date(date.timeIntervalSinceReferenceDate)
        case let data as Data: return .data(data)
        case let uuid as UUID: return .uuid(uuid)
        case let url as URL: return .url(url)
        case let number as any BinaryInteger:
            return Int64(exactly: number).map { .integer($0) } ?? .decimal(Decimal(exactText: "\(number)") ?? .nan)
        case let optional as any AnyOptional: return EvaluatedValue(optional.anyWrapped)
        case let members as any AnyMembers: return .collection(members.evaluated)
        case let dictionary as any AnyDictionary: return .dictionary(EvaluatedDictionary(dictionary))
        case let hashable as AnyHashable where !(hashable.base is AnyHashable): return EvaluatedValue(hashable.base)
        case let text as Substring: return .text(String(text))
        default: return .object(value)
        }
    }

    /// The value as policies see it.
    var object: Any? {
        switch self {
        case .null: nil
        case .boolean(let flag): NSNumber(value: flag)
        case .integer(let number): NSNumber(value: number)
        case .float(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .decimal(let number): HashableDecimal(decimal: number)
        case .text(let text): text
        case .date(let seconds): Date(timeIntervalSinceReferenceDate: seconds)
        case .uuid(let uuid): uuid
        case .url(let url): url
        case .data(let data): data
        case .collection(let collection): collection.object
        case .dictionary(let dictionary): dictionary.object
        case .object(let object): object
        }
    }

    var isNull: Bool { if case .null = self { true } else { false } }

    /// The type of a single value; nil for collections, dictionaries and objects.
    var scalarType: ExpressionType? {
        switch self {
        case .null: .null
        case .boolean: .boolean
        case .integer: .integer
        case .float: .float
        case .real: .real
        case .decimal: .decimal
        case .text: .text
        case .date: .date
        case .uuid: .uuid
        case .url: .uri
        case .data: .data
        case .collection, .dictionary, .object: nil
        }
    }

    /// The name of the type for error messages.
    var label: String {
        switch self {
        case .collection(let collection): collection.kind == .array ? "array" : "set"
        case .dictionary: "dictionary"
        case .object(let object):
            (object as? any ExpressionObject)?.expressionEntityName ?? "\(Swift.type(of: object))"
        default: scalarType?.label ?? ""
        }
    }
}

/// A dictionary inside an evaluation.
final class EvaluatedDictionary {
    let object: Any

    init(_ object: Any) { self.object = object }

    func value(forKey key: Any) -> EvaluatedValue {
        switch object {
        case let dictionary as NSDictionary: EvaluatedValue(dictionary.object(forKey: key))
        case let dictionary as any AnyDictionary:
            EvaluatedValue((key as? AnyHashable).flatMap { dictionary.anyValue(forKey: $0) })
        default: .null
        }
    }

    var values: [EvaluatedValue] {
        switch object {
        case let dictionary as NSDictionary: dictionary.allValues.map { EvaluatedValue($0) }
        case let dictionary as any AnyDictionary: dictionary.anyValues.map { EvaluatedValue($0) }
        default: []
        }
    }

    var count: Int { values.count }
}
