import Diagnostics
import Foundation
import Glibc
import Synchronization

/// The results files of a batch: the file of this run, to which lines are appended, and the previous content of all files.
final class BatchLog: Sendable {
    /// The file to which this run appends.
    let path: String
    private let descriptor: Int32
    /// For each destination, by its real path, the last line of a migration that was started or done. Later failures do not
    /// replace it, because a failure does not undo a finished migration.
    private let known = Mutex<[String: BatchResult]>([:])
    /// The destinations, by their real paths, whose last finished attempt crashed.
    private let crashed = Mutex<Set<String>>([])
    /// The statuses of the last lines of this run's own file, for each destination by its real path.
    private let own = Mutex<[String: BatchResult.Status]>([:])
    /// Finds the files of other shares and previous runs that exist now.
    private let sisters: @Sendable () -> [String]
    private let writing = Mutex(())

    /// Opens a file for appending, and reads it and its sister files.
    ///
    /// - Parameters:
    ///   - path: the file of this run.
    ///   - permissions: the greatest permissions of the file, which holds messages with values.
    ///   - sisters: finds the files of other shares and previous runs. A missing one is not an error.
    /// - Throws: `batch.busy` (75) if another run appends to the file; `batch.results` (73); the errors of ``read(_:_:)``.
    /// - Complexity: O(lines) of time, O(destinations) of memory.
    init(path: String, permissions: FilePermissions, sisters: @escaping @Sendable () -> [String]) throws(MigrationError)
    {
        // Writable even if the sources are read-only, because the next run appends to it.
        descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, permissions.file)
        guard descriptor >= 0 else {
            throw MigrationError(
                "batch.results", .cannotCreate,
                "The results file cannot be opened: \(String(cString: strerror(errno)))",
                remedy: "Name another one with --results", at: path)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw MigrationError(
                "batch.busy", .temporary, "Another run adds to the results file",
                remedy: "Wait for it, or give this run a --shard or --results of its own", at: path)
        }
        self.path = path
        self.sisters = sisters
        try read()
        // End a line that a kill cut off, so that it does not swallow the next one.
        var last: UInt8 = 0
        if pread(descriptor, &last, 1, lseek(descriptor, 0, SEEK_END) - 1) == 1, last != 0x0a {
            _ = Glibc.write(descriptor, "\n", 1)
        }
    }

    deinit { close(descriptor) }

    /// Reads the present content of all files.
    func read() throws(MigrationError) {
        var known: [String: BatchResult] = [:]
        var crashed: [String: (isCrash: Bool, time: String)] = [:]
        var own: [String: BatchResult.Status] = [:]
        let others = sisters().filter { !PathIdentity.isSame($0, path) }
        for file in others + [path] where try InputFile.exists(file, "results file") {
            try Self.read(file) { result in
                let key = PathIdentity.canonical(result.destination)
                if file == path { own[key] = result.status }
                if result.status != .started, (crashed[key]?.time ?? "") <= (result.time ?? "") {
                    crashed[key] = (result.status == .crashed, result.time ?? "")
                }
                guard result.status == .started || result.status == .done else { return }
                if let previous = known[key], (previous.time ?? "") > (result.time ?? "") { return }
                known[key] = result
            }
        }
        self.known.withLock { $0 = known }
        self.own.withLock { $0 = own }
        self.crashed.withLock { $0 = Set(crashed.filter(\.value.isCrash).keys) }
    }

    /// Tells whether the last finished attempt at a destination crashed.
    func hasCrashed(at destination: String) -> Bool {
        crashed.withLock { !$0.isEmpty && $0.contains(PathIdentity.canonical(destination)) }
    }

    /// Returns the last migration into a destination that was started or done.
    func last(of destination: String) -> BatchResult? { known.withLock { $0[PathIdentity.canonical(destination)] } }

    /// Tells whether the last line of this run's own file for a destination says that it is done.
    func saysDone(_ destination: String) -> Bool {
        own.withLock { $0[PathIdentity.canonical(destination)] == .done }
    }

    /// Appends a line and syncs it to the disk.
    ///
    /// - Throws: `batch.results` (74).
    func add(_ result: BatchResult) throws {
        var result = result
        // In UTC with milliseconds, so that texts sort by time.
        result.time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let line = try result.line()
        // Lines of workers come from several threads, and each must stay whole.
        let failure = writing.withLock { _ in
            let sink = DescriptorSink(descriptor)
            sink.write(line)
            return sink.synchronize()
        }
        guard failure == 0 else {
            let full = NoRoom(failure)
            throw MigrationError(
                "batch.results", .io,
                "Writing the results file failed: \(full?.reason ?? String(cString: strerror(failure)))",
                remedy: full?.remedy, at: path)
        }
    }

    /// Reads the lines of a results file, one at a time. Lines that do not decode are skipped: a kill may have cut one off.
    ///
    /// - Throws: `results.notFound` (66); `results.unknown` (65) if no whole line is one of a results file; `results.io` (74).
    /// - Complexity: O(n) of time in the size of the file; the memory of one line.
    static func read(_ path: String, _ body: (BatchResult) -> Void) throws(MigrationError) {
        guard !InputFile.isFolder(path), let file = fopen(path, "re") else {
            throw MigrationError(
                "results.notFound", .noInput, "There is no such results file, or it may not be read", at: path)
        }
        defer { fclose(file) }
        let decoder = JSONDecoder()
        var (known, others) = (0, 0)
        while let line = FileBytes.line(of: file) {
            if let result = try? decoder.decode(BatchResult.self, from: Data(line)) {
                known += 1
                body(result)
            } else if !line.allSatisfy({ $0 == 0x20 || $0 == 0x0a || $0 == 0x0d }) {
                others += 1
            }
        }
        guard ferror(file) == 0 else {
            throw MigrationError("results.io", .io, "Reading the results file failed", at: path)
        }
        // A first line that a kill cut off is one of JSON all the same.
        guard known > 0 || others == 0 || others == 1 && isCutLine(path) else {
            throw MigrationError(
                "results.unknown", .data, "The file is no results file of a batch",
                remedy: "Results files end in .results.jsonl, unless --results names another", at: path)
        }
    }

    /// Tells whether a file of one line begins as lines of results do, and does not end.
    private static func isCutLine(_ path: String) -> Bool {
        let bytes = (try? FileBytes.read(path, most: 64 << 10)) ?? []
        return bytes.starts(with: Array("{\"".utf8)) && bytes.last != 0x0a
    }
}
