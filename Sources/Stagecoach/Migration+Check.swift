import Diagnostics
import Foundation
import Glibc
import ManagedModel
import PersistentStore
import SpillStorage

/// What a migration's rules say of a source, without migrating it: a value that can be encoded.
public struct CheckReport: Sendable, Codable {
    /// A rule that objects break.
    public struct Line: Sendable, Codable, Equatable {
        /// Destination entity.
        public var entity: String
        /// Attribute, relationship, or the attributes of a uniqueness constraint.
        public var property: String
        public var rule: ValidationRule
        /// Objects that break it.
        public var count: Int
        /// The first objects found, five at most.
        public var samples: [Sample]
    }

    /// An object that breaks a rule.
    public struct Sample: Sendable, Codable, Equatable {
        /// The destination object as the migration would make it, `Entity/p<key>`.
        public var id: String
        /// The source object, `Entity/p<key>`; nil where a policy made the object without associating it.
        public var sourceID: String?
        /// The value, shortened; nil where there is none.
        public var value: String?
        public var mapping: String?
    }

    /// References of the source to rows that do not exist: a migration makes them nil.
    public struct Dangling: Sendable, Codable, Equatable {
        /// Source entity.
        public var entity: String
        public var property: String
        public var count: Int
        /// The first objects that refer to nothing, `Entity/p<key>`, five at most.
        public var samples: [String]
    }

    public var source: String
    /// Rules that would end a run or reject objects.
    public var violations: [Line] = []
    /// Broken rules that the source model had already: warnings in a run without strict validation.
    public var warnings: [Line] = []
    public var danglingReferences: [Dangling] = []
    /// Destination objects that would be made, valid or not.
    public var objects = 0
    /// Objects that `--on-invalid reject` would leave out, those for others' sake included.
    public var rejectedObjects = 0
    /// Whether policies ran to find out.
    public var ranPolicies = false

    /// Whether a migration with the same options would end for its objects' sake.
    ///
    /// - Parameter options: those of the migration.
    public func fails(_ options: MigrationOptions) -> Bool {
        switch options.onInvalid {
        case .fail: !violations.isEmpty
        case .reject: rejectedObjects > options.maximumRejects ?? .max
        }
    }
}

extension Migration {
    /// Counts what breaks the destination model's rules: everything a migration does is done, policies included, but
    /// the destination is not looked at and nothing stays.
    ///
    /// Of an object that has a value that cannot be computed its other attributes are not looked at. Work files stand
    /// in the options' work directory, or in the folder for temporary files.
    ///
    /// - Throws: ``MigrationError`` for what would end ``run()`` for another reason than an invalid object.
    /// - Complexity: that of a migration; memory stays under the limit.
    public func check() throws -> CheckReport {
        let folder = try CheckFolder(in: options.workDirectory)
        defer { folder.remove() }
        let place = DestinationPath(path: folder.path + "/check")
        let prepared = try prepare(place)
        let area = try WorkArea(beside: place, spills: nil)
        defer { area.close() }
        let session = MigrationSession(
            source: prepared.source, layout: prepared.layout, destinationSchema: prepared.schema, work: area.spills,
            budget: prepared.budget, options: options, progress: progress, cancellation: cancellation)
        session.counts = prepared.census.counts(for: prepared.mappings)
        let tally = ViolationTally()
        session.validation = Validation(ledger: try ledger(session, area), tally: tally)
        progress.expect(rows: try prepared.expectedRows())
        var report = CheckReport(source: sourcePath)
        report.ranPolicies = prepared.mappings.contains(where: \.hasPolicy)
        do {
            let load = try optimisticLoad(session, mappings: prepared.mappings, area: area)
            try stages(
                session, mappings: prepared.mappings, tables: prepared.tables, policies: prepared.policies,
                uuid: session.source.metadata.uuid
            ) { fill in
                report.rejectedObjects = try load.check(fill: fill)
                report.violations = try lines(tally, isWarning: false, session)
                report.warnings = try lines(tally, isWarning: true, session)
            }
            report.danglingReferences = try DanglingReferences(session: session, mappings: prepared.mappings).lines()
                .map { line in
                    CheckReport.Dangling(
                        entity: line.entity, property: line.property, count: line.count,
                        samples: line.first.map { "\(line.entity)/p\($0)" })
                }
            report.objects = session.rowsWritten.reduce(0, +)
            try prepared.source.checkUnchanged()
        } catch {
            throw cancellation.error ?? error
        }
        progress.begin(.done)
        return report
    }

    private func lines(
        _ tally: ViolationTally, isWarning: Bool, _ session: MigrationSession
    ) throws -> [CheckReport.Line] {
        try tally.lines.filter { $0.key.isWarning == isWarning }
            .sorted {
                ($0.key.entity, $0.key.property, $0.key.rule.rawValue)
                    < ($1.key.entity, $1.key.property, $1.key.rule.rawValue)
            }
            .map { line, found in
                CheckReport.Line(
                    entity: line.entity, property: line.property, rule: line.rule, count: found.count,
                    samples: try found.first.map { broken in
                        let origin = try session.validation.origins?.origin(broken)
                        return CheckReport.Sample(
                            id: broken.objectID, sourceID: origin?.sources.first, value: broken.value,
                            mapping: origin?.mappingName)
                    })
            }
    }
}

/// A folder of its own for a check's work files.
private struct CheckFolder {
    let path: String

    /// - Parameter folder: an existing folder; nil: the one for temporary files.
    /// - Throws: `work.create` (73), `spill.permission` (77).
    init(in folder: String?) throws(MigrationError) {
        let place = folder ?? NSTemporaryDirectory()
        var template = Array("\(place)/stagecoach-check-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            let number = errno
            throw MigrationError(
                "work.create", number == EACCES ? .permission : .cannotCreate,
                "No folder for work files can be made: \(String(cString: strerror(number)))",
                remedy: "Name a folder that exists with --work-dir", context: .init(path: place))
        }
        path = template.withUnsafeBufferPointer { buffer in
            String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    func remove() { rmdir(path) }
}
