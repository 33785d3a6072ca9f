import Diagnostics
import Glibc

/// The checksums that blocks of a database had before a transaction, in a file of their own. After a rollback the blocks are
/// checked against them, and with that the content of SQLite's rollback journal.
///
/// SQLite itself checks only one byte in two hundred of its rollback journal. The file `NAME-sums-before` has 16 bytes for each
/// block that was written: its number and its checksum before. If a block has several entries, the first one counts.
///
/// Memory: 64 KiB while the checksums are restored.
final class TransactionSums {
    private static let width = 2 * MemoryLayout<UInt64>.stride
    private static let piece = 4096

    private let calls: any FileCalls
    private let descriptor: Int32
    private var size = 0

    private static func path(of file: String) -> String { FileSums.path(of: file) + "-before" }
    /// The path of the file while its checksums are restored.
    private static func taken(of file: String) -> String { FileSums.path(of: file) + "-rollback" }

    static func remove(of file: String) {
        unlink(path(of: file))
        unlink(taken(of: file))
    }

    /// Creates an empty file; nil if that fails.
    init?(of file: String, _ calls: any FileCalls) {
        self.calls = calls
        let result = calls.openUninterrupted(
            Self.path(of: file), flags: O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
        guard result >= 0 else { return nil }
        descriptor = Int32(truncatingIfNeeded: result)
    }

    deinit { _ = calls.close(descriptor) }

    /// Notes the old checksums of blocks that are about to change. Returns false if that fails.
    func note(_ sums: [UInt64], from first: Int) -> Bool {
        var words: [UInt64] = []
        words.reserveCapacity(2 * sums.count)
        for (index, sum) in sums.enumerated() { words += [UInt64(first + index), sum] }
        guard words.withUnsafeBytes({ calls.writeWhole(descriptor, from: $0, at: size) }) == 0 else { return false }
        size += sums.count * Self.width
        return true
    }

    /// Drops the checksums at the end of the transaction.
    func forget() {
        guard size > 0 else { return }
        size = 0
        _ = SystemCall.uninterrupted { ftruncate(descriptor, 0) }
    }

    /// Sets aside the checksums of a transaction that a killed process left unfinished. Call it before the database is opened.
    static func take(of file: String, _ calls: any FileCalls) {
        // Another process was killed before it had restored them. What it noted itself describes blocks half rolled back.
        guard access(taken(of: file), F_OK) != 0 else { return }
        // A transaction that ended leaves a journal that is missing, empty, or begins with zeros.
        let opened = calls.openUninterrupted(file + "-journal", flags: O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard opened >= 0 else { return }
        let journal = Int32(truncatingIfNeeded: opened)
        defer { _ = calls.close(journal) }
        var first: UInt8 = 0
        let count = withUnsafeMutableBytes(of: &first) { calls.readWhole(journal, into: $0, at: 0) }
        let isUnderWay = count == 1 && first != 0
        if isUnderWay { rename(path(of: file), taken(of: file)) }
    }

    /// Restores the checksums, once SQLite has rolled the transaction back.
    static func restore(of file: String, _ calls: any FileCalls) {
        defer { unlink(taken(of: file)) }
        func open(_ path: String, _ flags: Int32) -> Int32 {
            Int32(truncatingIfNeeded: calls.openUninterrupted(path, flags: flags | O_CLOEXEC | O_NOFOLLOW))
        }
        let from = open(taken(of: file), O_RDONLY)
        guard from >= 0 else { return }
        defer { _ = calls.close(from) }
        let to = open(FileSums.path(of: file), O_RDWR)
        guard to >= 0 else { return }
        defer { _ = calls.close(to) }
        var status = stat()
        guard fstat(from, &status) == 0 else { return }
        // Last entries first, so that the first entry of a block is written last and remains.
        var end = Int(status.st_size) / width
        var words = [UInt64](repeating: 0, count: 2 * piece)
        while end > 0 {
            let start = max(0, end - piece)
            let count = end - start
            let isRead = words.withUnsafeMutableBytes {
                calls.readWhole(
                    from, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<(count * width)]), at: start * width)
                    == count * width
            }
            guard isRead else { return }
            for index in (0..<count).reversed() where words[2 * index] < UInt64(UInt32.max) {
                let place = Int(words[2 * index]) * MemoryLayout<UInt64>.stride
                _ = withUnsafeBytes(of: words[2 * index + 1]) { calls.writeWhole(to, from: $0, at: place) }
            }
            end = start
        }
    }
}

extension FileSums {
    /// Opens a database that a killed process may have left within a transaction, and restores the checksums from before it. A
    /// later check then finds damage that came from the rollback journal.
    ///
    /// - Parameter open: opens the database, and has SQLite roll the unfinished transaction back.
    package static func rollingBack<Result, Failure: Error>(
        _ file: String, calls: any FileCalls = SystemFileCalls(), _ open: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        TransactionSums.take(of: file, calls)
        defer { TransactionSums.restore(of: file, calls) }
        return try open()
    }
}
