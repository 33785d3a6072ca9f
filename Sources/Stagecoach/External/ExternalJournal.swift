import Diagnostics
import Foundation
import Glibc
import PersistentStore

/// What a publication does in the destination's folder of external data, on disk before it is done: a line each, with a sum
/// of it. A line that somebody else changed is none.
///
/// The file stays open as long as the journal: what was done can be taken back where no file can be opened any more.
final class ExternalJournal {
    /// The first character of a line.
    enum Mark: Character {
        /// A file that comes to the destination.
        case placed = "+"
        /// A file that goes once the store is published.
        case orphan = "-"
        /// The run makes `.NAME_SUPPORT`.
        case madeSupport = "S"
        /// The run makes `_EXTERNAL_DATA`.
        case madeData = "D"
    }

    let path: String
    let folder: ExternalFolder
    /// Of the journal that was begun; -1 before.
    private var descriptor: Int32 = -1

    init(path: String, folder: ExternalFolder) {
        self.path = path
        self.folder = folder
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Begins an empty journal.
    ///
    /// - Throws: `external.write`, `store.full` (74).
    func begin() throws(MigrationError) {
        unlink(path)
        if descriptor >= 0 { close(descriptor) }
        descriptor = SystemCall.uninterrupted {
            open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw failure() }
    }

    /// Adds a line.
    func append(_ mark: Mark, _ reference: ExternalReference?) throws(MigrationError) {
        let line = SignedLine.signed("\(mark.rawValue)\(reference?.name ?? "")") + "\n"
        var rest = Array(line.utf8)[...]
        while !rest.isEmpty {
            let count = SystemCall.uninterrupted {
                rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            }
            guard count > 0 else { throw failure() }
            rest = rest.dropFirst(count)
        }
    }

    /// Brings the journal to the disk.
    func finish() throws(MigrationError) {
        guard SystemCall.uninterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else { throw failure() }
        try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
    }

    /// Shows the lines of a kind; damaged ones are passed over.
    ///
    /// - Throws: `external.io` (74) where the journal cannot be read to its end; what the body throws.
    func forEach(
        _ mark: Mark, _ body: (ExternalReference) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        try forEachLine { line throws(MigrationError) in
            guard line.first == mark.rawValue,
                let reference = ExternalReference(name: String(line.dropFirst()))
            else { return }
            try body(reference)
        }
    }

    /// Takes back what was put into the destination's folder, and removes the journal. What cannot be removed is passed
    /// over: it hurts nobody but its disk.
    ///
    /// - Parameter staging: where the files stood before; they do again, for a run that goes on.
    /// - Throws: `external.io` (74) where the journal cannot be read: then it stays, for the next run.
    func undo(staging: String) throws(MigrationError) {
        // Nil: the disk does not say.
        let turns = try? FileManager.default.contentsOfDirectory(atPath: staging).count
        try forEach(.placed) { reference in
            let placed = folder.path(of: reference)
            // A second name of the file that was staged, or, where the file system has no hard links, the only one.
            let staged: String?
            var isUnknown = turns == nil
            do throws(MigrationError) {
                staged = try ExternalFiles.stagedPath(reference, in: staging, upTo: turns ?? 0)
            } catch {
                // The disk does not say which: it goes back, and a name that is there already is no harm.
                (staged, isUnknown) = (nil, true)
            }
            if staged == nil {
                let back = ExternalFiles.folder(ofTurn: 0, in: staging)
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

    /// Removes second names of files that are staged: those whose lines somebody else changed.
    private func removeStaged(_ staging: String) {
        for turn in (try? FileManager.default.contentsOfDirectory(atPath: staging)) ?? [] {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: "\(staging)/\(turn)")) ?? [] {
                guard let reference = ExternalReference(name: name) else { continue }
                let placed = folder.path(of: reference)
                let isSame = try? DestinationPath.isSameFile("\(staging)/\(turn)/\(name)", placed)
                if isSame ?? false { unlink(placed) }
            }
        }
    }

    /// Removes what nothing refers to any more, and the journal.
    ///
    /// - Throws: `external.io` (74) where the journal cannot be read: then it stays, for the next run.
    func removeOrphans() throws(MigrationError) {
        try forEach(.orphan) { unlink(folder.path(of: $0)) }
        unlink(path)
    }

    /// Ends what a killed run began: the journal tells of a store that was published, or of one that was not. Where neither is
    /// sure, nothing is removed: a file too many hurts nobody.
    ///
    /// - Parameters:
    ///   - built: the private store of the run; it is gone, or the destination itself, once it was published.
    ///   - destination: where it was to be published.
    ///   - isPublished: whether the run's own journal knows its store there.
    ///   - staging: where files stand until they are published.
    /// - Throws: `external.io`, `destination.io` (74), `destination.permission` (77): nobody knows which it was, and all
    ///   stays as it is.
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

    /// The folders that the run made, or was about to make.
    private func madeFolders() throws(MigrationError) -> Set<Mark> {
        var made: Set<Mark> = []
        try forEachLine { line throws(MigrationError) in
            if let mark = line.first.flatMap(Mark.init(rawValue:)) { made.insert(mark) }
        }
        return made
    }

    /// Shows the lines without their ends; what a kill cut off is none. A call that a signal interrupted is made again.
    private func forEachLine(_ body: (String) throws(MigrationError) -> Void) throws(MigrationError) {
        guard let file = opened() else {
            if errno == ENOENT || errno == ENOTDIR { return }
            throw readingFailure()
        }
        defer { fclose(file) }
        rewind(file)
        var buffer = [CChar](repeating: 0, count: 64)
        while true {
            guard fgets(&buffer, Int32(buffer.count), file) != nil else {
                guard ferror(file) != 0 else { return }
                guard errno == EINTR else { throw readingFailure() }
                clearerr(file)
                continue
            }
            let line = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if line.hasSuffix("\n"), let text = SignedLine.text(of: line.dropLast()) { try body(text) }
        }
    }

    /// The journal for reading: the one that was begun, or that of another run. Nil leaves `errno`.
    private func opened() -> UnsafeMutablePointer<FILE>? {
        guard descriptor >= 0 else {
            var file = fopen(path, "re")
            while file == nil, errno == EINTR { file = fopen(path, "re") }
            return file
        }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        guard let file = fdopen(copy, "r") else {
            close(copy)
            return nil
        }
        return file
    }

    private func readingFailure() -> MigrationError {
        MigrationError(
            "external.io", .io, "Reading the journal of external data failed: \(String(cString: strerror(errno)))",
            context: .init(path: path))
    }

    private func failure() -> MigrationError {
        .writing("Writing the journal of external data", path: path, otherwise: "external.write")
    }
}
