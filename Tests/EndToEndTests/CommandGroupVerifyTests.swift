import CSQLite
import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `verify` of merged and distinct objects by the built command: it finds each kind of damage by itself, and names it.
@Suite("Verification of objects that source objects share, by the built command")
struct CommandGroupVerifyTests {
    /// Verifies a store that SQL has changed. The difference is named, without a second run of the migration.
    private static func expect(
        _ inputs: VersionedInputs, _ mapping: [String], changed sql: String, says words: [String]
    ) throws {
        let path = inputs.folder.file("new.sqlite")
        let before = try inputs.run(["verify", "old.sqlite", "new.sqlite"], mapping)
        #expect(before.code == 0, "\(before.output)\(before.messages)")
        #expect(before.output.contains("The destination is what the migration makes"), "\(before.output)")
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(sql)
        try connection.close()
        let verified = try inputs.run(["verify", "old.sqlite", "new.sqlite"], mapping)
        #expect(verified.code == 65, "\(verified.output)\(verified.messages)")
        for word in words { #expect(verified.output.contains(word), "\(word): \(verified.output)") }
    }

    @Test(
        "Merged objects",
        arguments: [
            // The values of another source object of the group.
            ("UPDATE ZTAG SET ZCOLOR = '#e00', ZUSED = NULL WHERE Z_PK = 1", ["Tag/p1 color", "#f00", "#e00"]),
            // The kept one is another.
            (
                "UPDATE ZTAG SET Z_PK = 3 WHERE Z_PK = 1; UPDATE Z_1TAGS SET Z_3TAGS = 3 WHERE Z_3TAGS = 1;"
                    + "UPDATE ZPART SET ZTAG = 3 WHERE ZTAG = 1",
                [
                    "missing object: Tag/p1", "which 3 source objects share", "object that nothing makes: Tag/p3",
                    "Tag/p3 is merged into Tag/p1",
                ]
            ),
            // A link that the kept one has from another.
            ("DELETE FROM Z_1TAGS WHERE Z_1NOTES = 2", ["Note/p2", "Tag/p1"]),
            ("UPDATE ZPART SET ZTAG = NULL, Z_FOK_TAG = NULL WHERE Z_PK = 4", ["Part/p4 tag", "Tag/p1"]),
            // A value that the kept one has from another.
            ("UPDATE ZTAG SET ZCOLOR = NULL WHERE Z_PK = 1", ["Tag/p1 color", "#f00"]),
            // Another object.
            (
                "INSERT INTO ZTAG SELECT 3, Z_ENT, Z_OPT, ZUSED, ZCOLOR, ZNAME FROM ZTAG WHERE Z_PK = 1",
                ["object that nothing makes: Tag/p3", "Tag/p3 is merged into Tag/p1"]
            ),
            // Another order.
            (
                "UPDATE ZPART SET Z_FOK_TAG = CASE Z_PK WHEN 1 THEN 2048 ELSE 4096 END WHERE Z_PK IN (1, 2)",
                ["parts", "2048", "4096"]
            ),
        ] as [(String, [String])])
    func merged(sql: String, words: [String]) throws {
        let inputs = try CommandMergeTests.inputs()
        try CommandMergeTests.write(
            #""mergeBy": ["name"], "compare": "c", "keep": "least $source.used", "fill": true"#, to: inputs)
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], CommandMergeTests.mapping)
        #expect(outcome.code == 0, "\(outcome.messages)")
        try Self.expect(inputs, CommandMergeTests.mapping, changed: sql, says: words)
    }

    @Test(
        "Distinct objects",
        arguments: [
            // Not the value of the first song, though one of its group's.
            ("UPDATE ZARTIST SET ZNAME = 'ELLA' WHERE Z_PK = 1", ["Artist/p1 name", "Ella", "ELLA"]),
            // A song that shares an artist and does not find it.
            ("UPDATE ZSONG SET ZARTIST = NULL WHERE Z_PK = 6", ["Song/p6 artist", "Artist/p1"]),
            ("UPDATE ZSONG SET ZARTIST = 2 WHERE Z_PK = 6", ["Song/p6 artist", "Artist/p1", "Artist/p2"]),
            // An artist of its own for a song that shares one.
            (
                "INSERT INTO ZARTIST SELECT 3, Z_ENT, Z_OPT, ZNAME FROM ZARTIST WHERE Z_PK = 1;"
                    + "UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Artist'",
                ["object that nothing makes: Artist/p3"]
            ),
            ("DELETE FROM ZARTIST WHERE Z_PK = 2", ["missing object: Artist/p2", "which 2 source objects share"]),
        ] as [(String, [String])])
    func distinct(sql: String, words: [String]) throws {
        let inputs = try CommandGroupingTests.inputs()
        try CommandGroupingTests.write(#""distinctBy": ["$source.artistName"], "compare": "c""#, to: inputs)
        let outcome = try inputs.run(["migrate", "old.sqlite", "new.sqlite"], CommandGroupingTests.mapping)
        #expect(outcome.code == 0, "\(outcome.messages)")
        try Self.expect(inputs, CommandGroupingTests.mapping, changed: sql, says: words)
    }
}
