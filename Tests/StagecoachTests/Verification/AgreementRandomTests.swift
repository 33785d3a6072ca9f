import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

/// Random models, rows, expressions, filters, lookups, rules and appends: the check's verdict is the migration's outcome, the
/// migration's destination is the reference's, and a verification of it finds nothing.
///
/// `STAGECOACH_SEED` and `STAGECOACH_RUNS` choose other cases and more of them.
@Suite("Check, migration, verification and the reference agree")
struct AgreementRandomTests {
    /// Cases that did not agree once: orders made anew after rejects, objects behind a to-many, Floats along a path, `IN` of a
    /// to-many that nothing leads to, members that several objects had together.
    private static let knownFresh: [UInt64] = [
        9_100_115, 9_100_366, 9_101_582, 9_102_712, 9_102_968, 9_102_972, 9_501_800,
    ]
    /// Appends to tables whose rows had all been rejected.
    private static let knownAppends: [UInt64] = [9_100_161, 9_100_758, 9_100_866, 9_101_182]

    @Test("A fresh destination", arguments: RandomSeeds.seeds(60) + knownFresh)
    func fresh(seed: UInt64) throws {
        let fixture = try AgreementFixture(seed: seed)
        let lines = try fixture.differences(fixture.first, appends: false)
        #expect(lines == [], "\(fixture)")
    }

    @Test(
        "A store that is appended to, with and without a cached model", arguments: RandomSeeds.seeds(40) + knownAppends)
    func append(seed: UInt64) throws {
        let fixture = try AgreementFixture(seed: seed)
        guard try fixture.makeBase() else { return }
        let lines = try fixture.differences(fixture.second, appends: true)
        #expect(lines == [], "\(fixture)")
    }
}

/// One random case.
private final class AgreementFixture: CustomStringConvertible {
    let migration: RandomMigration
    let mapping: MappingModel
    /// Two sources of the same model.
    let first: String
    let second: String
    private let folder: TemporaryFolder
    private let destination: String
    private var variant = MigrationComparison.Variant()
    private let rejects: Bool
    private let tellsRejects: Bool
    private let hasCache: Bool

