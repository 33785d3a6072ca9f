import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// The work that an interrupted run left in the work area of a destination.
struct InterruptedWork {
    /// The interrupted run; nil if there was none or it is not to be resumed.
    let run: InterruptedRun?
    /// True if there is a journal that cannot be used.
    let hasDamagedJournal: Bool

    /// Reads the interrupted run, undoes what it had begun in the destination's folder, and removes its files unless it
    /// is to be resumed.
    ///
    /// - Parameters:
    ///   - restarts: true to discard the work of an interrupted run.
    ///   - states: the maximum number of states of that run to read.
    /// - Throws: `journal.io`, `external.io`, `destination.io` (74) if the files of an interrupted run cannot be read. They
    ///   are left, and the area is released.
    init(
        in area: WorkArea, of place: DestinationPath, restarts: Bool = false,
        states: Int = InterruptedRun.statesRead.first
    ) throws(MigrationError) {
        do throws(MigrationError) {
            let found = try InterruptedRun.read(beside: place, in: area, last: states)
            let isPublished = try found?.isPublished() ?? false
            run = restarts ? nil : found
            if restarts, !isPublished { try found?.withdrawResults() }
            // The journal of a published run goes back to its usual path. Other files at its last path are removed below.
            let hasJournal = try DestinationPath.status(area.runJournalPath) != nil
            if !hasJournal, !restarts, isPublished { rename(area.lastJournalPath, area.runJournalPath) }
            hasDamagedJournal = hasJournal && !restarts && (run?.isCopy ?? true)
            // A killed run's changes. The lock is ours, so no other run is making them.
            try ExternalJournal(path: area.journalPath, folder: ExternalFolder(store: place.path)).recover(
                built: area.storePath, destination: place.path, isPublished: isPublished, staging: area.externalPath)
        } catch {
            area.keep()
            throw error
        }
        unlink(area.lastJournalPath)
        if run == nil {
            // The journal goes first, so that no remaining file is taken for the new run's.
            unlink(area.runJournalPath)
            unlink(area.publicationPath)
            area.removeFiles()
        }
        // States name the spill files that they need.
        if run?.states.isEmpty ?? true { try area.spills.removeSpillFiles() }
    }

    /// Removes the files of a run that was killed while it removed its last ones, and whose journal is gone or damaged.
    ///
    /// - Parameter seen: the interrupted run as its journal describes it; nil if nothing describes it, or it is done. If it can
    ///   still be resumed, its files stay.
    static func removeLeftover(beside place: DestinationPath, spills folder: String?, of seen: InterruptedRun? = nil) {
        if let seen, (try? seen.isOver(at: place)) != true { return }
        guard [place.workDirectory, place.lastJournalPath].contains(where: FileManager.default.fileExists),
            let area = try? WorkArea(beside: place, spills: folder),
            (try? InterruptedWork(in: area, of: place)) != nil
        else { return }
        area.close()
    }
}
