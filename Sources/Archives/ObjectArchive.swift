import Diagnostics
import Foundation

/// Keyed archives of Foundation's values: texts, numbers, dates, data, UUIDs, URLs, null, and arrays, dictionaries, sets and
/// ordered sets of them. No class is made by its name: all others are refused.
package enum ObjectArchive {
    /// The code of the error for an object of another class.
    package static let foreignClass: MigrationError.Code = "archive.class"

    static let deepest = 128
    /// The deepest nesting of collections in a set's member or a dictionary's key. Foundation on Linux doubles the work of their
    /// hash with each level.
    static let deepestHashed = 8
    /// The largest number of values in one archive, where a shared value counts at each use.
    static let mostValues = 1 << 20

    /// The most bytes of mutable texts and data and of absolute URLs that are made of an archive. Each may repeat what the
    /// archive has once.
    static func copiedBytes(of size: Int) -> Int { 1 << 20 + 16 * size }

    /// Reads an archive. Mutable objects stay mutable, and shared ones shared.
    ///
    /// - Returns: the root as Foundation's class, or Swift's String, Date, Data, UUID or URL; nil for an archive of nil.
    /// - Throws: `archive.class` naming the class; `archive.format`, `archive.notKeyed` and the other errors of archives for
    ///   damage.
    /// - Complexity: O(bytes) memory: shared objects and data are made once, and all other copies together have at most
    ///   ``copiedBytes(of:)`` bytes.
    package static func object(from bytes: [UInt8]) throws(MigrationError) -> Any? {
        let archive = try KeyedArchive(decoding: bytes)
        let root = try archive.topValue()
        if case .null = root { return nil }
        var reader = ObjectReader(count: archive.objectCount, copiedBytes: copiedBytes(of: bytes.count))
        return try reader.object(root, depth: 1).value
    }

    /// Writes an archive. Equal values give equal bytes: members of sets and keys of dictionaries are sorted.
    ///
    /// - Parameter object: any of these values, as Foundation's class or Swift's type.
    /// - Throws: `archive.class` naming the class or type; `archive.limit`.
    package static func bytes(of object: Any) throws(MigrationError) -> [UInt8] {
        var writer = ObjectWriter()
        let root = try writer.add(object, depth: 1)
        return try writer.builder.encode(root: root)
    }

    static func foreign(_ name: String) -> MigrationError {
        .archive(foreignClass, "an object of class \(name), which is none of Foundation's plain values")
    }

    static func tooLarge() -> MigrationError {
        .archive("archive.limit", "The archive's objects are nested in themselves, too deeply, or too many")
    }
}

/// Makes Foundation's objects of those of an archive. An object that is referred to several times is made once.
private struct ObjectReader {
    /// An object, with the number of values in it and the levels of collections.
    struct Made {
        var value: Any
        var size = 1
        var levels = 0

        func with(_ value: Any) -> Made { Made(value: value, size: size, levels: levels) }
    }

    private enum State {
        case untouched, open
        case made(Made)
    }

    private var states: [State]
    /// The data made so far, by the address of their bytes in the decoded archive, which lives as long as its objects are read.
    private var data: [UnsafePointer<UInt8>: Data] = [:]
    /// The bytes that copies may still have.
    private var copiedBytes: Int
    /// One for all: two are equal on Linux, and have different hashes.
    private let null = NSNull()

    init(count: Int, copiedBytes: Int) {
        states = Array(repeating: .untouched, count: count)
        self.copiedBytes = copiedBytes
    }

    mutating func object(_ value: ArchivedValue, depth: Int) throws(MigrationError) -> Made {
        switch value {
        case .null: return Made(value: null)
        case .plain(let plain): return Made(value: try scalar(plain))
        case .object(let object):
            switch states[object.uid] {
            case .made(let known): return known
            case .open: throw ObjectArchive.tooLarge()
            case .untouched: break
            }
            guard depth <= ObjectArchive.deepest else { throw ObjectArchive.tooLarge() }
            states[object.uid] = .open
            let made = try make(object, value, depth)
            guard made.size <= ObjectArchive.mostValues else { throw ObjectArchive.tooLarge() }
            states[object.uid] = .made(made)
            return made
        }
    }

