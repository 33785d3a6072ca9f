import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import Mapping

@Suite("Mapping models of real apps", .enabled(if: SharedStores.isPresent, "the folder of shared stores is absent"))
struct RealMappingTests {
    @Test("Every mapping model loads against its family's models, and comes back from JSON as it is")
    func all() throws {
        var (models, entities, properties, explicit) = (0, 0, 0, 0)
        for mapping in try RealMapping.all() {
            do {
                let model = try mapping.read()
                #expect(!model.entityMappings.isEmpty, "\(mapping.name)")
                let text = try model.json()
                let again = try MappingModel.reading(
                    json: Array(text.utf8), path: "again.json", source: mapping.source, destination: mapping.destination
                )
                #expect(again.differences(from: model) == [], "\(mapping.name)")
                #expect(model.differences(from: again) == [], "\(mapping.name)")
                #expect(try again.json() == text, "\(mapping.name)")
                for (one, other) in zip(model.entityMappings, again.entityMappings) {
                    #expect(one.sourceEntityVersionHash == other.sourceEntityVersionHash)
                    #expect(one.destinationEntityVersionHash == other.destinationEntityVersionHash)
                }
                models += 1
                entities += model.entityMappings.count
                for entity in model.entityMappings {
                    let all = (entity.attributeMappings ?? []) + (entity.relationshipMappings ?? [])
                    properties += all.count
                    explicit += all.count { !$0.isAutomatic && $0.valueExpression != nil }
                }
            } catch {
                Issue.record(error, "\(mapping.name)")
            }
        }
        print(
            "mapping models: \(models), entity mappings: \(entities), properties: \(properties), explicit: \(explicit)")
        #expect(models == 23)
        #expect(explicit >= 15)
    }

