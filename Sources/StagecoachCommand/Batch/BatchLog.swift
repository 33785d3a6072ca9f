import Diagnostics
import Foundation
import Glibc
import Synchronization

/// The results files of a batch: this run's own, to which lines are added, and what all of them said before.
final class BatchLog: Sendable {
    /// The file that this run adds to.
    let path: String
    private let descriptor: Int32
    /// Of each destination, by its real path, the last line of a migration that began or was done: what failed since, for
    /// whatever reason, has not undone it.
    private let known = Mutex<[String: BatchResult]>([:])
    /// Files of other shares and earlier runs, as they stand now.
    private let sisters: @Sendable () -> [String]
    private let writing = Mutex(())

    /// Opens a file for adding, and reads what it and its sisters hold.
    ///
    /// - Parameters:
    ///   - path: this run's file.
    ///   - permissions: what the file has at most: it holds messages with values.
    ///   - sisters: finds the files of other shares and earlier runs; one that is missing is no error.
    /// - Throws: `batch.busy` (75) where another run adds to the file; `batch.results` (73); what ``read(_:_:)`` throws.
    /// - Complexity: O(lines) of time, O(destinations) of memory.
    init(path: String, permissions: FilePermissions, sisters: @escaping @Sendable () -> [String]) throws(MigrationError)
    {
        // The next run adds to it, whoever may only read the sources.
        descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, permissions.work)
        guard descriptor >= 0 else {
            throw MigrationError(
                "batch.results", .cannotCreate,
                "The results file cannot be opened: \(String(cString: strerror(errno)))",
                remedy: "Name another one with --results", context: .init(path: path))
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw MigrationError(
                "batch.busy", .temporary, "Another run adds to the results file",
                remedy: "Wait for it, or give this run a --shard or --results of its own", context: .init(path: path))
        }
        self.path = path
        self.sisters = sisters
        try read()
        // A line that a kill cut off must not swallow the next one.
        if let last = InputFile.lastByte(of: descriptor), last != 0x0a { _ = Glibc.write(descriptor, "\n", 1) }
    }

    deinit { close(descriptor) }

    /// Reads all files, as they are now.
    ///
    /// - Throws: what ``read(_:_:)`` throws.
    /// - Complexity: O(lines) of time, O(destinations) of memory.
    func read() throws(MigrationError) {
        var known: [String: BatchResult] = [:]
        let others = sisters().filter { !PathIdentity.isSame($0, path) }
        for file in others + [path] where try InputFile.exists(file, "results file") {
            try Self.read(file) { result in
                guard result.status == .started || result.status == .done else { return }
                let key = PathIdentity.canonical(result.destination)
                if let earlier = known[key], (earlier.time ?? "") > (result.time ?? "") { return }
                known[key] = result
            }
        }
        self.known.withLock { $0 = known }
    }

    /// The last migration into a destination that began or was done.
    func last(of destination: String) -> BatchResult? { known.withLock { $0[PathIdentity.canonical(destination)] } }

    /// Adds a line and sees it to the disk.
    ///
    /// - Throws: `batch.results` (74).
    func add(_ result: BatchResult) throws {
        var result = result
        result.time = Self.now()
        // The next run may begin in another folder.
        result.source = PathIdentity.canonical(result.source)
        result.destination = PathIdentity.canonical(result.destination)
        let line = Array(try result.line().utf8)
        // Workers' lines come from several threads; a line is one piece.
        let failure = writing.withLock { _ -> Int32 in
            var rest = line[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return errno }
                rest = rest.dropFirst(count)
            }
            let isSynced = SystemCall.uninterrupted { fdatasync(descriptor) } == 0
            return isSynced || errno == EINVAL || errno == EROFS ? 0 : errno
        }
        guard failure == 0 else {
            throw MigrationError(
                "batch.results", .io, "Writing the results file failed: \(String(cString: strerror(failure)))",
                context: .init(path: path))
        }
    }

    /// The lines of a results file, one at a time; what is no line of ours is passed over: a kill may have cut it off.
    ///
    /// - Throws: `results.notFound` (66), `results.io` (74).
    /// - Complexity: O(n) of time in the size of the file; the memory of one line.
    static func read(_ path: String, _ body: (BatchResult) -> Void) throws(MigrationError) {
        guard !InputFile.isFolder(path), let file = fopen(path, "re") else {
            throw MigrationError(
                "results.notFound", .noInput, "There is no such results file, or it may not be read",
                context: .init(path: path))
        }
        defer { fclose(file) }
        let decoder = JSONDecoder()
        var buffer: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(buffer) }
        while true {
            let count = getline(&buffer, &room, file)
            guard count > 0, let buffer else { break }
            if let result = try? decoder.decode(BatchResult.self, from: Data(bytes: buffer, count: count)) {
                body(result)
            }
        }
        guard ferror(file) == 0 else {
            throw MigrationError("results.io", .io, "Reading the results file failed", context: .init(path: path))
        }
    }

    /// Now, as ISO 8601 with milliseconds, in UTC: texts that sort by time.
    private static func now() -> String {
        var moment = timespec()
        clock_gettime(CLOCK_REALTIME, &moment)
        var parts = tm()
        gmtime_r(&moment.tv_sec, &parts)
        func digits(_ value: Int, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let day = "\(parts.tm_year + 1900)-\(digits(Int(parts.tm_mon) + 1, 2))-\(digits(Int(parts.tm_mday), 2))"
        let time = "\(digits(Int(parts.tm_hour), 2)):\(digits(Int(parts.tm_min), 2)):\(digits(Int(parts.tm_sec), 2))"
        return "\(day)T\(time).\(digits(moment.tv_nsec / 1_000_000, 3))Z"
    }
}

extension InputFile {
    /// The last byte of an open file; nil where it is empty or cannot be read.
    static func lastByte(of descriptor: Int32) -> UInt8? {
        var status = stat()
        var byte: UInt8 = 0
        guard fstat(descriptor, &status) == 0, status.st_size > 0,
            pread(descriptor, &byte, 1, status.st_size - 1) == 1
        else { return nil }
        return byte
    }
}
