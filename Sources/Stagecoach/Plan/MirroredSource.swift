import CoreDataStore
import Diagnostics
import Foundation

/// A source that CloudKit mirrors: Core Data keeps the state of the sync in tables of the store.
enum MirroredSource {
    /// Refuses a mirrored source unless its sync state is to be left behind.
    ///
    /// - Returns: how many tables of the sync there are.
    /// - Throws: `store.mirrored` (65).
    static func check(_ source: SourceStore, _ options: MigrationOptions) throws(MigrationError) -> Int {
        let count = try source.mirroringTables()
        guard count > 0, options.cloudKit == .refuse else { return count }
        throw MigrationError(
            "store.mirrored", .data,
            "The store is mirrored by CloudKit (\(count.grouped) ANSCK… \(count == 1 ? "table" : "tables")), and a copy cannot continue its sync",
            remedy:
                "Migrate it in the app, where Core Data's lightweight migration keeps the sync; or give --cloudkit drop "
                + "(MigrationOptions.cloudKit) for a copy without the sync's state: the app's next start then uploads every "
                + "object anew, which may duplicate what is in the cloud",
            context: .init(path: source.file.path))
    }

    /// The sentence of the report; nil for a source that is not mirrored.
    static func note(_ source: SourceStore, tables: Int, isAppended: Bool) -> String? {
        guard tables > 0 else { return nil }
        let path = source.file.path
        let folders = [path, (path as NSString).deletingPathExtension].map { $0 + "_ckAssets" }
        let assets = folders.first { FileManager.default.fileExists(atPath: $0) }
        return
            "The state of CloudKit's sync (\(tables) \(tables == 1 ? "table" : "tables")) and the history were left behind: "
            + (isAppended
                ? "the objects are new to the destination"
                : "at the app's next start with this store the sync begins anew: every object is uploaded under a new record "
                    + "name, and what is in the cloud is downloaded again, so that objects may be there twice")
            + (assets.map { "; the folder \(($0 as NSString).lastPathComponent) was not copied" } ?? "")
    }
}
