import Archives
import Diagnostics
import Foundation
import Mapping

/// Converts the arguments of a function one after the other to the types of its parameters.
struct ArgumentConversion {
    let selector: String
    let owner: AnyObject
    let arguments: [Any?]
    private var position = 0

    init(selector: String, owner: AnyObject, arguments: [Any?]) {
        self.selector = selector
        self.owner = owner
        self.arguments = arguments
    }

    /// Returns the next argument.
    ///
    /// - Throws: `policy.argument` with policy, selector and position if nil is given for a parameter that is not
    ///   optional, or the value has another type.
    mutating func next<Value>(_ type: Value.Type) throws -> Value {
        let value = position < arguments.count ? arguments[position] : nil
        position += 1
        if let converted = ParameterValue.converted(value, to: type) { return converted }
        let given = ValueBridge.unwrapped(value)
        throw MigrationError(
            "policy.argument", .data,
            given.map {
                "Argument \(position) of \(selector) is a value of type \(Swift.type(of: $0)), the parameter is \(Value.self)"
            } ?? "Argument \(position) of \(selector) is nil, and the parameter \(Value.self) is not optional",
            remedy: given == nil ? "Declare the parameter as \(Value.self)?" : nil,
            context: .init(policy: "\(Swift.type(of: owner)) \(selector)"))
    }
}

/// Converts values of expressions to parameters of Swift methods.
enum ParameterValue {
    /// Returns the value as a type; nil if it does not fit.
    ///
    /// Numbers convert as attributes do, toward zero; collections convert among sets, ordered sets and arrays. NSNull
    /// counts as nil. Nil for a parameter that is not optional is what Swift's bridging from Objective-C gives: an empty text,
    /// array, set, dictionary or data; any other type has no such value.
    static func converted<Value>(_ value: Any?, to type: Value.Type) -> Value? {
        guard let value = ValueBridge.unwrapped(value) else {
            // Cast nil itself, so that the result for Any? is nil and not a value that holds nil.
            if type is any OptionalParameter.Type { return .some((nil as Any?) as! Value) }
            return (type as? any BridgedFromNil.Type)?.init() as? Value
        }
        if let optional = type as? any OptionalParameter.Type { return optional.wrapped(value) as? Value }
        if let number = number(value, type) { return number as? Value }
        if let same = value as? Value { return same }
        return collection(value, type) as? Value
    }

    /// Returns a number as a number type; nil for any other type, and for a number that does not fit.
    private static func number(_ value: Any, _ type: Any.Type) -> Any? {
        let number: NSNumber
        switch value {
        case let decimal as Decimal: number = NSDecimalNumber(decimal: decimal)
        case let other as NSNumber: number = other
        default: return nil
        }
        return switch type {
        case is Int.Type: integer(number, Int.self)
        case is Int8.Type: integer(number, Int8.self)
        case is Int16.Type: integer(number, Int16.self)
        case is Int32.Type: integer(number, Int32.self)
        case is Int64.Type: integer(number, Int64.self)
        case is UInt.Type: integer(number, UInt.self)
        case is UInt8.Type: integer(number, UInt8.self)
        case is UInt16.Type: integer(number, UInt16.self)
        case is UInt32.Type: integer(number, UInt32.self)
        case is UInt64.Type: integer(number, UInt64.self)
        case is Double.Type: (number as? NSDecimalNumber)?.decimalValue.nearestReal ?? number.doubleValue
        case is Float.Type: number.floatValue
        case is Bool.Type: number.boolValue
        case is Decimal.Type: number.exactDecimal ?? .nan
        case is NSDecimalNumber.Type: HashableDecimal(decimal: number.exactDecimal ?? .nan)
        case is NSNumber.Type: number
        default: nil
        }
    }

