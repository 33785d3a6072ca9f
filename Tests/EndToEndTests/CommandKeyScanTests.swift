import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

/// The tables whose keys are read before the load. The test counts bytes read from the source.
@Suite("Keys that nobody asks for before their rows are read")
struct CommandKeyScanTests {
    /// Rows of each entity: their tables have several pages.
    private static let rows = 1500

    /// Bytes that a migration to the same model reads in the stage of keys.
    private func bytesOfKeys(_ entities: [(name: String, relationships: String)], mapping: String? = nil) throws -> Int
    {
        let folder = try TemporaryFolder()
        let path = folder.file("Model.xcdatamodel")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let body = entities.map {
            "<entity name=\"\($0.name)\"><attribute name=\"name\" attributeType=\"String\" optional=\"YES\"/>"
                + $0.relationships + "</entity>"
        }
        try "<model type=\"com.apple.IDECoreDataModeler.DataModel\">\(body.joined())</model>".write(
            toFile: path + "/contents", atomically: false, encoding: .utf8)
        try ReferenceStore.make(try ModelLocator.load(path).model) { store in
            for entity in entities where mapping == nil || entity.name == "Book" {
                for key in 1...Self.rows { store.insert(entity.name, Int64(key), ["name": .text("row \(key)")]) }
            }
        }.write(path: folder.file("source.sqlite"))
        try mapping?.write(toFile: folder.file("mapping.json"), atomically: false, encoding: .utf8)
        let outcome = try CommandBinary.run(
            [
                "migrate", "source.sqlite", "new.sqlite", "--from", path, "--to", path, "--json", "--profile",
                "--progress", "none",
            ] + (mapping == nil ? [] : ["--mapping", "mapping.json"]), in: folder.path)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let report = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
        let counts = try #require(
            (report["counts"] as? [String: Any] ?? report)["mappings"] as? [[String: Any]], "\(outcome.output)")
        #expect(counts.allSatisfy { $0["migrated"] as? Int == Self.rows && $0["created"] as? Int == Self.rows })
        let profile = try #require(report["profile"] as? [[String: Any]])
        let keys = profile.filter { $0["stage"] as? String == "keys" }
        #expect(!keys.isEmpty)
        return keys.compactMap { $0["bytesRead"] as? Int }.reduce(0, +)
    }

    private func toOne(_ name: String, _ entity: String, inverse: String? = nil) -> String {
        relationship(name, entity, inverse, "maxCount=\"1\"")
    }

    private func toMany(_ name: String, _ entity: String, inverse: String) -> String {
        relationship(name, entity, inverse, "toMany=\"YES\"")
    }

    private func relationship(_ name: String, _ entity: String, _ inverse: String?, _ more: String) -> String {
        "<relationship name=\"\(name)\" optional=\"YES\" \(more) deletionRule=\"Nullify\" destinationEntity=\"\(entity)\""
            + (inverse.map { " inverseName=\"\($0)\" inverseEntity=\"\(entity)\"" } ?? "") + "/>"
    }

    @Test("Keys of tables that only later ones refer to are noted; keys of a circle and of a tree are read")
    func tables() throws {
        let chain = try bytesOfKeys([
            ("Author", toMany("books", "Book", inverse: "author")),
            ("Book", toOne("author", "Author", inverse: "books") + toMany("tags", "Tag", inverse: "books")),
            ("Tag", toMany("books", "Book", inverse: "tags")),
        ])
        let circle = try bytesOfKeys([
            ("Author", toMany("books", "Book", inverse: "author") + toOne("best", "Book")),
            ("Book", toOne("author", "Author", inverse: "books")),
        ])
        let tree = try bytesOfKeys([
            ("Node", toOne("parent", "Node", inverse: "children") + toMany("children", "Node", inverse: "parent"))
        ])
        print("bytes read for keys: chain \(chain), circle \(circle), tree \(tree)")
        // A table has nine pages. Of the circle's two one is read.
        #expect(chain < 4096)
        #expect(tree > 8 * 4096 && circle > 8 * 4096 && circle < tree * 3 / 2)
    }

    @Test("A row that refers to what was made of itself asks for no other")
    func split() throws {
        let mapping = """
            {"formatVersion": 1, "entityMappings": [
              {"name": "Books", "mappingType": "transform", "sourceEntity": "Book", "destinationEntity": "Book",
               "attributes": {"name": "$source.name"}, "relationships": {"detail":
               "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Details', $source)"}},
              {"name": "Details", "mappingType": "transform", "sourceEntity": "Book", "destinationEntity": "Detail",
               "attributes": {"name": "$source.name"}, "relationships": {"book":
               "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Books', $source)"}}
            ]}
            """
        let bytes = try bytesOfKeys(
            [
                ("Book", toOne("detail", "Detail", inverse: "book")),
                ("Detail", toOne("book", "Book", inverse: "detail")),
            ], mapping: mapping)
        #expect(bytes < 4096)
    }
}
