import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// The small inputs about expressions that some machines have beside the repository.
@Suite("Shared cases about expressions")
struct SharedExpressionCaseTests {
    private static let cases = SharedStores.shared.appendingPathComponent("cases")
    private static var arePresent: Bool { FileManager.default.fileExists(atPath: cases.path) }

    /// Folder, mapping model, store, models, the error's category, and a part of the error or of a note.
    struct Case: CustomTestStringConvertible {
        var folder: String
        var mapping: String
        var store = "Old.sqlite"
        var source = "M.xcdatamodeld:M"
        var destination = "M.xcdatamodeld"
        var category: MigrationError.Category?
        var part: String?
        var testDescription: String { "\(folder)/\(mapping) \(store)" }
    }

    static let all = [
        Case(
            folder: "to-many-without-any-filters-silently", mapping: "map.json", category: .configuration,
            part: "ANY kids.n == 1"),
        Case(folder: "manager-and-mapping-keys", mapping: "map-o.json"),
        Case(folder: "manager-and-mapping-keys", mapping: "map-p.json"),
        Case(folder: "float-two-readings", mapping: "map.json"),
        Case(
            folder: "late-errors", mapping: "map-o.json", category: .configuration,
            part: "URIRepresentation.absoluteString"),
        Case(folder: "transformable-to-binary", mapping: "map-plain.json"),
        Case(folder: "transformable-to-binary", mapping: "map-cast.json"),
        Case(folder: "transformable-to-binary", mapping: "map-self.json"),
        Case(
            folder: "typecheck-with-policy", mapping: "nopolicy.json", store: "empty.sqlite",
            source: "W.xcdatamodeld:W1", destination: "W.xcdatamodeld:W2", part: "T.a does not fit"),
        Case(
            folder: "typecheck-with-policy", mapping: "nopolicy.json", store: "w.sqlite", source: "W.xcdatamodeld:W1",
            destination: "W.xcdatamodeld:W2", category: .configuration, part: "String does not fit"),
        Case(
            folder: "typecheck-with-policy", mapping: "unlisted.json", store: "w.sqlite", source: "W.xcdatamodeld:W1",
            destination: "W.xcdatamodeld:W2"),
        Case(
            folder: "typecheck-with-policy", mapping: "explicit.json", store: "w.sqlite", source: "W.xcdatamodeld:W1",
            destination: "W.xcdatamodeld:W2"),
    ]

    @Test("Each ends as its description says", .enabled(if: arePresent, "no shared cases"), arguments: all)
    func ends(case item: Case) throws {
        let folder = try TemporaryFolder()
        let place = Self.cases.appendingPathComponent(item.folder)
        let source = folder.file("old.sqlite")
        try FileManager.default.copyItem(atPath: place.appendingPathComponent(item.store).path, toPath: source)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: source)
        let old = try ModelLocator.load(place.path + "/" + item.source).model
        let new = try ModelLocator.load(place.path + "/" + item.destination).model
        func migration() throws -> Migration {
            // As the command reads it: who knows the rows refuses.
            let mapping = try MappingModel.read(
                MappingFile(path: place.appendingPathComponent(item.mapping).path), sourceModel: old,
                destinationModel: new, misfits: .noted)
            var options = MigrationOptions()
            options.memoryLimit = 8 << 30
            let manager = MigrationManager(sourceModel: old, destinationModel: new)
            manager.policies = PolicyRegistry()
            manager.policies.register("P") {
                let policy = ClosurePolicy()
                policy.steps.create = { source, mapping, manager, _ in
                    let made = NSEntityDescription.insertNewObject(
                        forEntityName: "T", into: manager.destinationContext)
                    made.setValue(Date(timeIntervalSinceReferenceDate: 1), forKey: "a")
                    manager.associate(sourceInstance: source, withDestinationInstance: made, for: mapping)
                }
                return policy
            }
            return Migration(
                from: source, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new, options: options,
                manager: manager)
        }
        if let category = item.category {
            let error = #expect(throws: MigrationError.self) { try migration().run() }
            #expect(error?.category == category, "\(error?.description ?? "")")
            if let part = item.part {
                #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
            }
            return
        }
        let report = try migration().run()
        if let part = item.part { #expect(report.notes.contains { $0.contains(part) }, "\(report.notes)") }
        #expect(try StoreVerification(migration()).run().isEqual)
    }
}
