import Diagnostics
import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

/// Inference over every model family among the shared stores: each version to each later one, and back.
@Suite("Inference over real model families", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct InferenceFamilyTests {
    /// The codes that a refusal may have.
    static let reasons: Set<String> = [
        "inference.attributeType", "inference.propertyKind", "inference.cardinality",
        "inference.relationshipDestination", "inference.hierarchies",
    ]

    static let families: [URL] =
        SharedStores.isPresent ? SharedStores.paths(withExtensions: ["xcdatamodeld"]) : []

    struct Version {
        let name: String
        let model: ManagedObjectModel
    }

    /// The versions of a family, oldest name first; versions in a format that is not read are left out, saying so.
    static func versions(_ family: URL) throws -> [Version] {
        try ModelLocator.versions(in: family.path).compactMap { name in
            do throws(MigrationError) {
                return Version(name: name, model: try ModelLocator.load("\(family.path):\(name)").model)
            } catch {
                print("\(family.lastPathComponent):\(name) is not read: \(error.message)")
                return nil
            }
        }
    }

    /// Tells whether a pair is tried: neighbours always, of the others a part spread over the family. With
    /// `STAGECOACH_THOROUGH` set it is all of them (5,600 pairs; most of the time goes into version hashes).
    static func isTried(_ old: Int, _ new: Int) -> Bool {
        if ProcessInfo.processInfo.environment["STAGECOACH_THOROUGH"] != nil { return old != new }
        return new == old + 1 || old != new && (old * 31 + new) % 61 == 0
    }

    @Test(
        "Every pair of versions is inferred, or refused for a known reason; what is inferred survives JSON",
        arguments: families)
    func family(_ family: URL) throws {
        let versions = try Self.versions(family)
        var (inferred, refused) = (0, 0)
        for (old, source) in versions.enumerated() {
            for (new, destination) in versions.enumerated() where Self.isTried(old, new) {
                do throws(MigrationError) {
                    let model = try MappingModel.inferred(from: source.model, to: destination.model)
                    inferred += 1
                    try Self.check(model, source, destination, family)
                } catch {
                    refused += 1
                    #expect(Self.reasons.contains(error.code.rawValue), "\(error)")
                    #expect(error.context.entity != nil)
                    if new == old + 1 {
                        print("\(family.lastPathComponent) \(source.name) > \(destination.name): \(error)")
                    }
                }
            }
        }
        print("\(family.lastPathComponent): \(versions.count) versions, inferred \(inferred), refused \(refused)")
        #expect(versions.count < 2 || inferred + refused >= versions.count - 1)
    }

    @Test("The pairs that the stores are migrated by are inferred")
    func namedPairs() throws {
        for (path, pairs) in [
            ("artsy-energy/models/ArtsyPartner.xcdatamodeld", [("ArtsyFolio v1.4", "ArtsyFolio v1.5")]),
            ("coredataplus/models/SampleModel.xcdatamodeld", [("SampleModel", "SampleModel2")]),
            (
                "wire/models/zmessaging.xcdatamodeld",
                [("zmessaging2.24.1", "zmessaging2.59.0"), ("zmessaging2.54.0", "zmessaging2.59.0")]
            ),
            ("jeffreybergier/models/Model.xcdatamodeld", [("v1.0.0", "v2.0.0"), ("v1.2.0", "v2.0.0")]),
        ] {
            let models = try family(path)
            for (old, new) in pairs {
                _ = try MappingModel.inferred(from: try #require(models[old]), to: try #require(models[new]))
            }
        }
    }

    /// Every destination entity once, every source entity at most once, all of its own checks, and JSON both ways.
    static func check(
        _ model: MappingModel, _ source: Version, _ destination: Version, _ family: URL
    ) throws(MigrationError) {
        try model.validate(source: source.model, destination: destination.model)
        let sources = model.entityMappings.compactMap(\.sourceEntityName)
        #expect(Set(sources).count == sources.count)
        #expect(Set(sources) == Set(source.model.entities.map(\.definition.name)))
        #expect(
            model.entityMappings.compactMap(\.destinationEntityName)
                == destination.model.entitiesInStoreOrder.map(\.definition.name))
        let text = try model.json()
        let read = try MappingModel.reading(
            json: Array(text.utf8), path: "mapping.json", source: source.model, destination: destination.model)
        let differences = read.differences(from: model)
        #expect(differences == [], "\(family.lastPathComponent) \(source.name) > \(destination.name)")
        #expect(try read.json() == text)
    }

    private func family(_ path: String) throws -> [String: ManagedObjectModel] {
        let versions = try Self.versions(SharedStores.url.appendingPathComponent(path))
        return Dictionary(uniqueKeysWithValues: versions.map { ($0.name, $0.model) })
    }

    @Test("SampleModel 1 to 2 renames ExpensiveSportCar within its hierarchy")
    func sampleModel() throws {
        let models = try family("coredataplus/models/SampleModel.xcdatamodeld")
        let model = try MappingModel.inferred(
            from: try #require(models["SampleModel"]), to: try #require(models["SampleModel2"]))
        let luxury = try #require(model.entityMappings.first { $0.destinationEntityName == "LuxuryCar" })
        #expect(luxury.name == "IEM_Transform_LuxuryCar")
        #expect(luxury.sourceEntityName == "ExpensiveSportCar")
        #expect(
            luxury.relationshipMapping(named: "owner")?.valueExpression?.format
                == "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', "
                + "'\(model.entityMappings.first { $0.destinationEntityName == "Person" }?.name ?? "")', $source.owner)"
        )
    }

    @Test("zmessaging's Conversation keeps its rows through the version that gave it a wrong identifier")
    func conversation() throws {
        let models = try family("wire/models/zmessaging.xcdatamodeld")
        for (old, new) in [("zmessaging2.46.0", "zmessaging2.47.0"), ("zmessaging2.47.0", "zmessaging2.48.0")] {
            let model = try MappingModel.inferred(from: try #require(models[old]), to: try #require(models[new]))
            let mapping = try #require(model.entityMappings.first { $0.destinationEntityName == "Conversation" })
            #expect(mapping.sourceEntityName == "Conversation")
        }
    }
}
