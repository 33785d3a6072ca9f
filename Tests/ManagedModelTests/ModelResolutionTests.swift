import Diagnostics
import Testing

@testable import ManagedModel

@Suite("Resolving a model")
struct ModelResolutionTests {
    private func entity(_ name: String, parent: String? = nil) -> EntityDefinition {
        var entity = EntityDefinition(name: name)
        entity.superentityName = parent
        return entity
    }

    private func failure(_ entities: [EntityDefinition]) -> MigrationError? {
        var definition = ModelDefinition()
        definition.entities = entities
        do {
            _ = try ManagedObjectModel(definition)
            return nil
        } catch {
            return error
        }
    }

    @Test("Properties are inherited, sorted by code point, with the entity that declares each")
    func inheritance() throws {
        let model = try ModelLocator.load(ModelFixtures.library + ":Library").model
        let book = try #require(model.entity(named: "Book"))
        #expect(
            book.attributes.map(\.name) == ["acquiredAt", "identifier", "isbn", "pageCount", "price", "title"])
        #expect(book.attribute(named: "title")?.entityName == "Item")
        #expect(book.attribute(named: "isbn")?.entityName == "Book")
        #expect(book.relationships.map(\.name) == ["author", "chapters", "tags"])
        #expect(book.relationship(named: "tags")?.entity.definition.name == "Item")
        #expect(book.root.definition.name == "Item")
        let item = try #require(model.entity(named: "Item"))
        #expect(item.withDescendants.map { $0.definition.name } == ["Item", "Article", "Book"])
        #expect(book.isKindOf(entity: item) && !item.isKindOf(entity: book))
    }

    @Test("A to-one whose greatest count was left out has the greatest count 1")
    func normalizedCount() throws {
        var owner = entity("A")
        owner.relationships = [RelationshipDefinition(name: "r", destinationEntityName: "A")]
        var definition = ModelDefinition()
        definition.entities = [owner]
        let relationship = try #require(
            try ManagedObjectModel(definition).entity(named: "A")?.relationship(named: "r"))
        #expect(!relationship.isToMany && relationship.maxCount == 1)
    }

    @Test("Only a to-many has an order")
    func order() throws {
        let model = try ModelFixtures.model(
            """
            <entity name="A"><relationship name="one" ordered="YES" maxCount="1" destinationEntity="A"/>
            <relationship name="many" ordered="YES" toMany="YES" destinationEntity="A"/></entity>
            """)
        let owner = try #require(model.entity(named: "A"))
        #expect(owner.relationship(named: "one")?.isOrdered == false)
        #expect(owner.relationship(named: "many")?.isOrdered == true)
    }

    @Test("A to-many of at most one object is refused")
    func contradiction() {
        var owner = entity("A")
        var relationship = RelationshipDefinition(name: "r", destinationEntityName: "A")
        relationship.isToMany = true
        relationship.maximumCount = 1
        owner.relationships = [relationship]
        #expect(failure([owner])?.code == "model.relationshipCount")
        // Frameworks also write -1 and the greatest integer for an unbounded to-many.
        for count in [-1, Int.max] {
            relationship.maximumCount = count
            owner.relationships = [relationship]
            #expect(failure([owner]) == nil)
        }
    }

    @Test("Two relationships may claim one inverse, as in ArtsyPartner")
    func sharedInverse() throws {
        let model = try ModelFixtures.model(
            """
            <entity name="Artist"><relationship name="thumbnail" destinationEntity="Image" inverseName="artist"/></entity>
            <entity name="Image"><relationship name="artist" destinationEntity="Artist" inverseName="thumbnail"/>
            <relationship name="thumbnail" destinationEntity="Artist" inverseName="thumbnail"/></entity>
            """)
        let image = try #require(model.entity(named: "Image"))
        #expect(image.relationship(named: "thumbnail")?.inverseRelationship?.name == "thumbnail")
        #expect(image.relationship(named: "artist")?.inverseRelationship?.name == "thumbnail")
    }

    @Test("An inverse may be one that the destination inherits")
    func inheritedInverse() throws {
        let model = try ModelFixtures.model(
            """
            <entity name="P"><relationship name="owner" destinationEntity="O" inverseName="children"/></entity>
            <entity name="C" parentEntity="P"/>
            <entity name="O"><relationship name="children" toMany="YES" destinationEntity="C" inverseName="owner"/></entity>
            """)
        let children = try #require(model.entity(named: "O")?.relationship(named: "children"))
        #expect(children.inverseRelationship?.entity.definition.name == "P")
    }

    @Test("A cycle of parents is refused, also below an entity that is no part of it")
    func cycles() {
        #expect(failure([entity("A", parent: "A")])?.code == "model.inheritanceCycle")
        let lower = failure([entity("A", parent: "B"), entity("B", parent: "C"), entity("C", parent: "B")])
        #expect(lower?.code == "model.inheritanceCycle")
        #expect(lower?.context.entity == "A")
    }

    @Test("Names that SQL would not take are refused, those of other scripts are not")
    func names() {
        for name in ["", "a b", "a;b", "a\"b", "a'b", "a)b", "a-b", "a.b", "a\nb", "a\0b"] {
            #expect(failure([entity(name)])?.code == "model.invalidName", "\(name)")
        }
        #expect(failure([entity("Größe_2"), entity("本")]) == nil)
    }
}
