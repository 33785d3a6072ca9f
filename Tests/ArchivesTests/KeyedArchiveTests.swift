import Archives
import Diagnostics
import Foundation
import TestSupport
import Testing

@Suite("Keyed archives")
struct KeyedArchiveTests {
    /// An archive whose root is an object with the given fields.
    private func root(
        _ build: (inout KeyedArchiveBuilder) -> [String: KeyedArchiveBuilder.Reference]
    ) throws -> ArchivedObject {
        var builder = KeyedArchiveBuilder()
        let fields = build(&builder).mapValues(\.field)
        let root = builder.object(.init("Root", "Parent"), fields)
        return try KeyedArchive(decoding: builder.encode(root: root)).root()
    }

    @Test("Values of Foundation's classes come back")
    func scalars() throws {
        let uuid = UUID()
        let object = try root { builder in
            [
                "text": builder.string("Zoë"), "dollar": builder.string("$null"), "flag": builder.boolean(true),
                "count": builder.integer(-3), "real": builder.real(0.5), "data": builder.data([1, 2]),
                "date": builder.date(12.5), "uuid": builder.uuid(uuid), "url": builder.url("https://example.org/a"),
                "list": builder.array([builder.integer(1), .null]), "set": builder.set([builder.integer(2)]),
                "map": builder.dictionary([(builder.string("k"), builder.integer(9))]), "nothing": .null,
            ]
        }
        #expect(object.className == "Root")
        #expect(object.classNames == ["Root", "Parent", "NSObject"])
        #expect(object.isKind(of: "Parent"))
        #expect(object.keys.count == 13)
        #expect(try object.string("text") == "Zoë")
        #expect(try object.string("dollar") == "$null")
        #expect(try object.flag("flag"))
        #expect(try object.integer("count") == -3)
        #expect(try object.real("real") == 0.5)
        #expect(try object.real("count") == -3)
        #expect(try object.data("data") == [1, 2])
        #expect(try object.value("date").date() == 12.5)
        #expect(try object.value("uuid").uuid() == uuid)
        #expect(try object.value("url").url() == "https://example.org/a")
        let list = try #require(try object.elements("list"))
        #expect(list.count == 2)
        #expect(try list[0].integer() == 1)
        #expect(list[1].isNull)
        #expect(try object.elements("set")?.first?.integer() == 2)
        let entry = try #require(try object.entries("map")?.first)
        #expect(try entry.key.string() == "k")
        #expect(try entry.value.integer() == 9)
        #expect(try object.value("nothing").isNull)
        #expect(try object.string("absent") == nil)
        #expect(try object.flag("absent") == false)
    }

    @Test(
        "Decimals come back exactly",
        arguments: [
            "0", "1", "-1", "3.3333333332999993", "12345678901234567890123456789012345678", "-0.00000001", "1e100",
            "NaN",
        ])
    func decimals(text: String) throws {
        let decimal = text == "NaN" ? Decimal.nan : try #require(Decimal(string: text))
        let object = try root { ["d": $0.decimal(decimal)] }
        let read = try #require(try object.value("d").decimal())
        #expect(text == "NaN" ? read.isNaN : read == decimal)
    }

    @Test("A cycle is read object by object")
    func cycles() throws {
        var builder = KeyedArchiveBuilder()
        let first = builder.reserve()
        let second = builder.object(.init("B"), ["other": first.field])
        builder.fill(first, .init("A"), ["other": second.field, "self": first.field])
        let root = try KeyedArchive(decoding: builder.encode(root: first)).root()
        #expect(root.className == "A")
        let other = try #require(try root.object("other"))
        #expect(other.className == "B")
        #expect(try other.object("other")?.uid == root.uid)
        #expect(try root.object("self")?.uid == root.uid)
    }

    @Test("A walk over a cycle or over shared subtrees ends in an error")
    func treeGuard() throws {
        func walk(_ object: ArchivedObject, _ tree: ArchivedTreeGuard) throws(MigrationError) -> Int {
            try tree.enter(object)
            defer { tree.leave() }
            var count = 1
            for key in object.keys {
                if let child = try object.object(key) { count += try walk(child, tree) }
            }
            return count
        }
        var cyclic = KeyedArchiveBuilder()
        let node = cyclic.reserve()
        cyclic.fill(node, .init("N"), ["next": node.field])
        let cycle = try KeyedArchive(decoding: cyclic.encode(root: node)).root()
        #expect(failure { _ = try walk(cycle, ArchivedTreeGuard()) }?.code == "archive.cycle")
        var shared = KeyedArchiveBuilder()
        var top = shared.object(.init("N"), [:])
        for _ in 0..<40 { top = shared.object(.init("N"), ["a": top.field, "b": top.field]) }
        let bomb = try KeyedArchive(decoding: shared.encode(root: top)).root()
        #expect(failure { _ = try walk(bomb, ArchivedTreeGuard()) }?.code == "archive.limit")
    }

    @Test("Equal strings, numbers and classes are stored once; a true is no one")
    func deduplication() throws {
        var builder = KeyedArchiveBuilder()
        #expect(builder.string("a") == builder.string("a"))
        #expect(builder.integer(1) == builder.integer(1))
        #expect(builder.boolean(true) != builder.integer(1))
        #expect(builder.string("\u{E9}") != builder.string("e\u{301}"))
        let first = builder.object(.init("C"), [:])
        let second = builder.object(.init("C"), [:])
        let root = builder.array([first, second])
        let archive = try KeyedArchive(decoding: builder.encode(root: root))
        // nil, a, 1, true, two accented strings, two objects and one class, the array and its class.
        #expect(archive.objectCount == 11)
    }

