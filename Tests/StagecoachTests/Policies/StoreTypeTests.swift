import CoreDataStore
import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

/// The types of stores that `migrateStore` is told.
@Suite("Types of stores in the manager's call")
struct StoreTypeTests {
    /// Two notes that refer to each other.
    private func note(_ path: String) throws -> ManagedObjectModel {
        var definition = ModelDefinition()
        definition.entities = [
            entity(
                "Note", [attribute("text", .string), attribute("length", .integer32)],
                [toOne("about", "Note", inverse: "notes"), toMany("notes", "Note", inverse: "about")])
        ]
        let model = try ManagedObjectModel(definition)
        try ReferenceStore.make(model) { store in
            store.insert("Note", 1, ["text": .text("a < b"), "length": .integer(5)])
            store.insert("Note", 2, ["text": .text("\\u3c00")])
            store.setMembers("Note", 1, "notes", [2])
        }.write(path: path)
        return model
    }

    @Test("SQLite to XML and back, and a type that the file does not have")
    func xml() throws {
        let folder = try TemporaryFolder()
        let (old, new) = (folder.file("old.sqlite"), folder.file("new.sqlite"))
        let xml = URL(fileURLWithPath: folder.file("notes.xml"))
        let model = try note(old)
        func migrate(
            _ source: URL, _ type: NSPersistentStore.StoreType, _ place: URL, _ other: NSPersistentStore.StoreType
        ) throws {
            let manager = MigrationManager(sourceModel: model, destinationModel: model)
            try manager.migrateStore(from: source, type: type, mapping: nil, to: place, type: other)
            #expect(manager.report?.destination == place.path)
        }
        try migrate(URL(fileURLWithPath: old), .sqlite, xml, .xml)
        try migrate(xml, .xml, URL(fileURLWithPath: new), .sqlite)
        let differences = try ReferenceStore.read(path: new, model: model)
            .differences(from: ReferenceStore.read(path: old, model: model))
        #expect(differences == [])
        for type in [NSPersistentStore.StoreType.sqlite, .binary, .inMemory] {
            let error = #expect(throws: MigrationError.self) {
                try migrate(xml, type, URL(fileURLWithPath: folder.file("none.sqlite")), .sqlite)
            }
            #expect(error?.code == "manager.storeType")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("none.sqlite")))
    }
}
