import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import SpillStorage
import TestSupport

@testable import AtomicStores

/// Imports and exports stores in a folder of its own.
struct AtomicBench {
    let folder: TemporaryFolder
    let model: ManagedObjectModel

    init(_ model: ManagedObjectModel) throws {
        folder = try TemporaryFolder()
        self.model = model
    }

    /// Imports a store into a private one, and returns the path of that.
    func importing(
        _ path: String, as name: String = "private.sqlite", memory: Int = 4 << 20
    ) throws -> (path: String, result: PrivateStoreImport.Result) {
        let directory = try WorkDirectory(path: folder.file("work"))
        defer { try? directory.remove() }
        let target = folder.file(name)
        let result = try PrivateStoreImport(
            path, format: StoreFormat.of(path) ?? .xml, directory: directory, memory: memory, checkCancelled: {}
        ).run(to: target) { _ in model }
        return (target, result)
    }

    /// Imports an XML store of some objects.
    func importing(objects: String) throws -> (path: String, result: PrivateStoreImport.Result) {
        let path = folder.file("\(UUID().uuidString).xml")
        try Self.document(objects).write(toFile: path, atomically: true, encoding: .utf8)
        return try importing(path, as: "\(UUID().uuidString).sqlite")
    }

    /// Writes a store as XML, or in another format, and returns its path.
    func exporting(_ path: String, as name: String = "exported.xml", _ format: StoreFormat = .xml) throws -> String {
        let target = folder.file(name)
        try AtomicStoreExport.check(model, format)
        _ = try AtomicStoreExport(of: path, model: model, format: format).write(
            to: target, permissions: .own, checkCancelled: {})
        return target
    }

    static func document(_ objects: String) -> String {
        """
        <?xml version="1.0" standalone="no"?>
        <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

        <database>
            <databaseInfo>
                <version>134481920</version>
                <UUID>DDD6D918-87B7-48DD-8362-001F9A6CA901</UUID>
                <nextObjectID>150</nextObjectID>
                <metadata>
                    <plist version="1.0">
                        <dict>
                            <key>NSPersistenceFrameworkVersion</key>
                            <integer>641</integer>
                        </dict>
                    </plist>
                </metadata>
            </databaseInfo>
        \(objects)
        </database>
        """
    }

    /// What follows the header of an XML store.
    static func body(_ path: String) throws -> String {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let parts = text.components(separatedBy: "</databaseInfo>\n")
        return parts.dropFirst().joined().trimmingCharacters(in: .newlines)
    }
}
