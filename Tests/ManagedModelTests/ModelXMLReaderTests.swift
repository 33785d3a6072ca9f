import Diagnostics
import Foundation
import Testing

@testable import ManagedModel

@Suite("Reading .xcdatamodel/contents")
struct ModelXMLReaderTests {
    let definition: ModelDefinition
    let sample: EntityDefinition

    init() throws {
        let path = ModelFixtures.everything + "/Everything.xcdatamodel/contents"
        definition = try ModelXMLReader.read(Data(contentsOf: URL(fileURLWithPath: path)), path: path)
        sample = try #require(definition.entities.first { $0.name == "Sample" })
    }

    private func attribute(_ name: String) throws -> AttributeDefinition {
        try #require(sample.attributes.first { $0.name == name })
    }

    @Test("Entities keep their names, classes, parents, modifiers and user info")
    func entities() throws {
        #expect(definition.versionIdentifiers == ["everything"])
        #expect(definition.entities.map(\.name) == ["Sample", "Part", "Wheel"])
        #expect(sample.managedObjectClassName == "Sample")
        #expect(sample.renamingIdentifier == "Probe")
        #expect(sample.versionHashModifier == "first")
        #expect(sample.userInfo == ["owner": "tests"])
        #expect(!sample.isAbstract)
        #expect(definition.entities[1].isAbstract)
        #expect(definition.entities[1].managedObjectClassName == nil)
        #expect(definition.entities[2].superentityName == "Part")
        #expect(definition.entities[2].managedObjectClassName == "Fleet.Wheel")
    }

    @Test("Every attribute type is read")
    func types() throws {
        let types = Dictionary(uniqueKeysWithValues: sample.attributes.map { ($0.name, $0.type) })
        #expect(
            types == [
                "binary": .binaryData, "boolean": .boolean, "booleanByDigit": .boolean, "color": .transformable,
                "date": .date, "decimal": .decimal, "double": .double, "float": .float, "identifier": .uuid,
                "integer16": .integer16, "integer32": .integer32, "integer64": .integer64, "kept": .string,
                "location": .composite, "partCount": .integer64, "scratch": .undefined, "text": .string, "uri": .uri,
            ])
        let objectID = try ModelXMLReader.read(
            ModelFixtures.data(
                #"<entity name="A"><attribute name="a" attributeType="ObjectID" optional="YES"/></entity>"#),
            path: "contents")
        #expect(objectID.entities[0].attributes[0].type == .objectID)
    }

    @Test("Defaults are read by type")
    func defaults() throws {
        let decimal = try #require(Decimal(string: "3.3333333333333333333"))
        let expected: [String: AttributeValue?] = [
            "boolean": .boolean(true), "booleanByDigit": .boolean(false), "date": .date(628_161_600),
            "decimal": .decimal(decimal), "double": .double(0.25), "float": .double(-1.5),
            "integer16": .integer(-5), "integer32": .integer(0), "integer64": .integer(.max),
            "text": .string("A & B"), "uri": .uri("https://example.org/a?b=c&d"),
            // Xcode drops it when it compiles.
            "identifier": nil,
            "binary": nil, "color": nil, "kept": nil, "scratch": nil,
        ]
        for (name, value) in expected { #expect(try attribute(name).defaultValue == value, "\(name)") }
        let texts = try ModelXMLReader.read(
            ModelFixtures.data(
                """
                <entity name="A">
                    <attribute name="empty" attributeType="String" defaultValueString=""/>
                    <attribute name="word" attributeType="Double" defaultValueString="YES"/>
                    <attribute name="point" attributeType="Integer 32" defaultValueString="7.0"/>
                    <attribute name="none" attributeType="Integer 32" defaultValueString=""/>
                </entity>
                """), path: "contents")
        #expect(
            texts.entities[0].attributes.map(\.defaultValue) == [.string(""), .double(1), .integer(7), nil])
    }

    @Test("Bounds, lengths and patterns are read by type")
    func bounds() throws {
        #expect(try attribute("integer16").minimum == .integer(-5))
        #expect(try attribute("integer16").maximum == .integer(32767))
        #expect(try attribute("double").minimum == .double(-1000))
        #expect(try attribute("double").maximum == .double(1000))
        #expect(try attribute("decimal").minimum == Decimal(string: "-0.1").map { .decimal($0) })
        #expect(try attribute("decimal").maximum == Decimal(string: "12345678901234567890.12").map { .decimal($0) })
        #expect(try attribute("date").minimum == .date(0))
        #expect(try attribute("date").maximum == .date(1_000_000_000.5))
        let text = try attribute("text")
        #expect(text.minimumLength == 1)
        #expect(text.maximumLength == 40)
        #expect(text.minimum == nil)
        #expect(text.regularExpression == "[A-Z].*&?")
    }

    @Test("Flags and names of attributes are read, and absent means no")
    func attributeFlags() throws {
        #expect(try attribute("binary").allowsExternalBinaryDataStorage)
        #expect(try !attribute("text").allowsExternalBinaryDataStorage)
        #expect(try attribute("kept").preservesValueInHistoryOnDeletion)
        #expect(try attribute("kept").versionHashModifier == "2")
        #expect(try attribute("kept").renamingIdentifier == "stored")
        #expect(try attribute("text").renamingIdentifier == nil)
        #expect(try attribute("kept").isOptional)
        #expect(try !attribute("text").isOptional)
        #expect(try attribute("scratch").isTransient)
        #expect(try attribute("integer64").isIndexed)
        #expect(try attribute("integer64").usesScalarValueType == true)
        #expect(try attribute("integer32").usesScalarValueType == false)
        #expect(try attribute("text").usesScalarValueType == nil)
        #expect(try attribute("color").valueTransformerName == "ColorTransformer")
        #expect(try attribute("color").valueClassName == "Color")
        #expect(try attribute("partCount").derivationExpression == "parts.@count")
        #expect(try attribute("location").compositeName == "Point")
        #expect(try attribute("date").userInfo == ["zone": "UTC", "empty": ""])
    }

