import CoreDataStore
import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// The private stores between the runs of a chain, in one locked folder: `.NAME.stagecoach-chain` beside the
/// destination, or in the folder that was asked for.
///
/// A run's source is removed as soon as the run has ended, so there are at most two stores.
final class ChainStores {
    private let folder: WorkDirectory

    /// The path of the chain's journal. Like those of the stores it leads to this folder even if another one takes its name.
    let journalPath: String
    /// The path to which the journal is moved once the chain is about to end.
    private let lastJournalPath: String
    var path: String { folder.path }

    /// Returns the folder of a chain to a destination.
    private static func folder(beside place: DestinationPath, asked: String?) -> String {
        "\(asked ?? place.folder)/.\(place.name).stagecoach-chain"
    }

    /// Returns the paths at which the journal of a chain may be read: the usual one, and the one of a chain that is about to end,
    /// if that file is the user's own.
    ///
    /// - Throws: `folder.foreign` (77) if the folder is not the user's own.
    static func journals(beside place: DestinationPath, asked: String?) throws(MigrationError) -> (
        usual: String, last: String?
    ) {
        _ = try OwnFolder(folder(beside: place, asked: asked), elsewhere: elsewhere(asked))
        let paths = journalPaths(beside: place, asked: asked)
        return (paths.usual, OwnFolder.isOwnFile(paths.last) ? paths.last : nil)
    }

    private static func elsewhere(_ asked: String?) -> String {
        asked == nil ? DestinationPath.elsewhere : "name another folder with --work-dir"
    }

    private static func journalPaths(beside place: DestinationPath, asked: String?) -> (usual: String, last: String) {
        let folder = folder(beside: place, asked: asked)
        return ("\(folder)/\(journalName)", "\(folder)-done")
    }

    private static let journalName = "chain.journal"

    /// Creates and locks the folder. The journal of a chain that was killed at its end goes back to its usual path.
    ///
    /// - Throws: `destination.busy` (75) if another chain makes the same destination, `work.create` (73), `destination.io` (74).
    init(beside place: DestinationPath, folder asked: String?) throws(MigrationError) {
        folder = try WorkDirectory(
            path: Self.folder(beside: place, asked: asked), elsewhere: Self.elsewhere(asked))
        journalPath = "\(folder.inside)/\(Self.journalName)"
        lastJournalPath = Self.journalPaths(beside: place, asked: asked).last
        if try DestinationPath.status(journalPath) == nil {
            if OwnFolder.isOwnFile(lastJournalPath) { rename(lastJournalPath, journalPath) }
        } else {
            unlink(lastJournalPath)
        }
    }

    /// Removes the files of a chain that was killed while it removed its last ones, and whose journal is gone or damaged.
    static func removeLeftover(beside place: DestinationPath, folder asked: String?) {
        let paths = [folder(beside: place, asked: asked), journalPaths(beside: place, asked: asked).last]
        guard paths.contains(where: FileManager.default.fileExists),
            let stores = try? ChainStores(beside: place, folder: asked)
        else { return }
        stores.close()
    }

    /// Removes the files of a chain that did not end and is not resumed.
    func beginAnew() {
        removeFiles()
        unlink(journalPath)
    }

    /// Removes all files but the journal, which describes them.
    private func removeFiles() {
        for name in names where name.hasPrefix("step-") || name.hasPrefix(".step-") {
            try? FileManager.default.removeItem(atPath: path(of: name))
        }
        unlink(ChainJournal.copyPath(journalPath))
    }

    /// Releases the folder with its files, for a chain that resumes from them.
    func keep() { try? folder.remove() }

    /// Returns the path of the store that a run makes; runs are numbered from 1.
    func path(ofRun number: Int) -> String { path(of: "step-\(number).sqlite") }
    /// Returns the path of the id map up to a run.
    func idMap(ofRun number: Int) -> String { path(of: "step-\(number)-map.sqlite") }
    /// Returns the path of the reject file of a run.
    func rejects(ofRun number: Int) -> String { path(of: "step-\(number)-rejects.jsonl") }
    /// Returns the path of a file in the folder.
    func path(of name: String) -> String { "\(folder.inside)/\(name)" }

    /// Tells whether a path is in the folder.
    func owns(_ path: String) -> Bool { OpenFolders.shown(path).hasPrefix(folder.path) }

    /// Removes the store that a run made, with the files beside it, and the id map, which a later one replaces. Run 0
    /// stands for the chain's source, which is not touched.
    func remove(run number: Int) {
        guard number > 0 else { return }
        remove(path: path(ofRun: number))
        try? FileManager.default.removeItem(atPath: idMap(ofRun: number))
    }

    /// Removes the files of a run that was published but not noted, unless its journal is there: the run itself then finds that
    /// it is done.
    ///
    /// - Throws: `destination.io` (74) if it cannot be found out which files exist.
    func removeUnknown(run number: Int) throws(MigrationError) {
        let path = path(ofRun: number)
        let place = DestinationPath(path: path)
        guard try DestinationPath.status(path) != nil else { return }
        for journal in [place.journalPath, place.lastJournalPath] where try DestinationPath.status(journal) != nil {
            return
        }
        remove(path: path)
        for other in [idMap(ofRun: number), rejects(ofRun: number)] { unlink(other) }
    }

    /// Removes a store in the folder, with the files beside it.
    func remove(path: String) {
        let name = DestinationPath(path: path).name
        let stem = name.hasSuffix(".sqlite") ? String(name.dropLast(".sqlite".count)) : name
        for other in names where other.hasPrefix(stem + ".") || other.hasPrefix(".\(stem)_") {
            try? FileManager.default.removeItem(atPath: self.path(of: other))
        }
    }

    /// Replaces one private store by another, with the files beside it. Throws errors of the file system.
    static func replace(_ path: String, by other: String) throws {
        let manager = FileManager.default
        let support = { ExternalFolder(store: $0).support }
        for (old, new) in [(path, other), (support(path), support(other))] {
            if try DestinationPath.status(old) != nil { try manager.removeItem(atPath: old) }
            if try DestinationPath.status(new) != nil { try manager.moveItem(atPath: new, toPath: old) }
        }
    }

    /// Removes all files and the folder. The journal is removed last.
    ///
    /// - Parameter traces: takes the journal, for a caller that has the result to tell first; nil: it is removed at once.
    func close(leavingTo traces: LastTraces? = nil) {
        removeFiles()
        // As long as the journal exists, the same command knows that all is done.
        let isLast = rename(journalPath, lastJournalPath) == 0
        if !isLast { unlink(journalPath) }
        try? folder.remove()
        rmdir(folder.path)
        if isLast { LastTraces.remove(lastJournalPath, leavingTo: traces) }
    }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.inside)) ?? [] }
}
