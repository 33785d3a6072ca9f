import Archives
import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import ManagedModel

@Suite(
    "Cached and compiled models of real stores",
    .enabled(if: SharedStores.isPresent, "the folder of shared stores is absent"))
struct CacheRealModelTests {
    @Test("Every cached model decodes, resolves, and comes back from being written")
    func caches() throws {
        let caches = try RealModelArchives.caches()
        print("cached models read: \(caches.count)")
        #expect(caches.count >= 48)
        for cache in caches {
            do {
                try check(try ModelCache.decode(cache.content), cache.path)
                let model = try ManagedObjectModel(try ModelCache.decode(cache.content))
                let again = try ModelCache.decode(ModelCache.encode(model))
                #expect(again == model.definition, "\(cache.path)")
            } catch {
                Issue.record(error, "\(cache.path)")
            }
        }
    }

    @Test("Every compiled model decodes, resolves, and comes back from being written")
    func compiledModels() throws {
        let models = try RealModelArchives.compiledModels()
        print("compiled models read: \(models.count)")
        #expect(models.count >= 13)
        for model in models {
            do {
                try check(try ModelArchive.decode(model.bytes), model.path)
            } catch {
                Issue.record(error, "\(model.path)")
            }
        }
    }

    private func check(_ definition: ModelDefinition, _ path: String) throws {
        let model = try ManagedObjectModel(definition)
        #expect(!model.entities.isEmpty, "\(path)")
        let archive = try ModelArchive.encode(model)
        #expect(try ModelArchive.encode(model) == archive, "\(path)")
        #expect(try ModelArchive.decode(archive) == definition, "\(path)")
    }

