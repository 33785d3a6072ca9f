import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Data left behind is named and counted")
struct LeftBehindTests {
    /// A source model, a destination model, a source, and where it goes.
    private struct Fixture {
        let folder: TemporaryFolder
        let source: ManagedObjectModel
        let destination: ManagedObjectModel
        let path: String
        var mapping: MappingModel
        var options = MigrationOptions()

        init(
            _ source: ManagedObjectModel, _ destination: ManagedObjectModel,
            _ mapping: MappingModel? = nil,
            fill: (inout ReferenceStore) -> Void
        ) throws {
            folder = try TemporaryFolder()
            (self.source, self.destination) = (source, destination)
            path = folder.file("source.sqlite")
            try ReferenceStore.make(source, fill).write(path: path)
            self.mapping = try mapping ?? MappingModel.inferred(from: source, to: destination)
            options.memoryRoom = 48 << 20
        }

        func migration(_ name: String = "new.sqlite") -> Migration {
            Migration(
                from: path, model: source, mapping: mapping, to: folder.file(name), model: destination,
                options: options)
        }

        func change(_ sql: String) throws {
            let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
            try connection.execute(sql)
            try connection.close()
        }
    }

    private static func words(_ left: LeftBehind?) -> [String] { (left?.lines ?? []).map(\.sentence) }

    private static func slip() throws -> Fixture {
        try Fixture(
            model(entity("Author", [attribute("age", .integer16), attribute("name", .string)])),
            model(entity("Author", [attribute("age", .integer16), attribute("fullName", .string)]))
        ) { store in
            for key in 1...50 {
                store.insert("Author", Int64(key), ["name": key % 5 == 0 ? .null : .text("n")])
            }
        }
    }

    @Test(
        "Values in columns of an entity beside, which only SQL sees, are counted, refused, and meant where they are named",
        arguments: [false, true], [false, true])
    func otherEntity(isStaged: Bool, isMeant: Bool) throws {
        let version = try model(
            entity("Media", [attribute("name", .string)]),
            entity("Photo", parent: "Media", [attribute("width", .integer32)]),
            entity("Video", parent: "Media", [attribute("duration", .double)], [toOne("next", "Video")]))
        var fixture = try Fixture(version, version) { store in
            store.insert("Photo", 1, ["name": .text("p"), "width": .integer(3)])
            store.insert("Photo", 2)
            store.insert("Video", 3, ["duration": .real(1.5)], toOne: ["next": 3])
        }
        try fixture.change("UPDATE ZMEDIA SET ZDURATION = 9 WHERE Z_PK < 3; UPDATE ZMEDIA SET ZNEXT = 3 WHERE Z_PK = 2")
        fixture.options.usesStoreSpecificMigrationManager = !isStaged
        fixture.options.allowedLosses = isMeant ? ["Video.duration", "Video.next"] : []
        let why = "is in rows of an entity that does not have it, where only SQL sees it"
        let wanted = ["Video.duration, 2 values, \(why)", "Video.next, 1 link, \(why)"]
        #expect(Self.words(try fixture.migration().plan().leftBehind) == wanted)
        #expect(Self.words(try fixture.migration().check().leftBehind) == wanted)
        let left = try #require(try fixture.migration().run().leftBehind)
        #expect(Self.words(left) == wanted && left.isEmpty == isMeant)
        #expect(left.lines.allSatisfy { $0.suggestions == nil && $0.isLost != isMeant })
        fixture.options.onLoss = .refuse
        var code: MigrationError.Code?
        do { _ = try fixture.migration("refused.sqlite").run() } catch let error as MigrationError { code = error.code }
        #expect(code == (isMeant ? nil : "migration.loss"))
    }

