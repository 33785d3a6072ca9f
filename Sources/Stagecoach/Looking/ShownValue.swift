import Foundation
import ManagedModel
import Mapping

/// A value of an object, ready to be shown: by its type, with large data as its size and first bytes.
public indirect enum ShownValue: Sendable, Equatable {
    /// Data by its size, its first bytes and its place.
    public struct Bytes: Sendable, Equatable {
        /// The size in bytes; nil if the file that holds them is missing or cannot be read.
        public let count: Int?
        /// The first bytes, at most ``most``.
        public let first: [UInt8]
        /// The path of the file that holds them; nil if the store itself does.
        public var file: String?

        /// The greatest number of bytes that are shown.
        public static let most = 16
    }

    /// A named part of a dictionary or composite attribute.
    public struct Element: Sendable, Equatable {
        /// The name of the element or key.
        public let name: String
        /// Its value.
        public let value: ShownValue
    }

    /// No value.
    case null
    /// A Boolean.
    case boolean(Bool)
    /// A whole number.
    case integer(Int64)
    /// A floating-point number.
    case real(Double)
    /// A decimal number.
    case decimal(Decimal)
    /// A text.
    case text(String)
    /// The beginning of a text that is too large to be read whole, and its size in UTF-8 bytes.
    case longText(beginning: String, bytes: Int)
    /// A date, in seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    /// A UUID.
    case uuid(UUID)
    /// A URI.
    case uri(String)
    /// Data.
    case data(Bytes)
    /// An object, `Entity/p<key>`.
    case object(String)
    /// The first objects of a collection, and the number of all.
    case objects([String], count: Int)
    /// The values of an array or set.
    case list([ShownValue])
    /// The values of a dictionary, by key.
    case dictionary([Element])
    /// The elements of a composite attribute, in declared order.
    case composite([Element])
    /// A value without any of these forms, in words.
    case other(String)
}

extension ShownValue {
    /// True for no value and no objects.
    var isNothing: Bool {
        switch self {
        case .null, .objects(_, count: 0): true
        default: false
        }
    }

    /// The greatest depth of collections in collections that is shown.
    private static let deepest = 8

    /// Makes the form of a value as expressions and policies see it.
    ///
    /// - Parameter members: the greatest number of objects of a collection that are named.
    init(_ value: Any?, members: Int = ObjectReader.members) { self.init(value, members, depth: 0) }

    private init(_ value: Any?, _ members: Int, depth: Int) {
        guard let value = ValueBridge.unwrapped(value) else {
            self = .null
            return
        }
        guard depth < Self.deepest else {
            self = .other("…")
            return
        }
        if let scalar = ExpressionConstant(scalar: value) {
            self.init(scalar)
            return
        }
        func inner(_ value: Any?) -> ShownValue { ShownValue(value, members, depth: depth + 1) }
        switch value {
        case let uuid as UUID: self = .uuid(uuid)
        case let url as URL: self = .uri(url.absoluteString)
        case let object as EvaluatedSource: self = .object(object.objectName)
        case let found as FoundObject: self = .object(found.name)
        case let value as TransformableValue:
            self = (try? value.object()).map(inner) ?? inner(value.bytes)
        case is NSSet, is NSOrderedSet, is [Any]:
            let items = ValueBridge.items(of: value)
            var names = items.compactMap { ($0 as? FoundObject)?.name }
            let objects = items.compactMap { $0 as? EvaluatedSource }
            if names.isEmpty {
                names = (value is NSSet ? objects.sorted { $0.key < $1.key } : objects).map(\.objectName)
            }
            let areObjects = names.count == items.count && (!items.isEmpty || !(value is [Any]))
            self =
                areObjects
                ? .objects(Array(names.prefix(members)), count: names.count) : .list(items.map(inner))
        case let dictionary as [AnyHashable: Any]:
            self = .dictionary(sorted: dictionary.map { Element(name: "\($0.key.base)", value: inner($0.value)) })
        case let dictionary as NSDictionary:
            self = .dictionary(sorted: dictionary.map { Element(name: "\($0.key)", value: inner($0.value)) })
        default: self = .other(String("\(value)".prefix(200)))
        }
    }

    private static func dictionary(sorted elements: [Element]) -> ShownValue {
        .dictionary(elements.sorted { $0.name < $1.name })
    }

    private init(_ scalar: ExpressionConstant) {
        self =
            switch scalar {
            case .null: .null
            case .boolean(let flag): .boolean(flag)
            case .integer(let number): .integer(number)
            case .double(let number): .real(number)
            case .decimal(let number): .decimal(number)
            case .string(let text): .text(text)
            case .date(let seconds): .date(seconds)
            case .data(let bytes): .data(Bytes(count: bytes.count, first: Array(bytes.prefix(Bytes.most))))
            }
    }

    /// Returns a date in ISO 8601, in UTC, with the fraction of a second if there is one. A date outside the years 1 to
    /// 9999 has no such form, and is its seconds since 2001.
    public static func text(ofDate seconds: Double) -> String {
        guard seconds > -63_000_000_000, seconds < 250_000_000_000 else { return "\(seconds) s since 2001" }
        return DateText.text(of: seconds)
    }
}

/// JSON has no form for some values: dates, UUIDs and URIs are texts, objects are their ids, data and cut texts are objects
/// with their sizes, and collections of objects have their number beside their first members.
extension ShownValue: Encodable {
    private enum Key: String, CodingKey { case bytes, first, file, text, count, members }
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Encodes the value as JSON's own type where there is one, and otherwise in the form that the extension describes.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .data(let bytes):
            var keyed = encoder.container(keyedBy: Key.self)
            try keyed.encode(bytes.count, forKey: .bytes)
            try keyed.encode(bytes.first.hexadecimal, forKey: .first)
            try keyed.encodeIfPresent(bytes.file, forKey: .file)
        case .longText(let beginning, let bytes):
            var keyed = encoder.container(keyedBy: Key.self)
            try keyed.encode(bytes, forKey: .bytes)
            try keyed.encode(beginning, forKey: .text)
        case .objects(let members, let count):
            var keyed = encoder.container(keyedBy: Key.self)
            try keyed.encode(count, forKey: .count)
            try keyed.encode(members, forKey: .members)
        case .dictionary(let elements), .composite(let elements):
            var keyed = encoder.container(keyedBy: Name.self)
            for element in elements { try keyed.encode(element.value, forKey: Name(stringValue: element.name)) }
        default:
            var single = encoder.singleValueContainer()
            switch self {
            case .boolean(let flag): try single.encode(flag)
            case .integer(let number): try single.encode(number)
            case .real(let number) where number.isFinite: try single.encode(number)
            case .real(let number): try single.encode("\(number)")
            case .decimal(let number) where number.isFinite: try single.encode(number)
            case .decimal: try single.encode("nan")
            case .text(let text), .uri(let text), .object(let text), .other(let text): try single.encode(text)
            case .date(let seconds): try single.encode(Self.text(ofDate: seconds))
            case .uuid(let uuid): try single.encode(uuid.uuidString)
            case .list(let values): try single.encode(values)
            default: try single.encodeNil()
            }
        }
    }
}
