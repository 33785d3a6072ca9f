import CSQLite
import CoreDataStore
import Foundation
import TestSupport
import Testing

/// Every real store to every later version of its family for which a mapping model can be inferred.
@Suite("Real stores to later versions", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealStoreTests {
    static let isThorough = ProcessInfo.processInfo.environment["STAGECOACH_THOROUGH"] != nil

    /// The families that have stores.
    static let bundles = [
        "artsy-energy/models/ArtsyPartner.xcdatamodeld", "beam/models/Beam.xcdatamodeld",
        "bnr-coredatastack/models/Sample.xcdatamodeld", "coredataplus/models/SampleModel.xcdatamodeld",
        "coredataplus/models/SampleModel3.xcdatamodeld", "cyface/models/CyfaceModel.xcdatamodeld",
        "ddg-bookmarks/models/BookmarksModel.xcdatamodeld", "jeffreybergier/models/Model.xcdatamodeld",
        "objcio-moody/models/Moody.xcdatamodeld", "wibosco-revised/models/CoreDataMigration_Example.xcdatamodeld",
        "wire/models/zmessaging.xcdatamodeld",
    ]

    @Test("Each store migrates to each later version, or the pair is refused for a reason", arguments: bundles)
    func later(bundle: String) throws {
        let family = try RealFamily.load(bundle)
        var tally = RealStoreTally()
        for (number, store) in family.stores.enumerated() {
            let all = Array(family.versions(from: store))
            for (position, version) in all.enumerated()
            where Self.isTried(position, of: all.count, store: number) {
                let pair = "\(store.name) > \(version.name)"
                let outcome = try tally.add(pair) { try Self.migration(store, version, family, $0) }
                if case .refused(let error) = outcome, error.code != "inference.hierarchies" {
                    // Left on request, everything else migrates.
                    let left = try tally.add(pair + ", left") { folder in
                        var migration = try Self.migration(store, version, family, folder)
                        migration.unmappable = .leave
                        return migration
                    }
                    if case .migrated(let report, _) = left, report.unmapped?.isEmpty ?? true {
                        Issue.record("\(pair): what is left unmapped is not named")
                    }
                }
                guard position == 1, number % 3 == 0 || Self.isThorough else { continue }
                // The next version also on the policy path, in small batches.
                try tally.add(pair + ", staged") { folder in
                    var migration = try Self.migration(store, version, family, folder)
                    migration.variant.isStaged = true
                    migration.variant.batchSize = 7
                    return migration
                }
            }
        }
        tally.close(family.name, stores: family.stores.count)
        #expect(tally.problems == [])
        #expect(tally.migrated > 0)
    }

    @Test("A part of a large store's rows gives the reference's rows", arguments: ["2", "3"])
    func part(version: String) throws {
        let family = try RealFamily.load("cyface/models/CyfaceModel.xcdatamodeld")
        let store = try #require(family.stores.first { $0.name == Self.large })
        let destination = try #require(family.versions.first { $0.name == version })
        var tally = RealStoreTally()
        try tally.add("a part of \(store.name) > \(version)") { folder in
            var migration = try Self.migration(store, destination, family, folder)
            let connection = try Connection(path: migration.sourcePath, flags: SQLITE_OPEN_READWRITE)
            try connection.execute("DELETE FROM ZACCELERATION WHERE Z_PK % 25; DELETE FROM ZGEOLOCATION WHERE Z_PK % 5")
            try connection.close()
            migration.usesReference = true
            return migration
        }
        #expect(tally.problems == [])
        #expect(tally.migrated == 1)
    }

    /// The reference is quadratic in rows, and this store has 33,002.
    static let large = "V2TestData.sqlite"

    static func migration(
        _ store: RealStore, _ version: RealVersion, _ family: RealFamily, _ folder: TemporaryFolder
    ) throws -> RealStoreMigration {
        let place = folder.url.appendingPathComponent("source")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let path = try copy(store.url, into: place)
        return RealStoreMigration(
            sourcePath: path, source: store.model, destinationPath: folder.file("destination.sqlite"),
            destination: version.model, real: family.store(of: version), compiledHashes: version.compiledHashes,
            usesReference: store.name != large)
    }

    /// Copies a store's three files into a folder of their own.
    static func copy(_ store: URL, into folder: URL) throws -> String {
        let copy = folder.appendingPathComponent(store.lastPathComponent)
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: store.path + suffix) {
            try FileManager.default.copyItem(atPath: store.path + suffix, toPath: copy.path + suffix)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path + suffix)
        }
        return copy.path
    }

    /// The next version, the last, and a part of those between; all with `STAGECOACH_THOROUGH`. A store's own version
    /// is tried by ``RealStoreIdentityTests`` too.
    static func isTried(_ position: Int, of count: Int, store: Int) -> Bool {
        if isThorough || count <= 6 { return true }
        return position == 1 || position == count - 1 && store % 3 == 0 || (position + 5 * store) % 61 == 0
    }
}
