import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import ManagedModel
import Mapping
import SpillStorage

/// A run's decision about an interrupted run to the same destination: resume it, refuse to, or start anew.
struct Resumption {
    let checkpoints: CheckpointScheduler
    /// The state from which the load resumes; nil if the load starts at its beginning.
    let state: JournalRecord.State?
    /// The report of the interrupted run, if it had already published its store.
    let published: MigrationReport?
    /// The notes for the report: one sentence, or none.
    var notes: [String] {
        if state != nil {
            let note = "The run resumed one that was interrupted"
            return [
                passed.reason.map { "\(note), from the state before the last one, which could not be used: \($0)" }
                    ?? note
            ]
        }
        var reason = passed.reason
        if reason == nil, left.hasDamagedJournal { reason = InterruptedRun.unreadable }
        if reason == nil, checkpoints.isResumable, let interrupted = left.run, !interrupted.states.isEmpty {
            reason = "no state of it fits the store that the run left"
        }
        return reason.map { [InterruptedRun.beginningAnew($0)] } ?? []
    }
    let area: WorkArea
    /// The work that an interrupted run left in the area.
    private let left: InterruptedWork
    /// The parts of the interrupted run that are ignored.
    let passed: PassedOver
    /// True if this run may leave work for a later one.
    private let mayKeep: Bool

    /// - Parameters:
    ///   - left: the work that an interrupted run left in the area.
    ///   - isResumable: true if the load can be resumed, and work may be left for a later run.
    ///   - header: makes the header of this run.
    /// - Throws: `resume.changed` (78) if the inputs differ from those of the interrupted run; `store.io` (74).
    init(
        _ area: WorkArea, _ left: InterruptedWork, to destinationPath: String, appends: Bool,
        cancellation: CancellationFlag, isResumable: Bool, passing: PassedOver,
        header: @escaping () throws(MigrationError) -> JournalRecord.Header
    ) throws {
        self.area = area
        self.left = left
        passed = passing
        mayKeep = isResumable
        // Digests of models take a millisecond or two, so the header is made on demand and only once.
        var known: JournalRecord.Header?
        let header = {
            if let known { return known }
            let made = try header()
            known = made
            return made
        }
        checkpoints = CheckpointScheduler(
            area, isResumable: isResumable, cancellation: cancellation, header: header)
        guard let interrupted = left.run else {
            (state, published) = (nil, nil)
            return
        }
        let differences = interrupted.header.differences(from: try header())
        if try interrupted.isPublished(), let publication = interrupted.publication {
            // Only the cleaning up was left to do. A run with other inputs has nothing to resume here.
            (state, published) = (nil, differences.isEmpty ? publication.report : nil)
            area.removeFiles()
            if !differences.isEmpty, !appends { try DestinationPath(path: destinationPath).checkFresh() }
            return
        }
        published = nil
        guard differences.isEmpty else {
            throw InterruptedRun.changed(differences.shown, at: area.path)
        }
        try interrupted.withdrawResults()
        unlink(area.publicationPath)
        let found = isResumable ? try interrupted.findState(in: area, before: passed.bound) : nil
        state = found?.state
        if let found {
            checkpoints.resume(interrupted, from: found.state, ordinal: found.ordinal)
        } else {
            unlink(area.runJournalPath)
            area.removeFiles()
        }
    }

    /// Tells whether the work of a run that ends with this error is kept, so that it can be resumed.
    func keeps(_ error: MigrationError) -> Bool {
        let canResume =
            error.category == .io || error.code == "interrupted"
            || error.category == .temporary && error.code != "store.moved" && checkpoints.isActive
        guard canResume, mayKeep else { return false }
        // Files that a later run cannot use are removed, which frees space on a full disk.
        if !checkpoints.isActive { area.removeFiles() }
        return checkpoints.keep()
    }

    /// Returns the error with a remedy that says where the work is kept.
    func kept(_ error: MigrationError) -> MigrationError {
        var error = error
        let place = "The work so far is kept in \(OpenFolders.shown(area.path)): the same command resumes from there"
        error.remedy = error.remedy.map { "\($0). \(place)" } ?? place
        return error
    }
}

extension JournalRecord.Header {
    /// Returns the row counts of the interrupted run, if the source is unchanged since; nil otherwise. Models need no check
    /// here: a run with other models is refused.
    func census(of source: SourceStore, _ layout: StoreLayout) -> SourceCensus? {
        guard inputs.source == .init(source.fingerprint, uuid: source.metadata.uuid) else { return nil }
        return SourceCensus(counted: sourceRows, strays: strays, layout: layout)
    }
}

extension CheckpointScheduler {
    /// Records which files are about to be renamed to their final paths, together with the final report.
    ///
    /// - Parameters:
    ///   - store: the path of the destination.
    ///   - results: the result files, each with the path at which it lies until it is published.
    func publish(_ report: MigrationReport, store: String, results: [(path: String, part: String)?]) throws {
        let record = try JournalRecord.record(
            JournalRecord.Publication(
                store: JournalRecord.Publication.File(store, part: area.storePath),
                results: results.compactMap { $0 }.map { try .init($0.path, part: $0.part) }, report: report))
        try journal().appendNow(record, synchronizes: false)
        // The copy is optional, because the journal holds the same record.
        try? InterruptedRun.writeCopy(area.publicationPath, try header(), record)
    }
}
