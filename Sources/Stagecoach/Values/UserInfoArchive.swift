import Diagnostics
import Foundation
import SpillStorage

/// The encoding of a manager's `userInfo`. It covers the types of a property list and restores each value with its own type,
/// including mutable containers.
///
/// A mutable object that occurs twice would become two objects, so such a `userInfo` has no encoding.
struct UserInfoArchive {
    private enum Kind: UInt64 {
        case flag, integer, real, text, data, date, array, dictionary
        case number, floatNumber, flagNumber, objectText, mutableText
        case objectArray, mutableArray, objectDictionary, mutableDictionary
        case integer64, integer32, float
    }

    /// Encodes the values. Returns nil if a value does not fit a property list.
    static func bytes(of info: [AnyHashable: Any]?) -> [UInt8]? {
        var state = StateWriter()
        state.write(info != nil)
        guard let info else { return state.bytes }
        var entries: [String: Any] = [:]
        for (key, value) in info {
            guard let name = key.base as? String, type(of: key.base) == String.self else { return nil }
            entries[name] = value
        }
        return writes(.dictionary, entries, to: &state, Seen()) ? nil : state.bytes
    }

    /// Decodes the values. Throws `journal.damaged` (74).
    static func info(_ bytes: [UInt8]) throws(MigrationError) -> [AnyHashable: Any]? {
        var state = StateReader(bytes)
        guard try state.flag() else { return nil }
        guard let entries = try value(&state, depth: 0) as? [String: Any] else {
            throw StateReader.damaged("the manager's userInfo")
        }
        return entries
    }

    /// The mutable objects met so far.
    private final class Seen {
        var objects: Set<ObjectIdentifier> = []
    }

    /// Writes a value. Returns true if it has no encoding.
    private static func isUnwritable(_ value: Any, to state: inout StateWriter, _ seen: Seen) -> Bool {
        let type = Swift.type(of: value)
        if type is AnyClass { return isUnwritable(object: value as AnyObject, to: &state, seen) }
        switch value {
        case let value as Bool where type == Bool.self: put(.flag, &state) { $0.write(value) }
        case let value as Int where type == Int.self: put(.integer, &state) { $0.write(value) }
        case let value as Double where type == Double.self: put(.real, &state) { $0.write(value.bitPattern) }
        case let value as String where type == String.self: put(.text, &state) { $0.write(value) }
        case let value as Data where type == Data.self: put(.data, &state) { $0.write(bytes: Array(value)) }
        case let value as Date where type == Date.self:
            put(.date, &state) { $0.write(value.timeIntervalSinceReferenceDate.bitPattern) }
        case let value as Int64 where type == Int64.self: put(.integer64, &state) { $0.write(value) }
        case let value as Int32 where type == Int32.self: put(.integer32, &state) { $0.write(Int64(value)) }
        case let value as Float where type == Float.self: put(.float, &state) { $0.write(value.bitPattern) }
        case let value as [String: Any]: return writes(.dictionary, value, to: &state, seen)
        case let value as [Any]: return writes(.array, value, to: &state, seen)
        default: return true
        }
        return false
    }

    private static func put(_ kind: Kind, _ state: inout StateWriter, _ value: (inout StateWriter) -> Void) {
        state.write(kind.rawValue)
        value(&state)
    }

