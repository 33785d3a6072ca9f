import Archives
import Diagnostics
import Foundation
import TestSupport
import Testing

@Suite("Objects in keyed archives")
struct ObjectArchiveTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 12.25)
    private static let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    /// A value as Swift or Foundation has it, the class that its archive names, and what is read.
    struct Value: CustomTestStringConvertible, @unchecked Sendable {
        var given: Any
        var className: String?
        var read: NSObject

        init(_ given: Any, _ className: String?, _ read: NSObject) {
            self.given = given
            self.className = className
            self.read = read
        }

        var testDescription: String { "\(type(of: given)) \(given)" }
    }

    static let values: [Value] = [
        Value("Zoë", nil, "Zoë" as NSString), Value("$null", "NSMutableString", "$null" as NSString),
        Value(NSMutableString(string: "m"), "NSMutableString", NSMutableString(string: "m")),
        Value(true, nil, NSNumber(value: true)), Value(-7, nil, NSNumber(value: -7)),
        Value(UInt64.max, nil, NSNumber(value: UInt64.max)), Value(0.1, nil, NSNumber(value: 0.1)),
        Value(Float(0.5), nil, NSNumber(value: 0.5)), Value(NSNumber(value: 2.5), nil, NSNumber(value: 2.5)),
        Value(NSNumber(value: false), nil, NSNumber(value: false)),
        Value(Decimal(string: "12.75") ?? 0, "NSDecimalNumberPlaceholder", NSDecimalNumber(string: "12.75")),
        Value(date, "NSDate", date as NSDate), Value(date as NSDate, "NSDate", date as NSDate),
        Value(Data([0, 255]), nil, NSData(data: Data([0, 255]))),
        Value(NSMutableData(data: Data([7])), "NSMutableData", NSMutableData(data: Data([7]))),
        Value(uuid, "NSUUID", uuid as NSUUID), Value(NSNull(), "NSNull", NSNull()),
        Value(
            URL(string: "https://example.org/a?b") ?? URL(fileURLWithPath: "/"), "NSURL",
            NSURL(string: "https://example.org/a?b") ?? NSURL(fileURLWithPath: "/")),
        Value(["a", "b"], "NSArray", NSArray(array: ["a", "b"])),
        Value([1, "x", [2.5, NSNull()]] as [Any], "NSArray", NSArray(array: [1, "x", [2.5, NSNull()] as [Any]])),
        Value(NSMutableArray(array: ["a"]), "NSMutableArray", NSMutableArray(array: ["a"])),
        Value(
            ["k": 1, "l": [true]] as [String: Any], "NSDictionary", NSDictionary(dictionary: ["k": 1, "l": [true]])),
        Value([3: "three"], "NSDictionary", NSDictionary(dictionary: [3: "three"])),
        Value(
            NSMutableDictionary(dictionary: ["k": "v"]), "NSMutableDictionary",
            NSMutableDictionary(dictionary: ["k": "v"])),
        Value(Set(["a", "b", "c"]), "NSSet", NSSet(array: ["a", "b", "c"])),
        Value(
            NSSet(array: [HashableDecimal(text: "1.5"), HashableDecimal(decimal: 7)]), "NSSet",
            NSSet(array: [HashableDecimal(decimal: 7), HashableDecimal(text: "1.5")])),
        Value(NSMutableSet(array: [1]), "NSMutableSet", NSMutableSet(array: [1])),
        Value(NSOrderedSet(array: ["z", "a"]), "NSOrderedSet", NSOrderedSet(array: ["z", "a"])),
        Value(NSMutableOrderedSet(array: ["z"]), "NSMutableOrderedSet", NSMutableOrderedSet(array: ["z"])),
        Value([String](), "NSArray", NSArray()), Value(Int?.some(4) as Any, nil, NSNumber(value: 4)),
    ]

    @Test("Each value comes back as what it was, mutable where it was", arguments: values)
    func roundTrip(_ value: Value) throws {
        let bytes = try ObjectArchive.bytes(of: value.given)
        let root = try KeyedArchive(decoding: bytes).topValue()
        #expect(root.object?.className == value.className)
        let read = try #require(try ObjectArchive.object(from: bytes))
        #expect(value.read.isEqual(read), "\(type(of: read)) \(read)")
        if "\(type(of: value.read))".hasPrefix("NSMutable") { #expect(type(of: read) == type(of: value.read)) }
        #expect(try ObjectArchive.bytes(of: read) == bytes)
    }

    @Test("Equal sets and dictionaries give equal bytes, whatever their order in memory")
    func order() throws {
        let names = (0..<40).map { "name \($0)" }
        let one = try ObjectArchive.bytes(of: NSSet(array: names + [1, 2.5, Self.uuid]))
        #expect(try ObjectArchive.bytes(of: NSSet(array: [Self.uuid, 2.5, 1] + names.reversed())) == one)
        let entries = Dictionary(uniqueKeysWithValues: names.map { ($0, $0.count) })
        #expect(try ObjectArchive.bytes(of: entries) == ObjectArchive.bytes(of: NSDictionary(dictionary: entries)))
    }

    @Test("An array of texts has the bytes of the same array of anything, also with texts that repeat or mean nil")
    func texts() throws {
        for texts in [[], ["a"], ["a", "b", "a"], ["$null", "root", "NS.objects", "$class", "ä\u{0}"]] {
            let bytes = try ObjectArchive.bytes(of: texts)
            #expect(try ObjectArchive.bytes(of: texts as [Any]) == bytes)
            #expect(try ObjectArchive.bytes(of: NSArray(array: texts)) == bytes)
            #expect(try ObjectArchive.object(from: bytes) as? [String] == texts)
        }
        // The deepest place of a value is that of an array's last member.
        var deep: Any = ["x"]
        for _ in 0..<126 { deep = NSArray(array: [deep]) }
        #expect(try ObjectArchive.object(from: ObjectArchive.bytes(of: deep)) is NSArray)
        let deeper = NSArray(array: [deep])
        #expect(throws: MigrationError.self) { try ObjectArchive.bytes(of: deeper) }
    }

    /// `["moonpay", "ramp"]` as NSKeyedArchiver writes it.
    private static let appleArchive = """
        YnBsaXN0MDDUAQIDBAUGFxpZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKlBwgP\
        EBFVJG51bGzSCQoLDFYkY2xhc3NaTlMub2JqZWN0c4AEog0OgAKAA1dtb29ucGF5VHJhbXDSEhMUFVgkY2xhc3Nlc1okY2xh\
        c3NuYW1lohUWV05TQXJyYXlYTlNPYmplY3TRGBlUcm9vdIABEgABhqAIERskKTJESlBVXGdpbG5weH2Ci5aZoaqtsrQAAAAA\
        AAABAQAAAAAAAAAbAAAAAAAAAAAAAAAAAAAAuQ==
        """

    @Test("An archive of NSKeyedArchiver is read, and nil's")
    func apple() throws {
        let bytes = try #require(Data(base64Encoded: Self.appleArchive))
        let read = try ObjectArchive.object(from: Array(bytes))
        #expect(read as? [String] == ["moonpay", "ramp"] && (read as? NSArray)?.count == 2)
        var builder = KeyedArchiveBuilder()
        let nothing = try builder.encode(root: .null)
        #expect(try ObjectArchive.object(from: nothing) == nil)
    }

    @Test("No class is made by its name: another one is named in the error, at any depth")
    func classes() throws {
        for depth in 0..<3 {
            var builder = KeyedArchiveBuilder()
            var root = builder.object(.init("UIColor"), ["UIRed": .real(1)])
            for _ in 0..<depth { root = builder.array([root]) }
            let bytes = try builder.encode(root: root)
            let error = #expect(throws: MigrationError.self) { try ObjectArchive.object(from: bytes) }
            #expect(error?.code == ObjectArchive.foreignClass && error?.message.contains("UIColor") == true)
        }
        final class Own: NSObject {}
        let error = #expect(throws: MigrationError.self) { try ObjectArchive.bytes(of: ["k": Own()]) }
        #expect(error?.code == ObjectArchive.foreignClass && error?.message.contains("Own") == true)
    }

    @Test("Objects in themselves, too deep and multiplied by sharing are refused, and take no more than their archive")
    func hostile() throws {
        // An array in itself.
        var builder = KeyedArchiveBuilder()
        let place = builder.reserve()
        builder.fill(place, .init("NSArray"), ["NS.objects": .array([place.field])])
        let cyclic = try builder.encode(root: place)
        #expect(throws: MigrationError.self) { try ObjectArchive.object(from: cyclic) }
        // 40 arrays, each with the one before twice: 2^40 values.
        builder = KeyedArchiveBuilder()
        var shared = builder.string("x")
        for _ in 0..<40 { shared = builder.array([shared, shared]) }
        let multiplied = try builder.encode(root: shared)
        let error = #expect(throws: MigrationError.self) { try ObjectArchive.object(from: multiplied) }
        #expect(error?.code == "archive.limit")
        // The same with few levels is read, and its parts are shared.
        builder = KeyedArchiveBuilder()
        let inner = builder.array([builder.string("x")], isMutable: true)
        let outer = builder.array([inner, inner])
        let few = try #require(try ObjectArchive.object(from: try builder.encode(root: outer)) as? NSArray)
        #expect(few.count == 2)
        // Foundation on Linux ends the process where it hashes such a member.
        builder = KeyedArchiveBuilder()
        let set = try builder.encode(root: builder.set([builder.date(.nan)]))
        #expect(throws: MigrationError.self) { try ObjectArchive.object(from: set) }
        // Too many levels. The hash of sets in sets takes Foundation twice the time with each level.
        var deep: Any = "x"
        for _ in 0..<200 { deep = NSArray(array: [deep, "y"]) }
        #expect(throws: MigrationError.self) { try ObjectArchive.bytes(of: deep) }
        for levels in [8, 9, 100] {
            builder = KeyedArchiveBuilder()
            var member = builder.string("x")
            for _ in 0..<levels { member = builder.set([member, builder.string("y")]) }
            let sets = try builder.encode(root: builder.set([member]))
            let read = Result { try ObjectArchive.object(from: sets) }
            if levels <= 8 {
                #expect(try read.get() is NSSet)
            } else {
                #expect(throws: MigrationError.self) { try read.get() }
            }
        }
    }

    @Test("What an archive has once and refers to often is made once, or refused")
    func copies() throws {
        let large = [UInt8](repeating: 7, count: 100_000)
        // Data without a class are shared, and so are those of NSData.
        var builder = KeyedArchiveBuilder()
        let plain = builder.data(large)
        let wrapped = (0..<5000).map { _ in builder.object(.init("NSData"), ["NS.data": plain.field]) }
        let root = builder.array(Array(repeating: plain, count: 5000) + wrapped)
        let read = try #require(try ObjectArchive.object(from: try builder.encode(root: root)) as? NSArray)
        #expect(read.count == 10_000 && read[9999] as? Data == Data(large))
        // Each mutable object and each URL has bytes of its own.
        let text = String(repeating: "x", count: 60_000)
        for kind in ["NSMutableData", "NSMutableString", "NSURL"] {
            builder = KeyedArchiveBuilder()
            let (data, string) = (builder.data(large), builder.string(text))
            let base = builder.url("https://example.org/" + text)
            let members = (0..<5000).map { number in
                switch kind {
                case "NSMutableData": builder.object(.init(kind, "NSData"), ["NS.data": data.field])
                case "NSMutableString": builder.object(.init(kind, "NSString"), ["NS.string": string.field])
                default:
                    builder.object(
                        .init(kind), ["NS.base": base.field, "NS.relative": builder.string("#\(number)").field])
                }
            }
            let many = try builder.encode(root: builder.array(members))
            let error = #expect(throws: MigrationError.self) { try ObjectArchive.object(from: many) }
            #expect(error?.code == "archive.limit", "\(kind)")
        }
    }

    @Test("Every damaged byte is an error or another value, never a crash")
    func damage() throws {
        let whole = try ObjectArchive.bytes(
            of: [
                "a": [1, "b", Self.date, Self.uuid, Data([1])] as [Any], "s": NSSet(array: ["x", NSNull()]),
                "o": NSOrderedSet(array: [1.5, "y"]), "d": [Decimal(3)],
            ] as [String: Any])
        for position in whole.indices {
            for change in [1, 0x10, 0x80, 0xFF] as [UInt8] {
                var bytes = whole
                bytes[position] ^= change
                do throws(MigrationError) {
                    if let read = try ObjectArchive.object(from: bytes) { _ = try ObjectArchive.bytes(of: read) }
                } catch { #expect(error.category != .internal) }
            }
        }
        for count in 0..<whole.count {
            #expect(throws: MigrationError.self) { try ObjectArchive.object(from: Array(whole.prefix(count))) }
        }
    }

    @Test("Decimal numbers beside others are refused as keys and members of sets: as such they would end the process")
    func confused() throws {
        // On Linux the decimal 24.5 is equal to the integer 24, and what is not a number to 0.
        for (decimal, other) in [(Decimal(24.5), Int64(24)), (.nan, 0), (3, 3)] {
            for form in ["keys", "set", "array"] {
                var builder = KeyedArchiveBuilder()
                let members = [builder.decimal(decimal), builder.integer(other), builder.string("x")]
                let root =
                    switch form {
                    case "keys": builder.dictionary(members.map { (key: $0, value: $0) })
                    case "set": builder.set(members)
                    default: builder.array(members)
                    }
                let bytes = try builder.encode(root: root)
                if form == "array" {
                    #expect((try ObjectArchive.object(from: bytes) as? NSArray)?.count == 3)
                } else {
                    let error = #expect(throws: MigrationError.self) { try ObjectArchive.object(from: bytes) }
                    #expect(error?.code == "archive.type" && error?.message.contains("Decimal") ?? false)
                }
            }
        }
    }
}
