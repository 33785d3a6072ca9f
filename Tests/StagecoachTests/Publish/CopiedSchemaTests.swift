import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Every real store that was not altered in place, copied to its own model: the schema is the source's, byte by byte.
@Suite("Copies of real stores, byte by byte", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct CopiedSchemaTests {
    /// Why the copy has an object otherwise: how the report's sentence on it begins.
    private enum Reason: String {
        /// Frameworks before 800 knew no fetch indexes: `indexed="YES"` made an index of another name and form.
        case oldIndexes = "Indexes have the form and the name that Core Data gives them today"
        /// Frameworks up to 519 had no model cache and no index on join tables.
        case before2015 = "The source, of framework "
        /// In-place migrations add columns at the end.
        case alteredInPlace = "Columns stand in the order of a new store"
    }

    /// Stores that were altered in place: columns are at the ends of tables, whose names are compared.
    private static let alteredInPlace: Set = ["Test-10.15.1.Photos.sqlite", "Test-10.15.4.Photos.sqlite"]

    /// Stores that no model is found for, or whose models are only in binary forms that are not read.
    private static let withoutModel: Set = ["Recipes.sqlite", "RKSeedDatabase.sqlite"]

    private static let folders = [
        "artsy-energy", "beam", "bnr-coredatastack", "cartkit", "coredataplus", "cyface", "ddg-bookmarks",
        "jeffreybergier", "magicalrecord-recipes", "mastodon", "metacocktails", "objcio-moody", "photos", "plaso",
        "restkit", "truthsocial", "whatsapp", "wibosco-revised", "wire",
    ]

    private static func stores(in folder: String) -> [URL] {
        SharedStores.paths(in: folder, withExtensions: ["sqlite", "moody", "wiredatabase", "store", "db"]).filter {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true
        }
    }

    private static func model(of url: URL, in folder: String, path: String) throws -> ManagedObjectModel? {
        let store = try SourceStore(path: path, cacheBytes: 1 << 18, valueLimit: 1 << 24, temporaryDirectory: nil)
        let (cached, hashes) = (try? store.cachedModel(), store.metadata.versionHashes)
        try store.close()
        if let model = cached ?? nil { return model.fitting(storeHashes: hashes) ?? model }
        let bundles = SharedStores.paths(in: folder, withExtensions: ["xcdatamodeld"]).map(\.lastPathComponent)
        let versions = try bundles.flatMap { try RealFamily.load("\(folder)/models/\($0)").versions }
        return try RealFamily.read(url, versions: versions, isOfFamily: false)?.model
    }

    @Test(
        "Tables, join tables, indexes and triggers are the source's; rows are equal; the verification finds nothing",
        arguments: folders)
    func copies(folder: String) throws {
        var compared = 0
        for url in Self.stores(in: folder) {
            let name = url.lastPathComponent
            if Self.withoutModel.contains(name) { continue }
            let temporary = try TemporaryFolder()
            let place = temporary.url.appendingPathComponent("source")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let path = try RealStoreTests.copy(url, into: place)
            guard let model = try Self.model(of: url, in: folder, path: path) else {
                Issue.record("no model for \(name)")
                continue
            }
            // Core Data's columns of composite attributes are compared once they are written.
            let hasComposites = StoreSchema(model: model).unstorableAttributes.isEmpty == false
            if hasComposites {
                print("\(name): composite attributes are refused")
                continue
            }
            var options = MigrationOptions()
            options.unknownHashes = .omit
            let migration = Migration(
                from: path, model: model, mapping: try .inferred(from: model, to: model),
                to: temporary.file("copy.sqlite"), model: model, options: options)
            let notes = try migration.run().notes
            let (source, copy) = (
                try RealStoreFile(URL(fileURLWithPath: path)),
                try RealStoreFile(URL(fileURLWithPath: temporary.file("copy.sqlite")))
            )
            #expect(copy.damage.isEmpty, "\(name): \(copy.damage)")
            compare(name, source, copy, notes)
            compared += 1
            let rows = try ReferenceStore.read(path: temporary.file("copy.sqlite"), model: model)
            let before = try ReferenceStore.read(path: path, model: model)
            #expect(rows.differences(from: RealStoreIdentityTests.mended(before)) == [], "\(name)")
            let verified = try StoreVerification(migration).run()
            #expect(verified.differences.isEmpty, "\(name): \(verified.differences)")
        }
        print("\(folder): \(compared) copies compared")
    }

    private func compare(_ name: String, _ source: RealStoreFile, _ copy: RealStoreFile, _ notes: [String]) {
        let all = { (file: RealStoreFile) in
            file.tables.merging(file.indexes) { first, _ in first }.merging(file.triggers) { first, _ in first }
        }
        let (old, new) = (all(source), all(copy))
        func isNamed(_ reason: Reason?) -> Bool {
            reason.map { reason in notes.contains { $0.hasPrefix(reason.rawValue) } } ?? false
        }
        if Self.alteredInPlace.contains(name) {
            #expect(Set(old.keys) == Set(new.keys), "\(name): \(Set(old.keys).symmetricDifference(new.keys).sorted())")
            #expect(isNamed(.alteredInPlace), "\(name): \(notes)")
            return
        }
        let version = source.metadata.frameworkVersion ?? 0
        for object in Set(old.keys).union(new.keys).sorted() where old[object] != new[object] {
            #expect(
                isNamed(reason(object, old[object], new[object], version)),
                "\(name) \(object): \(new[object] ?? "nothing"), the source has \(old[object] ?? "nothing"); \(notes)")
        }
    }

    /// The reason why an object may differ; nil if it may not.
    private func reason(_ name: String, _ old: String?, _ new: String?, _ version: Int64) -> Reason? {
        if version <= 519, old == nil, name == "Z_MODELCACHE" || name.hasPrefix("Z_") && name.hasSuffix("_INDEX") {
            return .before2015
        }
        // `ZTRADE_ZAMOUNT_INDEX` is gone, `Z_Trade_amount` has come.
        if version < 800, old == nil ? new?.contains(" COLLATE BINARY ASC") == true : new == nil && name.hasPrefix("Z")
        {
            return .oldIndexes
        }
        return nil
    }
}