    /// Returns the number rounded toward zero; nil if it is out of range.
    private static func integer<Whole: FixedWidthInteger>(_ number: NSNumber, _: Whole.Type) -> Whole? {
        if let exact = number as? NSDecimalNumber {
            var value = exact.decimalValue
            var whole = Decimal()
            NSDecimalRound(&whole, &value, 0, value.isSignMinus ? .up : .down)
            guard !value.isNaN, whole >= Decimal(Int64.min), whole <= Decimal(Int64.max) else { return nil }
            return Whole(exactly: NSDecimalNumber(decimal: whole).int64Value)
        }
        return switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): Whole(exactly: number.doubleValue.rounded(.towardZero))
        case UInt8(ascii: "Q"): Whole(exactly: number.uint64Value)
        default: Whole(exactly: number.int64Value)
        }
    }

    private static func collection(_ value: Any, _ type: Any.Type) -> Any? {
        guard let members = members(value) else { return nil }
        switch type {
        case is NSSet.Type: return NSSet(array: members)
        case is NSOrderedSet.Type: return NSOrderedSet(array: members)
        case is NSArray.Type: return NSArray(array: members)
        case is [Any].Type: return members
        case is [ManagedObject].Type: return members as? [ManagedObject]
        case is Set<ManagedObject>.Type: return (members as? [ManagedObject]).map { Set($0) }
        case is Set<AnyHashable>.Type: return (members as? [AnyHashable]).map { Set($0) }
        default: return (type as? any ArrayParameter.Type)?.array(members)
        }
    }

    /// Returns the members of a collection; nil for any other value.
    static func members(_ value: Any) -> [Any]? {
        switch value {
        case let ordered as NSOrderedSet: ordered.array
        case let set as NSSet: set.allObjects
        case let array as NSArray: Array(array)
        case let array as [Any]: array
        case let set as Set<AnyHashable>: set.map { $0.base }
        default: nil
        }
    }
}

/// An optional parameter type. It accepts nil and whatever its wrapped type accepts.
private protocol OptionalParameter {
    /// Returns the value as the wrapped type; nil if it does not fit.
    static func wrapped(_ value: Any) -> Any?
}

extension Optional: OptionalParameter {
    fileprivate static func wrapped(_ value: Any) -> Any? {
        ParameterValue.converted(value, to: Wrapped.self)
    }
}

/// A type of which Swift's bridging makes an empty value from Objective-C's nil.
private protocol BridgedFromNil { init() }

extension String: BridgedFromNil {}
extension Data: BridgedFromNil {}
extension Array: BridgedFromNil {}
extension Set: BridgedFromNil {}
extension Dictionary: BridgedFromNil {}

/// An array parameter type; each member is converted.
private protocol ArrayParameter {
    static func array(_ members: [Any]) -> Any?
}

extension Array: ArrayParameter {
    fileprivate static func array(_ members: [Any]) -> Any? {
        var converted: [Element] = []
        for member in members {
            guard let element = ParameterValue.converted(member, to: Element.self) else { return nil }
            converted.append(element)
        }
        return converted
    }
}

/// Converts results of Swift methods to values of expressions.
enum FunctionResult {
    /// Returns the value of a result: scalars become NSNumber, Foundation's reference types their Swift values; Void is
    /// nil.
    static func value(_ result: Any) -> Any? {
        if result is Void { return nil }
        guard let value = ValueBridge.unwrapped(result) else { return nil }
        switch value {
        case let number as NSNumber where Swift.type(of: value) is AnyClass: return number
        case let decimal as Decimal: return HashableDecimal(decimal: decimal)
        case let text as NSString where Swift.type(of: value) is AnyClass: return String(describing: text)
        case let date as NSDate where Swift.type(of: value) is AnyClass:
            return Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
        case let data as NSData where Swift.type(of: value) is AnyClass: return Data(referencing: data)
        case let uuid as NSUUID where Swift.type(of: value) is AnyClass: return UUID(uuidString: uuid.uuidString)
        case let set as Set<ManagedObject>: return NSSet(array: Array(set))
        case is any BinaryInteger, is any BinaryFloatingPoint, is Bool: return value as? NSNumber
        default: return value
        }
    }
}
