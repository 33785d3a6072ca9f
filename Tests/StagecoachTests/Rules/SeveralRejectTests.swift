import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Random rules that random rows break, with several mapping models in turn and with appended stores: the engine's
/// destination and rejects equal the reference's.
@Suite("Rejects with several mapping models and appended stores")
struct SeveralRejectTests {
    typealias Variant = MigrationComparison.Variant

    private static func options(_ variant: Variant, rejects: String) -> MigrationOptions {
        var options = variant.options
        options.onInvalid = .reject
        options.rejectFile = rejects
        return options
    }

    private static func rejected(
        _ path: String, _ expected: Result<ReferenceOutcome, ReferenceFailure>
    ) throws -> Bool {
        guard case .success(let outcome) = expected else { return true }
        let found = RejectComparison.texts(try RejectLine.read(path), beside: outcome.report).sorted()
        let wanted = RejectComparison.texts(outcome.report).sorted()
        #expect(found == wanted)
        return found == wanted
    }

    @Test("A mapping model cut into several rejects what the reference rejects", arguments: SeveralModelsTests.seeds)
    func split(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed, isRuled: true)
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: fixture.models, rejectsInvalid: true)
        for variant in SeveralModelsTests.variants {
            var isSame = true
            let one = try fixture.differences(expected, "one run, \(variant)") { path in
                let options = Self.options(variant, rejects: path + ".rejects")
                let report = try Migration(
                    from: fixture.path, model: fixture.migration.source, mappings: fixture.models, to: path,
                    model: fixture.migration.destination, options: options
                ).run()
                isSame = try Self.rejected(path + ".rejects", expected)
                if case .success(let outcome) = expected {
                    for line in report.counts.mappings where line.sourceEntity != nil && line.destinationEntity != nil {
                        isSame = isSame && line.rejected == outcome.report.rejected[line.name] ?? 0
                        isSame = isSame && line.migrated == outcome.report.migrated[line.name] ?? 0
                    }
                    #expect(isSame, "\(report.counts.mappings) \(outcome.report.migrated)")
                }
                return nil
            }
            #expect(one == [])
            guard one.isEmpty, isSame else { return }
            let several = try fixture.differences(expected, "several calls, \(variant)") { path in
                let manager = fixture.manager(variant)
                for (number, model) in fixture.models.enumerated() {
                    manager.options = Self.options(variant, rejects: "\(path)-\(number).rejects")
                    try manager.migrateStore(
                        from: URL(fileURLWithPath: fixture.path), type: .sqlite, mapping: model,
                        to: URL(fileURLWithPath: path), type: .sqlite)
                }
                return nil
            }
            #expect(several == [])
            guard several.isEmpty else { return }
        }
    }

    @Test("A second store appended with rejects gives what the reference gives", arguments: SeveralModelsTests.seeds)
    func append(seed: UInt64) throws {
        let fixture = try SplitFixture(seed: seed, isRuled: true)
        let mapping = try #require(fixture.migration.mapping)
        let first = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: [mapping],
            rejectsInvalid: true)
        guard case .success(let outcome) = first else { return }
        let expected = ReferenceMigrator.migrate(
            source: try fixture.sourceStore(), destinationModel: fixture.migration.destination,
            mappingModels: [mapping],
            destination: outcome.store, rejectsInvalid: true)
        for variant in SeveralModelsTests.variants {
            var isSame = true
            let lines = try fixture.differences(expected, "append, \(variant)") { path in
                for number in 0..<2 {
                    var options = Self.options(variant, rejects: "\(path)-\(number).rejects")
                    options.appendsToExisting = true
                    _ = try Migration(
                        from: fixture.path, model: fixture.migration.source, mapping: mapping, to: path,
                        model: fixture.migration.destination, options: options
                    ).run()
                }
                isSame = try Self.rejected(path + "-1.rejects", expected)
                return nil
            }
            #expect(lines == [])
            guard lines.isEmpty, isSame else { return }
        }
    }

    @Test(
        "Of equal values the object that stands in the destination stays",
        arguments: AppendTests.ConstraintForm.allCases, [false, true])
    func duplicate(form: AppendTests.ConstraintForm, isStaged: Bool) throws {
        let fixture = try FailureFixture { $0.uniquenessConstraints = [["isbn"]] }
        try fixture.migration(fixture.options()).run()
        let path = fixture.destinationPath
        if form == .clause { try AppendTests.giveClause(path) }
        // Book 7 is equal to an existing one, 8 and 9 are equal to each other.
        try fixture.change(
            "UPDATE ZBOOK SET ZISBN = CASE WHEN Z_PK = 7 THEN ZISBN WHEN Z_PK IN (8, 9) THEN 'twice' "
                + "ELSE 'new ' || Z_PK END")
        var options = fixture.options(isStaged: isStaged)
        options.appendsToExisting = true
        options.fullCheck = true
        options.onInvalid = .reject
        options.rejectFile = fixture.folder.file("rejects")
        let checked = try fixture.migration(options).check()
        #expect(checked.rejectedObjects == 2 && checked.objects == 44)
        #expect(checked.violations.map(\.rule) == [.unique] && checked.violations.map(\.count) == [2])
        let report = try fixture.migration(options).run()
        #expect(report.rejects?.objects == 2 && report.isAppended)
        #expect(try RejectLine.read(fixture.folder.file("rejects")).map(\.id) == ["Book/p47", "Book/p49"])
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK") == 78)
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE ZISBN = 'isbn 7' AND Z_PK = 7") == 1)
        #expect(try connection.integer("SELECT count(*) FROM ZBOOK WHERE ZISBN = 'twice' AND Z_PK = 48") == 1)
        #expect(try connection.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'") == 80)
        // The constraint is there as it was.
        let origin = form == .clause ? "u" : "c"
        #expect(
            try connection.integer(
                "SELECT count(*) FROM pragma_index_list('ZBOOK') WHERE \"unique\" AND origin = '\(origin)'") == 1)
        try connection.close()
        options.rejectFile = nil
        options.maximumRejects = 1
        #expect(try fixture.problems("validation.tooManyRejects", .data) { try $0.migration(options).run() } == [])
    }
}
