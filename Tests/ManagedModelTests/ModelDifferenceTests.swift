import Testing

@testable import ManagedModel

@Suite("Differences between a store's model and another")
struct ModelDifferenceTests {
    private let first: ManagedObjectModel
    private let second: ManagedObjectModel

    init() throws {
        first = try ModelLocator.load(ModelFixtures.library + ":Library").model
        second = try ModelLocator.load(ModelFixtures.library + ":Library 2").model
    }

    private func known(_ model: ManagedObjectModel) -> [String: [UInt8]] {
        VersionHash.entityHashes(of: model).compactMapValues(\.bytes)
    }

    @Test("A model that fits differs in nothing")
    func same() {
        #expect(ModelDifference.describe(store: known(first), model: first).isEmpty)
        #expect(ModelDifference.describe(storeModel: first, model: first).isEmpty)
    }

    @Test("Missing, extra and differing entities are named, in order")
    func entities() {
        #expect(
            ModelDifference.describe(store: known(first), model: second) == [
                "the entity Author differs", "the entity Book differs",
                "the store has an entity Chapter, the model has none",
                "the model has an entity Publisher, the store has none",
                "the model has an entity Section, the store has none",
            ])
    }

    @Test("An entity that differs through its parent says so")
    func parents() throws {
        let old = try ModelFixtures.model(
            "<entity name=\"P\"/><entity name=\"C\" parentEntity=\"P\"/>")
        let new = try ModelFixtures.model(
            "<entity name=\"P\" versionHashModifier=\"2\"/><entity name=\"C\" parentEntity=\"P\"/>")
        #expect(
            ModelDifference.describe(store: known(old), model: new)
                == ["the entity C differs, as does its parent P", "the entity P differs"])
        #expect(
            ModelDifference.describe(storeModel: old, model: new)
                == ["P: the hash modifier is none in the store, \"2\" in the model"])
    }

    @Test("A store of a configuration is compared with the configuration's entities")
    func configurations() throws {
        let model = try ModelFixtures.model(
            """
            <entity name="A"/><entity name="B"/>
            <configuration name="Local"><memberEntity name="A"/></configuration>
            """)
        var hashes = known(model)
        #expect(
            ModelDifference.describe(store: hashes, model: model, configuration: "Local")
                == ["the store has an entity B, which is not in the configuration"])
        hashes["B"] = nil
        #expect(ModelDifference.describe(store: hashes, model: model, configuration: "Local").isEmpty)
        #expect(
            ModelDifference.describe(store: hashes, model: model)
                == ["the model has an entity B, the store has none"])
    }

    @Test("An entity whose hash is not known is no difference")
    func unknown() throws {
        let model = try ModelLocator.load(ModelFixtures.everything).model
        var hashes = known(model)
        hashes["Sample"] = [UInt8](repeating: 7, count: 32)
        #expect(ModelDifference.describe(store: hashes, model: model).isEmpty)
        hashes["Sample"] = nil
        #expect(
            ModelDifference.describe(store: hashes, model: model)
                == ["the model has an entity Sample, the store has none"])
    }

    @Test("Differing properties are named with what differs")
    func properties() throws {
        let lines = ModelDifference.describe(storeModel: first, model: second)
        #expect(lines.contains("Author.name is in the store only"))
        #expect(lines.contains("Author.fullName is in the model only"))
        #expect(lines.contains("the store has an entity Chapter, the model has none"))
        #expect(!lines.contains { $0.hasPrefix("Tag") || $0.hasPrefix("Article") })
        let old = try ModelFixtures.model(
            """
            <entity name="A"><attribute name="a" attributeType="String"/>
            <relationship name="r" optional="YES" destinationEntity="A"/></entity><entity name="B"/>
            """)
        let new = try ModelFixtures.model(
            """
            <entity name="A" isAbstract="YES" parentEntity="B"><attribute name="a" optional="YES" attributeType="URI"/>
            <relationship name="r" optional="YES" toMany="YES" ordered="YES" destinationEntity="B"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="a"/></uniquenessConstraint>
            </uniquenessConstraints></entity><entity name="B"/>
            """)
        #expect(
            ModelDifference.describe(storeModel: old, model: new) == [
                "A: the parent is none in the store, B in the model",
                "A: abstract is no in the store, yes in the model",
                "A: the list of uniqueness constraints is empty in the store, a in the model",
                "A.a is of type String in the store, of type URI in the model",
                "A.a is required in the store, optional in the model",
                "A.r is a relationship to A in the store, a relationship to B in the model",
                "A.r is to-one in the store, to-many in the model",
                "A.r is unordered in the store, ordered in the model",
                "A.r is of at most 1 in the store, unbounded in the model",
            ])
    }

    @Test("An attribute that became a relationship shows both")
    func kinds() throws {
        let old = try ModelFixtures.model(
            "<entity name=\"A\"><attribute name=\"x\" attributeType=\"String\"/></entity>")
        let new = try ModelFixtures.model(
            "<entity name=\"A\"><relationship name=\"x\" destinationEntity=\"A\"/></entity>")
        #expect(
            ModelDifference.describe(storeModel: old, model: new)
                == ["A.x is an attribute in the store, a relationship in the model"])
    }
}
