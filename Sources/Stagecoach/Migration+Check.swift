import CoreDataStore
import Diagnostics
import Foundation
import Mapping

/// The result of checking a source against a migration's rules without migrating it; can be encoded.
///
/// ```swift
/// let report = try migration.check()
/// for line in report.violations {
///     print(line.count, "of", line.entity, "break", line.rule.rawValue, "of", line.property)
/// }
/// ```
public struct CheckReport: Sendable, Codable {
    /// A rule that objects break.
    public struct Line: Sendable, Codable, Equatable {
        /// Destination entity.
        public var entity: String
        /// Attribute, relationship, or the attributes of a uniqueness constraint.
        public var property: String
        /// The rule that is broken.
        public var rule: ValidationRule
        /// The number of objects that break it.
        public var count: Int
        /// The first objects found, at most five.
        public var samples: [Sample]
    }

    /// An object that breaks a rule.
    public struct Sample: Sendable, Codable, Equatable {
        /// The destination object as the migration would make it, `Entity/p<key>`.
        public var id: String
        /// The source object, `Entity/p<key>`; nil if a policy made the object without associating it.
        public var sourceID: String?
        /// The value, shortened; nil if there is none.
        public var value: String?
        /// The entity mapping that made the object.
        public var mapping: String?
    }

    /// References of a source relationship to rows that do not exist. A migration makes them nil.
    public struct Dangling: Sendable, Codable, Equatable {
        /// Source entity.
        public var entity: String
        /// The relationship.
        public var property: String
        /// The number of such references.
        public var count: Int
        /// The first objects with such a reference, `Entity/p<key>`, at most five.
        public var samples: [String]
    }

    /// The store that was checked.
    public var source: String
    /// Broken rules that would end a run or reject objects.
    public var violations: [Line] = []
    /// Broken rules that the source model has too. They are warnings in a run without strict validation.
    public var warnings: [Line] = []
    /// References of the source to rows that do not exist, by relationship.
    public var danglingReferences: [Dangling] = []
    /// References to objects that are not migrated, by relationship and cause; nil if there are none.
    public var nilReferences: [NilReferences]?
    /// Further objects that lookups find for to-one relationships, beside the one that is set; nil if there are none.
    public var furtherObjects: [FurtherObjects]?
    /// Links of the source that would not be made, by relationship and cause; nil if there are none.
    public var linksNotMade: [LinksNotMade]?
    /// Ordered relationships of the source whose order would not be kept; nil if there are none.
    public var ordersNotKept: [OrdersNotKept]?
    /// Numbers of which a conversion would cut something off; nil if there are none.
    public var valuesCut: [ValuesCut]?
    /// The number of destination objects that would be made, valid or not.
    public var objects = 0
    /// The number of objects that `--on-invalid reject` would leave out, including objects rejected because of others.
    public var rejectedObjects = 0
    /// True if objects that the destination already held would become invalid. They cannot be left out.
    public var hasInvalidExistingObjects = false
    /// The way to excuse broken rules that the source has too, as a sentence without a full stop; nil if no such rule
    /// is broken, or if they are excused already.
    public var excuse: String?
    /// Rules and expressions that nothing evaluates, a sentence each; nil if there are none.
    public var unevaluated: [String]?
    /// Tables and columns that the source lacks, read as empty or nil; nil if it lacks nothing.
    public var repairs: [MigrationPlan.Repair]?
    /// Core Data's own numbers that are wrong in the source and would be right in the destination; nil if there are none.
    public var correctedBookkeeping: [CorrectedBookkeeping]?
    /// Data of the source that no entity mapping would carry over; nil if there is none. For a chain: the data of the
    /// steps that were checked.
    public var leftBehind: LeftBehind?
    /// Source objects that pass no filter of their entity's several entity mappings; nil if there are none.
    public var passesNoFilter: [PassesNoFilter]?
    /// The number of objects in the source, over all entities.
    public var sourceObjects: Int?
    /// True if policies ran during the check.
    public var ranPolicies = false

    /// Tells whether a migration with the same options would end because of its objects.
    ///
    /// - Parameter options: the options of the migration.
    public func fails(_ options: MigrationOptions) -> Bool {
        if refusal(options) != nil { return true }
        return switch options.onInvalid {
        case .fail, .merge: !violations.isEmpty
        case .reject: hasInvalidExistingObjects || rejectedObjects > options.maximumRejects ?? .max
        }
    }
}

