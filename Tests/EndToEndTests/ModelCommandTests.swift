import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@Suite("stagecoach model")
struct ModelCommandTests {
    private static let bundle = SharedStores.repository.appendingPathComponent("Fixtures/Models/Library.xcdatamodeld")
        .path

    private func store(in folder: TemporaryFolder, cached: Bool = true) throws -> String {
        let model = try ModelLocator.load("\(Self.bundle):Library").model
        let path = folder.file("default.store")
        try ReferenceStore(model: model).write(path: path)
        if cached {
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
            try connection.execute("DELETE FROM Z_MODELCACHE")
            let insert = try connection.prepare("INSERT INTO Z_MODELCACHE VALUES (?)")
            insert.bind(try ModelCache.encode(model), at: 1)
            try insert.run()
        }
        return path
    }

    private func hashes(_ argument: String) throws -> [String: [UInt8]?] {
        VersionHash.entityHashes(of: try ModelLocator.load(argument).model).mapValues(\.bytes)
    }

    @Test("A store's model, as a version, a folder of versions, a file and on standard output, with equal hashes")
    func ofStore() throws {
        let folder = try TemporaryFolder()
        let path = try store(in: folder)
        let wanted = try hashes("\(Self.bundle):Library")
        for output in ["A.xcdatamodel", "B.xcdatamodeld", "contents"] {
            let run = try CommandBinary.run(["model", path, "-o", output], in: folder.path)
            #expect(run.code == 0 && run.messages.isEmpty && run.output.isEmpty, "\(run.messages)")
            #expect(try hashes(folder.file(output)) == wanted)
        }
        let run = try CommandBinary.run(["model", path], in: folder.path)
        #expect(try run.output == String(contentsOfFile: folder.file("contents"), encoding: .utf8))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.file("B.xcdatamodeld")).sorted() == [
                ".xccurrentversion", "B.xcdatamodel",
            ])
        // A store that is migrated to the written model is one of the same version.
        let migrated = try CommandBinary.run(
            ["migrate", path, "copy.store", "--to", "A.xcdatamodel", "--on-loss", "allow"], in: folder.path)
        #expect(migrated.code == 0, "\(migrated.messages)")
    }

    @Test("All versions of a folder, with the current one; nothing that exists is replaced")
    func ofBundle() throws {
        let folder = try TemporaryFolder()
        let run = try CommandBinary.run(["model", Self.bundle + "/", "-o", "New.xcdatamodeld/"], in: folder.path)
        #expect(run.code == 0, "\(run.messages)")
        let path = folder.file("New.xcdatamodeld")
        #expect(try ModelLocator.versions(in: path) == ModelLocator.versions(in: Self.bundle))
        #expect(try ModelLocator.load(path).versionName == ModelLocator.load(Self.bundle).versionName)
        for version in try ModelLocator.versions(in: path) {
            #expect(try hashes("\(path):\(version)") == hashes("\(Self.bundle):\(version)"))
        }
        for output in ["New.xcdatamodeld", "New.xcdatamodeld/contents/x.xcdatamodel"] {
            let again = try CommandBinary.run(["model", Self.bundle, "-o", output], in: folder.path)
            #expect(again.code == 73, "\(again.messages)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["New.xcdatamodeld"])
        let single = try CommandBinary.run(
            ["model", Self.bundle + ":Library", "-o", "One.xcdatamodeld"], in: folder.path)
        #expect(single.code == 0, "\(single.messages)")
        #expect(try ModelLocator.versions(in: folder.file("One.xcdatamodeld")) == ["One"])
    }

    @Test("Outputs of other kinds, stores without a model and files that are none are refused")
    func refused() throws {
        let folder = try TemporaryFolder()
        let path = try store(in: folder, cached: false)
        for (arguments, code) in [
            (["model", Self.bundle, "-o", "New.momd"], Int32(78)), (["model", path], 78),
            (["model", "absent.store"], 66), (["model"], 64),
        ] {
            let run = try CommandBinary.run(arguments, in: folder.path)
            #expect(run.code == code, "\(arguments): \(run.messages)")
        }
    }

    @Test("Parts without a place in Xcode's form are named on standard error")
    func named() throws {
        let folder = try TemporaryFolder()
        var definition = ModelDefinition()
        var entity = EntityDefinition(name: "Book")
        var title = AttributeDefinition(name: "title", type: .uuid)
        title.defaultValue = .uuid(UUID())
        entity.attributes = [title]
        definition.entities = [entity]
        try Data(try ModelArchive.encode(try ManagedObjectModel(definition))).write(
            to: URL(fileURLWithPath: folder.file("Book.mom")))
        let run = try CommandBinary.run(["model", "Book.mom"], in: folder.path)
        #expect(run.code == 0)
        #expect(run.messages.contains("entity Book, attribute title: default value"), "\(run.messages)")
    }
}
