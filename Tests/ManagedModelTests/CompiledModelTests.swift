import Archives
import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import ManagedModel

@Suite("Compiled models")
struct CompiledModelTests {
    typealias Change = (PropertyListDictionary) -> PropertyListDictionary

    /// A bundle of the library's two versions, compiled by our own writer.
    private func bundle(
        current: String? = "Library 2", versions: [String] = ["Library", "Library 2"], change: Change? = { $0 }
    ) throws -> (folder: TemporaryFolder, path: String) {
        let folder = try TemporaryFolder()
        let path = folder.file("Library.momd")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var hashes = PropertyListDictionary()
        for version in versions {
            let model = try ModelLocator.load(ModelFixtures.library + ":" + version).model
            try Data(try ModelArchive.encode(model)).write(to: URL(fileURLWithPath: "\(path)/\(version).mom"))
            let known = VersionHash.entityHashes(of: model).compactMapValues(\.bytes)
            hashes[version] = .dictionary(PropertyListDictionary(known.mapValues { .data($0) }))
        }
        try Data("momv2$".utf8).write(to: URL(fileURLWithPath: path + "/Library 2.omo"))
        if let change {
            var info: PropertyListDictionary = ["NSManagedObjectModel_VersionHashes": .dictionary(hashes)]
            if let current { info["NSManagedObjectModel_CurrentVersionName"] = .string(current) }
            let bytes = try BinaryPropertyList.encode(.dictionary(change(info)))
            try Data(bytes).write(to: URL(fileURLWithPath: path + "/VersionInfo.plist"))
        }
        return (folder, path)
    }

    private func failure(_ argument: String) throws -> MigrationError {
        try #require(throws: MigrationError.self) { try ModelLocator.load(argument) }
    }

    @Test("A bundle gives its current version, a version by name, and a bare file")
    func load() throws {
        let (folder, path) = try bundle()
        let current = try ModelLocator.load(path)
        #expect(current.versionName == "Library 2" && current.path == path + "/Library 2.mom")
        #expect(current.model.entity(named: "Publisher") != nil)
        for name in ["Library", "Library.mom", "Library.mom/"] {
            #expect(try ModelLocator.load("\(path):\(name)").versionName == "Library")
        }
        #expect(try ModelLocator.load(path + "///").versionName == "Library 2")
        #expect(try ModelLocator.load(path + "/Library.mom").versionName == "Library")
        #expect(try ModelLocator.versions(in: path) == ["Library", "Library 2"])
        try FileManager.default.copyItem(atPath: path + "/Library.mom", toPath: folder.file("bare.mom"))
        #expect(try ModelLocator.load(folder.file("bare.mom")).versionName == "bare")
        let source = try ModelLocator.load(ModelFixtures.library).model
        #expect(current.model.entityVersionHashesByName == source.entityVersionHashesByName)
        #expect(ModelLocator.bundle(of: path + ":Library") == path)
        #expect(ModelLocator.bundle(of: path + "/Library.mom") == path)
        #expect(ModelLocator.bundle(of: folder.file("bare.mom")) == nil)
        #expect(ModelLocator.isModel(name: "a.mom") && ModelLocator.isModel(name: "a.momd:b"))
    }

    @Test("The current version is named in the bundle, or the bundle has only one")
    func current() throws {
        let single = try bundle(current: nil, versions: ["Library"])
        #expect(try ModelLocator.load(single.path).versionName == "Library")
        let bare = try bundle(versions: ["Library"], change: nil)
        #expect(try ModelLocator.load(bare.path).versionName == "Library")
        let several = try bundle(current: nil)
        let ambiguous = try failure(several.path)
        #expect(ambiguous.code == "model.ambiguousVersion" && ambiguous.remedy?.contains("\"Library 2\"") == true)
        let gone = try bundle(current: "Library 3")
        #expect(try failure(gone.path).code == "model.currentVersion")
        #expect(try failure(several.path + ":Nothing").code == "model.unknownVersion")
        let empty = try bundle(versions: [])
        #expect(try failure(empty.path).code == "model.noVersion")
        #expect(try failure(several.path + "x").category == .noInput)
    }

    @Test("An .omo is no model, and the error names the .mom")
    func optimized() throws {
        let (folder, path) = try bundle()
        let error = try failure(path + "/Library 2.omo")
        #expect(error.code == "model.unknownKind" && error.remedy?.contains(".mom") == true)
        _ = folder
    }

    @Test("Hashes that are not the model's are an error that names the entities")
    func hashes() throws {
        func info(_ version: String, _ edit: @escaping (inout PropertyListDictionary) -> Void) -> Change {
            { info in
                var info = info
                guard case .dictionary(var versions)? = info["NSManagedObjectModel_VersionHashes"],
                    case .dictionary(var entities)? = versions[version]
                else { return info }
                edit(&entities)
                versions[version] = .dictionary(entities)
                info["NSManagedObjectModel_VersionHashes"] = .dictionary(versions)
                return info
            }
        }
        let wrong = Array(repeating: UInt8(7), count: 32)
        let other = try bundle(change: info("Library 2") { $0["Publisher"] = .data(wrong) })
        let error = try failure(other.path)
        #expect(error.code == "model.versionHash" && error.category == .configuration)
        #expect(error.message.contains("Publisher differs") && error.context.entity == "Publisher")
        #expect(try failure(other.path + "/Library 2.mom").code == "model.versionHash")
        #expect(try ModelLocator.load(other.path + ":Library").versionName == "Library")
        let missing = try bundle(change: info("Library 2") { $0["Publisher"] = nil })
        #expect(try failure(missing.path).message.contains("Publisher"))
        let extra = try bundle(change: info("Library 2") { $0["Nobody"] = .data(wrong) })
        #expect(try failure(extra.path).message.contains("Nobody"))
        let short = try bundle(change: info("Library 2") { $0["Publisher"] = .data([1]) })
        #expect(try failure(short.path).code == "model.versionInfo")
    }

