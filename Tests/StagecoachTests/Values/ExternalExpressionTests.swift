import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A column of external storage has a marker before its bytes, or the name of a file: expressions see the bytes.
@Suite("Expressions over external binary data")
struct ExternalExpressionTests {
    private static func run(
        _ fixture: ExternalDataFixture, data: String = "$source.data", note: String? = nil, filter: String? = nil
    ) throws -> MigrationReport {
        let mapping = try MappingModel.inferred(from: fixture.source, to: fixture.destination)
        let photo = try #require(mapping.entityMappings.first)
        photo.attributeMapping(named: "data")?.valueExpression = try ValueExpression(parsing: data)
        if let note { photo.attributeMapping(named: "note")?.valueExpression = try ValueExpression(parsing: note) }
        if let filter { photo.sourceFilter = try SourcePredicate(format: filter) }
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.fullCheck = true
        return try Migration(
            from: fixture.sourcePath, model: fixture.source, mapping: mapping, to: fixture.destinationPath,
            model: fixture.destination, options: options
        ).run()
    }

    private static func notes(_ fixture: ExternalDataFixture) throws -> [Int64: String] {
        let connection = try Connection(path: fixture.destinationPath, flags: SQLITE_OPEN_READONLY)
        let rows = try connection.prepare("SELECT Z_PK, ZNOTE FROM ZPHOTO")
        var notes: [Int64: String] = [:]
        while try rows.step() { notes[rows.integer(0)] = rows.text(1) }
        return notes
    }

    @Test("A chosen value is the data themselves, in a file or in the column", arguments: [true, false])
    func chosen(isExternal: Bool) throws {
        let fixture = try ExternalDataFixture(from: true, to: isExternal)
        let report = try Self.run(fixture, data: "TERNARY($source.name == 'photo 3', nil, $source.data)")
        #expect(report.isStaged)
        let result = try fixture.result(isExternal: isExternal)
        var expected = fixture.values
        expected[3] = .some(nil)
        #expect(result.values == expected)
        #expect(result.files == (isExternal ? [2] : []))
    }

    @Test("Comparisons are of the data")
    func compared() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        // The data of photo 5 are empty; its column holds the marker.
        _ = try Self.run(fixture, note: "TERNARY($source.data.length > 100000, 'large', 'small')")
        let notes = try Self.notes(fixture)
        #expect([2, 3, 6].allSatisfy { notes[$0] == "large" } && [1, 5].allSatisfy { notes[$0] == "small" })
    }

    @Test("A test for nil does not read the data")
    func presence() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        let lost = ExternalReference(uuid: [UInt8](repeating: 0xAB, count: 16))
        try fixture.refer(to: lost.stored)
        let report = try Self.run(fixture, note: "TERNARY($source.data == nil, 'none', 'some')", filter: "data != nil")
        #expect(!report.isStaged && report.counts.missingExternalFiles == 1)
        let notes = try Self.notes(fixture)
        #expect(notes.count == 5 && notes.values.allSatisfy { $0 == "some" })
    }

    @Test("A filter that looks at the data reads files")
    func filtered() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        let report = try Self.run(fixture, filter: "data == data AND data.length > 100000")
        #expect(report.counts.created["Photo"] == 3)
    }

    @Test("Large values that a policy sets in objects of the store that is appended to become files")
    func previousStepIDs() throws {
        let fixture = try ExternalDataFixture(from: true, to: true)
        try fixture.migration().run()
        let before = try fixture.result(isExternal: true)
        let mapping = try MappingModel.inferred(from: fixture.source, to: fixture.destination)
        mapping.entityMappings.first?.entityMigrationPolicyClassName = "Tests.Photos"
        mapping.entityMappings.first?.sourceFilter = try SourcePredicate(format: "name == 'nobody'")
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        manager.options.memoryLimit = 8 << 30
        let (large, small) = ([UInt8](repeating: 7, count: 300_000), [UInt8](repeating: 8, count: 40))
        manager.policies.register("Photos") {
            let policy = ClosurePolicy()
            policy.steps.end = { _, manager in
                let request = FetchRequest<ManagedObject>(entityName: "Photo")
                for photo in try manager.destinationContext.fetch(request) {
                    if photo.objectID.key == 1 { photo.setValue(Data(large), forKey: "data") }
                    if photo.objectID.key == 2 { photo.setValue(Data(small), forKey: "data") }
                }
            }
            return policy
        }
        try manager.migrateStore(
            from: URL(fileURLWithPath: fixture.sourcePath), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: fixture.destinationPath), type: .sqlite)
        let result = try fixture.result(isExternal: true)
        var expected = before.values
        expected[1] = large
        expected[2] = small
        #expect(result.values == expected)
        #expect(result.files == [1, 3])
        // The file that nothing refers to any more is gone.
        let files = try FileManager.default.contentsOfDirectory(
            atPath: ExternalFolder(store: fixture.destinationPath).path)
        #expect(files.count == 2)
    }
}
