import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// The journal of a chain of versions, in the chain's folder. Runs that it lists are not repeated after a kill.
///
/// It consists of records of a ``RunJournal``: the inputs with which the chain began, then the report of each run in
/// order. The last run's record also identifies the destination.
final class ChainJournal {
    private static let headerKind: UInt32 = 1
    private static let runKind: UInt32 = 2

    /// The record of a run that is done.
    private struct Run: Codable {
        var report: MigrationReport
        /// The destination file, for the last run.
        var destination: JournalRecord.Publication.File?
        /// The size in bytes of each private file that the next run reads, by name.
        var sizes: [String: Int]
    }

    private let journal: RunJournal
    /// A second copy of the journal's contents. Without it, a damaged journal would let a chain append its objects a
    /// second time.
    private let copy: RunJournal?
    private var runs: [Run] = []
    /// Notes for the report about a journal that could not be used.
    let notes: [String]

    /// The reports of the runs that are done, in order.
    var reports: [MigrationReport] { runs.map(\.report) }

    /// Resumes a chain's journal, or begins a new one and clears the folder.
    ///
    /// - Parameter damage: the damage found in the chain's files, because of which the chain begins anew; nil if none
    ///   is known.
    /// - Throws: `resume.changed` (78) if the chain differs from the begun one; `journal.full`, `journal.io` (74).
    init(in stores: ChainStores, inputs: MigrationPlan.Inputs, restarts: Bool, damage: String? = nil) throws {
        let header = RunJournal.Record(kind: Self.headerKind, body: Array(try JSONEncoder().encode(inputs)))
        var damage = damage
        if !restarts, damage == nil {
            if let found = try Self.read(stores.journalPath) {
                let differences = found.inputs.differences(from: inputs)
                let isOver = try found.runs.last?.destination?.isPlaced() ?? false
                guard !differences.isEmpty else {
                    runs = found.runs
                    notes = []
                    // While one of the two is written anew, the other one has everything.
                    journal =
                        try found.contents.map { try RunJournal(continuing: stores.journalPath, after: $0) }
                        ?? Self.make(stores.journalPath, header, runs)
                    copy = try? Self.make(Self.copyPath(stores.journalPath), header, runs)
                    return
                }
                guard isOver else { throw InterruptedRun.changed(differences.shown, at: stores.path) }
            } else if try DestinationPath.status(stores.journalPath) != nil {
                damage = InterruptedRun.unreadable
            }
        }
        notes = damage.map { [InterruptedRun.beginningAnew($0)] } ?? []
        stores.beginAnew()
        journal = try Self.make(stores.journalPath, header, [])
        copy = try? Self.make(Self.copyPath(stores.journalPath), header, [])
        try journal.synchronizeFolder()
    }

    /// Tells which private file of the last run that is done is not as it was; nil if all are. Each was synced before this journal
    /// named it, so only its size is compared.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func damage(in stores: ChainStores) throws(MigrationError) -> String? {
        for (name, size) in (runs.last?.sizes ?? [:]).sorted(by: { $0.key < $1.key }) {
            let path = stores.path(of: name)
            guard try DestinationPath.status(path) != nil else { return "\(name) is missing" }
            if try DestinationPath.size(of: path) != size { return "\(name) has another size" }
        }
        return nil
    }

    /// Notes that a run is done.
    ///
    /// - Parameters:
    ///   - destination: the path of the destination, for the last run; else nil.
    ///   - files: the private files that the next run reads.
    func note(_ report: MigrationReport, destination: String?, files: [String] = []) throws {
        var sizes: [String: Int] = [:]
        for path in files { sizes[DestinationPath(path: path).name] = try DestinationPath.size(of: path) }
        let run = Run(
            report: report, destination: try destination.map { try .init($0, part: $0) }, sizes: sizes)
        try journal.append(Self.record(run))
        runs.append(run)
        // A copy that cannot be written is no error: the journal has the same contents.
        _ = try? copy?.append(Self.record(run), synchronizes: false)
    }

    /// Writes a journal anew.
    private static func make(_ path: String, _ header: RunJournal.Record, _ runs: [Run]) throws -> RunJournal {
        let journal = try RunJournal(creating: path)
        try journal.append(header)
        for run in runs { try journal.append(record(run)) }
        return journal
    }

    private static func record(_ run: Run) throws -> RunJournal.Record {
        RunJournal.Record(kind: runKind, body: Array(try JSONEncoder().encode(run)))
    }

    /// Tells whether the file at the destination is the one that the last run made.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func isPublished() throws(MigrationError) -> Bool { try runs.last?.destination?.isPlaced() ?? false }

    /// Tells whether a chain to a destination was begun and did not end. The destination's file may then be its own.
    ///
    /// - Throws: `journal.io` (74).
    static func isUnderWay(to destination: String, _ options: MigrationOptions) throws(MigrationError) -> Bool {
        guard !options.restarts else { return false }
        let place = DestinationPath(path: destination)
        let target = try DestinationPath.target(destination, adds: options.appendsToExisting).place
        if let interrupted = try InterruptedRun.read(beside: target), interrupted.publication != nil { return true }
        return try isOver(to: place, options)
    }

    /// Tells whether a chain to a destination was killed after all its runs were done.
    ///
    /// - Throws: `journal.io`, `destination.io` (74).
    static func isOver(to place: DestinationPath, _ options: MigrationOptions) throws(MigrationError) -> Bool {
        let paths = try ChainStores.journals(beside: place, asked: options.workDirectory)
        for path in [paths.usual, paths.last].compactMap(\.self) {
            if try read(path)?.runs.last?.destination?.isPlaced() ?? false { return true }
        }
        return false
    }

    /// Tells whether a chain was killed that can be resumed.
    ///
    /// - Throws: `journal.io` (74).
    static func isResumable(beside place: DestinationPath, _ options: MigrationOptions) throws(MigrationError) -> Bool {
        try read(ChainStores.journals(beside: place, asked: options.workDirectory).usual) != nil
    }

    /// Returns the path of the second copy.
    static func copyPath(_ journal: String) -> String { journal + "-copy" }

    /// The contents of a journal or of its copy, whichever lists more runs.
    private struct Found {
        let inputs: MigrationPlan.Inputs
        let runs: [Run]
        /// The contents of the journal; nil if they come from the copy.
        let contents: RunJournal.Contents?
    }

    private static func read(_ path: String) throws(MigrationError) -> Found? {
        let (own, copy) = (try readFile(path), try readFile(copyPath(path)))
        guard let copy, copy.runs.count > own?.runs.count ?? -1 else { return own }
        return Found(inputs: copy.inputs, runs: copy.runs, contents: nil)
    }

    private static func readFile(_ path: String) throws(MigrationError) -> Found? {
        guard let contents = try RunJournal.read(path), !contents.isDamaged, let header = contents.records.first,
            header.kind == headerKind, contents.records.dropFirst().allSatisfy({ $0.kind == runKind }),
            let inputs = try? JSONDecoder().decode(MigrationPlan.Inputs.self, from: Data(header.body))
        else { return nil }
        let runs = contents.records.dropFirst().map { try? JSONDecoder().decode(Run.self, from: Data($0.body)) }
        guard runs.allSatisfy({ $0 != nil }) else { return nil }
        return Found(inputs: inputs, runs: runs.compactMap(\.self), contents: contents)
    }
}