extension CheckReport {
    /// Returns the error that would end a migration with the same options because of data that it leaves behind; nil if
    /// it would not end.
    ///
    /// - Parameter options: the options of the migration.
    public func refusal(_ options: MigrationOptions) -> MigrationError? {
        do throws(MigrationError) {
            try LossRefusal.check(leftBehind, options)
            try LossRefusal.check(links: linksNotMade, orders: ordersNotKept, options)
            try LossRefusal.check(valuesCut, options)
            try LossRefusal.check(passesNoFilter, options)
            try LossRefusal.check(made: objects, of: sourceObjects ?? 0, hasPolicies: ranPolicies, options)
            return nil
        } catch {
            return error
        }
    }
}

extension Migration {
    /// Counts the objects that break the destination model's rules. The whole migration runs, policies included, but
    /// nothing is kept. The destination is read only if objects are to be added to an existing store.
    ///
    /// If an object has a value that cannot be computed, its other attributes are not checked. Work files are put in
    /// the options' work directory, or else in the folder for temporary files.
    ///
    /// - Throws: ``MigrationError`` for whatever would end ``run()`` for another reason than an invalid object.
    /// - Complexity: that of a migration; memory stays under the limit.
    public func check() throws -> CheckReport {
        progress.beginRun(mirror: nil)
        defer { progress.endRun() }
        let isTaken = manager.beginRun(mappingModels[0], progress: progress, cancellation: cancellation)
        defer { if isTaken { manager.endRun() } }
        do {
            return try EvaluationScope.$current.withValue(EvaluationScope(now: Date().timeIntervalSinceReferenceDate)) {
                try count()
            }
        } catch {
            throw cancellation.error ?? error
        }
    }

    private func count() throws -> CheckReport {
        let folder = try CheckFolder(in: options.workDirectory)
        defer { folder.remove() }
        let place = DestinationPath(path: folder.path + "/check")
        let appends = try options.appendsToExisting && DestinationPath(path: destinationPath).exists()
        let stood = DestinationPath(path: destinationPath)
        let prepared = try prepare(
            appends ? stood.resolved : place, appends: appends, temporaryDirectory: place.workDirectory)
        let area = try WorkArea(beside: place, spills: nil)
        defer { area.close() }
        return try area.naming(destinationPath, real: stood.resolved.path) {
            try count(prepared, appendingTo: appends ? stood.resolved : nil, in: area)
        }
    }

    private func count(
        _ prepared: Prepared, appendingTo stood: DestinationPath?, in area: WorkArea
    ) throws -> CheckReport {
        if let stood { try copyExisting(stood.path, to: area.storePath) }
        let existing = try stood != nil ? StoreMatch.existing(area.storePath, model: destinationModel) : nil
        let archive = archive ?? AssociationArchive(directory: area.spills)
        let known = archive.mark
        defer { archive.goBack(to: known) }
        let run = migrationRun(prepared, existing, area)
        let external = try externalFiles(run, existing, area, carries: false)
        let (rows, work) = try prepared.expectedRows()
        progress.expect(rows: rows, work: work)
        let count = CheckCount(source: sourcePath)
        count.report.repairs = prepared.plan.repairs
        count.report.unevaluated = prepared.plan.unevaluated.isEmpty ? nil : prepared.plan.unevaluated
        count.report.ranPolicies = prepared.mappings.contains { $0.hasPolicy && $0.mapping.hasPolicy }
        let loaded = try StoreLoad(
            self, prepared, PreviousModels(run, archive: archive, existing: existing), external, existing: existing,
            area: area, checkpoints: nil, previousStepIDs: try previousStepIDs(), mode: .check(count)
        ).load()
        count.report.sourceObjects = prepared.census.total
        count.report.leftBehind = try leftBehind(prepared)
        count.report.correctedBookkeeping = try correctedBookkeeping(prepared)
        count.report.linksNotMade = loaded.linksNotMade.isEmpty ? nil : loaded.linksNotMade
        count.report.ordersNotKept = loaded.ordersNotKept.isEmpty ? nil : loaded.ordersNotKept
        count.report.valuesCut = marking(run.tally.counts.valuesCut, prepared)
        count.report.passesNoFilter = try passesNoFilter(prepared, run)
        try prepared.source.checkUnchanged()
        progress.begin(.done)
        count.add(run.tally.counts)
        return count.sorted
    }

