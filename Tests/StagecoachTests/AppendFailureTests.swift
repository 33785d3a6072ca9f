import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Appends that fail, at many points: the destination holds what it held, its -wal's part included.
@Suite("Appends that fail")
struct AppendFailureTests {
    private struct Planned: Error {}

    private static var options: MigrationOptions {
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.appendsToExisting = true
        return options
    }

    /// A store of forty books, ten changes of which are in a -wal.
    private static func fixture(_ altering: (inout EntityDefinition) -> Void = { _ in }) throws -> FailureFixture {
        let fixture = try FailureFixture(altering)
        try fixture.migration(options).run()
        try fixture.leaveInLog(
            "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (77, 1, 1, 'In the log'); "
                + "UPDATE ZBOOK SET ZNOTE = 'changed', ZAUTHOR = 77 WHERE Z_PK <= 10; DELETE FROM ZBOOK WHERE Z_PK = 11; "
                + "UPDATE Z_PRIMARYKEY SET Z_MAX = 77 WHERE Z_NAME = 'Author'")
        return fixture
    }

    /// Every row of every table, read from a copy.
    private static func content(_ fixture: FailureFixture) throws -> [String] {
        let folder = try TemporaryFolder()
        let copy = folder.file("copy.sqlite")
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: fixture.destinationPath + suffix) {
            try FileManager.default.copyItem(atPath: fixture.destinationPath + suffix, toPath: copy + suffix)
        }
        let connection = try Connection(path: copy, flags: SQLITE_OPEN_READWRITE)
        var lines = try connection.firstColumn("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        for table in try connection.firstColumn("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
            let columns = try connection.firstColumn(
                "SELECT 'quote(' || name || ')' FROM pragma_table_info('\(table)')")
            lines += try connection.firstColumn(
                "SELECT '\(table) ' || \(columns.joined(separator: " || ',' || ")) FROM \(table) ORDER BY 1")
        }
        lines += try connection.firstColumn("PRAGMA integrity_check")
        return lines
    }

    /// Runs what must fail, and compares.
    private static func differences(
        _ fixture: FailureFixture, _ run: (FailureFixture) throws -> Void
    ) throws -> [String] {
        let before = try content(fixture)
        #expect(before.contains { $0.contains("In the log") } && before.last == "ok")
        do {
            try run(fixture)
            return ["the run did not fail"]
        } catch {}
        let after = try content(fixture)
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.outputFolder).filter {
            !$0.hasPrefix("new.sqlite")
        }
        return names + (before == after ? [] : ["the content changed"])
    }

    /// Policies of both mappings that fail in one method, counted by its calls.
    private static func manager(
        _ fixture: FailureFixture, failingIn method: String, call: Int, _ act: @escaping () throws -> Void
    ) -> MigrationManager {
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        for mapping in fixture.mapping.entityMappings {
            let name = mapping.name ?? ""
            mapping.entityMigrationPolicyClassName = name
            var steps = ClosurePolicy.Steps()
            if mapping.sourceEntityName == "Book" {
                var calls = 0
                func count(_ here: String) throws {
                    guard here == method else { return }
                    calls += 1
                    if calls == call { try act() }
                }
                steps.begin = { _, _ in try count("begin") }
                steps.create = { _, _, _, standard in
                    try standard()
                    try count("create")
                }
                steps.endCreation = { _, _ in try count("endCreation") }
                steps.relate = { _, _, _, standard in
                    try standard()
                    try count("relate")
                }
                steps.endRelating = { _, _ in try count("endRelating") }
                steps.validate = { _, _ in try count("validate") }
                steps.end = { _, manager in
                    // Existing objects are changed and deleted before the failure.
                    for book in try manager.destinationContext.fetch(FetchRequest<ManagedObject>(entityName: "Book")) {
                        book.setValue("changed by the policy", forKey: "note")
                        if book.value(forKey: "pages") as? Int == 3 { manager.destinationContext.delete(book) }
                    }
                    try count("end")
                }
            }
            let carried = Unchecked(steps)
            manager.policies.register(name) {
                let policy = ClosurePolicy()
                policy.steps = carried.value
                return policy
            }
        }
        return manager
    }

    @Test(
        "An error in any method of a policy leaves the destination's content",
        arguments: [
            ("begin", 1), ("create", 1), ("create", 40), ("endCreation", 1), ("relate", 1), ("relate", 40),
            ("endRelating", 1), ("validate", 1), ("end", 1),
        ])
    func policies(method: String, call: Int) throws {
        let fixture = try Self.fixture()
        #expect(
            try Self.differences(fixture) { fixture in
                let manager = Self.manager(fixture, failingIn: method, call: call) { throw Planned() }
                try fixture.migration(Self.options, manager: manager).run()
            } == [])
        // The same without the error goes through.
        let manager = Self.manager(fixture, failingIn: "", call: 0) {}
        let report = try fixture.migration(Self.options, manager: manager).run()
        #expect(report.isAppended && report.counts.created["Author"] == 4)
    }

    @Test(
        "A source that changes, a destination that is replaced or written, and invalid objects leave the content",
        arguments: [false, true])
    func others(isStaged: Bool) throws {
        var staged = Self.options
        staged.usesStoreSpecificMigrationManager = !isStaged
        let options = staged
        // An object that conflicts, found by the index at the end.
        let unique = try Self.fixture { $0.uniquenessConstraints = [["isbn"]] }
        #expect(try Self.differences(unique) { try $0.migration(options).run() } == [])
        var rejecting = options
        rejecting.onInvalid = .reject
        rejecting.maximumRejects = 3
        rejecting.rejectFile = unique.folder.file("rejects")
        let limited = rejecting
        #expect(try Self.differences(unique) { try $0.migration(limited).run() } == [])
        #expect(try RejectLine.read(unique.folder.file("rejects")).count == 39)
        // The source is written while it is read.
        let moved = try Self.fixture()
        #expect(
            try Self.differences(moved) { fixture in
                let manager = Self.manager(fixture, failingIn: "endRelating", call: 1) {
                    try fixture.change("UPDATE ZBOOK SET ZPAGES = 0")
                }
                try fixture.migration(options, manager: manager).run()
            } == [])
        // A cancellation near the end.
        let cancelled = try Self.fixture()
        #expect(
            try Self.differences(cancelled) { fixture in
                let flag = CancellationFlag()
                let manager = Self.manager(fixture, failingIn: "end", call: 1) { flag.cancel(Planned()) }
                try fixture.migration(options, manager: manager, cancellation: flag).run()
            } == [])
    }

    @Test(
        "A full work disk leaves the content",
        .enabled(if: SmallDisk.isPossible, "mounting a small disk needs root"), arguments: [1, 4])
    func fullDisk(kilobytes: Int) throws {
        let fixture = try Self.fixture()
        let disk = try #require(SmallDisk(bytes: kilobytes << 10))
        var options = Self.options
        options.usesStoreSpecificMigrationManager = false
        options.workDirectory = disk.path
        let small = options
        // After a full disk the work directory stays: the same run may be tried again.
        let left = try Self.differences(fixture) { try $0.migration(small).run() }
        #expect(left == [".new.sqlite.stagecoach"])
        options.workDirectory = nil
        try fixture.migration(options).run()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.outputFolder).allSatisfy {
                $0.hasPrefix("new.sqlite")
            })
    }
}