    @Test("Relationships are to-one or to-many by toMany and maxCount")
    func relationships() throws {
        let byName = Dictionary(uniqueKeysWithValues: sample.relationships.map { ($0.name, $0) })
        let parts = try #require(byName["parts"])
        #expect(parts.isToMany && parts.isOrdered && parts.isOptional)
        #expect(parts.minimumCount == 1 && parts.maximumCount == 9)
        #expect(parts.deleteRule == .deny)
        #expect(parts.userInfo == ["note": "bounded"])
        let loose = try #require(byName["loose"])
        #expect(loose.inverseName == nil && loose.deleteRule == .noAction && loose.maximumCount == 0)
        #expect(byName["friends"]?.inverseName == "friends")
        let owner = try #require(definition.entities[1].relationships.first)
        #expect(!owner.isToMany && owner.maximumCount == 1 && !owner.isOptional && owner.deleteRule == .nullify)
        let others = try ModelXMLReader.read(
            ModelFixtures.data(
                """
                <entity name="A">
                    <relationship name="plain" destinationEntity="A" versionHashModifier="m" elementID="old"/>
                    <relationship name="single" toMany="YES" maxCount="1" destinationEntity="A"/>
                    <relationship name="several" toMany="YES" maxCount="3" destinationEntity="A" deletionRule="Cascade"/>
                    <relationship name="passing" transient="YES" indexed="YES" destinationEntity="A"/>
                </entity>
                """), path: "contents"
        ).entities[0].relationships
        #expect(others.map(\.isToMany) == [false, false, true, false])
        #expect(others.map(\.maximumCount) == [1, 1, 3, 1])
        #expect(others[0].versionHashModifier == "m" && others[0].renamingIdentifier == "old")
        #expect(others[2].deleteRule == .cascade)
        #expect(others[3].isTransient && others[3].isIndexed)
    }

    @Test("Fetched properties, requests, indexes and constraints are read")
    func rest() throws {
        let fetched = try #require(sample.fetchedProperties.first)
        #expect(fetched.name == "bigParts" && fetched.isOptional && fetched.userInfo == ["cost": "high"])
        #expect(
            fetched.fetchRequest
                == FetchRequestDefinition(
                    name: "fetchedPropertyFetchRequest", entityName: "Part",
                    predicate: "weight > 10 AND sample == $FETCH_SOURCE"))
        var heavy = FetchRequestDefinition(name: "Heavy", entityName: "Part", predicate: "weight > $LIMIT")
        (heavy.fetchLimit, heavy.resultType) = (10, 1)
        #expect(definition.fetchRequests == [heavy])
        #expect(sample.indexes.map(\.name) == ["byText", "byPlace"])
        #expect(sample.indexes[0].elements.map(\.propertyName) == ["text", "date"])
        #expect(sample.indexes[0].elements.map(\.isAscending) == [true, false])
        #expect(sample.indexes[1].partialIndexPredicate == "integer16 > 0")
        #expect(sample.indexes[1].elements.map(\.isRTree) == [true, false])
        #expect(sample.indexes[1].elements.map(\.expression) == [nil, "lowercase:(text)"])
        #expect(sample.compoundIndexes == [["text", "date"]])
        #expect(sample.uniquenessConstraints == [["text", "date"], ["integer64"]])
    }

    @Test("Configurations and composites are read")
    func configurationsAndComposites() throws {
        #expect(definition.configurations == ["Local": ["Part", "Wheel", "Sample"], "Empty": []])
        #expect(definition.composites.keys.sorted() == ["Point", "Precision"])
        #expect(definition.composites["Point"]?.map(\.name) == ["latitude", "longitude", "precision"])
        #expect(definition.composites["Point"]?.last?.compositeName == "Precision")
        let model = try ManagedObjectModel(definition)
        #expect(model.configurations == ["Empty", "Local"])
        #expect(
            model.entities(forConfigurationName: "Local")?.map { $0.definition.name } == ["Part", "Sample", "Wheel"])
        #expect(model.entities(forConfigurationName: "Empty")?.isEmpty == true)
        #expect(model.entities(forConfigurationName: nil)?.count == 3)
        #expect(model.entities(forConfigurationName: "PF_DEFAULT_CONFIGURATION_NAME")?.count == 3)
        #expect(model.entities(forConfigurationName: "Nowhere") == nil)
    }

    @Test("Elements that newer versions of Xcode add are skipped with all that they contain")
    func unknownElements() throws {
        #expect(!definition.entities.contains { $0.name == "Ignored" })
    }

    @Test("A byte order mark, comments and CDATA do not matter")
    func spelling() throws {
        let text = """
            <?xml version='1.0' encoding='utf-8'?>
            <!-- <!DOCTYPE model> is only a comment -->
            <?editor hint?>
            <model><!-- <entity name="No"/> --><![CDATA[<entity name="Neither"/>]]><entity name="Yes"/></model>
            """
        let model = try ModelXMLReader.readModel(Data([0xEF, 0xBB, 0xBF] + text.utf8), path: "contents")
        #expect(model.entities.map { $0.definition.name } == ["Yes"])
    }
}
