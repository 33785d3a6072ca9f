import CoreDataStore
import Diagnostics

/// The destination of a chain, and what a killed process left there.
extension ChainedMigration {
    /// Tells whether a process that was killed before it had removed its last traces has made the destination.
    ///
    /// - Throws: `journal.io`, `destination.io` (74), `destination.permission` (77).
    package func isDone() throws(MigrationError) -> Bool {
        if try publishedRun() != nil { return true }
        guard !options.restarts, runs.count > 1 else { return false }
        return try ChainJournal.isOver(to: DestinationPath(path: destinationPath), options)
    }

    /// The place where the last run makes its store, or adds to one.
    func target() throws(MigrationError) -> (place: DestinationPath, appends: Bool) {
        try DestinationPath.target(destinationPath, adds: options.appendsToExisting)
    }

    /// Returns what the last run published before the process was killed; nil if it did not, or begins anew.
    func publishedRun() throws(MigrationError) -> JournalRecord.Publication? {
        guard !options.restarts, let run = try InterruptedRun.read(beside: target().place),
            try run.isPublished()
        else { return nil }
        return run.publication
    }

    /// Refuses, before the first run, destinations that would stop the last one.
    package func checkDestination() throws(MigrationError) {
        if let single { return try single.checkDestination() }
        if try ChainJournal.isUnderWay(to: destinationPath, options) { return }
        try DestinationPath(path: destinationPath).checkOther(than: sourcePath)
        let (place, appends) = try target()
        if appends {
            try place.checkReplaceable()
            _ = try StoreMatch.existing(place.path, model: steps[steps.count - 1].destination.model)
        } else {
            do throws(MigrationError) {
                try place.checkFresh()
            } catch {
                try removeLeftover(beside: place)
                throw error
            }
        }
        for (path, kind) in [(options.idMap, "id map"), (options.rejectFile, "reject file")] {
            if let path { try ResultFile.checkFree(path, kind: kind) }
        }
    }

    /// Removes the files of a chain to a destination, and of its last run, if it cannot be resumed.
    private func removeLeftover(beside place: DestinationPath) throws(MigrationError) {
        guard try !ChainJournal.isResumable(beside: place, options) else { return }
        InterruptedWork.removeLeftover(
            beside: place, spills: options.workDirectory, of: try InterruptedRun.read(beside: place))
        ChainStores.removeLeftover(beside: place, folder: options.workDirectory)
    }
}
