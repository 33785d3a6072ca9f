import Diagnostics
import Foundation
import Glibc
import PersistentStore
import SpillStorage

/// Where a run builds: the private store beside the destination, spills and association tables there or where asked.
final class WorkArea {
    /// Spill files, association tables and SQLite's temporary files.
    let spills: WorkDirectory
    /// The private store, in the destination's file system.
    let storePath: String
    /// The private store as it was before a mapping model's rows came, where it may have to be gone back to.
    var checkpointPath: String { storePath + "-before" }
    /// Files of external binary data that are to be published, in the destination's file system.
    let externalPath: String
    /// What a publication does in the destination's folder of external data.
    let journalPath: String
    /// The objects that the run rejected, kept for a run that goes on.
    let ledgerPath: String
    /// Names of the files of external binary data that the store referred to before it was appended to.
    let earlierFilesPath: String
    /// What the run has done so far.
    let runJournalPath: String
    /// What it was about to publish.
    let publicationPath: String
    /// What it had done last.
    let recentStatePath: String
    /// Keys of source tables that it has read.
    let notedKeysPath: String
    private let lastJournalPath: String
    /// What a run left that did not end; nil where there was none, or it is not to be gone on with.
    let earlier: EarlierRun?
    /// Whether a journal stands there that says nothing that can be relied on.
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
    ///   - restarts: whether what a run left that did not end is of no use.
    ///   - states: how many states of that run are read at most.
    /// - Throws: `destination.busy` (75) where another run holds it, `work.cannotCreate` (73), `journal.io`,
    ///   `external.io`, `destination.io` (74) where what an earlier run left cannot be read.
    init(
        beside place: DestinationPath, spills folder: String?, restarts: Bool = false,
        states: Int = EarlierRun.statesRead.first
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
        runJournalPath = EarlierRun.journalPath(place)
        publicationPath = EarlierRun.publicationPath(place)
        recentStatePath = "\(place.workDirectory)/run.recent"
        notedKeysPath = "\(place.workDirectory)/run.keys"
        lastJournalPath = EarlierRun.lastJournalPath(place)
        do throws(MigrationError) {
            let found = try EarlierRun.read(beside: place, last: states)
            let isPublished = try found?.isPublished() ?? false
            earlier = restarts ? nil : found
            // Back to where it is looked for; what says nothing any more goes.
            let hasJournal = try DestinationPath.status(runJournalPath) != nil
            if !hasJournal, !restarts, isPublished {
                rename(lastJournalPath, runJournalPath)
            }
            hasDamagedJournal = hasJournal && !restarts && earlier == nil
            externalPath = "\(place.workDirectory)/external"
            earlierFilesPath = "\(place.workDirectory)/external.sqlite"
            journalPath = "\(place.workDirectory)/external.journal"
            // What a killed run left; the lock is ours, so nobody is building it.
            try ExternalJournal(path: journalPath, folder: ExternalFolder(store: place.path))
                .recover(
                    built: storePath, destination: place.path, isPublished: isPublished, staging: externalPath)
        } catch {
            // What is there is left to a run that can read it.
            if spills !== beside { try? spills.remove(keepsFiles: true) }
            try? beside.remove(keepsFiles: true)
            throw error
        }
        unlink(lastJournalPath)
        ledgerPath = "\(place.workDirectory)/rejects.sqlite"
        vfs = WorkVFS(temporaryDirectory: spills.path)
        vfsName = vfs.name
        if earlier == nil {
            // First, so that nothing of it is taken for the new run's.
            unlink(runJournalPath)
            unlink(publicationPath)
            removeFiles()
        }
        // A state that nothing waited for may name files that no state of the journal does.
        if earlier?.namesFiles != true, try DestinationPath.status(recentStatePath) == nil {
            try spills.removeSpillFiles()
        }
    }

    /// The reject file's lines after so many mapping models. Those of the state before stay while the next ones are written.
    func rejectLinesPath(after models: Int) -> String { "\(beside.path)/rejects-\(models % 2).jsonl" }

    /// Removes the private store and what belongs to it: all begins anew.
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

    /// Gives the work directory up as it is, for a run that goes on from here: spill files that no state names went with
    /// those who wrote them.
    func keep() {
        vfs.close()
        if spills !== beside {
            try? spills.remove(keepsFiles: true)
            rmdir(spills.path)
        }
        try? beside.remove(keepsFiles: true)
    }

    /// Removes everything the run made but what was published. The journal goes last.
    func close() {
        removeFiles()
        vfs.close()
        // A folder that was there before is ours by its name, even where a killed run had not locked it yet. One that
        // holds other files stays.
        if spills !== beside {
            try? spills.remove()
            rmdir(spills.path)
        }
        unlink(runJournalPath + "-new")
        // While it stands the same command knows that all is done: it goes after the folder that it was in.
        let isLast = rename(runJournalPath, lastJournalPath) == 0
        if !isLast { unlink(runJournalPath) }
        unlink(publicationPath)
        try? beside.remove()
        rmdir(beside.path)
        if isLast { unlink(lastJournalPath) }
    }

    /// Removes what a run left that was killed after its last act, the unlinking of its journal.
    static func removeLeftover(beside place: DestinationPath, spills folder: String?) {
        guard FileManager.default.fileExists(atPath: place.workDirectory),
            let area = try? WorkArea(beside: place, spills: folder)
        else { return }
        area.close()
    }
}
