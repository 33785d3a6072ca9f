import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// The private stores between the runs of a chain, in one locked folder: `.NAME.stagecoach-chain` beside the destination or
/// in the folder that was asked for.
///
/// A run's source is removed as soon as the run has ended: two stores stand there at the most.
final class ChainStores {
    private let folder: WorkDirectory

    /// What the chain has done so far.
    var journalPath: String { "\(folder.path)/chain.journal" }
    var path: String { folder.path }

    /// The folder of a chain to a destination.
    static func folder(beside place: DestinationPath, asked: String?) -> String {
        "\(asked ?? place.folder)/.\(place.name).stagecoach-chain"
    }

    /// Creates and locks the folder.
    ///
    /// - Throws: `destination.busy` (75) where another chain makes the same destination, `work.create` (73).
    init(beside place: DestinationPath, folder asked: String?) throws(MigrationError) {
        folder = try WorkDirectory(path: Self.folder(beside: place, asked: asked))
    }

    /// Clears the folder of what a chain left that did not end and is not gone on with.
    func beginAnew() { removeAll() }

    /// Gives the folder up as it is, for a chain that goes on from here.
    func keep() { try? folder.remove() }

    /// The store that a run makes; numbers from 1.
    func path(ofRun number: Int) -> String { "\(folder.path)/step-\(number).sqlite" }
    /// The id map up to a run.
    func idMap(ofRun number: Int) -> String { "\(folder.path)/step-\(number)-map.sqlite" }
    /// The objects that a run rejected.
    func rejects(ofRun number: Int) -> String { "\(folder.path)/step-\(number)-rejects.jsonl" }

    /// Whether a path is in the folder.
    func owns(_ path: String) -> Bool { path.hasPrefix(folder.path) }

    /// Removes the store that a run made, with the files beside it, and the id map that a later one replaces. Run 0 is the
    /// chain's source, which is not touched.
    func remove(run number: Int) {
        guard number > 0 else { return }
        remove(path: path(ofRun: number))
        try? FileManager.default.removeItem(atPath: idMap(ofRun: number))
        FileSums.remove(of: idMap(ofRun: number))
    }

    /// Removes what a run left that was published but not noted, and cannot be gone on with.
    ///
    /// - Throws: `destination.io` (74) where nobody knows what it left.
    func removeUnknown(run number: Int) throws(MigrationError) {
        let path = path(ofRun: number)
        let place = DestinationPath(path: path)
        guard try DestinationPath.status(path) != nil,
            try DestinationPath.status(EarlierRun.journalPath(place)) == nil,
            try DestinationPath.status(EarlierRun.lastJournalPath(place)) == nil
        else { return }
        remove(path: path)
        for other in [idMap(ofRun: number), rejects(ofRun: number)] { unlink(other) }
    }

    /// Notes what a run's results are, for a chain that goes on from them; the store was noted when it was written.
    ///
    /// - Throws: `spill.full`, `spill.io` (74).
    func seal(run number: Int) throws(MigrationError) {
        for path in [idMap(ofRun: number), rejects(ofRun: number)] where try DestinationPath.status(path) != nil {
            try FileSums.begin(path, noting: .everything)
        }
    }

    /// What is wrong with the results of a run that is done; nil where nothing is.
    func damage(ofRun number: Int) -> String? {
        do throws(MigrationError) {
            try FileSums.check(path(ofRun: number))
            for path in [idMap(ofRun: number), rejects(ofRun: number)] where try DestinationPath.status(path) != nil {
                try FileSums.check(path, isWhole: true)
            }
            return nil
        } catch {
            return error.message
        }
    }

    /// Removes a store in the folder, with the files beside it.
    func remove(path: String) {
        let name = DestinationPath(path: path).name
        let stem = name.hasSuffix(".sqlite") ? String(name.dropLast(".sqlite".count)) : name
        for other in names where other.hasPrefix(stem + ".") || other.hasPrefix(".\(stem)_") {
            try? FileManager.default.removeItem(atPath: "\(folder.path)/\(other)")
        }
    }

    /// Puts one private store in the place of another, with the files beside it.
    ///
    /// - Throws: errors of the file system.
    static func replace(_ path: String, by other: String) throws {
        let manager = FileManager.default
        for (old, new) in [(path, other), (support(path), support(other))] {
            if try DestinationPath.status(old) != nil { try manager.removeItem(atPath: old) }
            if try DestinationPath.status(new) != nil { try manager.moveItem(atPath: new, toPath: old) }
        }
    }

    /// The folder of a store's external files.
    private static func support(_ path: String) -> String {
        let place = DestinationPath(path: path)
        return "\(place.folder)/.\(place.name.dropLast(".sqlite".count))_SUPPORT"
    }

    /// Removes everything and the folder.
    func close() {
        removeAll()
        try? folder.remove()
        rmdir(folder.path)
    }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }

    private func removeAll() {
        for name in names where name.hasPrefix("step-") || name.hasPrefix(".step-") {
            try? FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
        }
        // They say what stands here: they go last.
        unlink(ChainJournal.copyPath(journalPath))
        unlink(journalPath)
    }
}

extension MigrationOptions {
    /// The same for a run whose destination is a private store on the way: nothing that concerns the last store alone.
    var ofPrivateRun: MigrationOptions {
        var options = self
        options.appendsToExisting = false
        options.newUUID = false
        options.isDryRun = false
        options.idMap = nil
        options.rejectFile = nil
        options.unknownHashes = .omit
        return options
    }
}
