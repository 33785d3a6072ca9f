import Archives
import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Composite attributes of models")
struct CompositeModelTests {
    private static let nested = """
        <entity name="Book">
            <attribute name="author" optional="YES" attributeType="Composite" composite="Person" elementID="writer"/>
            <attribute name="isbn" attributeType="String"/>
        </entity>
        <entity name="Comic" parentEntity="Book"><attribute name="artist" attributeType="Composite" composite="Person"/></entity>
        <composite name="Person">
            <attribute name="name" attributeType="String" elementID="fullName"/>
            <attribute name="home" optional="YES" attributeType="Composite" composite="Place"/>
        </composite>
        <composite name="Place">
            <attribute name="zip" attributeType="Integer 32" defaultValueString="7"/>
            <attribute name="city" optional="YES" attributeType="String"/>
        </composite>
        """

    @Test("An entity has the elements, nested ones too, in declared order in the place of the composite")
    func expanded() throws {
        let model = try ModelFixtures.model(Self.nested)
        let comic = try #require(model.entity(named: "Comic"))
        #expect(
            comic.attributes.map(\.name) == [
                "artist.name", "artist.home.zip", "artist.home.city", "author.name", "author.home.zip",
                "author.home.city", "isbn",
            ])
        #expect(comic.ownAttributes.map(\.name) == ["artist.name", "artist.home.zip", "artist.home.city"])
        #expect(comic.attribute(named: "author.home.zip")?.definition.defaultValue == .integer(7))
        #expect(comic.attribute(named: "author.home.zip")?.elementName == "zip")
        #expect(comic.attribute(named: "author.name")?.renamingIdentifier == "writer.fullName")
        #expect(comic.attribute(named: "author") == nil)
        #expect(comic.composite(named: "author")?.attributes == ["author.name", "author.home.zip", "author.home.city"])
        #expect(comic.composite(named: "author.home")?.elements.map(\.name) == ["zip", "city"])
    }

    @Test("Policies see a model's composite attributes as declared, with their elements")
    func declared() throws {
        let comic = try #require(try ModelFixtures.model(Self.nested).entity(named: "Comic"))
        #expect(comic.attributesByName.keys.sorted() == ["artist", "author", "isbn"])
        let author = try #require(comic.attributesByName["author"])
        #expect(author.attributeType == .composite && author.attributeValueClassName == "NSDictionary")
        #expect(author.elements.map(\.name) == ["name", "home"])
        #expect(author.elements.last?.elements.map(\.name) == ["zip", "city"])
        #expect(comic.attributesByName["isbn"]?.elements.isEmpty == true)
    }

    @Test("An element is required in the nearest composite around it that may be nil")
    func required() throws {
        let comic = try #require(try ModelFixtures.model(Self.nested).entity(named: "Comic"))
        func state(_ name: String) -> [String?] {
            let attribute = comic.attribute(named: name)
            return [attribute?.isOptional.description, attribute?.requiringComposite]
        }
        #expect(state("author.name") == ["true", "author"])
        #expect(state("author.home.zip") == ["true", "author.home"])
        #expect(state("author.home.city") == ["true", nil])
        #expect(state("artist.name") == ["false", nil])
        #expect(state("artist.home.zip") == ["true", "artist.home"])
    }

    @Test("A key path joins the names of an element, behind relationships and before messages too")
    func keyPaths() throws {
        let model = try ModelFixtures.model(
            Self.nested
                + "<entity name=\"Shelf\"><relationship name=\"best\" maxCount=\"1\" destinationEntity=\"Book\"/></entity>"
        )
        let shelf = try #require(model.entity(named: "Shelf"))
        #expect(shelf.joiningElements(in: ["best", "author", "home", "zip"]) == ["best", "author.home.zip"])
        #expect(shelf.joiningElements(in: ["best", "author", "home"]) == ["best", "author.home"])
        #expect(shelf.joiningElements(in: ["best", "author", "name", "length"]) == ["best", "author.name", "length"])
        #expect(shelf.joiningElements(in: ["best", "author", "none"]) == ["best", "author", "none"])
    }

    @Test("A uniqueness constraint over a composite is one over its elements")
    func unique() throws {
        let model = try ModelFixtures.model(
            """
            <entity name="A"><attribute name="kind" attributeType="Composite" composite="K"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="kind"/></uniquenessConstraint></uniquenessConstraints>
            </entity><composite name="K"><attribute name="kind" attributeType="String"/></composite>
            """)
        #expect(model.entities[0].allUniquenessConstraints.map(\.attributes) == [["kind.kind"]])
    }

    private func blame(_ body: String) -> [String?] {
        let error = ModelFixtures.failure(body)
        return [error?.code.rawValue, error?.context.entity, error?.context.property]
    }

    @Test("Bad composites are refused, and the error names them")
    func bad() throws {
        let use = "<entity name=\"A\"><attribute name=\"c\" attributeType=\"Composite\" composite=\"P\"/></entity>"
        func composite(_ elements: String) -> String { use + "<composite name=\"P\">\(elements)</composite>" }
        #expect(
            blame(
                composite(
                    "<attribute name=\"x\" attributeType=\"Double\"/><attribute name=\"x\" attributeType=\"Date\"/>"))
                == ["model.duplicateProperty", "P", "x"])
        #expect(
            blame(composite("<attribute name=\"x\" attributeType=\"Colour\"/>")) == ["model.unknownType", "P", "x"])
        #expect(
            blame(composite("<attribute name=\"x\" attributeType=\"ObjectID\"/>")) == [
                "model.compositeElement", "P", "x",
            ])
        #expect(
            blame(composite("<attribute name=\"a.b\" attributeType=\"Double\"/>")) == ["model.invalidName", "P", "a.b"])
        #expect(
            blame(composite("<attribute name=\"x\" attributeType=\"Composite\" composite=\"P\"/>"))
                == ["model.compositeCycle", "P", "x"])
        let circle = try #require(
            ModelFixtures.failure(
                use + """
                    <composite name="P"><attribute name="q" attributeType="Composite" composite="Q"/></composite>
                    <composite name="Q"><attribute name="p" attributeType="Composite" composite="P"/></composite>
                    """))
        #expect(circle.message.contains("P > Q > P"))
    }

    @Test("Composites that multiply, and chains that are too deep, are refused before they fill memory")
    func explosion() throws {
        var body = "<entity name=\"A\"><attribute name=\"c\" attributeType=\"Composite\" composite=\"P29\"/></entity>"
        for level in 0..<30 {
            let type = level == 0 ? "\"Double\"" : "\"Composite\" composite=\"P\(level - 1)\""
            let elements = "abcd".map { "<attribute name=\"\($0)\" attributeType=\(type)/>" }.joined()
            body += "<composite name=\"P\(level)\">\(elements)</composite>"
        }
        #expect(ModelFixtures.failure(body)?.code == "model.tooManyProperties")
        var deep = "<entity name=\"A\"><attribute name=\"c\" attributeType=\"Composite\" composite=\"P0\"/></entity>"
        for level in 0..<40 {
            let type = level == 39 ? "\"Double\"" : "\"Composite\" composite=\"P\(level + 1)\""
            deep += "<composite name=\"P\(level)\"><attribute name=\"a\" attributeType=\(type)/></composite>"
        }
        let error = ModelFixtures.failure(deep)
        #expect(error?.code == "model.compositeCycle" && error?.message.contains("levels deep") == true)
    }

    @Test("An archive keeps composites in Core Data's own key; equal names of different ones are told apart")
    func archived() throws {
        let model = try ModelFixtures.model(
            """
            <entity name="A"><attribute name="c" optional="YES" attributeType="Composite" composite="P"/></entity>
            <entity name="B"><attribute name="c" attributeType="Composite" composite="Q"/></entity>
            <composite name="P"><attribute name="x" attributeType="Double" defaultValueString="1.5" minValueString="0"/></composite>
            <composite name="Q"><attribute name="q" attributeType="Composite" composite="P"/></composite>
            """)
        let bytes = try ModelArchive.encode(model)
        let read = try ManagedObjectModel(ModelArchive.decode(bytes))
        for (old, new) in zip(model.entities, read.entities) {
            #expect(old.attributes.map(\.name) == new.attributes.map(\.name))
            #expect(old.attributes.map(\.definition.defaultValue) == new.attributes.map(\.definition.defaultValue))
            #expect(old.attributes.map(\.definition.minimum) == new.attributes.map(\.definition.minimum))
            #expect(old.attributes.map(\.requiringComposite) == new.attributes.map(\.requiringComposite))
        }
        #expect(read.definition.composites.keys.sorted() == ["B_c", "c", "q"])
        let root = try KeyedArchive(decoding: bytes, limits: .init(bytes: 1 << 20, expandedValues: 1 << 20, depth: 64))
            .root()
        let entities = try #require(try root.entries("NSEntities"))
        let properties = try entities.compactMap { try $0.value.object?.entries("NSProperties")?.first?.value.object }
        #expect(try properties.map { try $0.elements("NSCompositeElements")?.count } == [1, 1])
        #expect(
            try properties.compactMap { try $0.string("NSAttributeValueClassName") } == [
                "NSDictionary", "NSDictionary",
            ])
    }

    @Test("An archived composite that holds itself, or an element of no type, is refused by name")
    func hostileArchive() throws {
        func refusal(
            _ element: (inout KeyedArchiveBuilder, KeyedArchiveBuilder.Reference) -> KeyedArchiveBuilder.Reference
        )
            throws -> MigrationError?
        {
            var builder = KeyedArchiveBuilder()
            let (root, entity, property) = (builder.reserve(), builder.reserve(), builder.reserve())
            let inner = element(&builder, property)
            let elements = builder.array([inner, inner])
            let kind = KeyedArchiveBuilder.ClassName("NSCompositeAttributeDescription", "NSAttributeDescription")
            builder.fill(
                property, kind,
                [
                    "NSPropertyName": builder.string("c").field, "NSAttributeType": .integer(2100),
                    "NSEntity": entity.field, "NSCompositeElements": elements.field,
                ])
            builder.fill(
                entity, .init("NSEntityDescription"),
                [
                    "NSEntityName": builder.string("E").field,
                    "NSProperties": builder.dictionary([(builder.string("c"), property)]).field,
                ])
            builder.fill(
                root, .init("NSManagedObjectModel"),
                ["NSEntities": builder.dictionary([(builder.string("E"), entity)]).field])
            let bytes = try builder.encode(root: root)
            return failure { () throws(MigrationError) in
                _ = try ManagedObjectModel(try ModelArchive.decode(bytes))
            }
        }
        let endless = try #require(try refusal { _, property in property })
        #expect(endless.context.entity == "E" && endless.message.contains("nested"))
        let untyped = try #require(
            try refusal { builder, _ in
                builder.object(
                    .init("NSAttributeDescription"),
                    ["NSPropertyName": builder.string("x").field, "NSAttributeType": .integer(7777)])
            })
        #expect(untyped.context.entity == "E" && untyped.context.property == "c.x")
        let twice = try #require(
            try refusal { builder, _ in
                builder.object(
                    .init("NSAttributeDescription"),
                    ["NSPropertyName": builder.string("x").field, "NSAttributeType": .integer(500)])
            })
        #expect(twice.code == "model.duplicateProperty" && twice.context.property == "x")
    }

    @Test("Models that are merged keep composites of one name apart")
    func merged() throws {
        let folder = try TemporaryFolder()
        for (name, type) in [("One", "Double"), ("Two", "String")] {
            let path = folder.file("\(name).xcdatamodel")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try ModelFixtures.data(
                """
                <entity name="\(name)"><attribute name="c" attributeType="Composite" composite="C"/></entity>
                <composite name="C"><attribute name="x" attributeType="\(type)"/></composite>
                """
            ).write(to: URL(fileURLWithPath: path + "/contents"))
        }
        let bundle = try #require(Bundle(path: folder.path))
        let model = try #require(ManagedObjectModel.mergedModel(from: [bundle]))
        #expect(model.entity(named: "One")?.attribute(named: "c.x")?.attributeType == .double)
        #expect(model.entity(named: "Two")?.attribute(named: "c.x")?.attributeType == .string)
    }
}
