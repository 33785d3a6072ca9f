import Foundation
import ManagedModel
import SwiftSources
import Testing

/// Rules that no known store proves, each with the doubt that names it, and the facts that go into the model all the same.
@Suite("Rules of SwiftData's models")
struct RuleTests {
    private func version(_ members: String, _ more: String = "") throws -> SourceModelVersion {
        let text = "import SwiftData\n\(more)\n@Model final class A {\n\(members)\n}"
        let versions = try SwiftSourceModels([("Models.swift", text)], name: "Models").versions().versions
        return try #require(versions.first)
    }

    private func attributes(_ members: String, _ more: String = "") throws -> [AttributeDefinition] {
        try #require(try version(members, more).model.get().entity(named: "A")).definition.attributes
    }

    private static let doubts = [
        ("var v: URL?", "no known store has an attribute of the type URL"),
        ("var v: Link", "no known store has an attribute of the type URL"),
        ("var v: Float = 1", "no known store has an attribute of the type Float"),
        ("var v: Int8", "no known store has an attribute of the type Int8"),
        ("var v: UInt", "no known store has an attribute of the type UInt"),
        ("var v: CGFloat!", "no known store has an attribute of the type CGFloat"),
        ("var v: Set<String>", "no known store has a Set"),
        ("var v: [[Int]]", "no known store has a collection of collections"),
        ("var v: [Int?]", "no known store has a collection of optional values"),
        ("var v: [String: Int?]", "no known store has a collection of optional values"),
        ("var v: [String: [Int]]", "no known store has a collection of collections"),
        ("let v: Int", "no known store has a stored let"),
        ("var v: Int = 1 { willSet { use() } }", "no known store has a stored property with observers"),
        (
            "@Attribute(.preserveValueOnDeletion) var v: Int",
            "no known store has an attribute with .preserveValueOnDeletion"
        ),
        ("@Attribute(hashModifier: \"2\") var v: Int", "no known store has a property with a hash modifier"),
        ("@Relationship(hashModifier: \"2\") var v: B?", "no known store has a property with a hash modifier"),
        ("@Relationship(minimumModelCount: 1) var v: [B]", "no known store has a relationship with counts"),
        ("var v: Set<B>", "no known store has a relationship of the type Set"),
        ("var v: Int\n#Index<A>(.rtree([\\.v]))", "an index of the kind .rtree([\\.v]) is left out"),
        (
            "var v: Sign",
            "no known store has an enumeration with raw values of that type, as Sign"
        ),
        ("var v: Site?", "no known store has an attribute of the type URL"),
        ("var v: Outer?", "no known store shows the columns of a structure in a structure"),
        ("var v: Plain?", "no known store has an enumeration without raw values in a structure"),
    ]

    @Test("An open rule leaves the entity unchecked and is named", arguments: doubts)
    func open(member: String, doubt: String) throws {
        let more = """
            typealias Link = URL
            enum Sign: Int8, Codable { case plus = 1, minus = -1 }
            struct Site: Codable { var link: URL; var size: Float }
            struct Inner: Codable { var a: Int }
            struct Outer: Codable { var inner: Inner }
            enum Kind: Codable { case a, b }
            struct Plain: Codable { var kind: Kind }
            @Model final class B { var b: Int }
            """
        let version = try version(member, more)
        _ = try version.model.get()
        #expect(version.unchecked.contains("A"))
        #expect(version.doubts.map(\.reason) == [doubt])
    }

    @Test("Flags, counts and modifiers are in the model")
    func facts() throws {
        let found = try attributes(
            """
            @Attribute(.preserveValueOnDeletion, hashModifier: "x") var a, b: Int
            var set: Set<UInt8>?
            @Attribute(.transformable(by: Names.ColorTransformer.self)) var color: NSColor!
            """)
        #expect(found.map(\.name) == ["a", "b", "set", "color"])
        #expect(found.prefix(2).allSatisfy { $0.preservesValueInHistoryOnDeletion && $0.versionHashModifier == "x" })
        #expect(found[2].valueClassName == "Set<UInt8>" && found[2].isOptional)
        #expect(found[3].valueTransformerName == "Names.ColorTransformer" && found[3].isOptional)
        let version = try version(
            "@Relationship(.unique, deleteRule: .deny, minimumModelCount: 1, maximumModelCount: 3) var v: [B]",
            "@Model final class B { var b: Int }")
        let entity = try #require(try version.model.get().entity(named: "A"))
        let link = try #require(entity.relationship(named: "v")).definition
        #expect(link.minimumCount == 1 && link.maximumCount == 3 && link.deleteRule == .deny && !link.isOptional)
        #expect(entity.definition.uniquenessConstraints == [["v"]])
    }