    private func model(_ suffix: String) throws -> ManagedObjectModel {
        if suffix.hasSuffix(".mom") {
            let found = try RealModelArchives.compiledModels().first { $0.path.hasSuffix(suffix) }
            return try ManagedObjectModel(try ModelArchive.decode(try #require(found).bytes))
        }
        let found = try RealModelArchives.caches().first { $0.path.hasSuffix(suffix) }
        return try ManagedObjectModel(try ModelCache.decode(try #require(found).content))
    }

    @Test("SampleModel2_V1 has its configuration, derived count, bounds of length and fetched properties")
    func sampleModel2() throws {
        let model = try model("/SampleModel2_V1.sqlite")
        #expect(model.configurations == ["SampleConfigurationV1"])
        #expect(model.definition.configurations["SampleConfigurationV1"]?.contains("GraphicNovel") == true)
        let book = try #require(model.entity(named: "Book"))
        #expect(book.attribute(named: "pagesCount")?.definition.derivationExpression == "pages.@count")
        let title = try #require(book.attribute(named: "title")?.definition)
        #expect(title.minimumLength == 3)
        #expect(title.maximumLength == 50)
        #expect(title.minimum == nil)
        #expect(book.attribute(named: "cover")?.definition.valueClassName == "Cover")
        #expect(book.attribute(named: "cover")?.definition.defaultValue == nil)
        let novel = try #require(model.entity(named: "GraphicNovel"))
        #expect(novel.superentity?.name == "Book")
        #expect(!novel.definition.attributes.contains { $0.name == "title" })
        #expect(novel.attribute(named: "title") != nil)
        let author = try #require(model.entity(named: "Author"))
        #expect(author.relationship(named: "books")?.maxCount == -1)
        #expect(author.relationship(named: "books")?.isToMany == true)
        let requests = author.definition.fetchedProperties.compactMap(\.fetchRequest)
        #expect(requests.map(\.entityName) == ["Feedback", "Feedback"])
        #expect(requests.last?.predicate == "authorAlias == $FETCH_SOURCE.alias")
        #expect(author.uniquenessConstraints == [["alias"]] || author.superentity != nil)
    }

    @Test("SwiftGen's Model 2 has derived functions, a decimal default, user info, templates and a fetch index")
    func swiftGen() throws {
        let model = try model("/Model 2.mom")
        let attributes = model.entities.flatMap(\.definition.attributes)
        let derivations = Set(attributes.compactMap(\.derivationExpression))
        #expect(derivations == ["canonical:(optionalString)", "now()", "oneToMany.@count"])
        #expect(attributes.contains { $0.type == .decimal && $0.defaultValue == .decimal(0) })
        #expect(attributes.contains { $0.userInfo["RawType"] == "StringEnum" })
        let entity = try #require(model.entity(named: "NewEntity"))
        #expect(entity.indexes.map(\.name) == ["byIdentifierIndex"])
        #expect(entity.indexes.first?.elements.first?.propertyName == "identifier")
        #expect(entity.uniquenessConstraints == [["identifier"]])
        let templates = model.definition.fetchRequests
        #expect(
            templates.map(\.name) == ["DictionaryFetchRequest", "ObjectFetchRequest", "ObjectIDFetchRequest"])
        #expect(templates.contains { $0.predicate?.contains("oneToOne.name == $NAME") == true })
        #expect(templates.first?.predicate == nil)
    }

    @Test("Cyface has a minimum, Beam dates as defaults, Moody constraints of two attributes")
    func details() throws {
        let cyface = try model("/V3TestData.sqlite").entities.flatMap(\.definition.attributes)
        #expect(cyface.contains { $0.minimum == .integer(0) && $0.maximum == nil })
        let beam = try model("/BeamExport.Beam1-hist.2d52bc4c.sqlite").entities.flatMap(\.definition.attributes)
        #expect(beam.contains { $0.defaultValue == .date(628_161_600) })
        let moody = try model("/Moody 2.moody")
        #expect(moody.entities.contains { $0.uniquenessConstraints == [["numericISO3166Code", "uniquenessDummy"]] })
        #expect(moody.entities.contains { $0.isAbstract })
    }

    @Test("Wire's proxies of inherited properties are not taken for own ones")
    func proxies() throws {
        let model = try model("/store1-27.wiredatabase")
        let system = try #require(model.entity(named: "SystemMessage"))
        #expect(system.superentity?.name == "Message")
        let inherited = Set(system.superentity?.definition.attributes.map(\.name) ?? [])
        #expect(!inherited.isEmpty)
        #expect(system.definition.attributes.allSatisfy { !inherited.contains($0.name) })
        #expect(system.attributes.count == system.definition.attributes.count + inherited.count)
        let images = model.entities.flatMap(\.definition.attributes).filter(\.allowsExternalBinaryDataStorage)
        #expect(!images.isEmpty)
    }

    @Test("Renaming identifiers are nil unless they differ from the name")
    func renaming() throws {
        let first = try model("/Example_v1.0.0.sqlite").entities.flatMap(\.definition.attributes)
        #expect(first.allSatisfy { $0.renamingIdentifier == nil })
        let second = try model("/Example_v1.1.0.sqlite").entities.flatMap(\.definition.attributes)
        #expect(second.contains { $0.renamingIdentifier != nil && $0.renamingIdentifier != $0.name })
    }

    @Test("The compiled mapping model's graph can be walked")
    func mappingModel() throws {
        let file = try #require(SharedStores.paths(withExtensions: ["cdm"]).first)
        let root = try KeyedArchive(decoding: Array(try Data(contentsOf: file))).root()
        #expect(root.className == "NSMappingModel")
        let mappings = try #require(try root.elements("NSEntityMappings"))
        #expect(mappings.count == 5)
        var texts: Set<String> = []
        let reader = ArchivedExpressionText(tree: ArchivedTreeGuard())
        for mapping in mappings.compactMap(\.object) {
            #expect(try mapping.data("NSDestinationEntityVersionHash")?.count == 32)
            for property in try mapping.elements("NSAttributeMappings") ?? [] {
                guard let expression = try property.object?.object("NSValueExpression") else { continue }
                texts.insert(try #require(try reader.expression(expression)))
            }
        }
        #expect(texts.contains("$source.numberPlate"))
        #expect(throws: MigrationError.self) { try ModelArchive.decode(Array(try Data(contentsOf: file))) }
    }

    @Test("Truncations and single-byte changes of real archives give a model or an error")
    func mutations() throws {
        let seed = RandomSeeds.first
        print("real model mutations, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var archives = try RealModelArchives.compiledModels().map { ($0.path, $0.bytes) }
        for cache in try RealModelArchives.caches() {
            archives.append((cache.path, try Deflate.inflate(cache.content, limit: 1 << 20)))
            var changed = cache.content
            changed[random.below(changed.count)] ^= UInt8(1 + random.below(255))
            #expect(foreignError { _ = try ModelCache.decode(changed) } == nil, "\(cache.path)")
        }
        for (path, bytes) in archives {
            for _ in 0..<8 {
                #expect(
                    foreignError { _ = try ModelArchive.decode(Array(bytes[..<random.below(bytes.count)])) } == nil,
                    "\(path)")
            }
            for _ in 0..<12 {
                var changed = bytes
                changed[random.below(bytes.count)] = UInt8(random.below(256))
                #expect(foreignError { _ = try ManagedObjectModel(try ModelArchive.decode(changed)) } == nil, "\(path)")
            }
        }
    }
}