    @Test("A hash that cannot be computed is taken from the compiler")
    func derived() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("M.momd")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var definition = ModelDefinition()
        var entity = EntityDefinition(name: "E")
        var attribute = AttributeDefinition(name: "loud", type: .string)
        attribute.derivationExpression = "uppercase:(text)"
        entity.attributes = [attribute]
        definition.entities = [entity]
        let model = try ManagedObjectModel(definition)
        #expect(model.entityVersionHashesByName.isEmpty)
        try Data(try ModelArchive.encode(model)).write(to: URL(fileURLWithPath: path + "/M.mom"))
        let hash = Array(UInt8(0)..<32)
        let info = try BinaryPropertyList.encode(
            .dictionary([
                "NSManagedObjectModel_VersionHashes": .dictionary(["M": .dictionary(["E": .data(hash)])])
            ]))
        try Data(info).write(to: URL(fileURLWithPath: path + "/VersionInfo.plist"))
        let loaded = try ModelLocator.load(path).model
        #expect(loaded.entityVersionHashesByName == ["E": Data(hash)])
        #expect(loaded.versionChecksum == VersionHash.checksum(of: ["E": hash]))
    }

    @Test("Damaged files are refused with their path")
    func damage() throws {
        let seed = RandomSeeds.first
        print("CompiledModelTests.damage seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let (folder, path) = try bundle()
        for name in ["Library 2.mom", "VersionInfo.plist"] {
            let url = URL(fileURLWithPath: "\(path)/\(name)")
            let original = Array(try Data(contentsOf: url))
            var refused = 0
            for _ in 0..<600 {
                var bytes = original
                switch random.below(3) {
                case 0: bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
                default: bytes.removeSubrange(random.below(bytes.count)..<bytes.count)
                }
                try Data(bytes).write(to: url)
                do { _ = try ModelLocator.load(path) } catch {
                    // A version may have been renamed, which is not found then.
                    #expect(error.category == .configuration, "seed \(seed): \(error)")
                    #expect(error.context.path?.hasPrefix(path) == true, "seed \(seed): \(error)")
                    refused += 1
                }
            }
            #expect(refused > 100)
            try Data(original).write(to: url)
        }
        try Data("<plist/>".utf8).write(to: URL(fileURLWithPath: path + "/VersionInfo.plist"))
        #expect(try failure(path).code == "model.versionInfo")
        _ = folder
    }
}

@Suite(
    "Compiled models of real apps", .enabled(if: SharedStores.isPresent, "the folder of shared stores is absent"))
struct RealCompiledModelTests {
    @Test("Every .momd and .mom loads, with the hashes that its compiler gave")
    func all() throws {
        var (bundles, versions, entities, verified, taken) = (0, 0, 0, 0, 0)
        for url in SharedStores.paths(withExtensions: ["momd"]) {
            let bundle = try ModelBundle(path: url.path)
            let info = try #require(bundle.info)
            #expect(try ModelLocator.load(url.path).versionName == (info.currentVersion ?? bundle.versions.first))
            #expect(Set(bundle.versions) == Set(info.hashes.keys), "\(url.path)")
            for version in bundle.versions {
                let computed = VersionHash.entityHashes(
                    of: try ManagedObjectModel(
                        try ModelArchive.decode(
                            Array(try Data(contentsOf: URL(fileURLWithPath: bundle.file(of: version)))))))
                let model = try ModelLocator.load("\(url.path):\(version)").model
                let stated = try #require(info.hashes[version])
                #expect(model.entityVersionHashesByName == stated.mapValues { Data($0) }, "\(url.path) \(version)")
                if let checksum = info.checksums[version] { #expect(model.versionChecksum == checksum) }
                versions += 1
                entities += stated.count
                verified += stated.count { computed[$0.key]?.bytes == $0.value }
                taken += computed.values.count { $0.bytes == nil }
            }
            bundles += 1
        }
        print("bundles \(bundles), versions \(versions), entities \(entities), computed \(verified), taken \(taken)")
        #expect(bundles == 5 && versions == 10)
        #expect(verified + taken == entities)
        let files = SharedStores.paths(withExtensions: ["mom", "momd"]).filter { $0.pathExtension == "mom" }
        for file in files { #expect(try !ModelLocator.load(file.path).model.entities.isEmpty, "\(file.path)") }
        print("files without a bundle: \(files.count)")
        #expect(files.count == 3)
    }

    @Test("SampleModel compiled and as Xcode's source are one model")
    func sameModel() throws {
        let root = SharedStores.url.appendingPathComponent("coredataplus").path
        for version in ["SampleModel", "SampleModel2", "SampleModel3"] {
            let compiled = try ModelLocator.load("\(root)/momd/SampleModel.momd:\(version)").model
            let source = try ModelLocator.load("\(root)/models/SampleModel.xcdatamodeld:\(version)").model
            #expect(compiled.entityVersionHashesByName == source.entityVersionHashesByName)
            #expect(compiled.entities.map(\.definition.name) == source.entities.map(\.definition.name))
            #expect(ModelDifference.describe(storeModel: compiled, model: source) == [])
            for (one, other) in zip(compiled.entities, source.entities) {
                #expect(one.renamingIdentifier == other.renamingIdentifier)
                #expect(
                    one.attributes.map(\.definition.defaultValue) == other.attributes.map(\.definition.defaultValue))
            }
        }
    }
}
