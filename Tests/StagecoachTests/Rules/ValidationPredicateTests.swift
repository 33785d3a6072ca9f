import CoreDataStore
import Diagnostics
import ManagedModel
import TestSupport
import Testing

@testable import Stagecoach

@Suite("Validation predicates of any form")
struct ValidationPredicateTests {
    private struct Fixture {
        let folder: TemporaryFolder
        let old: ManagedObjectModel
        let new: ManagedObjectModel

        init(oldHasRules: Bool = false, _ change: (inout [AttributeDefinition]) -> Void = { _ in }) throws {
            folder = try TemporaryFolder()
            var attributes = [
                attribute("title", .string), attribute("pages", .integer32), attribute("made", .date),
                attribute("cover", .transformable),
            ]
            for index in attributes.indices { attributes[index].isOptional = true }
            let plain = attributes
            attributes[0].validationPredicates = [.init(format: "SELF CONTAINS 'title'"), .init(format: "length != 9")]
            attributes[1].validationPredicates = [.init(format: "SELF IN {1, 2, 300}")]
            attributes[2].validationPredicates = [.init(format: "SELF != CAST(5, 'NSDate')")]
            change(&attributes)
            old = try model(entity("Book", oldHasRules ? attributes : plain))
            new = try model(entity("Book", attributes))
            var store = ReferenceStore(model: old)
            store.insert("Book", 1, ["title": .text("a title"), "pages": .integer(300), "made": .integer(4)])
            store.insert("Book", 2, ["title": .text("a name"), "pages": .integer(2)])
            store.insert("Book", 3, ["title": .text("my title!"), "pages": .integer(3), "made": .integer(5)])
            store.insert("Book", 4, [:])
            try store.write(path: folder.file("old.sqlite"))
        }

        func migration(staged: Bool = false, _ change: (inout MigrationOptions) -> Void = { _ in }) throws -> Migration
        {
            var options = MigrationOptions()
            options.usesStoreSpecificMigrationManager = !staged
            change(&options)
            return Migration(
                from: folder.file("old.sqlite"), model: old, mapping: try .inferred(from: old, to: new),
                to: folder.file("new.sqlite"), model: new, options: options)
        }
    }

    @Test("check counts broken ones; nil breaks none")
    func check() throws {
        let fixture = try Fixture()
        let report = try fixture.migration().check()
        let found = report.violations.map { "\($0.property) \($0.rule.rawValue) \($0.count) \($0.samples[0].id)" }
            .sorted()
        #expect(
            found == [
                "made predicate 1 Book/p3", "pages predicate 1 Book/p3", "title predicate 2 Book/p2",
            ])
        #expect(report.rejectedObjects == 2)
        #expect(report.unevaluated == nil)
    }

    @Test("A run ends at one, or leaves the objects out; verify finds no difference", arguments: [false, true])
    func migrate(staged: Bool) throws {
        let fixture = try Fixture()
        let error = #expect(throws: MigrationError.self) { _ = try fixture.migration(staged: staged).run() }
        #expect(error?.code == "validation.predicate" && error?.message.contains("SELF CONTAINS 'title'") == true)
        let migration = try fixture.migration(staged: staged) { $0.onInvalid = .reject }
        let report = try migration.run()
        #expect(report.rejects?.objects == 2, "\(String(describing: report.rejects))")
        #expect(try StoreVerification(migration).run().isEqual)
    }

    @Test("verify finds what breaks one in the destination")
    func verify() throws {
        let fixture = try Fixture()
        let migration = try fixture.migration {
            $0.onInvalid = .reject
            $0.strictValidation = true
        }
        _ = try migration.run()
        let connection = try Connection(path: fixture.folder.file("new.sqlite"), flags: 2)
        try connection.execute("UPDATE ZBOOK SET ZTITLE = 'none' WHERE Z_PK = 1")
        try connection.close()
        let report = try StoreVerification(migration).run()
        #expect(
            report.differences.contains { $0.expected == "a value that satisfies SELF CONTAINS 'title'" },
            "\(report.differences)")
    }

    @Test("A rule that the source had already is a warning")
    func excused() throws {
        let fixture = try Fixture(oldHasRules: true)
        let report = try fixture.migration().run()
        #expect(report.notes.contains { $0.contains("Book.title: does not satisfy the predicate") }, "\(report.notes)")
    }

    @Test("One that cannot be evaluated is named by plan, check, report and verify")
    func unevaluated() throws {
        let fixture = try Fixture { attributes in
            attributes[0].validationPredicates = [.init(format: "SELF.spine == 3"), .init(format: "SELF >")]
            attributes[1].validationPredicates = []
            attributes[2].validationPredicates = []
            attributes[3].validationPredicates = [.init(format: "SELF != nil")]
        }
        let migration = try fixture.migration()
        let wanted = ["SELF.spine == 3", "SELF >", "SELF != nil"]
        func check(_ sentences: [String]) {
            for text in wanted {
                #expect(
                    sentences.contains {
                        $0.hasPrefix("The validation predicate of Book.") && $0.hasSuffix(": \(text)")
                    }, "\(text): \(sentences)")
            }
        }
        check(try migration.plan().models[0].unevaluated ?? [])
        check(try migration.check().unevaluated ?? [])
        check(try migration.run().notes)
        check(try StoreVerification(migration).run().notes)
    }
}
