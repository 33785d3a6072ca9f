import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Models and mapping models from files, as a user of the library reads them")
struct PublicFilesTests {
    private let fixtures = SharedStores.repository.appendingPathComponent("Fixtures")

    @Test("A version of a bundle, its current version and a mapping model are read by path")
    func read() throws {
        let bundle = fixtures.appendingPathComponent("Models/Library.xcdatamodeld").path
        let first = try ModelLocator.load(bundle + ":Library")
        let current = try ModelLocator.load(bundle)
        #expect(first.versionName == "Library")
        #expect(current.versionName == "Library 2")
        #expect(try ModelLocator.versions(in: bundle) == ["Library", "Library 2"])
        let mapping = try MappingModel.read(
            path: fixtures.appendingPathComponent("Mappings/library.json").path, sourceModel: first.model,
            destinationModel: current.model)
        #expect(mapping.entityMappingsByName["BookToBook"]?.sourceEntityName == "Book")
    }

    @Test("A mapping model that is not there is named")
    func missing() throws {
        let model = try ManagedObjectModel(ModelDefinition())
        let error = #expect(throws: MigrationError.self) {
            try MappingModel.read(path: "nowhere.json", sourceModel: model, destinationModel: model)
        }
        #expect(error?.category == .noInput)
        #expect(error?.context.path == "nowhere.json")
    }
}
