import CoreDataStore
import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

@testable import StagecoachCommand

@Suite("Inputs of the command")
struct InputTests {
    @Test("A path that is not there has one form, too")
    func canonicalPaths() throws {
        let folder = try TemporaryFolder()
        let real = try #require(PathIdentity.real(folder.path))
        for path in [
            "new/a.sqlite", "new/b/../a.sqlite", "./new/./a.sqlite", "new//a.sqlite", "x/y/../../new/a.sqlite",
        ] {
            #expect(PathIdentity.canonical("\(folder.path)/\(path)") == "\(real)/new/a.sqlite", "\(path)")
        }
        #expect(PathIdentity.canonical("/") == "/" && PathIdentity.canonical("") == "")
    }

    @Test("paths are the same through relative parts, symbolic links and hard links, there or not yet there")
    func identity() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("a")
        try Data("x".utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.createSymbolicLink(atPath: folder.file("s"), withDestinationPath: "a")
        try FileManager.default.linkItem(atPath: file, toPath: folder.file("h"))
        try FileManager.default.createSymbolicLink(atPath: folder.file("d"), withDestinationPath: folder.path)
        for other in ["a", "s", "h", "d/a", "d/../\(folder.url.lastPathComponent)/a", "./a"] {
            #expect(PathIdentity.isSame(file, folder.file(other)), "\(other)")
        }
        #expect(PathIdentity.isSame(folder.file("new"), folder.file("d/new")))
        #expect(!PathIdentity.isSame(file, folder.file("new")))
        #expect(!PathIdentity.isSame(folder.file("new"), folder.file("newer")))
        #expect(PathIdentity.canonical("/").hasPrefix("/"))
    }

    @Test("a store's model is its cached one, else the version of the bundle whose hashes match, else an error")
    func storeModel() throws {
        let folder = try TemporaryFolder()
        let bundle = SharedStores.repository.appendingPathComponent("Fixtures/Models/Library.xcdatamodeld").path
        let model = try ModelLocator.load("\(bundle):Library").model
        for isCached in [true, false] {
            let path = folder.file("\(isCached).sqlite")
            let schema = StoreSchema(model: model)
            let store = try DestinationStore(creating: path, schema: schema, cacheBytes: 1 << 20, vfs: nil)
            try store.finish(
                metadata: DestinationMetadata(
                    uuid: UUID().uuidString, sourceProperties: [:],
                    versionHashes: VersionHash.entityHashes(of: model).compactMapValues(\.bytes),
                    versionIdentifiers: ["7"]),
                maximumKeys: schema.tables.map { _ in 0 }, modelCache: isCached ? try ModelCache.encode(model) : nil)
        }
        #expect(try ModelArgument.ofStore(folder.file("true.sqlite"), bundle: "nowhere").version.name == "7")
        // With the store's hashes, a model from the cache gets its name in the bundle.
        let hashes = VersionHash.entityHashes(of: model).compactMapValues(\.bytes)
        let named = try ModelArgument.ofStore(
            folder.file("true.sqlite"), bundle: bundle + ":Library 2", hashes: hashes)
        #expect(named.version.name == "Library" && named.evidence == .cachedModel)
        let found = try ModelArgument.ofStore(folder.file("false.sqlite"), bundle: bundle + ":Library 2/")
        #expect(found.names == ["Library"] && found.evidence == .hashes)
        #expect(found.model.definition == model.definition)
        let beside = try ModelArgument.ofStore(
            folder.file("false.sqlite"), bundle: bundle + "/Library 2.xcdatamodel")
        #expect(beside.names == ["Library"])
        let error = #expect(throws: MigrationError.self) {
            try ModelArgument.ofStore(
                folder.file("false.sqlite"), bundle: bundle + "/Library 2.xcdatamodel/contents")
        }
        #expect(error?.category == .configuration && error?.remedy?.contains("--from") == true)
        let noCache = #expect(throws: MigrationError.self) { try ModelArgument.load(folder.file("false.sqlite")) }
        #expect(noCache?.code == "model.noCache")
    }

    @Test("an output file never replaces one, and leaves nothing if it cannot be written")
    func output() throws {
        let folder = try TemporaryFolder()
        try OutputFile.create(folder.file("a"), "text")
        #expect(try String(contentsOfFile: folder.file("a"), encoding: .utf8) == "text")
        for path in ["a", "no/a"] {
            #expect(throws: MigrationError.self) { try OutputFile.create(folder.file(path), "other") }
            #expect(throws: MigrationError.self) { try OutputFile.check(folder.file(path)) }
        }
        #expect(try String(contentsOfFile: folder.file("a"), encoding: .utf8) == "text")
        try OutputFile.check(folder.file("b"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("b")))
    }

    @Test("a file's digest is that of all its bytes")
    func digest() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a")
        // FIPS 180-2, appendix B.3.
        try Data(repeating: UInt8(ascii: "a"), count: 1_000_000).write(to: URL(fileURLWithPath: path))
        #expect(
            try InputFile.digest(path, what: "file")
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        let missing = #expect(throws: MigrationError.self) { try InputFile.digest(path + "x", what: "file") }
        #expect(missing?.code == "input.notFound")
    }

    @Test("a program that has Swift linked into it says why it loads no library of policies")
    func staticProgram() throws {
        #expect(PolicyLibrary.sharesSwift)
        let folder = try TemporaryFolder()
        let path = folder.file("libPolicies.so")
        try Data().write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: MigrationError.self) { try PolicyLibrary.load(path, sharesSwift: false) }
        #expect(error?.code == "policies.staticProgram" && error?.category == .configuration)
        #expect(error?.remedy?.contains("--static-swift-stdlib") == true)
        let missing = #expect(throws: MigrationError.self) { try PolicyLibrary.load(path + "x", sharesSwift: false) }
        #expect(missing?.code == "policies.notFound")
    }
}
