import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// Which runs of a chain of versions are done, on disk in the chain's folder: a run that is done is not repeated after the
/// process was killed.
///
/// Records of a ``RunJournal``: what the chain was begun with, then the report of each run, in order; the last one with the
/// identity of the destination.
final class ChainJournal {
    private static let headerKind: UInt32 = 1
    private static let runKind: UInt32 = 2

    /// What a record says of a run that is done.
    private struct Run: Codable {
        var report: MigrationReport
        /// The destination, of the last run.
        var destination: RunRecord.Publication.File?
    }

    private let journal: RunJournal
    private var runs: [Run] = []

    /// Reports of the runs that are done, in order.
    var reports: [MigrationReport] { runs.map(\.report) }

    /// Goes on with a chain's journal, or begins one and clears the folder.
    ///
    /// - Throws: `resume.changed` (78) where the chain is not the one that was begun; `journal.full`, `journal.io` (74).
    init(in stores: ChainStores, inputs: MigrationPlan.Inputs, restarts: Bool) throws {
        let header = RunJournal.Record(kind: Self.headerKind, body: Array(try JSONEncoder().encode(inputs)))
        if !restarts, let (contents, begun, runs) = try Self.read(stores.journalPath) {
            let differences = begun.differences(from: inputs)
            let isOver = try runs.last?.destination?.isPlaced() ?? false
            if differences.isEmpty {
                self.runs = runs
                journal = try RunJournal(goingOn: stores.journalPath, after: contents)
                return
            }
            guard isOver else {
                throw MigrationError(
                    "resume.changed", .configuration,
                    "An earlier run to this destination did not end, and this one differs from it: "
                        + differences.prefix(5).joined(separator: "; "),
                    remedy: "Run the earlier command to go on, or give --restart to begin anew",
                    context: .init(path: stores.path))
            }
        }
        stores.beginAnew()
        journal = try RunJournal(creating: stores.journalPath)
        try journal.append(header)
        try journal.synchronizeFolder()
    }

    /// Notes that a run is done.
    ///
    /// - Parameter destination: of the last run.
    func note(_ report: MigrationReport, destination: String?) throws {
        let run = Run(report: report, destination: try destination.map { try .init($0, part: $0) })
        try journal.append(RunJournal.Record(kind: Self.runKind, body: Array(try JSONEncoder().encode(run))))
        runs.append(run)
    }

    /// Whether the last run's destination is the file that stands there.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func isPublished() throws(MigrationError) -> Bool { try runs.last?.destination?.isPlaced() ?? false }

    /// Whether a chain to a destination was begun that did not end: then what stands there may be its own.
    ///
    /// - Throws: `journal.io` (74).
    static func isUnderWay(to destination: String, _ options: MigrationOptions) throws(MigrationError) -> Bool {
        guard !options.restarts else { return false }
        let place = DestinationPath(path: destination)
        if let earlier = try EarlierRun.read(beside: place), earlier.publication != nil { return true }
        let path = ChainStores.folder(beside: place, asked: options.workDirectory) + "/chain.journal"
        return try read(path)?.2.last?.destination?.isPlaced() ?? false
    }

    private static func read(
        _ path: String
    ) throws(MigrationError) -> (RunJournal.Contents, MigrationPlan.Inputs, [Run])? {
        guard let contents = try RunJournal.read(path), !contents.isDamaged, let first = contents.records.first,
            first.kind == headerKind,
            let inputs = try? JSONDecoder().decode(MigrationPlan.Inputs.self, from: Data(first.body))
        else { return nil }
        var runs: [Run] = []
        for record in contents.records.dropFirst() {
            guard record.kind == runKind, let run = try? JSONDecoder().decode(Run.self, from: Data(record.body)) else {
                return nil
            }
            runs.append(run)
        }
        return (contents, inputs, runs)
    }
}