    private static let numbers: [(text: String, value: AttributeValue?)] = [
        ("1e-5", .double(1e-5)), ("-2.5E+3", .double(-2500)), ("1_000.25", .double(1000.25)), ("3e2", .double(300)),
        ("0x10", .double(16)), ("0x1p-2", .double(0.25)), ("+1.5", .double(1.5)), ("-0.1", .double(-0.1)),
        ("47.512345678901234", .double(47.512345678901234)), ("1e200", .double(1e200)), ("007", .double(7)),
        ("1 - 5", nil), ("2.0.rounded()", nil), ("1e", nil), ("2 * 3.5", nil), ("0b12", nil), ("1e400", nil),
        ("limits.0.1", nil), ("- 5", nil), ("1...5.0", nil),
    ]

    @Test("A literal number in any form is the default value, and an expression of numbers is not", arguments: numbers)
    func number(text: String, value: AttributeValue?) throws {
        let version = try version("var v: Double = \(text)\nvar w: Decimal = 0.1")
        let attributes = try #require(try version.model.get().entity(named: "A")).definition.attributes
        #expect(attributes.map(\.defaultValue) == [value, .decimal(Decimal(string: "0.1") ?? 0)])
        #expect((version.expressions["A.v"] == nil) == (value != nil))
    }

    @Test("A literal that its type cannot hold is no default, and is listed as an expression")
    func unfit() throws {
        let version = try version(
            "var a: UInt64 = 18_446_744_073_709_551_615\nvar b: UInt16 = 65_535; var c: Int = 0b11")
        let attributes = try #require(try version.model.get().entity(named: "A")).definition.attributes
        #expect(attributes.map(\.defaultValue) == [nil, nil, .integer(3)])
        #expect(version.expressions == ["A.a": "18_446_744_073_709_551_615", "A.b": "65_535"])
    }

    @Test(
        "The raw value of a case is the default of an enumeration's element, and other initial values are expressions")
    func cases() throws {
        let version = try version(
            """
            var a: Kind = .book; var b: Kind? = Kind.film; var c: Level = A.Level.high; var d: Kind = .preferred
            var e: Kind? = .none; var f: Filter = .none; var g: Plain = .one; var h: Kind = Kind.make()
            enum Level: Int, Codable { case low = 3, high }
            """,
            """
            enum Kind: String, Codable { case book = "b", film; static let preferred = Kind.film }
            enum Filter: String, Codable { case none }
            enum Plain: Codable { case one }
            """)
        let model = try version.model.get()
        let values = try #require(model.entity(named: "A")).definition.attributes.map { attribute in
            attribute.compositeName.flatMap { model.definition.composites[$0]?.first?.defaultValue }
        }
        #expect(
            values == [.string("b"), .string("film"), .integer(4), nil, nil, .string("none"), nil, nil])
        #expect(version.expressions.keys.sorted() == ["A.d", "A.e", "A.g", "A.h"])
    }

    @Test("A text over several lines is a default, also with lines that go on and with the line ends of Windows")
    func texts() throws {
        let text = "var a: String = \"\"\"\n    one \\\n    two\n      three\n    \"\"\""
        for source in [text, text.replacing("\n", with: "\r\n")] {
            #expect(try attributes(source).map(\.defaultValue) == [.string("one two\n  three")])
        }
    }

    @Test("A dictionary is binary data, whatever its values are, and is refused if nothing keeps them")
    func dictionaries() throws {
        let more =
            "struct Box: Codable { var a: Int }\nenum Key: String, Codable { case a }\n@Model class B { var b: Int }"
        let found = try attributes("var a: [Key: Box]?; var b: Dictionary<Int, Date>; var c: [String: Key] = [:]", more)
        #expect(found.allSatisfy { $0.type == .binaryData })
        for type in ["[String: Missing]", "[Missing: Int]", "[String: B]", "[B: String]", "[String: (Int, Int)]"] {
            let version = try version("var a: \(type)", more)
            #expect(throws: (any Error).self, "\(type)") { try version.model.get() }
        }
    }

    @Test("A list in Schema, or of a container, says which classes are meant")
    func lists() throws {
        for list in [
            "Schema([A.self])", "ModelContainer(for: A.self, configurations: c)", "x.modelContainer(for: [A.self])",
        ] {
            let version = try version("var a: Int", "@Model class Other { var b: Int }\nfunc f() { let y = \(list) }")
            // The largest list counts only if it has all classes of the others.
            #expect(try version.model.get().entities.map(\.name) == ["A"])
        }
    }
}
