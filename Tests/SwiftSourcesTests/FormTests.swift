import Foundation
import SwiftSources
import SwiftTokens
import TestSupport
import Testing

/// Sources in the many forms that people write, each with the model that SwiftData makes of it.
@Suite("Forms of Swift sources")
struct FormTests {
    private static let folder = SharedStores.repository.appendingPathComponent("Fixtures/SwiftForms")
    private static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()

    @Test("A folder gives the expected versions", arguments: names)
    func form(name: String) throws {
        let place = Self.folder.appendingPathComponent(name)
        let expected = try String(contentsOf: place.appendingPathComponent("expected.txt"), encoding: .utf8)
        let files = try SourceFolder.files(in: place.path, endings: ["swift"])
        let texts = try files.map { path in
            (String(path.dropFirst(place.path.count + 1)), try String(contentsOfFile: path, encoding: .utf8))
        }
        let versions = try SwiftSourceModels(texts, name: "Models").versions()
        #expect(ModelSummary.text(versions) == expected)
    }

    @Test("There are the forms that the corpus shows")
    func count() { #expect(Self.names.count > 30) }
}
