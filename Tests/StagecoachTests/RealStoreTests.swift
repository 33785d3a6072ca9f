import Diagnostics
import Foundation
import ManagedModel
import Mapping
import PersistentStore
import Stagecoach
import Synchronization
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
        var (migrated, refused, invalid, different) = (0, 0, 0, 0)
        for store in family.stores {
            let all = Array(family.versions(from: store))
            for (position, version) in all.enumerated() where Self.isTried(position, of: all.count) {
                let folder = try TemporaryFolder()
                let migration = try Self.migration(store, version, family, folder)
                let pair = "\(store.name) > \(version.name)"
                switch try migration.run() {
                case .migrated(let report, let lines):
                    migrated += 1
                    different += lines.isEmpty ? 0 : 1
                    #expect(lines.isEmpty, "\(pair)\n\(lines.prefix(12).joined(separator: "\n"))")
                    for note in report.notes { print("\(pair): \(note)") }
                case .refused(let error):
                    refused += 1
                    Self.checkRefusal(error, pair)
                    print("\(pair) refused: \(error)")
                case .invalid(let error, let lines):
                    invalid += 1
                    different += lines.isEmpty ? 0 : 1
                    #expect(lines.isEmpty, "\(pair)\n\(lines.joined(separator: "\n"))")
                    print("\(pair) invalid: \(error)")
                }
            }
        }
        print(
            "RESULT \(family.name): \(family.stores.count) stores, \(family.versions.count) versions, "
                + "\(migrated) migrated, \(refused) refused, \(invalid) invalid, \(different) different")
    }

    static func migration(
        _ store: RealStore, _ version: RealVersion, _ family: RealFamily, _ folder: TemporaryFolder
    ) throws -> RealStoreMigration {
        let place = folder.url.appendingPathComponent("source")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let path = try copy(store.url, into: place)
        return RealStoreMigration(
            sourcePath: path, source: store.model, destinationPath: folder.file("destination.sqlite"),
            destination: version.model, real: family.store(of: version),
            // The reference is quadratic in rows; this one has 33,002.
            usesReference: store.name != "V2TestData.sqlite")
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

    /// The next versions, the last, and a part of those between; all with `STAGECOACH_THOROUGH`.
    static func isTried(_ position: Int, of count: Int) -> Bool {
        isThorough || count <= 8 || position < 2 || position == count - 1 || position % 17 == 0
    }

    static func checkRefusal(_ error: MigrationError, _ pair: String) {
        #expect(error.code.rawValue.hasPrefix("inference."), "\(pair): \(error)")
        #expect(error.category == .configuration && error.context.entity != nil, "\(pair): \(error)")
        #expect(error.context.property != nil || error.code == "inference.hierarchies", "\(pair): \(error)")
    }
}
