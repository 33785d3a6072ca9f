import CSQLite
import Diagnostics
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ManagedModel

/// Files that Apple's tools wrote: models in XML, compiled models with their hashes, stores with theirs.
@Suite(
    "Models and version hashes of real projects", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct SharedModelTests {
    /// Every version in XML below a folder of the shared stores.
    private static func contents(in folder: String = "") -> [URL] {
        SharedStores.paths(in: folder, withExtensions: ["xcdatamodeld", "xcdatamodel"]).flatMap { bundle in
            if bundle.pathExtension == "xcdatamodel" { return [bundle.appendingPathComponent("contents")] }
            let versions = (try? ModelLocator.versions(in: bundle.path)) ?? []
            return versions.map { bundle.appendingPathComponent("\($0).xcdatamodel/contents") }
        }
    }

    /// A version with its hashes.
    private struct HashedModel {
        var loaded: LoadedModel
        var hashes: [String: EntityVersionHash]
        var known: [String: [UInt8]]

        var model: ManagedObjectModel { loaded.model }
    }

    /// The models of every version below a project's folder, read and hashed once.
    private static func models(of project: String) throws -> [HashedModel] {
        try cache.withLock { cache in
            if let models = cache[project] { return models }
            let models = try contents(in: project).map { file in
                let loaded = try ModelLocator.load(file.path)
                let hashes = VersionHash.entityHashes(of: loaded.model)
                return HashedModel(loaded: loaded, hashes: hashes, known: hashes.compactMapValues(\.bytes))
            }
            cache[project] = models
            return models
        }
    }

    private static let cache = Mutex<[String: [HashedModel]]>([:])

    @Test("Every contents file is read, and resolves")
    func everyContents() throws {
        let files = Self.contents()
        var entities = 0
        for file in files {
            let loaded = try ModelLocator.load(file.path)
            #expect(loaded.versionName == file.deletingLastPathComponent().deletingPathExtension().lastPathComponent)
            entities += loaded.model.entities.count
        }
        print("contents read: \(files.count), entities: \(entities)")
        #expect(files.count == 232)
        #expect(entities == 2340)
    }

    @Test("Every bundle has a current version, or says that it must be named")
    func everyBundle() throws {
        var current = 0
        var ambiguous = 0
        for bundle in SharedStores.paths(withExtensions: ["xcdatamodeld"]) {
            do {
                _ = try ModelLocator.load(bundle.path)
                current += 1
            } catch {
                #expect(error.code == "model.ambiguousVersion" || error.code == "model.currentVersion", "\(error)")
                ambiguous += 1
            }
            for version in try ModelLocator.versions(in: bundle.path) {
                #expect(try ModelLocator.load("\(bundle.path):\(version)").versionName == version)
                #expect(try ModelLocator.load("\(bundle.path):\(version).xcdatamodel").versionName == version)
            }
        }
        print("bundles with a current version: \(current), without: \(ambiguous)")
        #expect(current + ambiguous == 34)
    }

    // MARK: Vectors

    private struct Vectors: Decodable {
        struct Model: Decodable {
            var source: String
            var version: String?
            var entityHashes: [String: String]
            var checksum: String?
            var digest: String?
        }

        struct Property: Decodable {
            var kind: String
            var name: String
            var hash: String
            var optional: Bool
            var transient: Bool
            var modifier: String?
            var attributeType: UInt32?
            var external: Bool?
            var preserve: Bool?
            var destination: String?
            var inverse: String?
            var maxCount: Int?
            var minCount: Int?
            var ordered: Bool?
        }

        var models: [Model]
        var properties: [Property]
    }

    private static func vectors() throws -> Vectors {
        try JSONDecoder().decode(
            Vectors.self,
            from: Data(contentsOf: SharedStores.shared.appendingPathComponent("version-hash-vectors.json")))
    }

    @Test("The property vectors come out")
    func propertyVectors() throws {
        let properties = try Self.vectors().properties
        for vector in properties {
            if let code = vector.attributeType {
                var attribute = AttributeDefinition(
                    name: vector.name, type: try #require(AttributeType(rawValue: code)))
                attribute.isOptional = vector.optional
                attribute.isTransient = vector.transient
                attribute.versionHashModifier = vector.modifier
                attribute.allowsExternalBinaryDataStorage = vector.external ?? false
                attribute.preservesValueInHistoryOnDeletion = vector.preserve ?? false
                #expect(VersionHash.hash(of: attribute).bytes?.hexadecimal == vector.hash, "\(vector.name)")
            } else {
                let model = try Self.model(with: vector)
                let relationship = try #require(model.entity(named: "Owner")?.relationship(named: vector.name))
                #expect(VersionHash.hash(of: relationship).bytes?.hexadecimal == vector.hash, "\(vector.name)")
            }
        }
        print("property vectors reproduced: \(properties.count)")
        #expect(properties.count == 25)
    }

    /// A model with the relationship of a vector on an entity Owner.
    private static func model(with vector: Vectors.Property) throws -> ManagedObjectModel {
        var relationship = RelationshipDefinition(
            name: vector.name, destinationEntityName: try #require(vector.destination))
        relationship.inverseName = vector.inverse
        relationship.isOptional = vector.optional
        relationship.isTransient = vector.transient
        relationship.versionHashModifier = vector.modifier
        relationship.maximumCount = try #require(vector.maxCount)
        relationship.minimumCount = try #require(vector.minCount)
        relationship.isToMany = relationship.maximumCount != 1
        relationship.isOrdered = vector.ordered ?? false
        var owner = EntityDefinition(name: "Owner")
        owner.relationships = [relationship]
        var destination = EntityDefinition(name: relationship.destinationEntityName)
        if let inverse = vector.inverse {
            var back = RelationshipDefinition(name: inverse, destinationEntityName: "Owner")
            back.isToMany = true
            destination.relationships = [back]
        }
        var definition = ModelDefinition()
        definition.entities = [owner, destination]
        return try ManagedObjectModel(definition)
    }

    @Test("Digest and checksum of every vector come out of its hashes")
    func digestVectors() throws {
        var digests = 0
        var checksums = 0
        for vector in try Self.vectors().models {
            let hashes = vector.entityHashes.mapValues { Self.bytes($0) }
            if let digest = vector.digest {
                #expect(VersionHash.digest(of: hashes) == digest, "\(vector.source)")
                digests += 1
            }
            if let checksum = vector.checksum {
                #expect(VersionHash.checksum(of: hashes) == checksum, "\(vector.source)")
                checksums += 1
            }
        }
        print("vectors: digests \(digests), checksums \(checksums)")
        #expect(digests == 4)
        #expect(checksums == 5)
    }

    @Test("Model vectors are computed from the XML if it is there")
    func modelVectors() throws {
        var reproduced = 0
        var withoutXML: [String] = []
        for vector in try Self.vectors().models {
            let project = try #require(vector.source.split(separator: "/").first.map(String.init))
            let wanted = vector.entityHashes.mapValues { Self.bytes($0) }
            let models = try Self.models(of: project)
            let matches = models.filter { $0.known == wanted }
            if matches.isEmpty {
                withoutXML.append(vector.source)
                continue
            }
            if let version = vector.version { #expect(matches.contains { $0.loaded.versionName == version }) }
            for match in matches {
                if let checksum = vector.checksum { #expect(match.model.versionChecksum == checksum) }
                #expect(match.model.entityVersionHashesByName.mapValues { [UInt8]($0) } == wanted)
                #expect(ModelDifference.describe(store: wanted, model: match.model).isEmpty)
            }
            reproduced += 1
        }
        print("model vectors reproduced from XML: \(reproduced), XML absent: \(withoutXML)")
        #expect(reproduced == 9)
        #expect(withoutXML == ["coredataplus/stores/SampleModel2_V1.sqlite"])
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal.utf8).map { UInt8(Character(UnicodeScalar($0)).hexDigitValue ?? 0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    // MARK: Beyond the vectors

    @Test("The hashes of compiled models come out of the XML of the same version")
    func compiledModels() throws {
        var entities = 0
        var unknown: [String] = []
        var unmatched: [String] = []
        for momd in SharedStores.paths(withExtensions: ["momd"]) {
            let data = try Data(contentsOf: momd.appendingPathComponent("VersionInfo.plist"))
            let plist = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
            let versions = try #require(plist?["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]])
            let project = momd.deletingLastPathComponent().deletingLastPathComponent()
            let models = try Self.models(of: project.lastPathComponent)
            for (version, hashes) in versions.sorted(by: { $0.key < $1.key }) {
                let wanted = hashes.mapValues { [UInt8]($0) }
                let name = "\(momd.lastPathComponent):\(version)"
                let match = models.first { candidate in
                    Set(candidate.hashes.keys) == Set(wanted.keys)
                        && candidate.hashes.allSatisfy { $0.value.bytes == nil || $0.value.bytes == wanted[$0.key] }
                }
                guard let match else {
                    unmatched.append(name)
                    continue
                }
                for (entity, hash) in match.hashes {
                    if hash.bytes == nil { unknown.append("\(name)/\(entity)") } else { entities += 1 }
                }
            }
        }
        print("momd: entities reproduced \(entities), unknown \(unknown.sorted()), no XML \(unmatched)")
        #expect(entities == 43)
        #expect(unknown.isEmpty)
        #expect(unmatched == ["zmessaging124.momd:zmessaging"])
    }

    @Test("The hashes of stores come out of the XML of the version that wrote them")
    func stores() throws {
        var stores = 0
        var entities = 0
        var unmatched: [String] = []
        for store in SharedStores.paths(withExtensions: ["sqlite", "moody", "wiredatabase"]) {
            let folder = try TemporaryFolder()
            guard let metadata = try StoreMetadata.read(folder.copyStore(store)) else {
                unmatched.append(store.lastPathComponent)
                continue
            }
            if let digest = metadata.digest { #expect(VersionHash.digest(of: metadata.hashes) == digest) }
            if let checksum = metadata.checksum { #expect(VersionHash.checksum(of: metadata.hashes) == checksum) }
            let project = store.deletingLastPathComponent().deletingLastPathComponent().lastPathComponent
            let models = try Self.models(of: project)
            if models.contains(where: { $0.known == metadata.hashes }) {
                stores += 1
                entities += metadata.hashes.count
            } else {
                unmatched.append(store.lastPathComponent)
            }
        }
        print("stores reproduced from XML: \(stores) with \(entities) entities, without: \(unmatched.sorted())")
        #expect(stores == 49)
        #expect(entities == 378)
        // SampleModel2_V1 has derived attributes and no XML, store1-24 only a momd, the others come without a model file.
        #expect(
            unmatched.sorted() == [
                "Accounts3.sqlite", "CartKitSwiftData_v1.sqlite", "ChatModel.sqlite", "ChatStorage.sqlite",
                "RKSeedDatabase.sqlite", "Recipes.sqlite", "SampleModel2_V1.sqlite", "Test-10.15.1.Photos.sqlite",
                "Test-10.15.4.Photos.sqlite", "shared.sqlite", "store1-24.wiredatabase",
            ])
    }
}

/// The hashes in a store's metadata.
private struct StoreMetadata {
    var hashes: [String: [UInt8]]
    var digest: String?
    var checksum: String?

    /// - Returns: Nil if there is none that is a property list.
    static func read(_ path: String) throws -> StoreMetadata? {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        try #require(sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(connection, "SELECT Z_PLIST FROM Z_METADATA", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let bytes = sqlite3_column_blob(statement, 0)
        else { return nil }
        let data = Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, 0)))
        let plist = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
        guard let hashes = plist?["NSStoreModelVersionHashes"] as? [String: Data] else { return nil }
        return StoreMetadata(
            hashes: hashes.mapValues { [UInt8]($0) }, digest: plist?["NSStoreModelVersionHashesDigest"] as? String,
            checksum: plist?["NSStoreModelVersionChecksumKey"] as? String)
    }
}
