import ManagedModel
import SwiftSources
import Testing

/// What hashes say about derived entities: confirmed, unchecked, refused, and pairs of relationships that they decide.
@Suite("Hashes as evidence")
struct EvidenceTests {
    private func versions(_ text: String, known: [KnownHashes] = []) throws -> SourceModelVersions {
        try SwiftSourceModels([("Models.swift", "import SwiftData\n" + text)], name: "Models").versions(known: known)
    }

    private func hashes(_ text: String) throws -> [String: [UInt8]] {
        let model = try #require(try versions(text).versions.first).model.get()
        return model.entityVersionHashesByName.mapValues(Array.init)
    }

    private func code(_ version: SourceModelVersion?) -> String? {
        if case .failure(let error)? = version?.model { error.code.rawValue } else { nil }
    }

    private static let pair = """
        @Model final class Owner { var pets: [Pet]? }
        @Model final class Pet { var owner: Owner? }
        """

    @Test("An entity is confirmed by the hash of a store, and unchecked without one")
    func standings() throws {
        let text = "@Model final class A { var a: Int }\n@Model final class B { var b: Int }"
        let known = KnownHashes(origin: "old.store", hashes: ["A": try #require(try hashes(text)["A"])])
        let version = try #require(try versions(text, known: [known]).versions.first)
        #expect(version.standings == ["A": .equal(to: "old.store"), "B": .unchecked])
        #expect(version.unchecked == ["B"])
        // A list may have hashes of several versions, and names of other things.
        let hash = try #require(try hashes(text)["B"])
        let list = KnownHashes(origin: "list", names: ["expect", "A", "B"], hashes: [[1], hash])
        #expect(
            try versions(text, known: [list]).versions.first?.standings == ["A": .unchecked, "B": .equal(to: "list")])
    }

    @Test("A pair without inverse: is refused with its readings, and decided by a hash either way")
    func pairs() throws {
        let open = try #require(try versions(Self.pair).versions.first)
        guard case .failure(let error) = open.model else { return #expect(Bool(false), "an open pair was read") }
        #expect(error.code == "swift.openInverse")
        #expect(error.message.contains("Owner.pets") && error.message.contains("Pet.owner (Models.swift:3)"))
        let paired = try hashes(Self.pair.replacing("var pets", with: "@Relationship(inverse: \\Pet.owner) var pets"))
        let single = try hashes(
            "@Model final class Owner { var pets: [Pet]? }\n@Model final class Pet { var name: String }")
        for (known, inverse) in [(paired, "owner"), (["Owner": try #require(single["Owner"])], nil)] {
            let version = try #require(
                try versions(Self.pair, known: [KnownHashes(origin: "s", hashes: known)]).versions.first)
            let model = try version.model.get()
            #expect(model.entity(named: "Owner")?.relationship(named: "pets")?.definition.inverseName == inverse)
            let back = model.entity(named: "Pet")?.relationship(named: "owner")?.definition.inverseName
            #expect(back == inverse.map { _ in "pets" })
            #expect(version.standings["Owner"] == .equal(to: "s"))
        }
    }

    @Test("A pair that a hash decided is read alike in the next version, which stays unchecked")
    func pairsOfVersions() throws {
        func schema(_ number: Int, _ more: String) -> String {
            """
            enum V\(number): VersionedSchema {
                static let versionIdentifier = Schema.Version(\(number), 0, 0)
                static let models: [any PersistentModel.Type] = [Owner.self]
                @Model final class Owner { var pets: [Pet]?; \(more) }
                @Model final class Pet { var owner: Owner? }
            }

            """
        }
        let first = try hashes(Self.pair.replacing("var pets", with: "@Relationship(inverse: \\Pet.owner) var pets"))
        let both = try versions(
            schema(1, "") + schema(2, "var name: String?"), known: [KnownHashes(origin: "s", hashes: first)])
        let second = try #require(both.version(named: "V2"))
        #expect(second.standings == ["Owner": .unchecked, "Pet": .equal(to: "s")])
        let model = try second.model.get()
        #expect(model.entity(named: "Owner")?.relationship(named: "pets")?.definition.inverseName == "owner")
        #expect(code(try versions(schema(1, "")).versions.first) == "swift.openInverse")
    }

    @Test("What no store shows is refused unless the hash agrees")
    func unproven() throws {
        let text = "@Extra @Model final class A { var a: Int }"
        #expect(code(try versions(text).versions.first) == "swift.unproven")
        let known = KnownHashes(origin: "s", hashes: try hashes("@Model final class A { var a: Int }"))
        #expect(try versions(text, known: [known]).versions.first?.standings == ["A": .equal(to: "s")])
        for value in [
            "struct V: OptionSet, Codable { var rawValue: Int }",
            "struct V: Codable { var a: Int; init(from decoder: Decoder) throws { a = 1 } }",
            "struct V: Codable { @Clamped var a: Int }", "struct V: Codable { let a: Int = 3 }",
            "enum V: Codable { case a(Int) }",
        ] {
            #expect(
                code(try versions("\(value)\n@Model final class A { var v: V }").versions.first) == "swift.unproven")
        }
        // A value says its type only if it is nothing but an initializer's.
        for value in ["UUID().uuidString", "Date().addingTimeInterval(1)", "make()", "Missing.first"] {
            #expect(code(try versions("@Model final class A { var v = \(value) }").versions.first) == "swift.type")
        }
        for type in ["Measurement<UnitLength>", "(Int, Int)", "() -> Void", "Missing.Kind", "AnyObject"] {
            #expect(code(try versions("@Model final class A { var v: \(type) }").versions.first) == "swift.type")
        }
    }

    @Test("A class that inherits from another one is its subentity if the hash agrees, and is refused without it")
    func inheritance() throws {
        let text = "@Model class Animal { var name: String }\n@Model class Dog: Animal { var tricks: Int }"
        #expect(code(try versions(text).versions.first) == "swift.unproven")
        var (name, tricks) = (
            AttributeDefinition(name: "name", type: .string), AttributeDefinition(name: "tricks", type: .integer64)
        )
        (name.isOptional, tricks.isOptional) = (false, false)
        var (animal, dog) = (EntityDefinition(name: "Animal"), EntityDefinition(name: "Dog"))
        (animal.attributes, dog.attributes, dog.superentityName) = ([name], [tricks], "Animal")
        var definition = ModelDefinition()
        definition.entities = [animal, dog]
        let hashes = try ManagedObjectModel(definition).entityVersionHashesByName.mapValues(Array.init)
        let known = KnownHashes(origin: "s", hashes: hashes)
        let version = try #require(try versions(text, known: [known]).versions.first)
        #expect(try version.model.get().entity(named: "Dog")?.definition.superentityName == "Animal")
        #expect(version.unchecked.isEmpty)
        let plain = "class Base { var stored: Int = 0 }\n@Model final class Item: Base { var name: String }"
        #expect(code(try versions(plain).versions.first) == "swift.unproven")
        let cycle = "@Model class A: B { var a: Int }\n@Model class B: A { var b: Int }"
        #expect(code(try versions(cycle).versions.first) != nil)
    }

    @Test("A generic class is refused by name and place, and read if the hash agrees")
    func generic() throws {
        let text = "@Model final class Box<Content> where Content: Codable { var name: String; var content: Content? }"
        guard case .failure(let error)? = try versions(text).versions.first?.model else {
            return #expect(Bool(false), "a generic class was read")
        }
        #expect(error.code == "swift.generic" && error.context.entity == "Box" && error.context.line == 2)
        let plain = "@Model final class Box { var name: String; var content: Data? }"
        let known = KnownHashes(origin: "s", hashes: try hashes(plain))
        let version = try #require(try versions(text, known: [known]).versions.first)
        #expect(version.standings == ["Box": .equal(to: "s")])
        let other = KnownHashes(origin: "s", hashes: try hashes("@Model final class Box { var name: Int }"))
        #expect(code(try versions(text, known: [other]).versions.first) == "swift.generic")
    }

    @Test("A type that no source declares is refused by name and place, and found by the hash if it agrees")
    func unknownTypes() throws {
        let text = "@Model final class A { var a: Int\nvar kind: Kit.Kind?; var all: [Kit.Kind] }"
        guard case .failure(let error)? = try versions(text).versions.first?.model else {
            return #expect(Bool(false), "an unknown type was read")
        }
        #expect(error.code == "swift.type" && error.context.line == 3 && error.context.property == "kind")
        let kinds = ["enum K: String, Codable { case a }", "enum K: Int, Codable { case a }", "typealias K = Date"]
        for kind in kinds {
            let known = try hashes("\(kind)\n@Model class A { var a: Int; var kind: K?; var all: [Data: Int] }")
            let version = try #require(
                try versions(text, known: [KnownHashes(origin: "s", hashes: known)]).versions.first)
            #expect(version.standings == ["A": .equal(to: "s")], "\(kind)")
        }
        let structure = try hashes("struct K: Codable { var x: Int }\n@Model class A { var a: Int; var kind: K? }")
        let known = [KnownHashes(origin: "s", hashes: structure)]
        #expect(code(try versions(text, known: known).versions.first) == "swift.type")
        // What no store can keep is refused without a trial.
        let tuple = try versions("@Model class A { var a: (Int, Int) }", known: known)
        #expect(code(tuple.versions.first) == "swift.type")
    }

    @Test("Two classes of one name are refused with both places, and chosen by the hash if it agrees")
    func twins() throws {
        let files = [
            ("App/Item.swift", "import SwiftData\n@Model class Item { var name: String; var list: List? }"),
            (
                "App/List.swift",
                "import SwiftData\n@Model class List { @Relationship(inverse: \\Item.list) var items: [Item] }"
            ),
            ("Samples/Item.swift", "import SwiftData\n@Model class Item { var title: String }"),
            ("Samples/List.swift", "import SwiftData\n@Model class List { var a: Int }"),
        ]
        func read(_ files: [(String, String)], _ known: [KnownHashes] = []) throws -> SourceModelVersion {
            try #require(try SwiftSourceModels(files, name: "App").versions(known: known).versions.first)
        }
        guard case .failure(let error) = try read(files).model else {
            return #expect(Bool(false), "two classes of one name were read")
        }
        #expect(error.message.contains("App/") && error.message.contains("Samples/"))
        #expect(error.remedy?.contains("Name the files or folders of one target") == true)
        let model = try read(Array(files.prefix(2))).model.get()
        let known = KnownHashes(origin: "s", hashes: model.entityVersionHashesByName.mapValues(Array.init))
        let version = try read(files, [known])
        #expect(version.standings == ["Item": .equal(to: "s"), "List": .equal(to: "s")])
        #expect(version.places["Item"]?.file == "App/Item.swift")
        let other = KnownHashes(origin: "s", hashes: ["Item": [1], "List": [2]])
        #expect(throws: (any Error).self) { try read(files, [other]).model.get() }
    }

    @Test("A rule that is open leaves the entity unchecked, and is named")
    func open() throws {
        let version = try #require(try versions("@Model final class A { var a: URL; let b: Float }").versions.first)
        #expect(version.unchecked == ["A"])
        #expect(
            version.doubts.map(\.sentence) == [
                "Models.swift:2: A.a: no known store has an attribute of the type URL",
                "Models.swift:2: A.b: no known store has a stored let",
                "Models.swift:2: A.b: no known store has an attribute of the type Float",
            ])
    }