    @Test("The source and the compiled form of SampleModel's mapping are the same mapping model")
    func compiled() throws {
        let source = try RealMapping(RealMapping.shared("coredataplus/mappings/V2toV3.xcmappingmodel"))
        let compiled = try RealMapping(RealMapping.shared("coredataplus/mappings/V2toV3.cdm"))
        let (one, other) = (try source.read(), try compiled.read())
        #expect(one.differences(from: other) == [])
        #expect(one.entityMappings.compactMap(\.name) == other.entityMappings.compactMap(\.name))
        #expect(other.entityMappings.map(\.mappingType) == one.entityMappings.map(\.mappingType))
        for (one, other) in zip(one.entityMappings, other.entityMappings) {
            #expect(one.sourceEntityVersionHash == other.sourceEntityVersionHash)
            #expect(one.destinationEntityVersionHash == other.destinationEntityVersionHash)
            #expect(other.sourceEntityName == nil || other.sourceEntityVersionHash?.count == 32)
        }
        let person = try #require(one.entityMappingsByName["PersonToPerson"])
        #expect(person.mappingType == .copyEntityMappingType)
        #expect(
            InferenceModels.expressions(one, "PersonToPerson")["cars"]
                == "FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', 'cars', $source.cars)"
        )
        let car = InferenceModels.expressions(one, "CarToCar")
        #expect(
            car["owner"]
                == "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'PersonToPerson', $source.owner)"
        )
        #expect(one.entityMappingsByName["CarToCar"]?.relationshipMapping(named: "createdBy")?.valueExpression == nil)
        let maker = try #require(one.entityMappingsByName["Maker"])
        #expect(maker.mappingType == .addEntityMappingType)
        #expect(maker.attributeMapping(named: "name")?.valueExpression == nil)
        #expect(
            one.entityMappingsByName["CarToCar"]?.entityMigrationPolicyClassName
                == "REPLACE_AT_RUNTIME.V2to3MakerPolicy")
    }

    @Test("Every mapping model is written without its models, comes back without them, and is the same with them")
    func withoutModels() throws {
        var count = 0
        for mapping in try RealMapping.all() {
            let file = try MappingFile(path: mapping.path)
            let bare =
                file.form == .compiled
                ? try MappingModel.reading(compiled: file.bytes, path: file.path)
                : try MappingModel.reading(xcode: file.bytes, path: file.path)
            let text = try bare.json()
            #expect(text.contains("\"convertedFrom\": \"\(file.form.rawValue)\""), "\(mapping.name)")
            #expect(text.contains("\"sourceEntityVersionHash\": \"") == (file.form == .compiled))
            let alone = try MappingModel.reading(json: Array(text.utf8), path: "alone.json")
            #expect(alone.differences(from: bare) == [], "\(mapping.name)")
            #expect(try alone.json() == text, "\(mapping.name)")
            let again = try MappingModel.reading(
                json: Array(text.utf8), path: "again.json", source: mapping.source, destination: mapping.destination)
            let whole = try mapping.read()
            #expect(again.differences(from: whole) == [], "\(mapping.name)")
            #expect(whole.differences(from: again) == [], "\(mapping.name)")
            #expect(try again.json() == whole.json(), "\(mapping.name)")
            _ = try MappingOutline.reading(json: Array(text.utf8), path: "again.json")
            count += 1
        }
        #expect(count == 23)
    }

    @Test("A compiled mapping model of other versions is refused by the hashes in it")
    func otherVersions() throws {
        let mapping = try RealMapping(RealMapping.shared("coredataplus/mappings/V2toV3.cdm"))
        let error = try #require(throws: MigrationError.self) {
            try MappingModel.read(path: mapping.path, sourceModel: mapping.source, destinationModel: mapping.source)
        }
        #expect(["mapping.versionHash", "mapping.unknownEntity"].contains(error.code.rawValue))
        let first = try ModelLocator.load(
            RealMapping.shared("coredataplus/models/SampleModel.xcdatamodeld") + ":SampleModel")
        let older = try #require(throws: MigrationError.self) {
            try MappingModel.read(path: mapping.path, sourceModel: first.model, destinationModel: mapping.destination)
        }
        #expect(older.context.path == mapping.path)
        #expect(older.context.entityMapping != nil)
    }

    @Test("Moody's key paths, and what is left over in its file")
    func moody() throws {
        let second = try RealMapping(RealMapping.shared("objcio-moody/mappings/Moody 2-Moody 3.xcmappingmodel")).read()
        #expect(second.entityMappings.compactMap(\.name) == ["MoodToMood", "CountryToCountry", "ContinentToContinent"])
        #expect(second.entityMappings.allSatisfy { !$0.hasPolicy && $0.mappingType == .copyEntityMappingType })
        func lookup(_ mapping: String, _ path: String) -> String {
            "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', '\(mapping)', \(path))"
        }
        let mood = InferenceModels.expressions(second, "MoodToMood")
        #expect(mood["country"] == lookup("CountryToCountry", "$source.country"))
        #expect(mood["continent"] == lookup("ContinentToContinent", "$source.country.continent"))
        let continent = InferenceModels.expressions(second, "ContinentToContinent")
        #expect(continent["moods"] == lookup("MoodToMood", "$source.countries.@distinctUnionOfSets.moods"))
        let fourth = try RealMapping(RealMapping.shared("objcio-moody/mappings/Moody 4-Moody 5.xcmappingmodel")).read()
        #expect(
            InferenceModels.expressions(fourth, "CountryToCountry")["isoContinent"]
                == "$source.continent.numericISO3166Code")
    }

    @Test("Entity mappings that belong to no mapping model are left out; names and userInfo are kept")
    func details() throws {
        let nova = try RealMapping(RealMapping.shared("nova-wallet/mappings/SingleToMultiasset.xcmappingmodel")).read()
        #expect(nova.entityMappings.compactMap(\.name) == ["SingleToMultiasset"])
        #expect(
            nova.entityMappings[0].entityMigrationPolicyClassName == "novawallet.SingleToMultiassetMigrationPolicy")
        #expect(InferenceModels.expressions(nova, "SingleToMultiasset")["name"] == "$source.username")
        let note = try RealMapping(RealMapping.shared("jdspoone/mappings/v1.2-to-v1.3.xcmappingmodel")).read()
        #expect(note.entityMappings.map { $0.userInfo?["sourceVersion"] as? String } == ["v1.2", "v1.2"])
        let core = try RealMapping(
            RealMapping.shared("corestore/mappings/Advanced.EvolutionDemo.V2.FromV1.xcmappingmodel")
        ).read()
        #expect(
            core.entityMappings[0].attributeMapping(named: "hasHead")?.valueExpression?.node
                == .constant(.boolean(true)))
    }

    @Test("The outline of each file is read without its models")
    func outlines() throws {
        for path in SharedStores.paths(withExtensions: ["xcmappingmodel", "cdm"]).map(\.path) {
            let outline = try MappingOutline.reading(MappingFile(path: path))
            #expect(!outline.entityMappings.isEmpty)
            #expect(outline.form == (path.hasSuffix(".cdm") ? .compiled : .xcode))
            #expect((outline.sourceModelPath != nil) == (outline.form == .xcode))
        }
    }

    @Test("A real file with a byte changed is refused or read, and never more")
    func mutations() throws {
        let seed = RandomSeeds.first
        print("RealMappingTests.mutations seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for (name, rounds) in [
            ("coredataplus/mappings/V2toV3.cdm", 600),
            ("corestore/mappings/Advanced.EvolutionDemo.V2.FromV1.xcmappingmodel", 200),
        ] {
            let mapping = try RealMapping(RealMapping.shared(name))
            let original = try MappingFile(path: mapping.path).bytes
            let folder = try TemporaryFolder()
            var (read, refused) = (0, 0)
            for _ in 0..<rounds {
                var bytes = original
                for _ in 0...random.below(3) {
                    switch random.below(3) {
                    case 0: bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
                    case 1: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
                    default: bytes.removeSubrange(random.below(bytes.count)..<bytes.count)
                    }
                    if bytes.isEmpty { break }
                }
                let path = folder.file("mutated")
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                do {
                    let model = try MappingModel.read(
                        path: path, sourceModel: mapping.source, destinationModel: mapping.destination)
                    _ = try? model.json()
                    read += 1
                } catch {
                    #expect(error.category == .configuration, "seed \(seed): \(error)")
                    #expect(error.context.path == path, "seed \(seed): \(error)")
                    refused += 1
                }
            }
            print("\(name): \(read) read, \(refused) refused")
            #expect(refused > 0)
        }
    }
}
