import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// The files of a run in progress: the private store beside the destination, and spills and association tables there or in a
/// given folder.
final class WorkArea {
    /// The directory of spill files, association tables and SQLite's temporary files.
    let spills: WorkDirectory
    /// The path of the private store, in the destination's file system.
    let storePath: String
    /// The path of the copy of the private store from before a mapping model's rows, if the load may have to return to it.
    var checkpointPath: String { storePath + "-before" }
    /// The folder of external binary data files that are to be published, in the destination's file system.
    let externalPath: String
    /// The path of the journal of changes in the destination's folder of external data.
    let journalPath: String
    /// The path of the ledger of rejected objects, kept for a resumed run.
    let ledgerPath: String
    /// The path of the list of external binary data files to which the store referred before it was appended to.
    let earlierFilesPath: String
    /// The path of the run's journal.
    let runJournalPath: String
    /// The path of the second copy of the publication record.
    let publicationPath: String
    /// The path of the run's recent state.
    let recentStatePath: String
    /// The path of the noted keys of source tables.
    let notedKeysPath: String
    private let lastJournalPath: String
    /// The interrupted run; nil if there was none or it is not to be resumed.
    let earlier: InterruptedRun?
    /// True if there is a journal that cannot be used.
    let hasDamagedJournal: Bool
    /// The work directory beside the destination.
    var path: String { beside.path }
    /// The VFS that keeps SQLite's temporary files in the work directory.
    let vfsName: String
    private let beside: WorkDirectory
    private let vfs: WorkVFS

    /// Takes the destination: creates and locks the work directory.
    ///
    /// - Parameters:
    ///   - restarts: true to discard the work of an interrupted run.
    ///   - states: the maximum number of states of that run to read.
    /// - Throws: `destination.busy` (75) if another run holds it, `work.cannotCreate` (73); `journal.io`, `external.io`,
    ///   `destination.io` (74) if the files of an interrupted run cannot be read.
    init(
        beside place: DestinationPath, spills folder: String?, restarts: Bool = false,
        states: Int = InterruptedRun.statesRead.first
    ) throws(MigrationError) {
        beside = try WorkDirectory(path: place.workDirectory, keepsFiles: true)
        do {
            let path = place.spillDirectory(in: folder)
            spills = path == place.workDirectory ? beside : try WorkDirectory(path: path, keepsFiles: true)
        } catch {
            try? beside.remove(keepsFiles: true)
            throw error
        }
        storePath = "\(place.workDirectory)/store.sqlite"
        runJournalPath = InterruptedRun.journalPath(place)
        publicationPath = InterruptedRun.publicationPath(place)
        recentStatePath = "\(place.workDirectory)/run.recent"
        notedKeysPath = "\(place.workDirectory)/run.keys"
        lastJournalPath = InterruptedRun.lastJournalPath(place)
        do throws(MigrationError) {
            let found = try InterruptedRun.read(beside: place, last: states)
            let isPublished = try found?.isPublished() ?? false
            earlier = restarts ? nil : found
            // The journal of a published run goes back to its usual path. Other files at its last path are removed below.
            let hasJournal = try DestinationPath.status(runJournalPath) != nil
            if !hasJournal, !restarts, isPublished {
                rename(lastJournalPath, runJournalPath)
            }
            hasDamagedJournal = hasJournal && !restarts && earlier == nil
            externalPath = "\(place.workDirectory)/external"
            earlierFilesPath = "\(place.workDirectory)/external.sqlite"
            journalPath = "\(place.workDirectory)/external.journal"
            // A killed run's changes. The lock is ours, so no other run is making them.
            try ExternalJournal(path: journalPath, folder: ExternalFolder(store: place.path))
                .recover(
                    built: storePath, destination: place.path, isPublished: isPublished, staging: externalPath)
        } catch {
            // The files are left for a run that can read them.
            if spills !== beside { try? spills.remove(keepsFiles: true) }
            try? beside.remove(keepsFiles: true)
            throw error
        }
        unlink(lastJournalPath)
        ledgerPath = "\(place.workDirectory)/rejects.sqlite"
        vfs = WorkVFS(temporaryDirectory: spills.path)
        vfsName = vfs.name
        if earlier == nil {
            // The journal goes first, so that no remaining file is taken for the new run's.
            unlink(runJournalPath)
            unlink(publicationPath)
            removeFiles()
        }
        // A recent state may name files that no state of the journal names.
        if earlier?.namesFiles != true, try DestinationPath.status(recentStatePath) == nil {
            try spills.removeSpillFiles()
        }
    }

    /// Returns the path of the reject file's lines after a number of mapping models. Two paths alternate, so that the lines of
    /// the state before stay while the next ones are written.
    func rejectLinesPath(after models: Int) -> String { "\(beside.path)/rejects-\(models % 2).jsonl" }

    /// Removes the private store and its files, so that the run starts anew.
    func removeFiles() {
        for path in [
            storePath, checkpointPath, ledgerPath, earlierFilesPath, rejectLinesPath(after: 0),
            rejectLinesPath(after: 1),
        ] {
            unlink(path)
            unlink(path + "-journal")
            FileSums.remove(of: path)
        }
        for path in [recentStatePath, notedKeysPath] { unlink(path) }
        FileSystem.removeTree(externalPath)
        try? spills.removeSpillFiles()
    }

    /// Releases the work directory and keeps its files for a resumed run. Spill files that no state names were already removed
    /// by their owners.
    func keep() {
        vfs.close()
        if spills !== beside {
            try? spills.remove(keepsFiles: true)
            rmdir(spills.path)
        }
        try? beside.remove(keepsFiles: true)
    }

    /// Removes everything that the run made, except what was published. The journal is removed last.
    func close() {
        removeFiles()
        vfs.close()
        // An existing folder of this name is ours, even if a killed run had not locked it yet. A folder with other files stays.
        if spills !== beside {
            try? spills.remove()
            rmdir(spills.path)
        }
        unlink(runJournalPath + "-new")
        // As long as the journal exists, the same command knows that all is done. So it is removed after the folder in which it
        // was.
        let isLast = rename(runJournalPath, lastJournalPath) == 0
        if !isLast { unlink(runJournalPath) }
        unlink(publicationPath)
        try? beside.remove()
        rmdir(beside.path)
        if isLast { unlink(lastJournalPath) }
    }

    /// Removes the files of a run that was killed after its last act, the removal of its journal.
    static func removeLeftover(beside place: DestinationPath, spills folder: String?) {
        guard FileManager.default.fileExists(atPath: place.workDirectory),
            let area = try? WorkArea(beside: place, spills: folder)
        else { return }
        area.close()
    }
}
