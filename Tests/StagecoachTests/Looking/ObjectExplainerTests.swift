import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

@Suite("Explanations of one object")
struct ObjectExplainerTests {
    private let folder: TemporaryFolder
    private let old: ManagedObjectModel
    private let new: ManagedObjectModel
    private var path: String { folder.file("old.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
        let book = [attribute("title", .string), attribute("pages", .integer32), attribute("price", .double)]
        let links = [toOne("author", "Author", inverse: "books"), toMany("tags", "Tag", inverse: "books")]
        func author(_ more: AttributeDefinition...) -> EntityDefinition {
            entity("Author", [attribute("name", .string)] + more, [toMany("books", "Book", inverse: "author")])
        }
        let tag = entity("Tag", [attribute("word", .string)], [toMany("books", "Book", inverse: "tags")])
        old = try model(
            author(attribute("age", .integer32)), entity("Book", book, links),
            entity("Novel", parent: "Book", [attribute("genre", .string)]), tag, entity("Note"))
        new = try model(
            author(),
            entity(
                "Book",
                [
                    attribute("title", .string, required: true) { $0.maximumLength = 8 },
                    attribute("length", .integer16), attribute("kind", .string, default: .string("plain")),
                ], links, unique: [["title"]]), tag)
        try ReferenceStore.make(old) { store in
            store.insert("Author", 1, ["name": .text("Ada"), "age": .integer(40)])
            store.insert("Author", 2, ["name": .text("Bob"), "age": .integer(10)])
            store.insert(
                "Book", 1, ["title": .text("one"), "pages": .integer(300), "price": .real(2)], toOne: ["author": 1])
            store.insert("Book", 2, ["title": .text("far too long"), "pages": .integer(90_000)], toOne: ["author": 2])
            store.insert("Book", 3, ["pages": .integer(5)], toOne: ["author": 9])
            store.insert("Book", 4, ["title": .text("four")])
            store.insert("Novel", 5, ["title": .text("five"), "pages": .integer(50)])
            store.insert("Tag", 1, ["word": .text("a")])
            store.insert("Tag", 2, ["word": .text("b")])
            store.insert("Note", 1)
            store.setMembers("Book", 1, "tags", [1, 2])
        }.write(path: path)
    }

    private func library() throws -> MappingModel {
        let authors = try mapping(
            "Authors", "Author", "Author", ["name": "$source.name"],
            relationships: ["books": by("Books", "$source.books")])
        authors.sourceFilter = try SourcePredicate(format: "age > 20")
        let books = try mapping(
            "Books", "Book", "Book",
            ["title": "$source.title", "length": "TERNARY($source.pages > 100, $source.pages / 2, -1)", "kind": nil],
            relationships: ["author": by("Authors", "$source.author"), "tags": by("Tags", "$source.tags")])
        books.sourceFilter = try SourcePredicate(format: "pages > 10 AND NOT author.name == 'x'")
        let tags = try mapping(
            "Tags", "Tag", "Tag", ["word": "$source.word"], relationships: ["books": by("Books", "$source.books")])
        let notes = try mapping("Notes", "Note", nil)
        notes.mappingType = .removeEntityMappingType
        return mappings(authors, books, tags, notes)
    }

    private func explain(
        _ id: String, _ mapping: MappingModel? = nil, _ change: (inout MigrationOptions) -> Void = { _ in }
    ) throws -> ObjectExplanation {
        var options = MigrationOptions()
        change(&options)
        let step = MigrationStep(
            from: ModelVersion(name: "old", model: old), to: ModelVersion(name: "new", model: new),
            mappingModels: [try mapping ?? library()])
        let chain = ChainedMigration(from: path, steps: [step], to: folder.file("new.sqlite"), options: options)
        // A policy that no library registers has no plan, and is explained all the same.
        return try ObjectExplainer(chain).explain(id, plan: try? chain.plan())
    }

    private func property(_ name: String, _ explanation: ObjectExplanation) throws -> ObjectExplanation.Property {
        let mapping = try #require(explanation.mappings.first)
        return try #require((mapping.attributes + mapping.relationships).first { $0.name == name })
    }

    @Test("A migrated object has its filter's answer, its values with their parts, and its key")
    func migrated() throws {
        let explanation = try explain("Book/p1")
        let mapping = try #require(explanation.mappings.first)
        #expect(mapping.outcomeByItself == .migrated && mapping.destination == "Book/p1" && mapping.broken.isEmpty)
        // Another book may have the same title.
        #expect(explanation.outcome == .undecided && mapping.outcome == .undecided)
        #expect(try explain("Tag/p1").outcome == .migrated)
        let filter = try #require(mapping.filter)
        #expect(filter.answer == true)
        #expect(
            filter.parts.map { "\($0.depth) \($0.expression)" } == [
                "0 pages > 10", "1 pages", "0 NOT (author.name == 'x')", "1 author.name == 'x'", "2 author.name",
                "3 author",
            ])
        #expect(filter.parts[1].value == .integer(300) && filter.parts[5].value == .object("Author/p1"))
        let length = try property("length", explanation)
        #expect(length.value == .integer(150))
        #expect(
            length.parts.map(\.expression) == [
                "$source.pages > 100", "$source.pages", "$source.pages / 2", "$source.pages",
            ])
        #expect(try property("kind", explanation).value == .text("plain"))
        #expect(try property("title", explanation).value == .text("one"))
        #expect(mapping.stages == ["title must be unique: compared with all objects of Book"])
    }

    @Test("Lookups say what they find, and what else decides")
    func lookups() throws {
        let first = try explain("Book/p1")
        let author = try property("author", first)
        #expect(author.value == .object("Author/p1") && author.notes.isEmpty)
        #expect(author.lookups.map(\.destination) == ["Author/p1"] && author.lookups[0].mapping == "Authors")
        let tags = try property("tags", first)
        #expect(tags.value == .objects(["Tag/p1", "Tag/p2"], count: 2))
        #expect(tags.notes == ["Tag.books adds links to these, by a pass over all objects of Tag"])
        let books = try property("books", explain("Author/p1"))
        #expect(books.notes.first?.hasPrefix("Book.author decides these links") == true)
        let second = try property("author", explain("Book/p2"))
        #expect(second.value == .null)
        #expect(second.lookups.map(\.problem) == ["its source filter leaves the object out"])
    }

    @Test("An unknown filter leaves the object out, and a false one")
    func filtered() throws {
        let unknown = try explain("Book/p4")
        #expect(unknown.outcome == .filtered && unknown.mappings[0].filter?.answer == nil)
        #expect(unknown.mappings[0].filter?.parts.first?.value == .other("unknown"))
        #expect(unknown.mappings[0].attributes.isEmpty)
        let wrong = try explain("Book/p3")
        #expect(wrong.outcome == .filtered && wrong.mappings[0].filter?.answer == false)
        #expect(wrong.notes.contains { $0.contains("no row of Author/p9") })
    }

    @Test("Broken rules end the migration or reject the object")
    func rules() throws {
        let invalid = try explain("Book/p2")
        #expect(invalid.outcome == .invalid)
        #expect(invalid.mappings[0].broken.map(\.rule) == [.value, .maximumLength])
        #expect(try property("length", invalid).problem?.contains("45000") == true)
        #expect(try explain("Book/p2") { $0.onInvalid = .reject }.outcome == .rejected)
    }

    @Test("Values that no mapping reads are named")
    func leftBehind() throws {
        let unread = try explain("Book/p1").unread
        #expect(unread.map(\.property) == ["price"] && unread[0].value == .real(2) && unread[0].reason == .unread)
        #expect(!unread[0].isMeant)
        // Nothing is left behind where there is no value.
        #expect(try explain("Book/p2").unread.isEmpty)
        let filtered = try explain("Author/p2").unread
        #expect(filtered.map(\.property) == ["age"] && filtered[0].reason == .filterOnly)
        let meant = try explain("Book/p1") { $0.allowedLosses = ["Book.price"] }.unread
        #expect(meant.map(\.isMeant) == [true])
    }

    @Test("A reference to an object that is rejected finds nothing, and says why")
    func rejectedReferences() throws {
        func version(_ change: (inout AttributeDefinition) -> Void) throws -> ManagedObjectModel {
            try model(
                entity(
                    "Product", [attribute("sku", .string, change), attribute("code", .string)],
                    [toMany("lines", "Line", inverse: "product")], unique: [["code"]]),
                entity("Line", [], [toOne("product", "Product", inverse: "lines")]))
        }
        let (old, new) = (try version { _ in }, try version { $0.minimumLength = 3 })
        let path = folder.file("products.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("Product", 1, ["sku": .text("abc")])
            store.insert("Product", 2, ["sku": .text("ab")])
            store.insert("Line", 1, toOne: ["product": 2])
            store.insert("Line", 2, toOne: ["product": 1])
        }.write(path: path)
        var options = MigrationOptions()
        options.onInvalid = .reject
        let step = MigrationStep(
            from: ModelVersion(name: "old", model: old), to: ModelVersion(name: "new", model: new),
            mappingModels: [try .inferred(from: old, to: new)])
        let explainer = ObjectExplainer(
            ChainedMigration(from: path, steps: [step], to: folder.file("lines.sqlite"), options: options))
        let first = try property("product", explainer.explain("Line/p1"))
        #expect(first.value == .null && first.lookups.map(\.destination) == [nil])
        #expect(first.lookups[0].problem == "it is rejected (sku: too short)", "\(first.lookups)")
        let second = try property("product", explainer.explain("Line/p2"))
        #expect(second.value == .object("Product/p1"))
        #expect(
            second.notes.contains { $0.hasPrefix("Product/p1 may be rejected") && $0.contains("code must be unique") })
    }

    @Test("Objects that no mapping reads, and those that one removes")
    func unread() throws {
        let novel = try explain("Novel/p5")
        #expect(novel.outcome == .withoutMapping && novel.mappings.isEmpty)
        #expect(novel.notes == ["The entity mapping Books reads objects of Book itself, and not of its subentities"])
        #expect(try explain("Note/p1").outcome == .removed)
    }

    @Test("Numbered keys are named, not guessed")
    func sequential() throws {
        let mapping = try #require(try explain("Book/p1") { $0.keys = .sequential }.mappings.first)
        #expect(mapping.destination == nil)
        #expect(mapping.stages.contains { $0.hasPrefix("The key is a number in order") && $0.hasSuffix("by --keys") })
        let author = try #require(mapping.relationships.first { $0.name == "author" })
        #expect(author.value == .object("the Author of Author/p1"))
    }

    @Test("A policy is named with the methods that it overrides, and not called")
    func policy() throws {
        let model = try library()
        model.entityMappings[1].entityMigrationPolicyClassName = "RefusingPolicy"
        var explanation = try explain("Book/p1", model)
        #expect(explanation.outcome == .undecided && explanation.mappings[0].policy?.methods == nil)
        PolicyRegistry.shared.register(RefusingPolicy.self)
        explanation = try explain("Book/p1", model)
        #expect(explanation.mappings[0].policy?.methods == ["createDestinationInstances", "end"])
        #expect(try property("length", explanation).value == .integer(150))
        #expect(
            try property("books", explain("Author/p1", model)).lookups.first?.problem == "code of its policy decides")
    }

    @Test("An object that is not there is refused as show refuses it")
    func unknown() throws {
        let error = #expect(throws: MigrationError.self) { try explain("Book/p77") }
        #expect(error?.code == "object.unknown" && error?.category == .noInput)
    }

    // MARK: - Agreement with migrations

    @Test("What is explained is what a migration makes", arguments: RandomSeeds.seeds(8))
    func agreement(seed: UInt64) throws {
        for random in [
            try RandomMigration.inferred(seed: seed), try RandomMigration.explicit(seed: seed),
            try RandomMigration.spiced(seed: seed, hasRules: false),
            try RandomMigration.ruled(seed: seed, isExplicit: true),
        ] {
            let differences = try Self.differences(random)
            #expect(differences.isEmpty, "\(differences.prefix(5).joined(separator: "\n"))\n\(random)")
        }
    }

    private static func differences(_ random: RandomMigration) throws -> [String] {
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try random.store.write(path: path)
        let mapping = try random.mapping ?? random.inferredMapping()
        var options = MigrationOptions()
        options.memoryRoom = 64 << 20
        options.onInvalid = .reject
        let step = MigrationStep(
            from: ModelVersion(name: nil, model: random.source), to: ModelVersion(name: nil, model: random.destination),
            mappingModels: [mapping])
        let chain = ChainedMigration(from: path, steps: [step], to: folder.file("new.sqlite"), options: options)
        let explainer = ObjectExplainer(chain)
        let plan = try chain.plan()
        do { try chain.run() } catch let error as MigrationError where error.category != .internal { return [] }
        let source = try ObjectReader(path: path, model: random.source)
        let made = try ObjectReader(path: folder.file("new.sqlite"), model: random.destination)
        var lines: [String] = []
        for entity in random.source.entities where entity.superentity == nil {
            try source.forEach(of: entity.definition.name) { object in
                for mapping in try explainer.explain(object.id, plan: plan).mappings {
                    lines += try compare(mapping, object, made).map { "\(object.id) by \(mapping.name): \($0)" }
                }
                return true
            }
        }
        try source.close()
        try made.close()
        return lines
    }

    /// Compares an explanation with the object that was made. An object that is explained as migrated may be rejected for
    /// what only whole tables tell.
    private static func compare(
        _ mapping: ObjectExplanation.Mapping, _ source: StoredObject, _ made: ObjectReader
    ) throws -> [String] {
        guard [.migrated, .rejected].contains(mapping.outcomeByItself), let entity = mapping.destinationEntity,
            let id = mapping.destination
        else { return [] }
        let found = try? made.object(id)
        guard mapping.outcomeByItself == .migrated else { return found == nil ? [] : ["is not rejected"] }
        guard let found, found.entity == entity else { return [] }
        var lines: [String] = []
        for property in mapping.attributes {
            let text = property.expression?.lowercased() ?? ""
            // Values that are never the same twice.
            guard let value = property.value, !["random", "now(", "'now'"].contains(where: text.contains) else {
                continue
            }
            let stored = found.attributes.first { $0.name == property.name }?.value
            // As text, in which a number that is none equals itself.
            if let stored, "\(stored)" == "\(value)" { continue }
            lines.append("\(property.name) is \(stored.map { "\($0)" } ?? "-"), explained \(value)")
        }
        for property in mapping.relationships where property.notes.isEmpty {
            let stored = found.relationships.first { $0.name == property.name }?.value
            if property.value == .null, let stored, stored != .null {
                lines.append("\(property.name) is \(stored), explained as nil")
            }
            guard case .object(let name)? = property.value,
                let stored = found.relationships.first(where: { $0.name == property.name }), !name.hasPrefix("the ")
            else { continue }
            if (try? made.object(name)) != nil, stored.value != .object(name) {
                lines.append("\(property.name) is \(stored.value), explained \(name)")
            }
        }
        return lines
    }
}

private final class RefusingPolicy: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws { Issue.record("the policy was called") }

    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
        Issue.record("the policy was called")
    }
}