    /// Copies the existing store that is appended to. The store itself is not changed by a byte, even while others use
    /// it.
    private func copyExisting(_ path: String, to target: String) throws {
        let stored = try SourceStore(
            path: path, cacheBytes: 256 << 10, valueLimit: 64 << 20, temporaryDirectory: nil)
        do {
            try stored.copy(to: target) { if let error = cancellation.error { throw error } }
        } catch let error as MigrationError where error.code == "store.moved" {
            throw ExistingDestination.locked(path, cause: error)
        }
        try stored.close()
    }
}

/// The counts of a check, gathered over all mapping models.
final class CheckCount {
    var report: CheckReport

    init(source: String) { report = CheckReport(source: source) }

    /// Adds the findings of one mapping model's load.
    func add(_ load: OptimisticLoad, _ modelRun: ModelRun, _ mappings: [PlannedMapping]) throws {
        report.objects += load.made
        report.rejectedObjects += load.rejectedObjects
        if modelRun.validation.brokeRuleOfSource { report.excuse = report.excuse ?? modelRun.validation.excuse }
        if modelRun.validation.brokenExisting != nil { report.hasInvalidExistingObjects = true }
        for (line, found) in modelRun.validation.tally?.lines ?? [:] {
            let samples = try found.first.map { broken in
                let origin = try modelRun.validation.origins?.origin(broken)
                return CheckReport.Sample(
                    id: broken.objectID, sourceID: try origin?.chainSources(modelRun.previousStepIDs).first,
                    value: broken.value,
                    mapping: origin?.mappingName)
            }
            let counted = CheckReport.Line(
                entity: line.entity, property: line.property, rule: line.rule, count: found.count, samples: samples)
            CheckCount.add(counted, to: line.isWarning ? \.warnings : \.violations, of: &report)
        }
        let own = mappings.filter { !$0.belongsToPreviousModel }
        for line in try DanglingReferences(run: modelRun.run, keys: modelRun.sourceKeys, mappings: own).lines() {
            let isKnown = report.danglingReferences.contains {
                $0.entity == line.entity && $0.property == line.property
            }
            guard !isKnown else { continue }
            report.danglingReferences.append(
                CheckReport.Dangling(
                    entity: line.entity, property: line.property, count: line.count,
                    samples: line.first.map { "\(line.entity)/p\($0)" }))
        }
    }

    /// Adds the references that become nil, once all mapping models have run.
    func add(_ counts: MigrationCounts) {
        // Dangling references are reported by source relationship instead.
        let missing = (counts.nilReferences ?? []).filter { $0.cause != .dangling && $0.cause != .rejected }
        report.nilReferences = missing.isEmpty ? nil : missing
        report.furtherObjects = counts.furtherObjects
    }

    private static func add(
        _ line: CheckReport.Line, to lines: WritableKeyPath<CheckReport, [CheckReport.Line]>,
        of report: inout CheckReport
    ) {
        let same = report[keyPath: lines].firstIndex {
            $0.entity == line.entity && $0.property == line.property && $0.rule == line.rule
        }
        guard let same else { return report[keyPath: lines].append(line) }
        report[keyPath: lines][same].count += line.count
        let room = ViolationTally.samples - report[keyPath: lines][same].samples.count
        report[keyPath: lines][same].samples += line.samples.prefix(max(0, room))
    }

    /// The report with its lines sorted by entity and property.
    var sorted: CheckReport {
        var report = report
        func isBefore(_ one: CheckReport.Line, _ other: CheckReport.Line) -> Bool {
            (one.entity, one.property, one.rule.rawValue) < (other.entity, other.property, other.rule.rawValue)
        }
        report.violations.sort(by: isBefore)
        report.warnings.sort(by: isBefore)
        report.danglingReferences.sort { ($0.entity, $0.property) < ($1.entity, $1.property) }
        return report
    }
}