    @Test(
        "A renaming identifier that is missing: values, a line that keeps them, in plan, check and report"
    )
    func missingIdentifier() throws {
        let fixture = try Self.slip()
        let wanted = ["Author.name, 40 values, is read by no entity mapping"]
        let planned = try fixture.migration().plan().leftBehind
        #expect(Self.words(planned) == wanted)
        let checked = try fixture.migration().check()
        #expect(Self.words(checked.leftBehind) == wanted && checked.sourceObjects == 50)
        #expect(!checked.fails(fixture.options))
        let report = try fixture.migration().run()
        #expect(report.leftBehind == planned && report.sourceObjects == 50)
        #expect(
            (report.leftBehind?.objects, report.leftBehind?.values, report.leftBehind?.links) == (
                0, 40, 0
            ))
        let suggestion = try #require(planned?.lines[0].suggestions?.first)
        #expect(
            suggestion.json == #""fullName": "$source.name""#
                && suggestion.entityMapping == fixture.mapping.entityMappings[0].name)
        // The line does it.
        fixture.mapping.entityMappings[0].attributeMapping(named: "fullName")?.valueExpression =
            try ValueExpression(
                parsing: "$source.name")
        #expect(try fixture.migration("kept.sqlite").run().leftBehind == nil)
    }

    @Test("refuse ends before anything is written, allow warns of nothing", arguments: [false, true])
    func choices(isStaged: Bool) throws {
        var fixture = try Self.slip()
        fixture.options.usesStoreSpecificMigrationManager = !isStaged
        fixture.options.onLoss = .refuse
        let error = try #require(throws: MigrationError.self) { try fixture.migration().run() }
        #expect(error.code == "migration.loss" && error.category == .data)
        #expect(
            error.message.contains("Author.name, 40 values")
                && error.remedy?.contains("$source.name") == true)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["source.sqlite"])
        #expect(try fixture.migration().check().fails(fixture.options))
        fixture.options.onLoss = .allow
        let left = try #require(try fixture.migration().run().leftBehind)
        #expect(left.isAllowed && left.values == 40)
    }

    @Test(
        "A migration that gives no object is refused unless that is allowed", arguments: [false, true])
    func nothing(isFiltered: Bool) throws {
        let models = try (model(entity("A", [attribute("x", .integer64)])), model(entity("B")))
        var mapping: MappingModel?
        if isFiltered {
            let one = try StagecoachTests.mapping("AToB", "A", "B")
            one.sourceFilter = try SourcePredicate(format: "x > 5")
            mapping = mappings(one)
        }
        var fixture = try Fixture(models.0, models.1, mapping) { store in
            store.insert("A", 1, ["x": .integer(3)])
        }
        let error = try #require(throws: MigrationError.self) { try fixture.migration().run() }
        #expect(error.code == "migration.empty" && error.category == .data)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["source.sqlite"])
        #expect(try fixture.migration().check().refusal(fixture.options)?.code == "migration.empty")
        fixture.options.onLoss = .allow
        let left = try #require(try fixture.migration().run().leftBehind)
        #expect(
            Self.words(left) == [
                isFiltered
                    ? "A.x, 1 value, is read by source filters only"
                    : "A, 1 object, 1 value, has only a remove mapping"
            ])
    }

    @Test("An empty source gives an empty store")
    func emptySource() throws {
        let fixture = try Fixture(model(entity("A")), model(entity("B"))) { _ in }
        #expect(try fixture.migration().run().leftBehind == nil)
    }

    @Test("Rows that are shorter than their table", arguments: [StoreReader.pages, .sqlite])
    func shortRows(reader: StoreReader) throws {
        var fixture = try Fixture(
            model(entity("A", [attribute("a", .string), attribute("z", .string)])),
            model(entity("A", [attribute("a", .string)]))
        ) { store in
            for key in 1...9 { store.insert("A", Int64(key), ["a": .text("a"), "z": .text("z")]) }
        }
        fixture.options.reader = reader
        try fixture.change(
            """
            ALTER TABLE ZA DROP COLUMN ZZ; ALTER TABLE ZA ADD COLUMN ZZ VARCHAR;
            UPDATE ZA SET ZZ = printf('%100s', 'long') WHERE Z_PK IN (2, 5)
            """)
        #expect(
            try Self.words(fixture.migration().run().leftBehind) == [
                "A.z, 2 values, is read by no entity mapping"
            ])
    }

    @Test("Long texts before, many columns, overflow pages")
    func wideRows() throws {
        let names = (0..<40).map { "c\($0 < 10 ? "0" : "")\($0)" }
        let fixture = try Fixture(
            model(entity("A", names.map { attribute($0, .string) })),
            model(entity("A", names.dropLast(20).map { attribute($0, .string) }))
        ) { store in
            for key in 1...30 {
                var values: [String: ReferenceValue] = [:]
                let text = String(repeating: "x", count: key % 4 * 400)
                for (place, name) in names.enumerated() where place % (key % 3 + 1) == 0 { values[name] = .text(text) }
                store.insert("A", Int64(key), values)
            }
        }
        let left = try fixture.migration().run().leftBehind
        #expect(left?.lines.count == 20)
        // Every column in ten rows, every second in ten, every third in ten.
        #expect(left?.values == 10 * 20 + 10 * 10 + 10 * 7)
    }

    @Test("Properties that subentities inherit are one line; an entity without a mapping is one, too")
    func inherited() throws {
        let fixture = try Fixture(
            model(
                entity("Base", [attribute("x", .integer64), attribute("y", .integer64)]),
                entity("One", parent: "Base", [attribute("own", .string)]), entity("Two", parent: "Base")),
            model(entity("Base", [attribute("x", .integer64)]), entity("Two", parent: "Base"))
        ) { store in
            for (key, name) in ["Base", "One", "Two", "One"].enumerated() {
                store.insert(name, Int64(key + 1), ["x": .integer(1), "y": .integer(2)])
            }
            store.set("One", 2, "own", .text("o"))
        }
        #expect(
            try Self.words(fixture.migration().run().leftBehind) == [
                "Base.y, 2 values, is read by no entity mapping",
                "One, 2 objects, 5 values, has only a remove mapping",
            ])
    }

    @Test(
        "Links: a pair of inverses once, a to-many without inverse, a join table; read at either end")
    func links() throws {
        func models(_ isOld: Bool) throws -> ManagedObjectModel {
            try model(
                entity(
                    "A", [],
                    isOld
                        ? [
                            toMany("bs", "B", inverse: "a"), toMany("hidden", "B"),
                            toMany("many", "B", inverse: "back"),
                            toOne("kept", "B", inverse: "keeper"),
                        ] : [toOne("kept", "B", inverse: "keeper")]),
                entity(
                    "B", [],
                    isOld
                        ? [
                            toOne("a", "A", inverse: "bs"), toMany("back", "A", inverse: "many"),
                            toMany("keeper", "A", inverse: "kept"),
                        ] : [toMany("keeper", "A", inverse: "kept")]))
        }
        var fixture = try Fixture(models(true), models(false)) { store in
            for key in 1...4 {
                store.insert("A", Int64(key))
                store.insert("B", Int64(key))
            }
            store.setMembers("A", 1, "bs", [1, 2, 3])
            store.setMembers("A", 2, "hidden", [4, 1])
            store.setMembers("A", 3, "many", [1, 2])
            store.setMembers("A", 4, "many", [1])
            store.setToOne("A", 1, "kept", 2)
        }
        let wanted = [
            "A.hidden, 2 links, is read by no entity mapping",
            "A.many, 3 links, is read by no entity mapping",
            "B.a, 3 links, is read by no entity mapping",
        ]
        for reader in [StoreReader.pages, .sqlite] {
            fixture.options.reader = reader
            #expect(try Self.words(fixture.migration("\(reader).sqlite").run().leftBehind) == wanted)
        }
        let json = try #require(fixture.mapping.entityMappings.first { $0.sourceEntityName == "B" })
        json.relationshipMappings = []
        // Read at the other end.
        #expect(try Self.words(fixture.migration("one-end.sqlite").run().leftBehind) == wanted)
    }

    @Test("A second store that is added, and runs that go on", arguments: [false, true])
    func appendedAndResumed(isStaged: Bool) throws {
        var fixture = try Self.slip()
        fixture.options.usesStoreSpecificMigrationManager = !isStaged
        fixture.options.appendsToExisting = true
        fixture.options.batchSize = 7
        fixture.options.passes = 3
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<3 {
            let run = try KilledRun(&generator, fixture.options) { options in
                var fixture = fixture
                fixture.options = options
                return fixture.migration()
            }
            #expect(
                Self.words(run.report.leftBehind) == [
                    "Author.name, 40 values, is read by no entity mapping"
                ])
        }
    }

    @Test("Rows in the -wal")
    func logged() throws {
        let fixture = try Self.slip()
        let writer = try Connection(path: fixture.path, flags: SQLITE_OPEN_READWRITE)
        try writer.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
        try writer.execute("UPDATE ZAUTHOR SET ZNAME = 'late' WHERE Z_PK = 5")
        #expect(try fixture.migration().run().leftBehind?.values == 41)
        try writer.close()
    }

    @Test(
        "Chains: the step is named, whether steps run as one migration or one by one",
        arguments: [false, true])
    func chain(fuses: Bool) throws {
        let versions = try [["a", "b"], ["a"], ["a", "c"]].enumerated().map { index, names in
            ModelVersion(
                name: "\(index + 1)", model: try model(entity("A", names.map { attribute($0, .string) })))
        }
        let fixture = try Fixture(versions[0].model, versions[2].model) { store in
            for key in 1...3 { store.insert("A", Int64(key), ["a": .text("a"), "b": .text("b")]) }
        }
        let steps = try zip(versions, versions.dropFirst()).map { from, to in
            MigrationStep(
                from: from, to: to,
                mappingModels: [try MappingModel.inferred(from: from.model, to: to.model)])
        }
        let chain = ChainedMigration(
            from: fixture.path, steps: steps, to: fixture.folder.file("new.sqlite"), options: fixture.options)
        chain.fusesSteps = fuses
        let wanted = ["1 → 2: A.b, 3 values, is read by no entity mapping"]
        #expect(try Self.words(chain.check().report.leftBehind) == wanted)
        let report = try chain.run()
        #expect(Self.words(report.leftBehind) == wanted && report.sourceObjects == 3)
    }

    @Test("The way through versions in between that keeps what one step drops")
    func detour() throws {
        func version(_ name: String, _ attribute: AttributeDefinition) throws -> ModelVersion {
            ModelVersion(name: name, model: try model(entity("A", [attribute])))
        }
        let versions = try [
            version("M 1", attribute("name", .string)),
            version("M 2", attribute("label", .string) { $0.renamingIdentifier = "name" }),
            version("M 3", attribute("title", .string) { $0.renamingIdentifier = "label" }),
        ]
        let fixture = try Fixture(versions[0].model, versions[2].model) { store in
            store.insert("A", 1, ["name": .text("a")])
        }
        let bundle = fixture.folder.file("M.momd")
        try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
        for version in versions {
            try Data(try ModelArchive.encode(version.model)).write(
                to: URL(fileURLWithPath: "\(bundle)/\(version.name ?? "").mom"))
        }
        let step = MigrationStep(from: versions[0], to: versions[2], mappingModels: [fixture.mapping])
        let chain = ChainedMigration(
            from: fixture.path, steps: [step], to: fixture.folder.file("new.sqlite"), options: fixture.options)
        chain.detours = VersionDetours(from: versions[0], to: versions[2], bundle: bundle)
        let line = try #require(try chain.run().leftBehind?.lines.first)
        #expect(line.suggestions?.first?.text == "--via 'M 2' keeps A.name")
        #expect(line.suggestions?.first?.via == ["M 2"])
        #expect(line.suggestions?.last?.json == #""title": "$source.name""#)
    }

    @Test("An entity that nothing migrates and one like it that nothing makes")
    func entitySuggestion() throws {
        let attributes = [attribute("name", .string), attribute("age", .integer16)]
        let fixture = try Fixture(
            model(entity("Other"), entity("Writer", attributes)),
            model(
                entity("Author", attributes), entity("Other"), entity("Place", [attribute("zip", .string)]))
        ) { store in
            store.insert("Writer", 1, ["name": .text("n")])
            store.insert("Other", 1)
        }
        let line = try #require(try fixture.migration().run().leftBehind?.lines.first)
        #expect(line.sentence == "Writer, 1 object, 1 value, has only a remove mapping")
        #expect(
            line.suggestions?.map(\.json) == [
                #"{ "sourceEntity": "Writer", "destinationEntity": "Author" }"#
            ])
    }
}
