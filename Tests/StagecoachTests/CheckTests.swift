import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Checks: what a migration would say, and nothing touched")
struct CheckTests {
    /// Everything in a folder that a program could see change: names, bytes, inodes, times of change.
    private static func state(of folder: String) throws -> [String] {
        try FailureFixture.contents(of: folder).map { name, bytes in
            var status = stat()
            try #require(lstat("\(folder)/\(name)", &status) == 0)
            return "\(name) \(bytes.hashValue) \(status.st_ino) \(status.st_mtim) \(status.st_ctim)"
        }.sorted()
    }

    @Test(
        "A check of an append sees what stands in the destination's -wal, and touches nothing",
        arguments: [false, true])
    func append(isStaged: Bool) throws {
        let fixture = try FailureFixture { $0.uniquenessConstraints = [["isbn"]] }
        try fixture.migration(fixture.options()).run()
        try fixture.leaveInLog("UPDATE ZBOOK SET ZISBN = 'in the log' WHERE Z_PK = 3")
        try fixture.change("UPDATE ZBOOK SET ZISBN = CASE WHEN Z_PK = 7 THEN 'in the log' ELSE 'new ' || Z_PK END")
        var options = fixture.options(isStaged: isStaged)
        options.appendsToExisting = true
        let before = try Self.state(of: fixture.outputFolder)
        #expect(before.count == 2)
        let report = try fixture.migration(options).check()
        #expect(report.violations.map(\.rule) == [.unique])
        #expect(report.violations.first?.samples.map(\.sourceID) == ["Book/p7"])
        #expect(report.objects == 44 && report.rejectedObjects == 1)
        #expect(try Self.state(of: fixture.outputFolder) == before)
    }

    @Test("A check of an append works while another program reads the destination")
    func appendBesideReader() throws {
        let fixture = try FailureFixture()
        try fixture.migration(fixture.options()).run()
        let user = try Connection(path: fixture.destinationPath, flags: SQLITE_OPEN_READWRITE)
        try user.execute("PRAGMA journal_mode = WAL; BEGIN")
        #expect(try user.integer("SELECT count(*) FROM ZAUTHOR") == 4)
        var options = fixture.options()
        options.appendsToExisting = true
        let report = try fixture.migration(options).check()
        #expect(report.violations == [] && report.objects == 44)
        try user.execute("COMMIT")
        try user.close()
    }

    @Test("A check clears what killed checks left in its folder, and leaves those at work")
    func abandoned() throws {
        let fixture = try FailureFixture()
        let work = fixture.folder.file("work")
        let dead = work + "/stagecoach-check-dead00/.check.stagecoach"
        try FileManager.default.createDirectory(atPath: dead, withIntermediateDirectories: true)
        for name in ["lock", "store.sqlite", "rows-1.spill"] {
            try Data("left".utf8).write(to: URL(fileURLWithPath: "\(dead)/\(name)"))
        }
        let live = work + "/stagecoach-check-live00"
        try FileManager.default.createDirectory(atPath: live, withIntermediateDirectories: false)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: work + "/stagecoach-check-notes"))
        let descriptor = open(live, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        try #require(flock(descriptor, LOCK_EX) == 0)
        var options = fixture.options()
        options.workDirectory = work
        #expect(try fixture.migration(options).check().objects == 44)
        let left = ["stagecoach-check-live00", "stagecoach-check-notes"]
        #expect(try FileManager.default.contentsOfDirectory(atPath: work).sorted() == left)
    }

    @Test("Of several mapping models each counts its own objects", arguments: [false, true])
    func several(isStaged: Bool) throws {
        let fixture = try FailureFixture { $0.attributes[1].isOptional = false }
        try fixture.change("UPDATE ZBOOK SET ZISBN = NULL WHERE Z_PK IN (3, 5)")
        let models = try ["Authors", "Books", "MoreBooks"].map { name in
            let entity = name == "Authors" ? "Author" : "Book"
            let copied = try #require(fixture.mapping.copy() as? MappingModel)
            copied.entityMappings = copied.entityMappings.filter { $0.destinationEntityName == entity }
            copied.entityMappings[0].name = name
            copied.entityMappings[0].relationshipMappings = nil
            return copied
        }
        let report = try Migration(
            from: fixture.sourcePath, model: fixture.source, mappings: models, to: fixture.destinationPath,
            model: fixture.destination, options: fixture.options(isStaged: isStaged)
        ).check()
        #expect(report.objects == 84 && report.rejectedObjects == 4)
        #expect(
            report.violations.map { "\($0.entity).\($0.property) \($0.rule.rawValue) \($0.count)" } == [
                "Book.isbn required 4"
            ])
        let samples = report.violations.first?.samples.map { "\($0.mapping ?? "") \($0.sourceID ?? "")" }
        #expect(samples == ["Books Book/p3", "Books Book/p5", "MoreBooks Book/p3", "MoreBooks Book/p5"])
        #expect(try FailureFixture.contents(of: fixture.outputFolder).isEmpty)
    }

    @Test("Warnings of a mapping model that is loaded twice count once", arguments: [false, true])
    func warnings(isStaged: Bool) throws {
        let old = try model(
            entity("A", [attribute("x", .integer64) { $0.maximum = .integer(5) }, attribute("y", .integer64)]))
        let new = try model(
            entity(
                "A",
                [
                    attribute("x", .integer64) { $0.maximum = .integer(5) },
                    attribute("y", .integer64) { $0.isOptional = false },
                ]))
        let folder = try TemporaryFolder()
        let source = folder.file("source.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("A", 1, ["x": .integer(9), "y": .integer(1)])
            store.insert("A", 2, ["x": .integer(1)])
        }.write(path: source)
        let models = try ["First", "Second"].map { name in
            let model = mappings(try mapping(name, "A", "A", ["x": "$source.x", "y": "$source.y"]))
            model.rulesOfTheSource = .warn
            return model
        }
        var options = MigrationComparison.Variant(isStaged: isStaged).options
        options.keys = .sequential
        let report = try Migration(
            from: source, model: old, mappings: models, to: folder.file("new.sqlite"), model: new, options: options
        ).check()
        #expect(report.violations.map { "\($0.property) \($0.rule.rawValue) \($0.count)" } == ["y required 2"])
        #expect(report.warnings.map { "\($0.property) \($0.rule.rawValue) \($0.count)" } == ["x maximum 2"])
        #expect(report.rejectedObjects == 2 && report.objects == 4)
    }

    @Test("A check of several mapping models counts what their run rejects", arguments: SeveralModelsTests.seeds)
    func random(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed, isRuled: true)
        let folder = try TemporaryFolder()
        for (number, variant) in SeveralModelsTests.variants.enumerated() {
            var options = variant.options
            options.onInvalid = .reject
            let migration = Migration(
                from: fixture.path, model: fixture.migration.source, mappings: fixture.models,
                to: folder.file("out-\(number).sqlite"), model: fixture.migration.destination, options: options)
            let checked = try? migration.check()
            let report: MigrationReport
            do { report = try migration.run() } catch let error as MigrationError {
                // Existing objects of the destination cannot be rejected, and a migration without a plan cannot be checked.
                #expect(checked?.hasInvalidExistingObjects ?? true, "\(variant): \(error)\n\(fixture.migration)")
                continue
            }
            let made = report.counts.created.values.reduce(0, +)
            #expect(checked?.rejectedObjects == report.rejects?.objects, "\(variant)\n\(fixture.migration)")
            #expect(checked?.objects == made + (report.rejects?.objects ?? 0), "\(variant)\n\(fixture.migration)")
            #expect(checked?.fails(options) == false)
        }
    }
}