    @Test("The version nearest to a store is found, with the entities that differ")
    func nearest() throws {
        let text = "@Model final class A { var a: Int }\n@Model final class B { var b: Int }"
        var store = try hashes(text)
        store["B"] = Array(repeating: 7, count: 32)
        let found = try versions(text).nearest(to: store)
        #expect(found?.version.name == "Models")
        #expect(found?.differing == ["B"])
        #expect(try versions(text).nearest(to: ["C": [1]]) == nil)
        // Of versions with as many equal entities, the one with the fewest others is nearest.
        let schemas = ["V1": "[A.self, V1.B.self]", "V2": "[A.self, V2.B.self, V2.C.self]"].map { name, list in
            """
            enum \(name): VersionedSchema {
                static let models: [any PersistentModel.Type] = \(list)
                @Model final class B { var \(name.lowercased()): Int }
                @Model final class C { var c: Int }
            }
            """
        }
        let both = try versions("@Model final class A { var a: Int }\n" + schemas.sorted().joined(separator: "\n"))
        #expect(both.versions.map(\.name) == ["V1", "V2"])
        #expect(both.nearest(to: store)?.version.name == "V1")
        #expect(both.nearest(to: store)?.differing == ["B"])
    }

    @Test("Stages lead from version to version by the fewest, and none leads back")
    func stages() throws {
        func schema(_ number: Int) -> String {
            "enum V\(number): VersionedSchema { static let models: [any PersistentModel.Type] = [A.self] }\n"
        }
        let text = """
            @Model final class A { var a: Int }
            enum Plan: SchemaMigrationPlan {
                static let schemas: [any VersionedSchema.Type] = [V1.self, V2.self, V3.self]
                static let stages = [a, b, Self.c]
                static let a = MigrationStage.lightweight(fromVersion: V1.self, toVersion: V2.self)
                static let b = MigrationStage.lightweight(fromVersion: V2.self, toVersion: V3.self)
                static let c = MigrationStage.custom(fromVersion: V1.self, toVersion: V3.self, willMigrate: nil) { context in
                    context.items.forEach { $0.title = $0.name }
                }
            }

            """
        let all = try versions(text + schema(1) + schema(2) + schema(3))
        #expect(all.stages(from: "V1", to: "V3")?.map(\.to) == ["V3"])
        #expect(all.stages(from: "V2", to: "V3")?.count == 1)
        #expect(all.stages(from: "V3", to: "V1") == nil)
        let custom = try #require(all.stages.first { $0.isCustom })
        #expect(custom.words.isSuperset(of: ["title", "name"]) && custom.place.line == 8)
    }

    @Test("Two plans, and sources without a class, are refused")
    func refusals() throws {
        let plan = "static let schemas: [any VersionedSchema.Type] = [V.self]; static let stages: [MigrationStage] = []"
        let text = """
            enum V: VersionedSchema { static let models: [any PersistentModel.Type] = [A.self] }
            @Model final class A { var a: Int }
            enum P: SchemaMigrationPlan { \(plan) }
            enum Q: SchemaMigrationPlan { \(plan) }
            """
        #expect(throws: (any Error).self) { try versions(text) }
        #expect(throws: (any Error).self) { try versions("struct A { var a: Int }") }
    }
}
