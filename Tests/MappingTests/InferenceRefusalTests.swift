import Diagnostics
import ManagedModel
import Mapping
import Testing

@Suite("Inference: what is refused")
struct InferenceRefusalTests {
    typealias M = InferenceModels

    @Test("A changed attribute type is refused, every pair of types both ways, unless an integer becomes wider")
    func attributeTypes() throws {
        let integers: [AttributeType] = [.boolean, .integer16, .integer32, .integer64]
        for old in AttributeType.allCases where old != .undefined {
            for new in AttributeType.allCases where new != .undefined {
                let composites = ["C": [M.attribute("x")]]
                let source = try M.model(
                    M.entity("E", [M.attribute("a", old, composite: old == .composite ? "C" : nil)]),
                    composites: composites)
                let destination = try M.model(
                    M.entity("E", [M.attribute("a", new, composite: new == .composite ? "C" : nil)]),
                    composites: composites)
                let sizes = [old, new].compactMap(integers.firstIndex)
                guard old != new, sizes.count < 2 || sizes[0] > sizes[1] else {
                    // A composite is copied element by element.
                    let kind = old == new ? "Copy" : "Transform"
                    let line = old == .composite ? "IEM_Copy_E a.x=$source.a.x" : "IEM_\(kind)_E a=$source.a"
                    #expect(M.lines(try M.infer(source, destination)) == [line])
                    continue
                }
                let error = try #require(M.refusal(source, destination))
                #expect(error.code == "inference.attributeType")
                #expect(error.context == .init(entity: "E", property: "a"))
                #expect(
                    error.message == "Cannot infer a mapping model: Source and destination attribute types are "
                        + "incompatible: \(old.label) became \(new.label)")
            }
        }
    }

    @Test("What seems to be renamed is refused with the ways that keep its objects first")
    func renamed() throws {
        func model(_ song: String, _ more: String = "Other") throws -> ManagedObjectModel {
            try M.model(
                M.entity("Genre", [M.attribute("a")], [M.toMany("songs", song)]), M.entity(song, [M.attribute("b")]),
                M.entity(more, [M.attribute("c")]))
        }
        let error = try #require(M.refusal(try model("Song"), try model("Track")))
        #expect(error.code == "inference.relationshipDestination")
        #expect(
            error.remedy
                == "Set the renaming identifier of Track to Song, or map Song to Track beside the other entities in a "
                + "mapping model in JSON (--mapping): { \"sourceEntity\": \"Song\", \"destinationEntity\": \"Track\" }, or give "
                + "--set 'Track=Song'; --unmappable leave goes on without, and leaves all objects of Song behind")
        // Track is no new entity here, so it is not Song under another name.
        let known = try #require(M.refusal(try model("Song", "Track"), try model("Track", "Song2")))
        #expect(known.remedy?.contains("renaming") == false, "\(known)")
    }

    @Test("An element of a composite that changes its type is refused, new and missing ones are not")
    func composites() throws {
        func model(_ latitude: AttributeType, extra: String) throws -> ManagedObjectModel {
            try M.model(
                M.entity("E", [M.attribute("place", .composite, composite: "Place")]),
                composites: [
                    "Place": [M.attribute("point", .composite, composite: "Point"), M.attribute(extra)],
                    "Point": [M.attribute("lat", latitude)],
                ])
        }
        #expect(M.lines(try M.infer(try model(.double, extra: "a"), try model(.double, extra: "b"))).count == 1)
        let error = try #require(M.refusal(try model(.double, extra: "a"), try model(.float, extra: "a")))
        #expect(error.code == "inference.attributeType")
        #expect(error.message.hasSuffix("element point.lat was Double and became Float"))
    }

    @Test("An attribute that became a relationship is refused, and the other way round")
    func kinds() throws {
        let attribute = try M.model(M.entity("E", [M.attribute("a")]))
        let relationship = try M.model(M.entity("E", [], [M.toOne("a", "E")]))
        for (source, destination) in [(attribute, relationship), (relationship, attribute)] {
            let error = try #require(M.refusal(source, destination))
            #expect(error.code == "inference.propertyKind")
            #expect(error.context == .init(entity: "E", property: "a"))
        }
    }

    @Test("A to-many that became a to-one is refused")
    func cardinality() throws {
        let error = try #require(
            M.refusal(
                try M.model(M.entity("E", [], [M.toMany("r", "E")])),
                try M.model(M.entity("E", [], [M.toOne("r", "E")]))))
        #expect(error.code == "inference.cardinality")
        #expect(error.context == .init(entity: "E", property: "r"))
    }

    /// The forms of a relationship, and the room that they have: for many members of an owner, and for many owners of a member.
    /// A to-many without inverse is a column of its member.
    private static let forms: [(isToMany: Bool, inverseIsToMany: Bool?, room: (members: Bool, owners: Bool))] = [
        (false, nil, (false, true)), (true, nil, (true, false)), (false, false, (false, false)),
        (false, true, (false, true)), (true, false, (true, false)), (true, true, (true, true)),
    ]

    @Test("A relationship with less room for links is refused, every form to every other", arguments: [false, true])
    func room(isRenamed: Bool) throws {
        func model(_ form: Int, _ name: String, _ inverse: String) throws -> ManagedObjectModel {
            let (isToMany, inverseIsToMany, _) = Self.forms[form]
            let (id, inverseID): (String?, String?) = isRenamed && name != "r" ? ("r", "i") : (nil, nil)
            let (make, makeInverse) = (isToMany ? M.many : M.one, inverseIsToMany == true ? M.many : M.one)
            return try M.model(
                M.entity("A", [], [make(name, "B", id, inverseIsToMany.map { _ in inverse })]),
                M.entity("B", [], inverseIsToMany.map { _ in [makeInverse(inverse, "A", inverseID, name)] } ?? []))
        }
        for old in Self.forms.indices {
            for new in Self.forms.indices {
                let (room, left) = (Self.forms[old].room, Self.forms[new].room)
                let isLess = (room.members && !left.members) || (room.owners && !left.owners)
                let (source, destination) = (
                    try model(old, "r", "i"), try model(new, isRenamed ? "n" : "r", isRenamed ? "j" : "i")
                )
                let problems = MappingModel.inference(from: source, to: destination, unmappable: .refuse).problems
                #expect(problems.error?.code == (isLess ? "inference.cardinality" : nil), "\(old) \(new)")
                #expect(problems.loseLinks == isLess, "\(old) \(new)")
                // What is left has no value, or the links that fit.
                let model = try MappingModel.inferred(from: source, to: destination, unmappable: .leave)
                let mapping = model.entityMappings[0].relationshipMappings?.first
                let isLeft = Self.forms[old].isToMany && !Self.forms[new].isToMany
                #expect((mapping?.valueExpression == nil) == isLeft, "\(old) \(new)")
                #expect(
                    try MappingModel.reading(
                        json: Array(try model.json().utf8), path: "m.json", source: source, destination: destination
                    ).differences(from: model) == [], "\(old) \(new)")
            }
        }
    }

    @Test("A relationship whose objects can be in it for one owner only is refused with two ways out")
    func owners() throws {
        let old = try M.model(M.entity("Lamp", [], [M.toOne("room", "Room")]), M.entity("Room"))
        let new = try M.model(
            M.entity("Lamp", [], [M.toOne("room", "Room", inverse: "lamp")]),
            M.entity("Room", [], [M.toOne("lamp", "Lamp", inverse: "room")]))
        let error = try #require(M.refusal(old, new))
        #expect(error.context == .init(entity: "Lamp", property: "room"))
        #expect(error.message.hasSuffix("and can be for one, because the inverse Room.lamp is a to-one"))
        let line =
            #""room": "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', "#
            + #"'room', $source.room)""#
        #expect(error.remedy?.contains("--unmappable leave") == true && error.remedy?.contains(line) == true)
        // A file of mappings is held to the same rule where it does not list the relationship.
        func read(_ line: String) throws -> MappingModel {
            let entities = ["Lamp", "Room"].map {
                #"{"name": "IEM_Transform_\#($0)", "sourceEntity": "\#($0)", "destinationEntity": "\#($0)""#
                    + ($0 == "Lamp" && !line.isEmpty ? #", "relationships": {\#(line)}}"# : "}")
            }
            let text = #"{"formatVersion": 2, "entityMappings": [\#(entities.joined(separator: ", "))]}"#
            return try MappingModel.reading(json: Array(text.utf8), path: "m.json", source: old, destination: new)
        }
        let refusal = #expect(throws: MigrationError.self) { try read("") }
        #expect(refusal?.code == "mapping.unlistedProperty" && refusal?.remedy?.contains(line) == true)
        #expect(try read(line).entityMappings[0].relationshipMapping(named: "room")?.valueExpression != nil)
        #expect(try read(#""room": null"#).entityMappings[0].relationshipMapping(named: "room")?.valueExpression == nil)
    }

    @Test("Two hierarchies put into one are refused, whichever way")
    func hierarchies() throws {
        let apart = try M.model(M.entity("A"), M.entity("B"))
        for together in [
            try M.model(M.entity("A"), M.entity("B", parent: "A")),
            try M.model(M.entity("P", isAbstract: true), M.entity("A", parent: "P"), M.entity("B", parent: "P")),
            try M.model(M.entity("A"), M.entity("C", id: "B", parent: "A")),
        ] {
            let error = try #require(M.refusal(apart, together))
            #expect(error.code == "inference.hierarchies")
            #expect(error.message.contains("A comes from hierarchy A, B from B"))
            // Taking them apart again is allowed.
            #expect(try M.infer(together, apart).entityMappings.isEmpty == false)
        }
        // A new entity in an old hierarchy, and a new parent above one, are no merge.
        let grown = try M.model(
            M.entity("P"), M.entity("A", parent: "P"), M.entity("B"), M.entity("N", parent: "A"))
        #expect(
            M.lines(try M.infer(apart, grown)) == ["IEM_Copy_B", "IEM_Add_P", "IEM_Transform_A", "IEM_Add_N"])
    }

    @Test("All problems are told at once, one that subentities inherit once")
    func allProblems() throws {
        let source = try M.model(
            M.entity("A", [M.attribute("x", .integer32), M.attribute("y")], [M.toMany("r", "A")]),
            M.entity("B", parent: "A", [M.attribute("z", .date)]))
        let destination = try M.model(
            M.entity("A", [M.attribute("x", .integer16)], [M.toOne("r", "A"), M.toOne("y", "A")]),
            M.entity("B", parent: "A", [M.attribute("z", .double)]))
        let error = try #require(M.refusal(source, destination))
        #expect(error.code == "inference.attributeType")
        #expect(error.context == .init(entity: "A", property: "x"))
        #expect(error.message.contains("Integer 32 became Integer 16; and 3 more: A.r: "))
        #expect(error.message.contains("; A.y: "))
        #expect(
            error.message.hasSuffix("B.z: Source and destination attribute types are incompatible: Date became Double"))
        #expect(error.remedy != nil)
    }

    @Test("A new required attribute without default is no error of inference")
    func requiredWithoutDefault() throws {
        let source = try M.model(M.entity("E", [M.attribute("b")]))
        let destination = try M.model(
            M.entity("E", [M.attribute("a", required: true), M.attribute("b", required: true)]))
        #expect(M.lines(try M.infer(source, destination)) == ["IEM_Transform_E a=- b=$source.b"])
    }

    @Test("A deep hierarchy keeps its order")
    func depth() throws {
        let entities = (0..<200).map { M.entity("E\($0)", parent: $0 == 0 ? nil : "E\($0 - 1)") }
        var definition = ModelDefinition()
        definition.entities = entities
        let model = try ManagedObjectModel(definition)
        #expect(model.entitiesInStoreOrder.map(\.definition.name) == entities.map(\.name))
        #expect(try M.infer(model, model).entityMappings.count == 200)
    }
}
