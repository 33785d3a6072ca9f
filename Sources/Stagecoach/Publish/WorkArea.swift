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
    /// The VFS that keeps SQLite's temporary files in the work directory.
    let vfsName: String
    private let beside: WorkDirectory
    private let vfs: WorkVFS

    /// Takes the destination: creates and locks the work directory.
    ///
    /// - Throws: `destination.busy` (75) where another run holds it, `work.cannotCreate` (73).
    init(beside place: DestinationPath, spills folder: String?) throws(MigrationError) {
        beside = try WorkDirectory(path: place.workDirectory)
        do {
            let path = place.spillDirectory(in: folder)
            spills = path == place.workDirectory ? beside : try WorkDirectory(path: path)
        } catch {
            try? beside.remove()
            throw error
        }
        storePath = "\(place.workDirectory)/store.sqlite"
        externalPath = "\(place.workDirectory)/external"
        journalPath = "\(place.workDirectory)/external.journal"
        // What a killed run left; the lock is ours, so nobody is building it.
        ExternalJournal(path: journalPath, folder: ExternalFolder(store: place.path))
            .recover(built: storePath, destination: place.path)
        try? FileManager.default.removeItem(atPath: externalPath)
        unlink(storePath)
        vfs = WorkVFS(temporaryDirectory: spills.path)
        vfsName = vfs.name
        unlink(checkpointPath)
    }

    /// Removes everything the run made but what was published.
    func close() {
        unlink(storePath)
        unlink(checkpointPath)
        try? FileManager.default.removeItem(atPath: externalPath)
        vfs.close()
        // A folder that was there before is ours by its name, even where a killed run had not locked it yet. One that
        // holds other files stays.
        if spills !== beside {
            try? spills.remove()
            rmdir(spills.path)
        }
        try? beside.remove()
        rmdir(beside.path)
    }
}
