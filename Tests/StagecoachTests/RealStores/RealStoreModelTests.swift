import Foundation
import TestSupport
import Testing

/// Families of real models without stores: random rows of one version, migrated to later ones.
@Suite("Random stores of real models", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealStoreModelTests {
    static let bundles: [String] = [
        "nova-wallet/models/SubstrateDataModel.xcdatamodeld", "nova-wallet/models/UserDataModel.xcdatamodeld",
        "owntracks/models/Model.xcdatamodeld", "objective-audio/models/Model.xcdatamodeld",
        "objective-audio/models/ModelS.xcdatamodeld", "flapjack/models/TestMigrationModel.xcdatamodeld",
        "jdspoone/models/CoreDataMigration.xcdatamodeld", "swiftgen/models/Model.xcdatamodeld",
        "tml/models/TestModel_MultiConfig_2.xcdatamodeld", "tml/models/TestModel_Simple_3.xcdatamodeld",
        "corestore/models/Advanced.EvolutionDemo.V1.xcdatamodeld",
        // With random rows too: they have what the real stores have not.
        "artsy-energy/models/ArtsyPartner.xcdatamodeld", "beam/models/Beam.xcdatamodeld",
        "ddg-bookmarks/models/BookmarksModel.xcdatamodeld", "wire/models/zmessaging.xcdatamodeld",
    ]

    @Test("Each version migrates to later ones, or the pair is refused for a reason", arguments: bundles)
    func later(bundle: String) throws {
        let family = try RealFamily.load(bundle)
        var tally = RealStoreTally()
        for (old, source) in family.versions.enumerated() {
            for (new, destination) in family.versions.enumerated() where isTried(old, new, of: family.versions.count) {
                let seed = RandomSeeds.first &+ UInt64(old)
                try tally.add("\(family.name) \(source.name) > \(destination.name), seed \(seed)") { folder in
                    let place = folder.url.appendingPathComponent("source")
                    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                    let path = place.appendingPathComponent("source.sqlite").path
                    try ReferenceStore.random(source.model, rows: 12, seed: seed).write(path: path)
                    return RealStoreMigration(
                        sourcePath: path, source: source.model, destinationPath: folder.file("destination.sqlite"),
                        destination: destination.model, compiledHashes: destination.compiledHashes)
                }
            }
        }
        tally.close("\(family.name), random rows, seed \(RandomSeeds.first)", stores: 0)
        #expect(tally.problems == [])
    }

    private func isTried(_ old: Int, _ new: Int, of count: Int) -> Bool {
        guard new > old else { return false }
        if RealStoreTests.isThorough || count <= 4 { return true }
        return old % 9 == 0 && (new == old + 1 || new == count - 1) || (old * 31 + new) % 151 == 0
    }
}