    init(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed &* 7 &+ 1)
        let hasRules = !generator.chance(3)
        switch generator.below(5) {
        case 0:
            migration =
                try hasRules
                ? RandomMigration.ruled(seed: seed, isExplicit: false) : RandomMigration.inferred(seed: seed)
        case 1:
            migration =
                try hasRules
                ? RandomMigration.ruled(seed: seed, isExplicit: true) : RandomMigration.explicit(seed: seed)
        default: migration = try RandomMigration.spiced(seed: seed, hasRules: hasRules)
        }
        let made = try migration.mapping ?? migration.inferredMapping()
        mapping = generator.chance(2) ? Self.written(made, migration) ?? made : made
        rejects = hasRules && !generator.chance(4)
        tellsRejects = generator.chance(2)
        hasCache = generator.chance(2)
        variant.isStaged = generator.chance(3)
        variant.batchSize = generator.chance(2) ? 1 + generator.below(5) : nil
        variant.keys = generator.chance(3) ? .sequential : .auto
        folder = try TemporaryFolder()
        first = folder.file("first.sqlite")
        second = folder.file("second.sqlite")
        destination = folder.file("new.sqlite")
        try migration.store.write(path: first)
        try migration.otherStore().write(path: second)
    }

    /// The mapping model as its JSON file reads; nil if it is refused there.
    private static func written(_ mapping: MappingModel, _ migration: RandomMigration) -> MappingModel? {
        guard let text = try? mapping.json() else { return nil }
        return try? MappingModel.reading(
            json: Array(text.utf8), path: "map.json", source: migration.source, destination: migration.destination)
    }

    private func options(appends: Bool) -> MigrationOptions {
        var options = variant.options
        options.appendsToExisting = appends
        options.onInvalid = rejects ? .reject : .fail
        options.rejectFile = rejects ? folder.file("rejects-\(appends).jsonl") : nil
        return options
    }

    private func migration(_ source: String, appends: Bool) -> Migration {
        Migration(
            from: source, model: migration.source, mapping: mapping, to: destination, model: migration.destination,
            options: options(appends: appends))
    }

    /// Makes the store that is appended to.
    ///
    /// - Returns: false if it cannot be made.
    func makeBase() throws -> Bool {
        do { try migration(first, appends: false).run() } catch is MigrationError { return false }
        guard !hasCache else { return true }
        let connection = try Connection(path: destination, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("DROP TABLE Z_MODELCACHE")
        try connection.close()
        return true
    }

    /// Returns the disagreements, one line each.
    func differences(_ source: String, appends: Bool) throws -> [String] {
        let migration = migration(source, appends: appends)
        let expected = ReferenceMigrator(
            source: try ReferenceStore.read(path: source, model: self.migration.source),
            destinationModel: self.migration.destination, mappingModel: mapping,
            keys: variant.keys == .sequential ? .sequential : .auto,
            destination: appends
                ? try ReferenceStore.read(path: destination, model: self.migration.destination) : nil,
            rejectsInvalid: rejects
        ).migrate()
        let checked = Result { try migration.check() }
        let done = Result { try migration.run() }
        var lines = Self.differences(checked, done, migration.options)
        lines += try differences(done, from: expected)
        guard case .success = done else { return lines }
        return lines + (try verified(source, appends: appends))
    }

    private static func differences(
        _ checked: Result<CheckReport, any Error>, _ done: Result<MigrationReport, any Error>,
        _ options: MigrationOptions
    ) -> [String] {
        switch (checked, done) {
        case (.success(let check), .success(let report)):
            var lines: [String] = []
            if check.fails(options) { lines.append("check: fails, migrate: done") }
            if options.onInvalid == .fail, !check.violations.isEmpty { lines.append("check: \(check.violations)") }
            if check.rejectedObjects != report.rejects?.objects ?? 0 {
                lines.append("check: \(check.rejectedObjects) rejects, migrate: \(report.rejects?.objects ?? 0)")
            }
            return lines
        case (.success(let check), .failure(let error)):
            return check.fails(options) ? [] : ["check: no failure, migrate: \(error)"]
        case (.failure(let error), .success): return ["check: \(error), migrate: done"]
        case (.failure(let one), .failure(let other)):
            let codes = [one, other].map { ($0 as? MigrationError)?.code.rawValue }
            return codes[0] == codes[1] && codes[0] != nil ? [] : ["check: \(one), migrate: \(other)"]
        }
    }

    private func differences(
        _ done: Result<MigrationReport, any Error>, from expected: Result<ReferenceOutcome, ReferenceFailure>
    ) throws -> [String] {
        if case .failure(.unsupported) = expected { return [] }
        return try expected.differences {
            _ = try done.get()
        } comparing: { outcome in
            let found = try ReferenceStore.read(path: destination, model: migration.destination)
            return Array(found.differences(from: outcome.store).prefix(12).map { "migrate: \($0)" })
        }
    }

    private func verified(_ source: String, appends: Bool) throws -> [String] {
        let verification = StoreVerification(migration(source, appends: appends))
        if !tellsRejects { verification.rejectFile = nil }
        let report = try verification.run()
        var lines = report.differences.prefix(8).map { "verify: \($0)" }
        let honest = [
            "an expression gives the members", "it is its own inverse",
            "no reject file tells which of its objects the append added",
        ]
        for line in report.notRecomputed where !honest.contains(line.reason) {
            lines.append("verify: \(line.subject) not recomputed, \(line.reason)")
        }
        let rows = try ReferenceStore.read(path: destination, model: self.migration.destination).rowCount
        let compared = report.compared
        if compared.objects != rows || compared.recomputed + compared.passedOver != rows {
            lines.append("verify: claims \(compared), there are \(rows) objects")
        }
        if !appends, compared.passedOver > 0 { lines.append("verify: passes over \(compared.passedOver)") }
        return lines
    }

    var description: String {
        "\(variant), rejects \(rejects), told \(tellsRejects), cache \(hasCache)\n"
            + ((try? mapping.json()) ?? "no JSON") + "\n\(migration)"
    }
}
