import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A store of books with composite attributes: one in another, equal names of elements, a required element in a composite that
/// may be nil, and one with an element of its own name, as SwiftData keeps an enum.
final class CompositeFixture {
    let folder: TemporaryFolder
    let old: ManagedObjectModel
    let new: ManagedObjectModel
    let sourcePath: String
    let destinationPath: String
    var options = MigrationOptions()

    static func composite(
        _ name: String, _ kind: String, required: Bool = false, id: String? = nil
    ) -> AttributeDefinition {
        attribute(name, .composite, required: required) {
            $0.compositeName = kind
            $0.renamingIdentifier = id
        }
    }

    static func version(
        _ book: [AttributeDefinition], _ composites: [String: [AttributeDefinition]]
    ) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.entities = [
            entity("Book", book, [toOne("shelf", "Shelf", inverse: "books")]),
            entity(
                "Shelf", [attribute("label", .string), composite("place", "Place")],
                [toMany("books", "Book", inverse: "shelf")]),
        ]
        definition.composites = composites
        return try ManagedObjectModel(definition)
    }

    static let composites: [String: [AttributeDefinition]] = [
        "Person": [
            attribute("name", .string, required: true), attribute("id", .integer64), composite("home", "Place"),
            attribute("born", .date),
        ],
        "Place": [attribute("city", .string), attribute("zip", .integer32) { $0.maximum = .integer(99999) }],
        "Kind": [attribute("kind", .string)],
    ]
    static let book: [AttributeDefinition] = [
        attribute("title", .string), attribute("id", .integer64), attribute("isbn", .string),
        composite("author", "Person"), composite("editor", "Person"), composite("kind", "Kind", required: true),
    ]

    /// - Parameters:
    ///   - new: the second version's Book and composites; nil: those of the first.
    ///   - isValid: whether no row lacks a required element.
    init(
        book: [AttributeDefinition]? = nil, composites: [String: [AttributeDefinition]]? = nil, isValid: Bool = true
    ) throws {
        folder = try TemporaryFolder()
        old = try Self.version(Self.book, Self.composites)
        new = try Self.version(book ?? Self.book, composites ?? Self.composites)
        sourcePath = folder.file("old.sqlite")
        destinationPath = folder.file("new.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert(
                "Shelf", 1, ["label": .text("north"), "place.city": .text("Bern"), "place.zip": .integer(3000)])
            store.insert("Shelf", 2, ["label": .text("south")])
            store.insert(
                "Book", 1,
                [
                    "title": .text("one"), "id": .integer(10), "author.name": .text("Ada"), "author.id": .integer(7),
                    "author.home.city": .text("London"), "author.home.zip": .integer(123), "author.born": .real(5.5),
                    "kind.kind": .text("novel"),
                ], toOne: ["shelf": 1])
            store.insert(
                "Book", 2,
                ["title": .text("two"), "editor.name": .text("Bob"), "editor.home.city": .text("Rome")],
                toOne: ["shelf": 2])
            store.insert("Book", 3, ["title": .text("three"), "id": .integer(30), "kind.kind": .text("poem")])
            if !isValid { store.insert("Book", 4, ["title": .text("four"), "author.id": .integer(4)]) }
        }.write(path: sourcePath)
        options.unknownHashes = .omit
        options.fullCheck = true
        options.sourceIsKnownByTables = true
        options.memoryLimit = 8 << 30
    }

    /// A mapping model in JSON: the lines of the attributes of Book, the others as inference maps them.
    func mapping(_ attributes: String, filter: String? = nil, policy: String? = nil) throws -> MappingModel {
        let more =
            (filter.map { "\"sourceFilter\": \"\($0)\"," } ?? "")
            + (policy.map { "\"migrationPolicy\": \"\($0)\"," } ?? "")
        let text = """
            {"formatVersion": 1, "entityMappings": [
            {"name": "Shelves", "sourceEntity": "Shelf", "destinationEntity": "Shelf"},
            {"name": "Books", "sourceEntity": "Book", "destinationEntity": "Book", \(more)
             "attributes": {\(attributes)}}]}
            """
        return try MappingModel.reading(json: Array(text.utf8), path: "map.json", source: old, destination: new)
    }

    func migration(_ mapping: MappingModel? = nil, manager: MigrationManager? = nil) throws -> Migration {
        Migration(
            from: sourcePath, model: old, mapping: try mapping ?? .inferred(from: old, to: new), to: destinationPath,
            model: new, options: options, manager: manager)
    }

    /// Migrates with a policy of Book whose default creation is followed by a step of its own.
    func run(
        _ attributes: String = "", creating step: @escaping (ManagedObject, ManagedObject) throws -> Void
    ) throws -> ReferenceStore {
        let manager = MigrationManager(sourceModel: old, destinationModel: new)
        manager.policies = PolicyRegistry()
        var steps = ClosurePolicy.Steps()
        steps.create = { source, mapping, manager, standard in
            try standard()
            for made in manager.destinationInstances(
                forEntityMappingName: mapping.name ?? "", sourceInstances: [source])
            {
                try step(source, made)
            }
        }
        let carried = Unchecked(steps)
        manager.policies.register("BookPolicy") {
            let policy = ClosurePolicy()
            policy.steps = carried.value
            return policy
        }
        try migration(try mapping(attributes, policy: "BookPolicy"), manager: manager).run()
        return try ReferenceStore.read(path: destinationPath, model: new)
    }

    /// Migrates and verifies.
    func run(_ mapping: MappingModel? = nil, verifies: Bool = true) throws -> ReferenceStore {
        let migration = try migration(mapping)
        try migration.run()
        if verifies {
            let differences = try StoreVerification(migration).run().differences
            #expect(differences.isEmpty)
        }
        return try ReferenceStore.read(path: destinationPath, model: new)
    }
}

/// Values of one book by attribute, without those that are NULL.
func values(_ store: ReferenceStore, _ key: Int64) -> [String: ReferenceValue] {
    let attributes = store.model.entity(named: "Book")?.attributes.map(\.name) ?? []
    return attributes.reduce(into: [:]) { found, name in
        let value = store.value("Book", key, name)
        if !value.isNull { found[name] = value }
    }
}
