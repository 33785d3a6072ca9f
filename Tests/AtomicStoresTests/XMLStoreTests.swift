import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import AtomicStores

@Suite("XML stores of real apps", .enabled(if: SharedStores.isPresent))
struct XMLStoreTests {
    static var folder: URL { SharedStores.url.appendingPathComponent("xml") }

    static func model(_ name: String, in folder: TemporaryFolder) throws -> ManagedObjectModel {
        let bundle = folder.url.appendingPathComponent("\(name).xcdatamodel")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: Self.folder.appendingPathComponent("\(name).contents"),
            to: bundle.appendingPathComponent("contents"))
        return try ModelLocator.load(bundle.path).model
    }

    /// Passes what is read to a writer.
    private final class Copier: XMLObjectHandler {
        let writer: XMLStoreWriter
        private var isInRelationship = false

        init(_ writer: XMLStoreWriter) { self.writer = writer }

        private func endRelationship() throws(MigrationError) {
            if isInRelationship { try writer.endRelationship() }
            isInRelationship = false
        }
        func begin(type: String, id: Int64) throws(MigrationError) { try writer.beginObject(type: type, id: id) }
        func attribute(_ name: String, word: String, text: UnsafeRawBufferPointer) throws(MigrationError) {
            var escaped: [UInt8] = []
            XMLEscapes.append(text, to: &escaped)
            try writer.attribute(name, word: word, escaped: escaped)
        }
        func relationship(_ name: String, counts: String, destination: String) throws(MigrationError) {
            try endRelationship()
            try writer.beginRelationship(name, counts: counts, destination: destination)
            isInRelationship = true
        }
        func target(_ id: Int64) throws(MigrationError) { try writer.target(id) }
        func end() throws(MigrationError) {
            try endRelationship()
            try writer.endObject()
        }
    }

    @Test(
        "A store read and written again is the same, byte for byte but for the order in its header",
        arguments: ["folio.paw", "pwabuilder.paw", "thingnatra-Database.xml"])
    func sameBytes(_ name: String) throws {
        let folder = try TemporaryFolder()
        let path = Self.folder.appendingPathComponent(name).path
        let reader = try XMLStoreReader(path: path)
        let header = try reader.header()
        let writer = XMLStoreWriter(try FileOutput(creating: folder.file("copy.xml"), permissions: .own))
        try writer.begin(header)
        try reader.objects(Copier(writer))
        try writer.finish()
        #expect(try AtomicBench.body(folder.file("copy.xml")) == AtomicBench.body(path))
        func lines(_ path: String) throws -> [String] {
            let text = try String(contentsOfFile: path, encoding: .utf8)
            return (text.components(separatedBy: "</databaseInfo>").first ?? "").components(separatedBy: "\n").sorted()
                .filter { !$0.hasPrefix("<?xml") }
        }
        #expect(try lines(folder.file("copy.xml")) == lines(path))
    }

    @Test(
        "A store read through a private SQLite store has all values and links, and its lines",
        arguments: [("pwabuilder.paw", "Paw-fw526-reconstructed"), ("folio.paw", "Paw-fw641-reconstructed")])
    func throughSQLite(_ name: String, _ modelName: String) throws {
        let folder = try TemporaryFolder()
        let bench = try AtomicBench(try Self.model(modelName, in: folder))
        let path = Self.folder.appendingPathComponent(name).path
        let (store, result) = try bench.importing(path)
        #expect(StandInStore.of(path) == nil)
        let original = try XMLDocumentStore(path)
        #expect(result.objects == original.objects.count)
        let exported = try bench.exporting(store)
        let copy = try XMLDocumentStore(exported)
        #expect(copy.objects.keys.sorted() == original.objects.keys.sorted())
        for (id, object) in original.objects {
            #expect(copy.objects[id]?.attributes == object.attributes)
            #expect(copy.objects[id]?.relationships == object.relationships.mapValues { $0.sorted() })
        }
        // One object of folio.paw has its attributes in an order of its own, and no file has its links in one.
        func sorted(_ path: String) throws -> [[String]] {
            let body = try AtomicBench.body(path).replacing(/idrefs="([^"]*)"/) { match in
                match.1.split(separator: " ").sorted().joined(separator: " ")
            }
            return body.components(separatedBy: "</object>").map { $0.components(separatedBy: "\n").sorted() }
        }
        #expect(try sorted(exported) == sorted(path))
        // And once more, from XML to SQLite: the same store.
        let (again, _) = try bench.importing(exported, as: "again.sqlite")
        let first = try ReferenceStore.read(path: store, model: bench.model)
        let second = try ReferenceStore.read(path: again, model: bench.model)
        #expect(first.differences(from: second) == [])
    }

    @Test("A private store keeps identifier, metadata and version hashes, and is read where the original is named")
    func metadata() throws {
        let folder = try TemporaryFolder()
        let bench = try AtomicBench(try Self.model("Paw-fw641-reconstructed", in: folder))
        let path = Self.folder.appendingPathComponent("folio.paw").path
        let (_, result) = try bench.importing(path)
        try result.standIn.during {
            let store = try SourceStore(path: path)
            #expect(store.metadata.uuid == "DDD6D918-87B7-48DD-8362-001F9A6CA901")
            #expect(store.metadata.versionHashes == result.header.metadata.versionHashes)
            #expect(store.metadata.versionIdentifiers == ["LMDocumentVersion4"])
            #expect(store.metadata.frameworkVersion == 641)
            #expect(try store.cachedModel() != nil)
            try store.checkUnchanged()
            try store.close()
        }
    }
}
