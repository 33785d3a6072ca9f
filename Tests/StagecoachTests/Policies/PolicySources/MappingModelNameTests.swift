import Foundation
import ManagedModel
import Stagecoach
import TestSupport
import Testing

@Suite(
    "Mapping models by Core Data's initialisers", .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
struct MappingModelNameTests {
    private let root = SharedStores.url.appendingPathComponent("coredataplus")

    @Test("A compiled mapping model is read without its models")
    func compiled() throws {
        let model = try #require(MappingModel(contentsOf: root.appendingPathComponent("mappings/V2toV3.cdm")))
        #expect(Set(model.entityMappings.compactMap(\.destinationEntityName)).contains("Maker"))
        let ofXcode = try #require(
            MappingModel(contentsOf: root.appendingPathComponent("mappings/V2toV3.xcmappingmodel")))
        #expect(Set(ofXcode.entityMappings.map(\.name)) == Set(model.entityMappings.map(\.name)))
        #expect(MappingModel(contentsOf: root.appendingPathComponent("mappings/none.cdm")) == nil)
        #expect(MappingModel(contentsOf: nil) == nil)
    }

    @Test("The mapping model between two versions is found in a bundle")
    func bundles() throws {
        let folder = try TemporaryFolder()
        for name in ["V2toV3.cdm"] {
            try FileManager.default.copyItem(
                at: root.appendingPathComponent("mappings/" + name), to: folder.url.appendingPathComponent(name))
        }
        let bundle = try #require(Bundle(path: folder.path))
        let models = root.appendingPathComponent("models/SampleModel.xcdatamodeld").path
        let source = try ModelLocator.load(models + ":SampleModel2").model
        let destination = try ModelLocator.load(models + ":SampleModel3").model
        let found = MappingModel(from: [bundle], forSourceModel: source, destinationModel: destination)
        #expect(found?.entityMappings.isEmpty == false)
        #expect(MappingModel(from: [bundle], forSourceModel: destination, destinationModel: source) == nil)
        #expect(MappingModel(from: [bundle], forSourceModel: nil, destinationModel: source) == nil)
    }
}