    private mutating func scalar(_ value: PropertyListValue) throws(MigrationError) -> Any {
        switch value {
        case .boolean(let flag): NSNumber(value: flag)
        case .integer(let number): NSNumber(value: number)
        case .largeInteger(0, let low): NSNumber(value: low)
        case .real(let number): NSNumber(value: number)
        case .string(let text): text
        case .data(let bytes): data(bytes)
        case .date(let seconds) where !seconds.isNaN: Date(timeIntervalSinceReferenceDate: seconds)
        default: throw .archive("archive.type", "A \(value.kindName) of the archive stands where an object is expected")
        }
    }

    private mutating func data(_ bytes: [UInt8]) -> Data {
        bytes.withUnsafeBufferPointer { buffer in
            guard let place = buffer.baseAddress, !buffer.isEmpty else { return Data() }
            if let known = data[place] { return known }
            let made = Data(buffer)
            data[place] = made
            return made
        }
    }

    private mutating func charge(_ count: Int) throws(MigrationError) {
        copiedBytes -= count
        guard copiedBytes >= 0 else { throw ObjectArchive.tooLarge() }
    }

    private mutating func make(
        _ object: ArchivedObject, _ value: ArchivedValue, _ depth: Int
    ) throws(MigrationError) -> Made {
        switch object.className {
        case "NSArray", "NSMutableArray":
            let (members, whole) = try objects(value.elements() ?? [], depth)
            return whole.with(object.isMutable ? NSMutableArray(array: members) : NSArray(array: members))
        case "NSSet", "NSMutableSet":
            let (members, whole) = try objects(value.elements() ?? [], depth, hashed: true)
            return whole.with(object.isMutable ? NSMutableSet(array: members) : NSSet(array: members))
        case "NSOrderedSet", "NSMutableOrderedSet":
            let (members, whole) = try objects(value.elements() ?? [], depth, hashed: true)
            return whole.with(object.isMutable ? NSMutableOrderedSet(array: members) : NSOrderedSet(array: members))
        case "NSDictionary", "NSMutableDictionary": return try dictionary(object, value, depth)
        case "NSNull": return Made(value: null)
        default: return Made(value: try leaf(object, value))
        }
    }

    private mutating func leaf(_ object: ArchivedObject, _ value: ArchivedValue) throws(MigrationError) -> Any {
        let found: Any?
        switch object.className {
        case "NSString": found = try value.string()
        case "NSMutableString":
            let text = try value.string()
            try charge(text?.utf8.count ?? 0)
            found = text.map { NSMutableString(string: $0) }
        case "NSNumber": found = try value.number().map { number throws(MigrationError) in try scalar(number) }
        case "NSDecimalNumber", "NSDecimalNumberPlaceholder":
            found = try value.decimal().map { HashableDecimal(decimal: $0) }
        case "NSDate":
            found = try value.date().flatMap { $0.isNaN ? nil : Date(timeIntervalSinceReferenceDate: $0) }
        case "NSData": found = try value.data().map { data($0) }
        case "NSMutableData":
            let bytes = try value.data()
            try charge(bytes?.count ?? 0)
            found = bytes.map { NSMutableData(data: Data($0)) }
        case "NSUUID": found = try value.uuid()
        case "NSURL":
            let text = try value.url()
            try charge(text?.utf8.count ?? 0)
            found = text.flatMap { URL(string: $0) }
        default: throw ObjectArchive.foreign(object.className)
        }
        guard let found else { throw object.damaged("no such value") }
        return found
    }

    /// Returns the members of a collection, and the size and levels of the whole.
    private mutating func objects(
        _ values: [ArchivedValue], _ depth: Int, hashed: Bool = false
    ) throws(MigrationError) -> (members: [Any], whole: Made) {
        var members: [Any] = []
        members.reserveCapacity(values.count)
        var whole = Made(value: null, levels: 1)
        var collections = 0
        var (hasDecimals, hasOtherNumbers) = (false, false)
        for value in values {
            let made = try object(value, depth: depth + 1)
            if hashed, made.value is NSDecimalNumber {
                hasDecimals = true
            } else if hashed, made.value is NSNumber {
                hasOtherNumbers = true
            }
            guard !hashed || made.levels <= ObjectArchive.deepestHashed else { throw ObjectArchive.tooLarge() }
            members.append(made.value)
            whole.size += made.size
            whole.levels = max(whole.levels, made.levels + 1)
            if made.size > 1 { collections += 1 }
            guard whole.size <= ObjectArchive.mostValues else { throw ObjectArchive.tooLarge() }
        }
        // On Linux a decimal 24.5 equals an integer 24, and one that is not a number equals 0, with other hashes: a dictionary
        // of both would end the process.
        guard !hasDecimals || !hasOtherNumbers else {
            throw .archive(
                "archive.type",
                "Decimal numbers and others are members of one set or keys of one dictionary, which Foundation on Linux confuses"
            )
        }
        // Collections hash by their counts only, so each is compared with many others.
        if hashed, collections * whole.size > 16 * ObjectArchive.mostValues { throw ObjectArchive.tooLarge() }
        return (members, whole)
    }

