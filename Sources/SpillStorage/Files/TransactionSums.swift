import Diagnostics
import Glibc

/// The sums that blocks of a database had before a transaction, in a file of their own: a rollback brings the blocks back, and
/// what was in its journal is checked against the sums that were.
///
/// SQLite looks at one byte in two hundred of what its rollback journal holds. The file `NAME-sums-before` has 16 bytes for each
/// block that was written: its number and the sum that it had. The first one of a block counts.
/// Memory: 64 KiB while they are brought back.
final class TransactionSums {
    private static let width = 2 * MemoryLayout<UInt64>.stride
    private static let piece = 4096

    private let calls: any FileCalls
    private let descriptor: Int32
    private var size = 0

    private static func path(of file: String) -> String { FileSums.path(of: file) + "-before" }
    /// What the file is called while its sums are brought back.
    private static func taken(of file: String) -> String { FileSums.path(of: file) + "-rollback" }

    static func remove(of file: String) {
        unlink(path(of: file))
        unlink(taken(of: file))
    }

    /// Begins an empty file; nil where it cannot be made.
    init?(of file: String, _ calls: any FileCalls) {
        self.calls = calls
        let result = calls.openUninterrupted(
            Self.path(of: file), flags: O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
        guard result >= 0 else { return nil }
        descriptor = Int32(truncatingIfNeeded: result)
    }

    deinit { _ = calls.close(descriptor) }

    /// Notes the sums of blocks that are about to change; false where that fails.
    func note(_ sums: [UInt64], from first: Int) -> Bool {
        var words: [UInt64] = []
        words.reserveCapacity(2 * sums.count)
        for (index, sum) in sums.enumerated() { words += [UInt64(first + index), sum] }
        guard words.withUnsafeBytes({ calls.writeWhole(descriptor, from: $0, at: size) }) == 0 else { return false }
        size += sums.count * Self.width
        return true
    }

    /// The transaction has ended: what is there says nothing any more.
    func forget() {
        guard size > 0 else { return }
        size = 0
        _ = SystemCall.uninterrupted { ftruncate(descriptor, 0) }
    }

    /// Takes the sums of a transaction that a killed process left under way, before its database is opened.
    static func take(of file: String) {
        unlink(taken(of: file))
        // Once the transaction has ended the journal is gone, empty, or begins with zeros.
        let journal = SystemCall.uninterrupted { open(file + "-journal", O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
        guard journal >= 0 else { return }
        defer { close(journal) }
        var first: UInt8 = 0
        let isUnderWay = pread(journal, &first, 1, 0) == 1 && first != 0
        if isUnderWay { rename(path(of: file), taken(of: file)) }
    }

    /// Brings the sums back, once SQLite has rolled the transaction back.
    static func restore(of file: String) {
        defer { unlink(taken(of: file)) }
        let from = SystemCall.uninterrupted { open(taken(of: file), O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
        guard from >= 0 else { return }
        defer { close(from) }
        let to = SystemCall.uninterrupted { open(FileSums.path(of: file), O_RDWR | O_CLOEXEC | O_NOFOLLOW) }
        guard to >= 0 else { return }
        defer { close(to) }
        var status = stat()
        guard fstat(from, &status) == 0 else { return }
        // The last ones first: the first one of a block is what remains.
        var end = Int(status.st_size) / width
        var words = [UInt64](repeating: 0, count: 2 * piece)
        while end > 0 {
            let start = max(0, end - piece)
            let count = end - start
            let isRead = words.withUnsafeMutableBytes {
                pread(from, $0.baseAddress, count * width, off_t(start * width)) == count * width
            }
            guard isRead else { return }
            for index in (0..<count).reversed() where words[2 * index] < UInt64(UInt32.max) {
                var sum = words[2 * index + 1]
                pwrite(
                    to, &sum, MemoryLayout<UInt64>.stride, off_t(words[2 * index] * UInt64(MemoryLayout<UInt64>.stride))
                )
            }
            end = start
        }
    }
}

extension FileSums {
    /// Opens a database that a killed process may have left within a transaction, and checks later against what it was before:
    /// what its rollback journal holds may be damaged too.
    ///
    /// - Parameter open: opens it, and has SQLite roll back what was under way.
    package static func rollingBack<Result, Failure: Error>(
        _ file: String, _ open: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        TransactionSums.take(of: file)
        defer { TransactionSums.restore(of: file) }
        return try open()
    }
}
