import Diagnostics
import Foundation
import TestSupport
import Testing

/// The migrations that the index of the shared stores names, as far as they are inferred.
@Suite("Named cases of real stores", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealStoreCaseTests {
    /// A store, and the versions that it goes through.
    struct Case: Sendable, CustomTestStringConvertible {
        let bundle: String
        let store: String
        let versions: [String]
        /// Error code, entity and property of the last step; nil if it is migrated.
        var refusal: [String]?

        init(_ bundle: String, _ store: String, _ versions: [String], refusal: [String]? = nil) {
            self.bundle = bundle
            self.store = store
            self.versions = versions
            self.refusal = refusal
        }

        var testDescription: String { "\(store) > \(versions.joined(separator: " > "))" }
    }

    private static let sample = "coredataplus/models/SampleModel.xcdatamodeld"
    private static let wibosco = "wibosco-revised/models/CoreDataMigration_Example.xcdatamodeld"
    private static let beam = "beam/models/Beam.xcdatamodeld"
    private static let bookmarks = "ddg-bookmarks/models/BookmarksModel.xcdatamodeld"
    private static let example = "jeffreybergier/models/Model.xcdatamodeld"
    private static let artsy = "artsy-energy/models/ArtsyPartner.xcdatamodeld"
    private static let cyface = "cyface/models/CyfaceModel.xcdatamodeld"
    private static let wire = "wire/models/zmessaging.xcdatamodeld"

    static let cases: [Case] = [
        Case(sample, "SampleModel_V1.sqlite", ["SampleModel2"]),
        Case(wibosco, "CoreDataMigration_Example_1.sqlite", ["CoreDataMigration_Example 2"]),
        Case(wibosco, "CoreDataMigration_Example_3.sqlite", ["CoreDataMigration_Example 4"]),
        // The new `database_id` is required, and Xcode drops defaults of UUIDs: Beam had a mapping model for it.
        Case(
            beam, "BeamExport.Beam1-hist.2d52bc4c.sqlite", ["Beam2"],
            refusal: ["validation.missing", "Document", "database_id"]),
        Case(beam, "BeamExport.Beam3.74874036.sqlite", ["Beam4"]),
        Case(bookmarks, "Bookmarks_V1.sqlite", ["BookmarksModel 2", "BookmarksModel 3"]),
        Case(bookmarks, "Bookmarks_V2.sqlite", ["BookmarksModel 3"]),
        Case(example, "Example_v1.0.0.sqlite", ["v2.0.0"]),
        Case(example, "Example_v1.1.0.sqlite", ["v2.0.0"]),
        Case(example, "Example_v1.1.2.sqlite", ["v2.0.0"]),
        Case(example, "Example_v1.2.0.sqlite", ["v2.0.0"]),
        Case(example, "Example_v2.0.0.sqlite", ["v2.0.0"]),
        Case(artsy, "ArtsyPartner_1.3.sqlite", ["ArtsyFolio v1.5"]),
        Case(artsy, "ArtsyPartner_1.4.sqlite", ["ArtsyFolio v1.5"]),
        // The covers point to images instead of artworks.
        Case(
            artsy, "ArtsyPartner_1.3.sqlite", ["ArtsyFolio v2.0"],
            refusal: ["inference.relationshipDestination", "Album", "cover"]),
        Case(
            artsy, "ArtsyPartner_1.4.sqlite", ["ArtsyFolio v1.5", "ArtsyFolio v2.0"],
            refusal: ["inference.relationshipDestination", "Album", "cover"]),
        Case(cyface, "V1TestData.sqlite", ["2", "3"]),
        Case(wire, "store1-24.wiredatabase", ["zmessaging2.59.0"]),
        Case(wire, "store2-31-0.wiredatabase", ["zmessaging2.59.0"]),
        Case(wire, "store2-50-0.wiredatabase", ["zmessaging2.59.0"]),
    ]

    @Test("Each is migrated or refused as its models say", arguments: cases)
    func named(item: Case) throws {
        let family = try RealFamily.load(item.bundle)
        let store = try #require(family.stores.first { $0.name == item.store })
        let versions = try item.versions.map { name in try #require(family.versions.first { $0.name == name }) }
        var tally = RealStoreTally()
        try RealStoreChainTests.walk(store, versions, family, &tally)
        #expect(tally.problems == [])
        #expect(tally.migrated == versions.count - (item.refusal == nil ? 0 : 1))
        guard let refusal = item.refusal else { return }
        let error = try #require(tally.lastError)
        #expect([error.code.rawValue, error.context.entity, error.context.property] == refusal)
    }

    @Test("Names of stores that lie are told by the hashes")
    func lies() throws {
        let family = try RealFamily.load(Self.wire)
        for (name, version) in [
            ("store2-50-0.wiredatabase", "zmessaging2.24.1"), ("store2-40-0.wiredatabase", "zmessaging2.39.0"),
        ] {
            let store = try #require(family.stores.first { $0.name == name })
            #expect(family.versions(from: store).first?.name == version)
        }
        let oldest = try #require(family.stores.first { $0.name == "store1-24.wiredatabase" })
        #expect(!family.versions.contains { $0.wrote(oldest.hashes) })
        let compiled = try RealFamily.compiledHashes("wire/momd/zmessaging124.momd/VersionInfo.plist")
        #expect(compiled["zmessaging"] == oldest.hashes)
    }
}