    private mutating func dictionary(
        _ object: ArchivedObject, _ value: ArchivedValue, _ depth: Int
    ) throws(MigrationError) -> Made {
        let entries = try value.entries() ?? []
        let (keys, ofKeys) = try objects(entries.map(\.key), depth, hashed: true)
        let (values, ofValues) = try objects(entries.map(\.value), depth)
        var dictionary: [AnyHashable: Any] = [:]
        for (key, value) in zip(keys, values) {
            guard let key = key as? AnyHashable else {
                throw object.damaged("a dictionary with a key that has no hash")
            }
            dictionary[key] = value
        }
        return Made(
            value: object.isMutable
                ? NSMutableDictionary(dictionary: dictionary) : NSDictionary(dictionary: dictionary),
            size: ofKeys.size + ofValues.size, levels: max(ofKeys.levels, ofValues.levels))
    }
}

extension ArchivedObject {
    fileprivate var isMutable: Bool { className.hasPrefix("NSMutable") }
}

/// Adds objects to an archive.
private struct ObjectWriter {
    typealias Reference = KeyedArchiveBuilder.Reference
    private typealias ClassName = KeyedArchiveBuilder.ClassName

    var builder = KeyedArchiveBuilder()
    private var count = 0

    mutating func add(_ value: Any, depth: Int) throws(MigrationError) -> Reference {
        count += 1
        guard depth <= ObjectArchive.deepest, count <= ObjectArchive.mostValues else { throw ObjectArchive.tooLarge() }
        let kind = type(of: value)
        if kind == String.self, let text = value as? String { return builder.string(text) }
        if kind == [String].self, let texts = value as? [String] { return builder.array(try add(texts: texts, depth)) }
        if kind is AnyClass { return try add(object: value as AnyObject, depth) }
        switch value {
        case let members as [Any]: return builder.array(try add(all: members, depth))
        case let flag as Bool: return builder.boolean(flag)
        case let number as Double: return builder.real(number)
        case let number as Float: return builder.real(Double(number))
        case let number as Decimal: return builder.decimal(number)
        case let date as Date: return builder.date(date.timeIntervalSinceReferenceDate)
        case let data as Data: return builder.data(Array(data))
        case let uuid as UUID: return builder.uuid(uuid)
        case let url as URL: return builder.url(url.absoluteString)
        case let entries as [AnyHashable: Any]: return try dictionary(entries.map { ($0.base, $1) }, false, depth)
        case let members as Set<AnyHashable>: return try set(members.map(\.base), ClassName("NSSet"), depth)
        case let number as any BinaryInteger: return try add(integer: number)
        case let optional as any AnyOptional: return try add(optional.anyWrapped ?? NSNull(), depth: depth)
        case let hashable as AnyHashable where !(hashable.base is AnyHashable):
            return try add(hashable.base, depth: depth + 1)
        default: throw ObjectArchive.foreign("\(kind)")
        }
    }

