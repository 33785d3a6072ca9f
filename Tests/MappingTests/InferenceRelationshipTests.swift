import ManagedModel
import Mapping
import Testing

@Suite("Inference: relationships")
struct InferenceRelationshipTests {
    typealias M = InferenceModels

    private func byMapping(_ mapping: String, _ name: String) -> String {
        "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', '\(mapping)', $source.\(name))"
    }
    private func byRelationship(_ name: String) -> String {
        "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', '\(name)', $source.\(name))"
    }

    @Test("One mapping into the destination is named, several are left to the relationship's name")
    func forms() throws {
        let source = try M.model(
            M.entity("Person", [], [M.toMany("cars", "Car"), M.toOne("mother", "Person")]),
            M.entity("Car", [M.attribute("x")], [M.toOne("owner", "Person")]), M.entity("Van", parent: "Car"))
        let destination = try M.model(
            M.entity(
                "Person", [M.attribute("new")], [M.toMany("cars", "Car"), M.toOne("parent", "Person", id: "mother")]),
            M.entity("Car", [M.attribute("x")], [M.toOne("owner", "Person"), M.toOne("maker", "Car")]),
            M.entity("Van", parent: "Car"))
        let model = try M.infer(source, destination)
        #expect(
            M.expressions(model, "IEM_Transform_Person") == [
                "new": "-", "cars": byRelationship("cars"), "parent": byMapping("IEM_Transform_Person", "mother"),
            ])
        #expect(
            M.expressions(model, "IEM_Transform_Van") == [
                "x": "$source.x", "owner": byMapping("IEM_Transform_Person", "owner"), "maker": "-",
            ])
    }

    @Test("A new subentity makes its parent a destination of several mappings")
    func newSubentity() throws {
        let source = try M.model(M.entity("A", [], [M.toOne("b", "B")]), M.entity("B"))
        let destination = try M.model(
            M.entity("A", [], [M.toOne("b", "B")]), M.entity("B"), M.entity("C", parent: "B"))
        #expect(M.expressions(try M.infer(source, destination), "IEM_Copy_A") == ["b": byRelationship("b")])
    }

    @Test("To-one becomes to-many, order comes and goes")
    func allowedChanges() throws {
        let source = try M.model(
            M.entity(
                "A", [],
                [
                    M.toOne("one", "A", inverse: "ones"), M.toMany("ones", "A", inverse: "one"), M.toMany("plain", "A"),
                    M.toMany("sorted", "A", ordered: true),
                ]))
        let destination = try M.model(
            M.entity(
                "A", [],
                [
                    M.toMany("one", "A", inverse: "ones"), M.toMany("ones", "A", inverse: "one"),
                    M.toMany("plain", "A", ordered: true), M.toMany("sorted", "A"),
                ]))
        #expect(
            M.expressions(try M.infer(source, destination), "IEM_Transform_A") == [
                "one": byMapping("IEM_Transform_A", "one"), "ones": byMapping("IEM_Transform_A", "ones"),
                "plain": byMapping("IEM_Transform_A", "plain"),
                "sorted": byMapping("IEM_Transform_A", "sorted"),
            ])
    }

    @Test("A destination may move to an ancestor or a descendant of the counterpart")
    func kin() throws {
        func model(_ destination: String) throws -> ManagedObjectModel {
            try M.model(
                M.entity("A", [], [M.toOne("r", destination)]), M.entity("Top"), M.entity("Mid", parent: "Top"),
                M.entity("Low", parent: "Mid"), M.entity("Other", parent: "Top"))
        }
        for (old, new, only) in [
            ("Mid", "Top", nil), ("Mid", "Low", "IEM_Copy_Low"), ("Top", "Other", "IEM_Copy_Other"),
            ("Low", "Top", nil),
        ] {
            let expected = only.map { byMapping($0, "r") } ?? byRelationship("r")
            #expect(M.expressions(try M.infer(try model(old), try model(new)), "IEM_Transform_A") == ["r": expected])
        }
        let refusal = try #require(M.refusal(try model("Low"), try model("Other")))
        #expect(refusal.code == "inference.relationshipDestination")
        #expect(refusal.context.entity == "A")
        #expect(refusal.context.property == "r")
        #expect(refusal.message.contains("Low, and Other is neither its ancestor nor its descendant"))
    }

    @Test("A renamed destination is followed")
    func renamedDestination() throws {
        let source = try M.model(M.entity("A", [], [M.toOne("r", "B")]), M.entity("B"))
        let destination = try M.model(M.entity("A", [], [M.toOne("r", "C")]), M.entity("C", id: "B"))
        #expect(
            M.expressions(try M.infer(source, destination), "IEM_Transform_A") == [
                "r": byMapping("IEM_Transform_C", "r")
            ])
    }

    @Test("A dissolved parent is spoken for by its subentities; one that is gone with all of them is refused")
    func dissolvedParent() throws {
        let source = try M.model(
            M.entity("A", [], [M.toOne("r", "Base")]), M.entity("Base", isAbstract: true), M.entity("B", parent: "Base")
        )
        let kept = try M.model(M.entity("A", [], [M.toOne("r", "B")]), M.entity("B"))
        #expect(M.expressions(try M.infer(source, kept), "IEM_Transform_A") == ["r": byMapping("IEM_Transform_B", "r")])

        let gone = try M.model(M.entity("A", [], [M.toOne("r", "N")]), M.entity("N"))
        let refusal = try #require(M.refusal(source, gone))
        #expect(refusal.code == "inference.relationshipDestination")
        #expect(refusal.message.contains("Base has no counterpart"))
    }
}
