import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport

/// A store of photos, some of whose data lie in files, and a folder to migrate it to.
final class ExternalDataFixture {
    let folder: TemporaryFolder
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    /// The data by key; nil for none.
    private(set) var values: [Int64: [UInt8]?] = [:]
    let sourcePath: String
    let destinationPath: String

    /// The folder with the source's files.
    var files: String { ExternalFolder(store: sourcePath).path }

    static func photos(isExternal: Bool, hasNote: Bool = false) throws -> ManagedObjectModel {
        var attributes = [
            attribute("data", .binaryData) { $0.allowsExternalBinaryDataStorage = isExternal },
            attribute("name", .string),
        ]
        if hasNote { attributes.append(attribute("note", .string)) }
        return try model(entity("Photo", attributes))
    }

    /// - Parameters:
    ///   - from: whether the source's attribute allows external storage: then the data of photo 2 are in a file.
    ///   - to: whether the destination's does.
    init(from: Bool, to: Bool) throws {
        folder = try TemporaryFolder()
        for name in ["in", "out"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        sourcePath = folder.file("in/photos.old.sqlite")
        destinationPath = folder.file("out/photos.sqlite")
        source = try Self.photos(isExternal: from)
        destination = try Self.photos(isExternal: to, hasNote: true)
        var generator = SeededGenerator(seed: 7)
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        let large = bytes(200_000)
        let values: [Int64: [UInt8]?] = [
            1: bytes(30), 2: large, 3: bytes(150_000), 4: nil as [UInt8]?, 5: [], 6: bytes(102_400),
        ]
        self.values = values
        try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
        var referred: [Int64: [UInt8]] = [:]
        if from {
            let reference = ExternalReference(uuid: (0..<16).map { UInt8($0) })
            try Data(large).write(to: URL(fileURLWithPath: "\(files)/\(reference.name)"))
            referred[2] = reference.stored
        }
        try ReferenceStore.make(source) { store in
            for (key, value) in values {
                store.insert("Photo", key, ["name": .text("photo \(key)")])
                guard let value else { continue }
                store.set("Photo", key, "data", .blob(referred[key] ?? (from ? [1] : []) + value))
            }
        }.write(path: sourcePath)
    }

    func migration(_ change: (inout MigrationOptions) -> Void = { _ in }) throws -> Migration {
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.fullCheck = true
        change(&options)
        return Migration(
            from: sourcePath, model: source, mapping: try MappingModel.inferred(from: source, to: destination),
            to: destinationPath, model: destination, options: options)
    }

    /// Puts other bytes into photo 2's column.
    func refer(to bytes: [UInt8]) throws {
        let connection = try Connection(path: sourcePath, flags: SQLITE_OPEN_READWRITE)
        let update = try connection.prepare("UPDATE ZPHOTO SET ZDATA = ? WHERE Z_PK = 2")
        update.bind(bytes, at: 1)
        try update.run()
    }

    /// Returns the values of the destination's objects, with those in files read, and the keys of the objects with files.
    func result(isExternal: Bool) throws -> (values: [Int64: [UInt8]?], files: Set<Int64>) {
        let connection = try Connection(path: destinationPath, flags: SQLITE_OPEN_READONLY)
        let rows = try connection.prepare("SELECT Z_PK, ZDATA FROM ZPHOTO")
        var values: [Int64: [UInt8]?] = [:]
        var inFiles: Set<Int64> = []
        while try rows.step() {
            let key = rows.integer(0)
            guard let bytes = rows.blob(1), !rows.isNull(1) else {
                values[key] = .some(nil)
                continue
            }
            if let reference = bytes.withUnsafeBytes({ ExternalReference(stored: $0) }), isExternal {
                let file = try ExternalFolder(store: destinationPath).file(reference)
                values[key] = try file?.contents()
                inFiles.insert(key)
            } else {
                values[key] = isExternal ? Array(bytes.dropFirst()) : bytes
            }
        }
        return (values, inFiles)
    }

    /// Files and folders beside the destination.
    func names() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.file("out")).sorted()
    }
}
