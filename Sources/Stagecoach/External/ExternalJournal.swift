import Diagnostics
import Foundation
import Glibc
import PersistentStore

/// What a publication does in the destination's folder of external data, on disk before it is done: a line each.
struct ExternalJournal {
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

    /// Begins an empty journal.
    ///
    /// - Throws: `external.write`, `store.full` (74).
    func begin() throws(MigrationError) {
        unlink(path)
        let descriptor = SystemCall.uninterrupted { open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else { throw failure() }
        close(descriptor)
    }

    /// Adds a line.
    func append(_ mark: Mark, _ reference: ExternalReference?) throws(MigrationError) {
        let line = "\(mark.rawValue)\(reference?.name ?? "")\n"
        let descriptor = SystemCall.uninterrupted { open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW) }
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
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
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
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
        let turns = (try? FileManager.default.contentsOfDirectory(atPath: staging).count) ?? 0
        try forEach(.placed) { reference in
            let placed = folder.path(of: reference)
            // A second name of the file that was staged, or, where the file system has no hard links, the only one.
            let staged: String?
            var isUnknown = false
            do throws(MigrationError) {
                staged = try ExternalFiles.stagedPath(reference, in: staging, upTo: turns)
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
        let made = try madeFolders()
        if made.contains(.madeData) { rmdir(folder.path) }
        if made.contains(.madeSupport) { rmdir(folder.support) }
        unlink(path)
    }

    /// Removes what nothing refers to any more, and the journal.
    ///
    /// - Throws: `external.io` (74) where the journal cannot be read: then it stays, for the next run.
    func removeOrphans() throws(MigrationError) {
        try forEach(.orphan) { unlink(folder.path(of: $0)) }
        unlink(path)
    }

    /// Ends what a killed run began: the journal tells of a store that was published, or of one that was not.
    ///
    /// - Parameters:
    ///   - built: the private store of the run; it is gone, or the destination itself, once it was published.
    ///   - destination: where it was to be published.
    ///   - staging: where files stand until they are published.
    /// - Throws: `external.io`, `destination.io` (74), `destination.permission` (77): nobody knows which it was, and all
    ///   stays as it is.
    func recover(built: String, destination: String, staging: String) throws(MigrationError) {
        guard try DestinationPath.status(path) != nil else { return }
        let there = try DestinationPath.status(destination)
        if let one = try DestinationPath.status(built), one.st_ino != there?.st_ino || one.st_dev != there?.st_dev {
            try undo(staging: staging)
        } else {
            try removeOrphans()
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
        var opened = fopen(path, "re")
        while opened == nil, errno == EINTR { opened = fopen(path, "re") }
        guard let file = opened else {
            if errno == ENOENT || errno == ENOTDIR { return }
            throw readingFailure()
        }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        while true {
            guard fgets(&buffer, Int32(buffer.count), file) != nil else {
                guard ferror(file) != 0 else { return }
                guard errno == EINTR else { throw readingFailure() }
                clearerr(file)
                continue
            }
            let line = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if line.hasSuffix("\n") { try body(String(line.dropLast())) }
        }
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
