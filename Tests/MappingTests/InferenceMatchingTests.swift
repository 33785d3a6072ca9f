import ManagedModel
import Mapping
import Testing

@Suite("Inference: what is matched with what")
struct InferenceMatchingTests {
    typealias M = InferenceModels

    /// Infers between two versions of an entity E with the given attributes (`name` or `name:identifier`), and gives the
    /// source of each attribute.
    private func sources(_ old: String, _ new: String) throws -> String {
        func attributes(_ text: String) -> [AttributeDefinition] {
            text.split(separator: " ").map { item in
                let parts = item.split(separator: ":").map(String.init)
                return M.attribute(parts[0], id: parts.count > 1 ? parts[1] : nil)
            }
        }
        let source = try M.model(M.entity("E", attributes(old)))
        let destination = try M.model(M.entity("E", attributes(new)))
        let mapping = try #require(try M.infer(source, destination).entityMappings.first)
        return (mapping.attributeMappings ?? []).map { attribute in
            (attribute.name ?? "?") + "<" + (attribute.valueExpression?.format.dropFirst("$source.".count) ?? "-")
        }.joined(separator: " ")
    }

    @Test(
        "Attributes are matched by renaming identifier, then by name",
        arguments: [
            // Nothing set: by name; the rest is new or gone.
            ("a b", "b c", "b<b c<-"),
            // A renaming.
            ("color", "paint:color", "paint<color"),
            // A chain with the canonical identifier: 2 to 3, and 1 to 3.
            ("paint:color", "coat:color", "coat<paint"),
            ("color", "coat:color", "coat<color"),
            // A chain that names the version before each time (jeffreybergier's model).
            ("b:a", "c:b", "c<b"),
            // Two versions on, such a chain is broken: the identifier names nothing of the first version.
            ("a", "c:b", "c<-"),
            // The identifier is the stronger claim: the old name given to a new attribute.
            ("name", "fullName:name name", "fullName<name name<-"),
            // One version later nothing moves.
            ("fullName:name name", "fullName:name name", "fullName<fullName name<name"),
            // Two names swapped, and left swapped.
            ("a b", "a:b b:a", "a<b b<a"),
            ("a:b b:a", "a:b b:a", "a<a b<b"),
            // An identifier that leads nowhere: the name (Conversation of zmessaging 2.47.0).
            ("a b", "a:nowhere b", "a<a b<b"),
            ("a:nowhere b", "a b", "a<a b<b"),
            // Different identifiers under one name.
            ("a:x", "a:y", "a<a"),
            // An identifier that repeats the name says nothing, as compiled models have it.
            ("a:a b:b", "a b:b", "a<a b<b"),
            ("a:a", "b:a", "b<a"),
            // Renamed back.
            ("paint:color", "color", "color<paint"),
            // Branches: two new attributes claim one old; the first by name has it.
            ("a", "x:a y:a", "x<a y<-"),
            ("y:a", "x:a y:a", "x<- y<y"),
        ])
    func attributes(_ old: String, _ new: String, _ expected: String) throws {
        #expect(try sources(old, new) == expected)
    }

