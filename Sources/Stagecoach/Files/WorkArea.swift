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
    var storePath: String { beside.inside + "/" + DestinationPath.privateStore }
    /// The path of the copy of the private store from before a mapping model's rows, if the load may have to return to it.
    var checkpointPath: String { storePath + "-before" }
    /// The folder of external binary data files that are to be published, in the destination's file system.
    var externalPath: String { "\(beside.inside)/external" }
    /// The path of the journal of changes in the destination's folder of external data.
    var journalPath: String { "\(beside.inside)/external.journal" }
    /// The path of the ledger of rejected objects, kept for a resumed run.
    var ledgerPath: String { "\(beside.inside)/rejects.sqlite" }
    /// The path of the list of external binary data files to which the store referred before it was appended to.
    var previousFilesPath: String { "\(beside.inside)/external.sqlite" }
    /// The path of the run's journal.
    var runJournalPath: String { beside.inside + "/" + DestinationPath.journal }
    /// The path of the second copy of the publication record.
    var publicationPath: String { beside.inside + "/" + DestinationPath.publication }
    /// The path to which the journal is moved once the store is published and the run is about to end.
    var lastJournalPath: String { place.lastJournalPath }
    /// The work directory beside the destination, as people know it. Its files are reached by the paths above.
    var path: String { beside.path }
    /// The VFS that keeps SQLite's temporary files in the work directory.
    let vfsName: String
    private let place: DestinationPath
    private let beside: WorkDirectory
    private let vfs: WorkVFS

    /// Takes the destination: creates and locks the work directory. ``InterruptedWork`` looks at what another run left
    /// there.
    ///
    /// - Parameter folder: the folder for spills; nil: beside the destination.
    /// - Throws: `destination.busy` (75) if another run holds it, `folder.foreign` (77) if another user could change what is in it,
    ///   `work.create` (73).
    init(beside place: DestinationPath, spills folder: String?) throws {
        self.place = place
        let calls = RunConditions.current.fileCalls
        beside = try WorkDirectory(
            path: place.workDirectory, calls: calls, keepsFiles: true, elsewhere: DestinationPath.elsewhere)
        do {
            let path = place.spillDirectory(in: folder)
            spills =
                path == place.workDirectory ? beside : try WorkDirectory(path: path, calls: calls, keepsFiles: true)
        } catch {
            try? beside.remove(keepsFiles: true)
            throw error
        }
        vfs = WorkVFS(temporaryDirectory: spills.inside)
        vfsName = vfs.name
    }

    /// Returns the path of the reject file's lines after a number of mapping models. Two paths alternate, so that the lines of
    /// the state before stay while the next ones are written.
    func rejectLinesPath(after models: Int) -> String { "\(beside.inside)/rejects-\(models % 2).jsonl" }

    /// Returns the sizes in bytes of those files of the work directory that are there, by name.
    ///
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func sizes(of paths: [String]) throws(MigrationError) -> [String: Int] {
        var sizes: [String: Int] = [:]
        for path in paths {
            guard let status = try DestinationPath.status(path) else { continue }
            sizes[String(path.dropFirst(beside.inside.utf8.count + 1))] = Int(status.st_size)
        }
        return sizes
    }

    /// Tells whether each of these files of the work directory has its size in bytes, or more.
    ///
    /// - Parameter sizes: what ``sizes(of:)`` returned.
    /// - Throws: `destination.io` (74), `destination.permission` (77).
    func holds(_ sizes: [String: Int]) throws(MigrationError) -> Bool {
        for (name, size) in sizes {
            guard let status = try DestinationPath.status(beside.inside + "/" + name), Int(status.st_size) >= size
            else {
                return false
            }
        }
        return true
    }

    /// Removes the private store and the run's other files, with their copies, journals and checksums, so that the run starts
    /// anew.
    func removeFiles() {
        let own = [storePath, ledgerPath, previousFilesPath, rejectLinesPath(after: 0), rejectLinesPath(after: 1)]
            .map { $0.dropFirst(beside.inside.utf8.count + 1) }
        for name in SystemFileCalls().names(in: beside.inside) ?? []
        where own.contains(where: { name == $0 || name.hasPrefix("\($0)-") }) {
            unlink("\(beside.inside)/\(name)")
        }
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
    ///
    /// - Parameter traces: takes the journal, for a caller that has the result to tell first; nil: it is removed at once.
    func close(leavingTo traces: LastTraces? = nil) {
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
        if isLast { LastTraces.remove(lastJournalPath, leavingTo: traces) }
    }

    /// Tells whether an error may be caused by damaged files in the work area. Errors of a failing disk do not count: the disk
    /// itself has to be reported.
    func isDamage(_ error: MigrationError) -> Bool {
        if error.category == .internal || ["journal.damaged", "spill.damaged"].contains(error.code) { return true }
        if let cause = error.cause as? MigrationError, isDamage(cause) { return true }
        guard let path = error.context.path, path.hasPrefix(self.path) || path.hasPrefix(spills.path) else {
            return false
        }
        return [.data, .noInput, .temporary].contains(error.category) && error.code != "store.interrupted"
    }
}
