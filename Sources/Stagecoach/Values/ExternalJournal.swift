import CoreDataStore
import Diagnostics
import Foundation
import Glibc

/// The journal of a publication's changes in the destination's folder of external data. Each line has a checksum and is on disk
/// before its change is made. Lines that another program changed are ignored.
final class ExternalJournal {
    /// The first character of a line.
    enum Mark: Character {
        /// A file that is put into the destination's folder.
        case placed = "+"
        /// A file that is removed once the store is published.
        case orphan = "-"
        /// The run creates the folder `.NAME_SUPPORT`.
        case madeSupport = "S"
        /// The run creates the folder `_EXTERNAL_DATA`.
        case madeData = "D"
    }

    let path: String
    let folder: ExternalFolder
    private let lines: SignedLines

    init(path: String, folder: ExternalFolder) {
        self.path = path
        self.folder = folder
        lines = SignedLines(path: path, writing: "Writing the journal of external data")
    }

    /// Begins an empty journal. Throws `external.write`, `store.full` (74).
    func begin() throws(MigrationError) { try lines.begin() }

    /// Appends a line.
    func append(_ mark: Mark, _ reference: ExternalReference?) throws(MigrationError) {
        try lines.append("\(mark.rawValue)\(reference?.name ?? "")")
    }

    /// Syncs the journal to the disk.
    func finish() throws(MigrationError) { try lines.synchronize() }

    /// Shows the lines of one kind. Damaged lines are skipped.
    ///
    /// - Throws: `external.io` (74) if the journal cannot be read to its end; the error of the body.
    func forEach(_ mark: Mark, _ body: (ExternalReference) throws(MigrationError) -> Void) throws(MigrationError) {
        try lines.forEachLine { line throws(MigrationError) in
            guard line.first == mark.rawValue,
                let reference = ExternalReference(name: String(line.dropFirst()))
            else { return }
            try body(reference)
        }
    }

    /// Removes the files that were put into the destination's folder, and the journal. Files that cannot be removed are
    /// ignored; they only waste disk space.
    ///
    /// - Parameter staging: the folder where the files were before. They are moved back, for a resumed run.
    /// - Throws: `external.io` (74) if the journal cannot be read. It then stays for the next run.
    func undo(staging: String) throws(MigrationError) {
        // Nil if the folder cannot be read.
        let models = try? FileManager.default.contentsOfDirectory(atPath: staging).count
        try forEach(.placed) { reference in
            let placed = folder.path(of: reference)
            // The placed file is a second name of the staged file. In a file system without hard links it is the only name.
            let staged: String?
            var isUnknown = models == nil
            do throws(MigrationError) {
                staged = try ExternalFiles.stagedPath(reference, in: staging, upTo: models ?? 0)
            } catch {
                // It is unknown whether the staged file exists, so the placed file goes back. An existing name there does no
                // harm.
                (staged, isUnknown) = (nil, true)
            }
            if staged == nil {
                let back = ExternalFiles.folder(ofModel: 0, in: staging)
                mkdir(staging, 0o700)
                mkdir(back, 0o700)
                let isLinked = isUnknown && (link(placed, "\(back)/\(reference.name)") == 0 || errno == EEXIST)
                if !isLinked { rename(placed, "\(back)/\(reference.name)") }
            }
            unlink(placed)
        }
        removeStaged(staging)
        let made = try madeFolders()
        if made.contains(.madeData) { rmdir(folder.path) }
        if made.contains(.madeSupport) { rmdir(folder.support) }
        unlink(path)
    }

    /// Removes second names of staged files whose lines another program changed.
    private func removeStaged(_ staging: String) {
        for model in (try? FileManager.default.contentsOfDirectory(atPath: staging)) ?? [] {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: "\(staging)/\(model)")) ?? [] {
                guard let reference = ExternalReference(name: name) else { continue }
                let placed = folder.path(of: reference)
                let isSame = try? DestinationPath.isSameFile("\(staging)/\(model)/\(name)", placed)
                if isSame ?? false { unlink(placed) }
            }
        }
    }

    /// Removes files to which nothing refers any more, and the journal.
    ///
    /// - Throws: `external.io` (74) if the journal cannot be read. It then stays for the next run.
    func removeOrphans() throws(MigrationError) {
        try forEach(.orphan) { unlink(folder.path(of: $0)) }
        unlink(path)
    }

    /// Completes the work of a killed run: as published if its store was published, as withdrawn if it was not. If neither is
    /// certain, no file is removed; a surplus file does no harm.
    ///
    /// - Parameters:
    ///   - built: the path of the private store. After publication it is gone, or it is the same file as the destination.
    ///   - destination: the path of the destination.
    ///   - isPublished: true if the run's own journal recognises its store at the destination.
    ///   - staging: the folder of the files until they are published.
    /// - Throws: `external.io`, `destination.io` (74), `destination.permission` (77) if the outcome cannot be determined;
    ///   everything stays as it is then.
    func recover(
        built: String, destination: String, isPublished: Bool = false, staging: String
    ) throws(MigrationError) {
        guard try DestinationPath.status(path) != nil else { return }
        let there = try DestinationPath.status(destination)
        let one = try DestinationPath.status(built)
        let isThere = one != nil && one?.st_ino == there?.st_ino && one?.st_dev == there?.st_dev
        if isPublished || isThere {
            try removeOrphans()
        } else if one != nil {
            try undo(staging: staging)
        } else {
            try forEach(.placed) { _ in }
            unlink(path)
        }
    }

    /// Returns the folders that the run created or was about to create.
    private func madeFolders() throws(MigrationError) -> Set<Mark> {
        var made: Set<Mark> = []
        try lines.forEachLine { line throws(MigrationError) in
            if let mark = line.first.flatMap(Mark.init(rawValue:)) { made.insert(mark) }
        }
        return made
    }
}
