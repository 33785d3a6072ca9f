import Diagnostics
import Glibc

/// A file that holds only the newest record. Each write replaces the record before it, and none is synced to the disk.
///
/// The file, numbers little-endian: "SCRECENT", the format's version (4 bytes), length of the body in bytes (4), checksum of
/// the body (8), body. The end of an older, longer body may follow. A record that was cut short is read as no record.
///
/// Memory: one record.
package final class RecordSlot {
    private static let magic = Array("SCRECENT".utf8)
    private static let version: UInt32 = 1
    private static let headSize = 24
    /// The longest body, in bytes, that is written or accepted when read.
    package static let longestBody = 16 << 20

    private let path: String
    private let calls: any FileCalls
    private let descriptor: Int32

    /// Opens the file, and creates it if it is missing.
    ///
    /// - Throws: `journal.full`, `journal.io` (74).
    package init(_ path: String, calls: any FileCalls = SystemFileCalls()) throws(MigrationError) {
        self.path = path
        self.calls = calls
        let opened = calls.openUninterrupted(
            path, flags: O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
        guard opened >= 0 else { throw Self.failure("open", path, -opened) }
        descriptor = Int32(truncatingIfNeeded: opened)
    }

    deinit { _ = calls.close(descriptor) }

    /// Replaces the record with another one.
    ///
    /// - Throws: `journal.full`, `journal.io` (74).
    package func write(_ body: [UInt8]) throws(MigrationError) {
        guard body.count <= Self.longestBody else { throw Self.failure("write", path, Int(EFBIG)) }
        var bytes = Self.magic
        bytes.reserveCapacity(Self.headSize + body.count)
        for number in [Self.version, UInt32(body.count)] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        let sum = body.withUnsafeBytes { Checksum.of($0, seed: UInt64(Self.version)) }
        withUnsafeBytes(of: sum.littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: body)
        let result = bytes.withUnsafeBytes { calls.writeWhole(descriptor, from: $0, at: 0) }
        guard result == 0 else { throw Self.failure("write", path, -result) }
    }

    /// Reads the record of a file.
    ///
    /// - Returns: the body; nil if the file is missing or holds no sound record.
    ///
    /// - Throws: `journal.io` (74).
    package static func read(
        _ path: String, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) -> [UInt8]? {
        let opened = calls.openUninterrupted(path, flags: O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if opened == -Int(ENOENT) || opened == -Int(ENOTDIR) { return nil }
        guard opened >= 0 else { throw failure("open", path, -opened) }
        let descriptor = Int32(truncatingIfNeeded: opened)
        defer { _ = calls.close(descriptor) }
        func read(_ count: Int, at place: Int) throws(MigrationError) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            let got = bytes.withUnsafeMutableBytes { calls.readWhole(descriptor, into: $0, at: place) }
            guard got >= 0 else { throw failure("read", path, -got) }
            return Array(bytes.prefix(got))
        }
        let head = try read(headSize, at: 0)
        func number(_ place: Int, bytes count: Int) -> UInt64 {
            head[place..<place + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard head.count == headSize, head.starts(with: magic), number(8, bytes: 4) == UInt64(version),
            let length = Int(exactly: number(12, bytes: 4)), length <= longestBody
        else { return nil }
        let body = try read(length, at: headSize)
        let sum = body.withUnsafeBytes { Checksum.of($0, seed: UInt64(version)) }
        return body.count == length && sum == number(16, bytes: 8) ? body : nil
    }

    private static func failure(_ action: String, _ path: String, _ number: Int) -> MigrationError {
        RunJournal.failure(action, path, Int32(truncatingIfNeeded: number))
    }
}
