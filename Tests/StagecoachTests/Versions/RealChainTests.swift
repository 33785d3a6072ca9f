import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

/// Every real store: its version named, and its way over its family's mapping models and inference run.
@Suite("Ways of real stores", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct RealChainTests {
    @Test("Every store's version is named, by its hashes or its cached model")
    func named() throws {
        var counts: [String: Int] = [:]
        for project in RealStoreIdentityTests.projects {
            let bundles = SharedStores.paths(in: project, withExtensions: ["xcdatamodeld", "momd"]).map(\.path)
            for store in RealFamily.stores(of: project) {
                let folder = try TemporaryFolder()
                let path = try folder.copyStore(store)
                var found: [String] = []
                var evidence = "none"
                for bundle in bundles + [""] where evidence != "hashes" {
                    do throws(MigrationError) {
                        let version = try StoreVersion.find(
                            store: path, bundle: bundle.isEmpty ? nil : bundle, namesAll: true)
                        evidence = version.evidence.rawValue
                        found = version.names
                        // The model that is to be read by is the store's.
                        let hashes = version.model.entityVersionHashesByName
                        let own = try SourceStore(
                            path: path, cacheBytes: 1 << 16, valueLimit: 1 << 24, temporaryDirectory: nil)
                        #expect(hashes.allSatisfy { own.metadata.versionHashes[$0.key] == Array($0.value) })
                        try own.close()
                    } catch {
                        #expect(error.code == "model.unknownVersion", "\(store.lastPathComponent): \(error)")
                    }
                }
                counts[evidence, default: 0] += 1
                print("\(store.lastPathComponent): \(evidence) \(found.joined(separator: ", "))")
                let isKnown = !RealStoreIdentityTests.withoutModel.contains(store.lastPathComponent)
                #expect((evidence != "none") == isKnown, "\(store.lastPathComponent)")
            }
        }
        print("versions of stores: \(counts.sorted { $0.key < $1.key })")
        #expect(counts["none"] == RealStoreIdentityTests.withoutModel.count)
        #expect(counts["schema"] == nil)
    }

    /// A family with mapping models: its bundle, its mapping models, and the versions that they lead to.
    struct Family: Sendable, CustomTestStringConvertible {
        let bundle: String
        let last: String
        /// Names in the mapping folder, in an order that is not the way's.
        let mappings: [String]

        var testDescription: String { bundle }
    }

    static let families = [
        Family(
            bundle: "objcio-moody/models/Moody.xcdatamodeld", last: "Moody 6",
            mappings: ["Moody 5-Moody 6", "Moody 3-Moody 4", "Moody 2-Moody 3", "Moody 4-Moody 5"]),
        Family(
            bundle: "wibosco-revised/models/CoreDataMigration_Example.xcdatamodeld",
            last: "CoreDataMigration_Example 4", mappings: ["Migration2to3ModelMapping"]),
        Family(
            bundle: "beam/models/Beam.xcdatamodeld", last: "Beam4",
            mappings: ["Beam3ToBeam4Migration", "BeamToBeam2Migration"]),
        Family(
            bundle: "coredataplus/models/SampleModel.xcdatamodeld", last: "SampleModel3", mappings: ["V2toV3"]),
        Family(bundle: "cyface/models/CyfaceModel.xcdatamodeld", last: "4", mappings: ["V3toV4"]),
        Family(
            bundle: "wire/models/zmessaging.xcdatamodeld", last: "zmessaging2.59.0", mappings: ["migration2.54"]),
    ]

    @Test(
        "Each store goes over the mapping models that its way needs, in whatever order they are given",
        arguments: families)
    func ways(family: Family) throws {
        let root = SharedStores.url.path + "/"
        let project = String(family.bundle.prefix { $0 != "/" })
        let bundle = root + family.bundle
        let last = ModelVersion(name: family.last, model: try ModelLocator.load("\(bundle):\(family.last)").model)
        let registry = PolicyRegistry()
        registry.register(Country5ToCountry6Policy.self)
        registry.register(Post2ToPost3MigrationPolicy.self)
        registry.register(BeamToBeam2MigrationPolicy.self)
        registry.register(Beam3ToBeam4MigrationPolicy.self)
        registry.register(V2to3MakerPolicy.self)
        registry.register(MeasurementToMeasurementPolicy.self)
        var (migrated, invalid, steps, runs, used) = (0, 0, 0, 0, 0)
        for (number, store) in RealFamily.stores(of: project).enumerated() {
            // A usual run takes the first store that has a way to go, and every fourth.
            guard
                RealStoreTests.isThorough
                    || (number % 4 == 0 || migrated + invalid == 0) && store.lastPathComponent != RealStoreTests.large
            else { continue }
            let folder = try TemporaryFolder()
            let path = try folder.copyStore(store)
            guard let found = try? StoreVersion.find(store: path, bundle: bundle, namesAll: true),
                found.evidence == .hashes, !found.names.contains(family.last)
            else { continue }
            // A store beyond all mapping models: each of them is beside its way.
            let route = try VersionRoute.find(
                from: found.version, to: last, bundle: bundle,
                mappings: family.mappings.map { "\(root)\(project)/mappings/\($0).xcmappingmodel" })
            print(
                "\(store.lastPathComponent): \(route.steps.map { "\($0.label)\($0.files.isEmpty ? "" : " *")" }), beside: \(route.unneeded.count)"
            )
            var options = MigrationOptions()
            options.memoryLimit = 8 << 30
            options.fullCheck = true
            let chain = ChainedMigration(
                from: path, steps: route.steps, to: folder.file("destination.sqlite"), options: options)
            chain.policies = registry
            do {
                let report = try chain.run()
                let hashes = try StoreVersion.find(
                    store: folder.file("destination.sqlite"), bundle: bundle, namesAll: true)
                #expect(hashes.names.contains(family.last), "\(store.lastPathComponent)")
                migrated += 1
                steps += route.steps.count
                runs += report.steps?.count ?? 1
                used += route.steps.count { !$0.files.isEmpty }
            } catch let error as MigrationError {
                // Rows that break a rule, in a step that is named.
                #expect(error.category == .data, "\(store.lastPathComponent): \(error)")
                #expect(error.context.objectID != nil, "\(store.lastPathComponent): \(error)")
                invalid += 1
                print("\(store.lastPathComponent): \(error)")
            }
        }
        print(
            "\(project): \(migrated) stores migrated in \(steps) steps, \(runs) runs, \(used) steps by mapping models")
        // Beam's sampled stores have documents without the database_id that a later version requires.
        #expect(migrated > 0 || invalid > 0 && !RealStoreTests.isThorough, "\(migrated) migrated, \(invalid) invalid")
    }
}
