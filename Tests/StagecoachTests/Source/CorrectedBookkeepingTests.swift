import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

@Suite("Core Data's own numbers that are wrong in the source")
struct CorrectedBookkeepingTests {
    private let folder: TemporaryFolder
    private let version: ManagedObjectModel

    /// 20 notes and 2 tags, with some changes.
    init() throws {
        folder = try TemporaryFolder()
        version = try model(
            entity("Note", [attribute("text", .string), attribute("unread", .string)]),
            entity("Tag", [attribute("label", .string)]))
    }

    private func makeSource(_ changes: String) throws {
        var store = ReferenceStore(model: version)
        for key in 1...20 as ClosedRange<Int64> {
            store.insert("Note", key, ["text": .text("note \(key)"), "unread": .text("x")])
        }
        for key in 1...2 as ClosedRange<Int64> { store.insert("Tag", key, ["label": .text("tag")]) }
        try store.write(path: folder.file("old.sqlite"))
        let connection = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        try connection.execute(changes)
        try connection.close()
    }

    private func migration(_ options: MigrationOptions, mapsTags: Bool, to name: String = "new.sqlite") throws
        -> Migration
    {
        let mapping = try MappingModel.inferred(from: version, to: version)
        // Nothing reads one attribute, so that its values are counted too.
        mapping.entityMappings[0].attributeMappings?.removeAll { $0.name == "unread" }
        if !mapsTags { mapping.entityMappings.removeAll { $0.sourceEntityName == "Tag" } }
        return Migration(
            from: folder.file("old.sqlite"), model: version, mapping: mapping, to: folder.file(name), model: version,
            options: options)
    }

    private static let wrong = """
        UPDATE ZNOTE SET Z_ENT = 2 WHERE Z_PK IN (3, 4, 17); UPDATE ZNOTE SET Z_ENT = NULL WHERE Z_PK = 5;
        UPDATE ZTAG SET Z_ENT = 1 WHERE Z_PK = 2; UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_NAME = 'Note'
        """

    @Test(
        "The report counts them and says so; the destination is right", arguments: [true, false],
        [StoreReader.pages, .sqlite])
    func counted(rowPath: Bool, reader: StoreReader) throws {
        try makeSource(Self.wrong)
        var options = MigrationOptions()
        options.usesStoreSpecificMigrationManager = rowPath
        options.reader = reader
        options.onLoss = .allow
        let report = try migration(options, mapsTags: true).run()
        let expected = [
            CorrectedBookkeeping(entity: "Note", otherNumbers: 4, statedMaximum: 4, highestKey: 20),
            CorrectedBookkeeping(entity: "Tag", otherNumbers: 1),
        ]
        #expect(report.correctedBookkeeping == expected)
        for sentence in expected.flatMap(\.sentences) { #expect(report.notes.contains(sentence), "\(report.notes)") }
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM ZNOTE WHERE Z_ENT = 1") == 20)
        #expect(try connection.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Note'") == 20)
    }

    @Test("Not those of objects without a destination")
    func unmapped() throws {
        try makeSource(Self.wrong)
        var options = MigrationOptions()
        options.onLoss = .allow
        let report = try migration(options, mapsTags: false).run()
        #expect(report.correctedBookkeeping?.map(\.entity) == ["Note"])
    }

    @Test("So does a check")
    func check() throws {
        try makeSource(Self.wrong)
        var options = MigrationOptions()
        options.onLoss = .allow
        let report = try migration(options, mapsTags: true).check()
        #expect(report.correctedBookkeeping?.map(\.otherNumbers) == [4, 1])
    }

    @Test("One that is right has none; a Z_MAX above the highest key is right")
    func none() throws {
        try makeSource("UPDATE Z_PRIMARYKEY SET Z_MAX = 400 WHERE Z_NAME = 'Note'")
        var options = MigrationOptions()
        options.onLoss = .allow
        let report = try migration(options, mapsTags: true).run()
        #expect(report.correctedBookkeeping == nil)
        #expect(!report.notes.contains { $0.contains("Z_ENT") || $0.contains("Z_MAX") })
    }

    @Test("The sentences name entity and numbers, in the singular too")
    func sentences() {
        let one = CorrectedBookkeeping(entity: "Note", otherNumbers: 1, statedMaximum: -1, highestKey: 20)
        #expect(
            one.sentences == [
                "1 source row of Note has another entity number (Z_ENT) than Note's; the destination's rows have the right one",
                "The source's highest key of Note (Z_MAX) is -1, and a row has the key 20; the destination's is that of all rows",
            ])
    }
}