    /// Writes an object of a class. Returns true if it has no encoding.
    private static func isUnwritable(object: AnyObject, to state: inout StateWriter, _ seen: Seen) -> Bool {
        if object is NSMutableArray || object is NSMutableDictionary || object is NSMutableString,
            !seen.objects.insert(ObjectIdentifier(object)).inserted
        {
            return true
        }
        switch object {
        case let number as NSNumber where !(number is NSDecimalNumber):
            switch UInt8(bitPattern: number.objCType.pointee) {
            case UInt8(ascii: "c"), UInt8(ascii: "B"): put(.flagNumber, &state) { $0.write(number.int64Value) }
            case UInt8(ascii: "d"), UInt8(ascii: "f"):
                put(.floatNumber, &state) { $0.write(number.doubleValue.bitPattern) }
            case UInt8(ascii: "Q"): return true
            default: put(.number, &state) { $0.write(number.int64Value) }
            }
        case let text as NSString:
            put(text is NSMutableString ? .mutableText : .objectText, &state) { $0.write(String(describing: text)) }
        case let array as NSArray:
            return writes(array is NSMutableArray ? .mutableArray : .objectArray, Array(array), to: &state, seen)
        case let dictionary as NSDictionary:
            var entries: [String: Any] = [:]
            for key in dictionary.allKeys {
                guard let name = key as? String else { return true }
                entries[name] = dictionary.object(forKey: key)
            }
            return writes(
                dictionary is NSMutableDictionary ? .mutableDictionary : .objectDictionary, entries, to: &state, seen)
        default: return true
        }
        return false
    }

    private static func writes(_ kind: Kind, _ members: [Any], to state: inout StateWriter, _ seen: Seen) -> Bool {
        put(kind, &state) { $0.write(members.count) }
        return members.contains { isUnwritable($0, to: &state, seen) }
    }

    private static func writes(
        _ kind: Kind, _ entries: [String: Any], to state: inout StateWriter, _ seen: Seen
    ) -> Bool {
        put(kind, &state) { $0.write(entries.count) }
        for (name, value) in entries.sorted(by: { $0.key < $1.key }) {
            state.write(name)
            if isUnwritable(value, to: &state, seen) { return true }
        }
        return false
    }

    private static let deepest = 256

    private static func value(_ state: inout StateReader, depth: Int) throws(MigrationError) -> Any {
        guard depth < deepest, let kind = Kind(rawValue: try state.word()) else {
            throw StateReader.damaged("the manager's userInfo")
        }
        switch kind {
        case .flag: return try state.flag()
        case .integer: return Int(truncatingIfNeeded: try state.integer())
        case .integer64: return try state.integer()
        case .integer32: return Int32(truncatingIfNeeded: try state.integer())
        case .float: return Float(bitPattern: try state.page())
        case .real: return Double(bitPattern: try state.word())
        case .text: return try state.text()
        case .data: return Data(try state.block())
        case .date: return Date(timeIntervalSinceReferenceDate: Double(bitPattern: try state.word()))
        case .array: return try members(&state, depth)
        case .dictionary: return try entries(&state, depth)
        case .number: return NSNumber(value: try state.integer())
        case .floatNumber: return NSNumber(value: Double(bitPattern: try state.word()))
        case .flagNumber:
            let number = try state.integer()
            return number == 0 || number == 1
                ? NSNumber(value: number == 1) : NSNumber(value: Int8(truncatingIfNeeded: number))
        case .objectText: return NSString(string: try state.text())
        case .mutableText: return NSMutableString(string: try state.text())
        case .objectArray: return NSArray(array: try members(&state, depth))
        case .mutableArray: return NSMutableArray(array: try members(&state, depth))
        case .objectDictionary: return NSDictionary(dictionary: try entries(&state, depth))
        case .mutableDictionary: return NSMutableDictionary(dictionary: try entries(&state, depth))
        }
    }

    private static func members(_ state: inout StateReader, _ depth: Int) throws(MigrationError) -> [Any] {
        // Room is made for members that are there, not for a number that a damaged state says.
        var members: [Any] = []
        for _ in 0..<(try state.count(upTo: Int(Int32.max))) { members.append(try value(&state, depth: depth + 1)) }
        return members
    }

    private static func entries(_ state: inout StateReader, _ depth: Int) throws(MigrationError) -> [String: Any] {
        var entries: [String: Any] = [:]
        for _ in 0..<(try state.count(upTo: Int(Int32.max))) {
            let name = try state.text()
            entries[name] = try value(&state, depth: depth + 1)
        }
        return entries
    }
}