    @Test("A place that was never filled is an error")
    func unfilled() {
        var builder = KeyedArchiveBuilder()
        let root = builder.reserve()
        #expect(failure { _ = try builder.encode(root: root) }?.code == "archive.unfilled")
    }

    private func archive(objects: [PropertyListValue], top: PropertyListDictionary) throws -> KeyedArchive {
        try KeyedArchive(
            decoding: BinaryPropertyList.encode(
                .dictionary([
                    "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
                    "$top": .dictionary(top), "$objects": .array([.string("$null")] + objects),
                ])))
    }

    @Test("References and types that lie are errors")
    func lies() throws {
        let noClass = try archive(objects: [.dictionary([:])], top: ["root": .uid(1)])
        #expect(failure { _ = try noClass.root() }?.code == "archive.type")
        let outside = try archive(objects: [], top: ["root": .uid(7), "huge": .uid(.max)])
        #expect(failure { _ = try outside.root() }?.code == "archive.reference")
        #expect(failure { _ = try outside.topValue("huge") }?.code == "archive.reference")
        #expect(failure { _ = try outside.topValue("other") }?.code == "archive.missing")
        let wrongClass = try archive(
            objects: [.dictionary(["$class": .uid(1)])], top: ["root": .uid(1)])
        #expect(failure { _ = try wrongClass.root() }?.code == "archive.type")
        let reference = try archive(objects: [.uid(1)], top: ["root": .uid(1)])
        #expect(failure { _ = try reference.root() }?.code == "archive.type")
        #expect(
            failure {
                _ = try KeyedArchive(decoding: BinaryPropertyList.encode(.dictionary(["a": .integer(1)])))
            }?.code == "archive.notKeyed")
        let typed = try root { ["n": $0.integer(1), "s": $0.string("x")] }
        #expect(failure { _ = try typed.string("n") }?.code == "archive.type")
        #expect(failure { _ = try typed.integer("s") }?.code == "archive.type")
        #expect(failure { _ = try typed.elements("s") }?.code == "archive.type")
        #expect(failure { _ = try typed.entries("n") }?.code == "archive.type")
    }

    @Test("Dictionaries that do not pair up and URLs that are their own base are errors")
    func damagedObjects() throws {
        let classes: [PropertyListValue] = [
            .dictionary(["$classname": .string("NSDictionary")]), .dictionary(["$classname": .string("NSURL")]),
        ]
        let archive = try archive(
            objects: classes + [
                .dictionary(["$class": .uid(1), "NS.keys": .array([.uid(0)]), "NS.objects": .array([])]),
                .dictionary(["$class": .uid(2), "NS.base": .uid(4), "NS.relative": .string("x")]),
            ], top: ["map": .uid(3), "url": .uid(4)])
        #expect(failure { _ = try archive.topValue("map").entries() }?.code == "archive.type")
        #expect(failure { _ = try archive.topValue("url").url() }?.code == "archive.type")
    }

    @Test("A URL is resolved against its base")
    func relativeURL() throws {
        let object = try root { builder in
            let base = builder.url("https://example.org/a/b")
            let relative = builder.string("../c")
            return ["u": builder.object(.init("NSURL"), ["NS.base": base.field, "NS.relative": relative.field])]
        }
        #expect(try object.value("u").url() == "https://example.org/c")
    }

    @Test("Archives that Foundation writes are read")
    func foundationArchive() throws {
        let uuid = UUID()
        // No NSDecimalNumber: archiving one crashes in Foundation on Linux.
        let graph: NSDictionary = [
            "text": "Zoë" as NSString, "uuid": uuid as NSUUID,
            "date": Date(timeIntervalSinceReferenceDate: 5) as NSDate, "data": Data([1, 2, 3]) as NSData,
            "list": [1, 2.5, true] as NSArray, "url": NSURL(string: "https://example.org/x") as Any,
        ]
        let data = try NSKeyedArchiver.archivedData(withRootObject: graph, requiringSecureCoding: false)
        let entries = try #require(try KeyedArchive(decoding: Array(data)).topValue().entries())
        var values: [String: ArchivedValue] = [:]
        for entry in entries { values[try #require(try entry.key.string())] = entry.value }
        #expect(try values["text"]?.string() == "Zoë")
        #expect(try values["uuid"]?.uuid() == uuid as UUID)
        #expect(try values["date"]?.date() == 5)
        #expect(try values["data"]?.data() == [1, 2, 3])
        #expect(try values["list"]?.elements()?.count == 3)
        #expect(try values["url"]?.url() == "https://example.org/x")
    }

    @Test("Every truncation and random single-byte changes of an archive give a value or an error")
    func mutations() throws {
        let seed = RandomSeeds.first
        print("keyed archive mutations, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var builder = KeyedArchiveBuilder()
        let members = [
            builder.string("a"), builder.date(1), builder.uuid(UUID()), builder.url("a:b"),
            builder.decimal(Decimal(1234) / 100), builder.set([]),
            builder.dictionary([(builder.string("k"), builder.data([1]))]),
        ]
        let bytes = try builder.encode(root: builder.array(members))
        func readAll(_ bytes: [UInt8]) throws {
            for value in try KeyedArchive(decoding: bytes).topValue().elements() ?? [] {
                _ = (try? value.string(), try? value.date(), try? value.uuid(), try? value.url(), try? value.decimal())
                _ = (try? value.elements(), try? value.entries(), try? value.data(), try? value.number())
            }
        }
        for end in 0..<bytes.count { #expect(foreignError { try readAll(Array(bytes[..<end])) } == nil) }
        for position in bytes.indices {
            for _ in 0..<6 {
                var changed = bytes
                changed[position] = UInt8(random.below(256))
                #expect(foreignError { try readAll(changed) } == nil)
            }
        }
    }
}