    private mutating func add(object: AnyObject, _ depth: Int) throws(MigrationError) -> Reference {
        switch object {
        case let array as NSArray:
            return builder.array(try add(all: Array(array), depth), isMutable: array is NSMutableArray)
        case let dictionary as NSDictionary:
            return try self.dictionary(dictionary.map { ($0, $1) }, dictionary is NSMutableDictionary, depth)
        case let set as NSSet:
            let name = set is NSMutableSet ? ClassName("NSMutableSet", "NSSet") : ClassName("NSSet")
            return try self.set(Array(set), name, depth)
        case let set as NSOrderedSet:
            let members = try add(all: Array(set), depth)
            let fields = members.enumerated().map { ("NS.object.\($0)", $1.field) }
            return builder.object(
                set is NSMutableOrderedSet
                    ? ClassName("NSMutableOrderedSet", "NSOrderedSet") : ClassName("NSOrderedSet"),
                Dictionary(uniqueKeysWithValues: fields))
        case let number as NSDecimalNumber: return builder.decimal(number.decimalValue)
        case let number as NSNumber: return try add(number: number)
        case let text as NSMutableString:
            return builder.object(
                ClassName("NSMutableString", "NSString"), ["NS.string": .string(String(describing: text))])
        case let text as NSString: return builder.string(String(describing: text))
        case let data as NSMutableData:
            return builder.object(ClassName("NSMutableData", "NSData"), ["NS.data": .data(Array(data))])
        case let data as NSData: return builder.data(Array(data))
        case let date as NSDate: return builder.date(date.timeIntervalSinceReferenceDate)
        case let uuid as NSUUID: return builder.uuid(uuid as UUID)
        case let url as NSURL: return builder.url((url as URL).absoluteString)
        case is NSNull: return builder.object(ClassName("NSNull"), [:])
        default: throw ObjectArchive.foreign("\(type(of: object))")
        }
    }

    private mutating func add(integer: any BinaryInteger) throws(MigrationError) -> Reference {
        if let number = Int64(exactly: integer) { return builder.integer(number) }
        guard let number = UInt64(exactly: integer) else { throw ObjectArchive.foreign("\(type(of: integer))") }
        return builder.plain(.largeInteger(high: 0, low: number))
    }

    private mutating func add(number: NSNumber) throws(MigrationError) -> Reference {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): return builder.real(number.doubleValue)
        case UInt8(ascii: "B"): return builder.boolean(number.boolValue)
        case UInt8(ascii: "c") where number.int64Value == 0 || number.int64Value == 1:
            return builder.boolean(number.boolValue)
        case UInt8(ascii: "Q"): return try add(integer: number.uint64Value)
        default: return builder.integer(number.int64Value)
        }
    }

    private mutating func add(all members: [Any], _ depth: Int) throws(MigrationError) -> [Reference] {
        try members.map { member throws(MigrationError) in try add(member, depth: depth + 1) }
    }

    /// Adds texts without a cast of each.
    private mutating func add(texts: [String], _ depth: Int) throws(MigrationError) -> [Reference] {
        count += texts.count
        guard depth < ObjectArchive.deepest, count <= ObjectArchive.mostValues else { throw ObjectArchive.tooLarge() }
        return texts.map { builder.string($0) }
    }

    private mutating func set(_ members: [Any], _ name: ClassName, _ depth: Int) throws(MigrationError) -> Reference {
        let sorted = try sorted(members.map { ($0, $0) }, depth).map(\.key)
        return builder.object(name, ["NS.objects": .array(try add(all: sorted, depth).map(\.field))])
    }

    private mutating func dictionary(
        _ entries: [(key: Any, value: Any)], _ isMutable: Bool, _ depth: Int
    ) throws(MigrationError) -> Reference {
        let sorted = try sorted(entries, depth)
        let keys = try add(all: sorted.map(\.key), depth)
        return builder.dictionary(
            Array(zip(keys, try add(all: sorted.map(\.value), depth))), isMutable: isMutable)
    }

    /// Returns entries in an order that depends on their keys only: texts first, by code units, then all others by their own
    /// archives.
    private mutating func sorted(
        _ entries: [(key: Any, value: Any)], _ depth: Int
    ) throws(MigrationError) -> [(key: Any, value: Any)] {
        guard entries.count > 1 else { return entries }
        let marked = try entries.map { entry throws(MigrationError) in
            if let text = entry.key as? String { return (mark: [0] + Array(text.utf8), entry: entry) }
            var writer = ObjectWriter()
            writer.count = count
            let root = try writer.add(entry.key, depth: depth + 1)
            count = writer.count
            return (mark: [1] + (try writer.builder.encode(root: root)), entry: entry)
        }
        return marked.sorted { $0.mark.lexicographicallyPrecedes($1.mark) }.map(\.entry)
    }
}

/// An Optional of any wrapped type.
package protocol AnyOptional {
    var anyWrapped: Any? { get }
}

extension Optional: AnyOptional {
    package var anyWrapped: Any? { map { $0 as Any } }
}
