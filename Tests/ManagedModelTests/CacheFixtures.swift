import CSQLite
import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import ManagedModel

/// Archived models of real stores and compiled models.
enum RealModelArchives {
    static let storeExtensions: Set<String> = ["sqlite", "moody", "wiredatabase", "store"]

    /// Z_MODELCACHE of every shared store that has one, with the store's path.
    static func caches() throws -> [(path: String, content: [UInt8])] {
        var caches: [(path: String, content: [UInt8])] = []
        for store in SharedStores.paths(withExtensions: storeExtensions) {
            let folder = try TemporaryFolder()
            if let content = modelCache(of: try folder.copyStore(store)) { caches.append((store.path, content)) }
        }
        return caches
    }

    /// Every compiled model, those in `.momd` folders too.
    static func compiledModels() throws -> [(path: String, bytes: [UInt8])] {
        var models = SharedStores.paths(withExtensions: ["mom", "momd"])
        models = try models.flatMap { model in
            guard model.pathExtension == "momd" else { return [model] }
            return try FileManager.default.contentsOfDirectory(at: model, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "mom" }
        }
        return try models.map { ($0.path, Array(try Data(contentsOf: $0))) }
    }

    private static func modelCache(of path: String) -> [UInt8]? {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else { return nil }
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(database, "SELECT Z_CONTENT FROM Z_MODELCACHE", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let blob = sqlite3_column_blob(statement, 0)
        else { return nil }
        return Array(UnsafeRawBufferPointer(start: blob, count: Int(sqlite3_column_bytes(statement, 0))))
    }
}