    @Test("An entity renamed keeps its rows, and every source entity is used once")
    func entities() throws {
        let source = try M.model(M.entity("Car", [M.attribute("name")]), M.entity("Gone"))
        let destination = try M.model(
            M.entity("Automobile", id: "Car", [M.attribute("name")]), M.entity("Car", [M.attribute("name")]),
            M.entity("Vehicle", id: "Car"))
        #expect(
            M.lines(try M.infer(source, destination)) == [
                "IEM_Transform_Automobile name=$source.name", "IEM_Add_Car name=-", "IEM_Add_Vehicle",
                "IEM_Remove_Gone",
            ])
    }

    @Test("Entities are matched along a chain of renamings")
    func entityChain() throws {
        let first = try M.model(M.entity("A", [M.attribute("x")]))
        let second = try M.model(M.entity("B", id: "A", [M.attribute("x")]))
        let third = try M.model(M.entity("C", id: "A", [M.attribute("x")]))
        for source in [first, second] {
            #expect(M.lines(try M.infer(source, third)) == ["IEM_Transform_C x=$source.x"])
        }
        #expect(M.lines(try M.infer(third, first)) == ["IEM_Transform_A x=$source.x"])
    }

    @Test(
        "An attribute renamed back to its identifier keeps its values, and is refused where the type cannot hold them",
        arguments: [nil, "mutedStatus"])
    func renamedBack(identifier: String?) throws {
        let source = try M.model(M.entity("E", [M.attribute("isSilenced", .boolean, id: "mutedStatus")]))
        func destination(_ type: AttributeType) throws -> ManagedObjectModel {
            try M.model(M.entity("E", [M.attribute("mutedStatus", type, id: identifier)]))
        }
        #expect(
            M.lines(try M.infer(source, try destination(.integer32))) == [
                "IEM_Transform_E mutedStatus=$source.isSilenced"
            ])
        let error = try #require(M.refusal(source, try destination(.double)))
        #expect(error.code == "inference.attributeType")
        #expect(error.message.contains("isSilenced was renamed to mutedStatus"))
    }

    @Test("Properties moved up, down and out of a hierarchy keep their values")
    func hierarchies() throws {
        let source = try M.model(
            M.entity("Animal", [M.attribute("legs")]),
            M.entity("Cat", parent: "Animal", [M.attribute("name")]),
            M.entity("Dog", parent: "Animal", [M.attribute("name")]))
        let up = try M.model(
            M.entity("Animal", isAbstract: true, [M.attribute("legs"), M.attribute("name")]),
            M.entity("Cat", parent: "Animal"), M.entity("Dog"))
        #expect(
            M.lines(try M.infer(source, up)) == [
                "IEM_Transform_Animal legs=$source.legs name=-",
                "IEM_Transform_Cat legs=$source.legs name=$source.name", "IEM_Transform_Dog",
            ])
        // The way back would put Dog, a hierarchy of its own now, under Animal again.
        #expect(M.refusal(up, source)?.code == "inference.hierarchies")
    }

    @Test("Transient properties are mapped neither from nor to, derived ones if the source has them")
    func transientAndDerived() throws {
        let source = try M.model(
            M.entity(
                "E",
                [
                    M.attribute("a"), M.attribute("wasTransient", transient: true), M.attribute("becomesTransient"),
                    M.attribute("count", .integer64), M.attribute("gone", .undefined, transient: true),
                ], [M.toOne("link", "E")]))
        let destination = try M.model(
            M.entity(
                "E",
                [
                    M.attribute("a"), M.attribute("wasTransient"), M.attribute("becomesTransient", transient: true),
                    M.attribute("count", .integer64, derivation: "items.@count"),
                    M.attribute("other", .integer64, derivation: "items.@count"),
                ], [M.toOne("link", "E", transient: true)]))
        #expect(
            M.lines(try M.infer(source, destination)) == [
                "IEM_Transform_E a=$source.a count=$source.count other=- wasTransient=-"
            ])
    }

    @Test("Every expression is automatic, and one that may replace nil by the default says so")
    func automatic() throws {
        let source = try M.model(
            M.entity("E", [M.attribute("a"), M.attribute("b"), M.attribute("c", required: true)]))
        let destination = try M.model(
            M.entity(
                "E",
                [
                    M.attribute("a", required: true, default: .string("x")), M.attribute("b", required: true),
                    M.attribute("c", required: true, default: .string("x")),
                    M.attribute("d", required: true, default: .string("x")), M.attribute("e", required: true),
                ]))
        let mapping = try #require(try M.infer(source, destination).entityMappings.first)
        let attributes = try #require(mapping.attributeMappings)
        #expect(attributes.count(where: { !$0.isAutomatic }) == 0)
        #expect(attributes.filter(\.replacesNil).compactMap(\.name) == ["a"])
        #expect(attributes.filter { $0.valueExpression == nil }.compactMap(\.name) == ["d", "e"])
    }

    @Test("Mappings come in the order of Z_ENT, removals at the end")
    func order() throws {
        let destination = try M.model(
            M.entity("SyncFeatureEntity"), M.entity("SyncableSettingsMetadata"), M.entity("beta"),
            M.entity("Alpha"), M.entity("Zebra", parent: "Alpha"), M.entity("apple", parent: "Zebra"),
            M.entity("Mule", parent: "Alpha"))
        let source = try M.model(M.entity("zz"), M.entity("Aa"), M.entity("beta"))
        #expect(
            M.lines(try M.infer(source, destination)) == [
                "IEM_Add_Alpha", "IEM_Add_Mule", "IEM_Add_Zebra", "IEM_Add_apple", "IEM_Copy_beta",
                "IEM_Add_SyncableSettingsMetadata", "IEM_Add_SyncFeatureEntity", "IEM_Remove_Aa", "IEM_Remove_zz",
            ])
    }

    @Test("Copy is what has the same hash and keeps every property in its place")
    func copy() throws {
        let source = try M.model(
            M.entity("Same", [M.attribute("a")]), M.entity("Swapped", [M.attribute("a"), M.attribute("b")]),
            M.entity("Changed", [M.attribute("a")]),
            M.entity("Derived", [M.attribute("n", derivation: "uppercase:(s)")]),
            M.entity("Rederived", [M.attribute("n", derivation: "now()")]))
        let destination = try M.model(
            M.entity("Same", [M.attribute("a", default: .string("new"))]),
            M.entity("Swapped", [M.attribute("a", id: "b"), M.attribute("b", id: "a")]),
            M.entity("Changed", [M.attribute("a", required: true)]),
            M.entity("Derived", [M.attribute("n", derivation: "uppercase:(s)")]),
            M.entity("Rederived", [M.attribute("n", derivation: "x.@count")]))
        let model = try M.infer(source, destination)
        #expect(
            model.entityMappings.compactMap(\.name) == [
                "IEM_Transform_Changed", "IEM_Copy_Derived", "IEM_Transform_Rederived", "IEM_Copy_Same",
                "IEM_Transform_Swapped",
            ])
        #expect(model.entityMappingsByName["IEM_Copy_Same"]?.mappingType == .copyEntityMappingType)
        #expect(model.entityMappingsByName["IEM_Copy_Same"]?.sourceEntityVersionHash?.count == 32)
        #expect(model.entityMappingsByName["IEM_Copy_Derived"]?.sourceEntityVersionHash == nil)
        #expect(
            M.expressions(model, "IEM_Transform_Swapped") == ["a": "$source.b", "b": "$source.a"])
    }
}
