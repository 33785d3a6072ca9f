import DatabasePages
import Diagnostics
import Glibc

/// The state of a store. It is taken at the start and at the end of reading; if the two differ, another process wrote.
///
/// The main file contributes its size, inode and header (in rollback mode each commit increments a counter in it). The `-wal`
/// contributes its salts, its last commit frame and a hash over the headers of all frames of its current generation. Frame
/// headers contain checksums of their pages, so different content gives a different hash.
package struct StoreFingerprint: Codable, Equatable, Sendable {
    /// The size of the main file in bytes.
    package var size: Int64
    /// The inode of the main file.
    package var inode: UInt64
    /// The first 100 bytes of the main file.
    package var header: [UInt8]
    /// The size of the `-wal` in bytes; nil if there is none.
    package var walSize: Int64?
    /// The two salts of the `-wal`; 0 without a valid header.
    package var walSalts: UInt64
    /// The number of the last commit frame of the `-wal`, from 1; 0 for none.
    package var lastCommitFrame: Int64
    /// An FNV-1a hash over the headers of the frames with the current salts.
    package var walHash: UInt64

    /// Takes the fingerprint of a store.
    ///
    /// - Parameter path: the main file, with symbolic links resolved.
    /// - Throws: `store.notFound`, `store.permission`, `store.io`.
    /// - Complexity: O(frames of the -wal) reads of 24 bytes, at most 1 MiB of memory.
    package static func take(path: String) throws(MigrationError) -> StoreFingerprint {
        let main = try OpenFile(path)
        var status = stat()
        guard fstat(main.descriptor, &status) == 0 else { throw DatabaseFile.openError(errno, path) }
        var fingerprint = StoreFingerprint(
            size: Int64(status.st_size), inode: UInt64(status.st_ino), header: try main.read(100, at: 0),
            walSize: nil, walSalts: 0, lastCommitFrame: 0, walHash: 0xcbf2_9ce4_8422_2325)
        let wal: OpenFile
        do { wal = try OpenFile(path + "-wal") } catch {
            // A missing -wal is a valid state; an unreadable one is not.
            if error.code == "store.notFound" { return fingerprint }
            throw error
        }
        try fingerprint.scan(wal)
        return fingerprint
    }

    private mutating func scan(_ wal: OpenFile) throws(MigrationError) {
        let size = max(0, PosixFile.size(wal.descriptor))
        walSize = size
        let head = try wal.read(32, at: 0)
        mix(head)
        let magic = head.count == 32 ? DatabaseFile.bigEndian(head, 0) : 0
        // 0x377f0682 and …83 are the magic numbers of the two byte orders of checksums.
        guard magic & 0xffff_fffe == 0x377f_0682 else { return }
        let pageSize = Int64(DatabaseFile.bigEndian(head, 8))
        guard pageSize >= 512, pageSize <= 65536 else { return }
        let salts = Array(head[16..<24])
        walSalts = UInt64(DatabaseFile.bigEndian(salts, 0)) << 32 | UInt64(DatabaseFile.bigEndian(salts, 4))
        var offset: Int64 = 32
        var frame: Int64 = 0
        while offset + 24 + pageSize <= size {
            let bytes = try wal.read(24, at: offset)
            // Frames of an earlier generation, invalidated by a checkpoint, follow the current ones.
            guard bytes.count == 24, bytes[8..<16].elementsEqual(salts) else { break }
            frame += 1
            if DatabaseFile.bigEndian(bytes, 4) != 0 { lastCommitFrame = frame }
            mix(bytes)
            offset += 24 + pageSize
        }
    }

    private mutating func mix(_ bytes: [UInt8]) {
        for byte in bytes { walHash = (walHash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
}

/// A file opened for reading. It is closed on release.
final class OpenFile {
    let descriptor: Int32
    private let path: String

    init(_ path: String) throws(MigrationError) {
        self.path = path
        descriptor = PosixFile.openReadOnly(path)
        guard descriptor >= 0 else { throw DatabaseFile.openError(errno, path) }
    }

    deinit { close(descriptor) }

    /// Returns up to `count` bytes at an offset; fewer at the end.
    func read(_ count: Int, at offset: Int64, _ doing: String = "Reading") throws(MigrationError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = bytes.withUnsafeMutableBytes { space in
            space.baseAddress.map { PosixFile.read(descriptor, into: $0, count: count, at: offset) } ?? -1
        }
        guard got >= 0 else {
            throw MigrationError(
                "store.io", .io, "\(doing) failed: \(String(cString: strerror(errno)))", context: .init(path: path))
        }
        bytes.removeLast(count - got)
        return bytes
    }
}
