import Diagnostics
import Glibc

/// What a run has done so far, on disk: records behind each other, each a whole state, each synced when it is appended.
///
/// The file, numbers little-endian:
///
///     "SCJOURNL", the format's version (4 bytes), 4 bytes of zero
///     for each record: bytes of the body (4), kind (4), checksum of the body (8), body
///
/// The checksum begins from the record's place and kind, so a record that stands elsewhere is none. A record that was not
/// written to its end is the file's last one and is cut off. A damaged one with sound ones behind it, or a damaged
/// beginning, is damage (``Contents/isDamaged``): nobody wrote that.
///
/// Above ``longest`` bytes the journal is written anew, with the records that are still wanted, beside the old one, which it
/// then replaces.
/// Memory: a record.
package final class RunJournal {
    /// One record.
    package struct Record: Equatable, Sendable {
        package var kind: UInt32
        package var body: [UInt8]

        package init(kind: UInt32, body: [UInt8]) {
            self.kind = kind
            self.body = body
        }
    }

    /// What a journal holds.
    package struct Contents {
        package var records: [Record] = []
        /// Bytes up to the end of the last sound record.
        package var size = 0
        /// Whether bytes of a record that was not written to its end follow.
        package var isTorn = false
        /// Whether more than the end is unsound: the records say nothing that is to be relied on.
        package var isDamaged = false
    }

    private static let magic = Array("SCJOURNL".utf8)
    /// The version of the format.
    package static let version: UInt32 = 2
    private static let headSize = 16
    private static let prefixSize = 16
    /// The longest body that is believed.
    private static let longestBody = 256 << 20
    /// Bytes above which the journal is written anew.
    package static let longest = 16 << 20

    package let path: String
    private let calls: any FileCalls
    private var descriptor: Int32
    private var size: Int

    /// Begins an empty journal in the place of any that stands there.
    ///
    /// - Throws: `journal.full`, `journal.io` (74).
    package init(creating path: String, calls: any FileCalls = SystemFileCalls()) throws(MigrationError) {
        self.path = path
        self.calls = calls
        descriptor = -1
        size = 0
        descriptor = try open(path, flags: O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW)
        try writeHead()
    }

    /// Goes on with a journal; what stands behind its sound records is cut off.
    ///
    /// - Throws: `journal.full`, `journal.io` (74).
    package init(
        goingOn path: String, after contents: Contents, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) {
        self.path = path
        self.calls = calls
        descriptor = -1
        size = contents.size
        descriptor = try open(path, flags: O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw failure("cut", errno) }
        try synchronize()
    }

    deinit { if descriptor >= 0 { _ = calls.close(descriptor) } }

    /// Reads a journal; nil where there is none.
    ///
    /// - Throws: `journal.io` (74).
    /// - Complexity: O(bytes); all of it is in memory.
    package static func read(
        _ path: String, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) -> Contents? {
        let opened = calls.open(path, flags: O_RDONLY | O_CLOEXEC | O_NOFOLLOW, mode: 0)
        if opened == -Int(ENOENT) { return nil }
        guard opened >= 0 else { throw failure("open", path, Int32(truncatingIfNeeded: -opened)) }
        let descriptor = Int32(truncatingIfNeeded: opened)
        defer { _ = calls.close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = part.withUnsafeMutableBytes { calls.read(descriptor, into: $0, at: bytes.count) }
            if count == -Int(EINTR) { continue }
            guard count >= 0 else { throw failure("read", path, Int32(truncatingIfNeeded: -count)) }
            if count == 0 { break }
            bytes.append(contentsOf: part[..<count])
        }
        return contents(of: bytes)
    }

    /// What the bytes of a journal say.
    package static func contents(of bytes: [UInt8]) -> Contents {
        var contents = Contents()
        guard bytes.count >= headSize, bytes.starts(with: magic), number(bytes, 8) == version, number(bytes, 12) == 0
        else {
            // A journal whose very beginning was not written has nothing yet.
            contents.isTorn = bytes.count < headSize && magic.starts(with: bytes.prefix(8))
            contents.isDamaged = !contents.isTorn
            return contents
        }
        var place = headSize
        while place < bytes.count, let record = record(bytes, at: place) {
            contents.records.append(record)
            place += prefixSize + record.body.count
        }
        contents.size = place
        guard place < bytes.count else { return contents }
        contents.isTorn = true
        // Whatever was being written was the last thing: a sound record behind it means damage. So does a file in which
        // looking for one takes too long.
        var work = 0
        for later in place + 1..<bytes.count {
            guard bytes.count - later >= prefixSize, number(bytes, later + 4) <= 255 else { continue }
            if number(bytes, later) <= UInt32(bytes.count - later) { work += Int(number(bytes, later)) }
            if record(bytes, at: later) != nil || work > longestSearch {
                contents.isDamaged = true
                break
            }
        }
        return contents
    }

    /// Bytes that are summed at most in a search for sound records behind an unsound one.
    private static let longestSearch = 64 << 20

    private static func record(_ bytes: [UInt8], at place: Int) -> Record? {
        guard bytes.count - place >= prefixSize else { return nil }
        let length = Int(number(bytes, place))
        let kind = number(bytes, place + 4)
        guard length <= longestBody, length <= bytes.count - place - prefixSize else { return nil }
        let stored = UInt64(number(bytes, place + 8)) | UInt64(number(bytes, place + 12)) << 32
        let start = place + prefixSize
        let sum = bytes.withUnsafeBytes { all in
            Checksum.of(UnsafeRawBufferPointer(rebasing: all[start..<start + length]), seed: seed(place, kind))
        }
        guard sum == stored else { return nil }
        return Record(kind: kind, body: Array(bytes[start..<start + length]))
    }

    private static func seed(_ place: Int, _ kind: UInt32) -> UInt64 { UInt64(place) << 8 ^ UInt64(kind) ^ 0x5343_4A }

    private static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2]) << 16
            | UInt32(bytes[place + 3]) << 24
    }

    /// Whether the journal is so long that it should be written anew.
    package var isLong: Bool { size > Self.longest }

    /// Appends a record and brings it to the disk.
    ///
    /// - Throws: `journal.full`, `journal.io` (74).
    package func append(_ record: Record) throws(MigrationError) {
        try write(record)
        try synchronize()
    }

    /// Writes the journal anew with some records, in one step: until then the old one holds.
    ///
    /// - Throws: `journal.full`, `journal.io` (74).
    package func replace(with records: [Record]) throws(MigrationError) {
        let other = path + "-new"
        let next = try RunJournal(creating: other, calls: calls)
        for record in records { try next.write(record) }
        try next.synchronize()
        guard rename(other, path) == 0 else { throw failure("replace", errno) }
        try synchronizeFolder()
        swap(&descriptor, &next.descriptor)
        size = next.size
    }

    /// Makes the journal's name outlive a crash of the machine.
    package func synchronizeFolder() throws(MigrationError) {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let opened = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { return }
        defer { Glibc.close(opened) }
        // Some file systems cannot sync a folder; then there is nothing to wait for.
        guard fsync(opened) == 0 || errno == EINVAL else { throw failure("sync", errno) }
    }

    private func writeHead() throws(MigrationError) {
        var head = Self.magic
        for number in [Self.version, 0] { withUnsafeBytes(of: number.littleEndian) { head.append(contentsOf: $0) } }
        try write(bytes: head)
    }

    private func write(_ record: Record) throws(MigrationError) {
        guard record.body.count <= Self.longestBody else { throw failure("write", EFBIG) }
        let sum = record.body.withUnsafeBytes { Checksum.of($0, seed: Self.seed(size, record.kind)) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.prefixSize + record.body.count)
        for number in [
            UInt32(record.body.count), record.kind, UInt32(truncatingIfNeeded: sum),
            UInt32(truncatingIfNeeded: sum >> 32),
        ] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        bytes.append(contentsOf: record.body)
        try write(bytes: bytes)
    }

    private func write(bytes: [UInt8]) throws(MigrationError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                calls.write(descriptor, from: UnsafeRawBufferPointer(rebasing: all[done...]), at: size + done)
            }
            if count == -Int(EINTR) { continue }
            guard count > 0 else { throw failure("write", count == 0 ? ENOSPC : Int32(truncatingIfNeeded: -count)) }
            done += count
        }
        size += bytes.count
    }

    private func synchronize() throws(MigrationError) {
        var result = calls.sync(descriptor)
        while result == -Int(EINTR) { result = calls.sync(descriptor) }
        guard result == 0 else { throw failure("sync", Int32(truncatingIfNeeded: -result)) }
    }

    private func open(_ path: String, flags: Int32) throws(MigrationError) -> Int32 {
        var result = calls.open(path, flags: flags, mode: 0o600)
        while result == -Int(EINTR) { result = calls.open(path, flags: flags, mode: 0o600) }
        guard result >= 0 else { throw failure("open", Int32(truncatingIfNeeded: -result)) }
        return Int32(truncatingIfNeeded: result)
    }

    private func failure(_ action: String, _ number: Int32) -> MigrationError { Self.failure(action, path, number) }

    private static func failure(_ action: String, _ path: String, _ number: Int32) -> MigrationError {
        let isFull = number == ENOSPC || number == EDQUOT
        return MigrationError(
            isFull ? "journal.full" : "journal.io", .io,
            "cannot \(action) the journal: \(String(cString: strerror(number)))",
            remedy: isFull ? "Free space on the disk and run the command again" : "Check the disk and run again",
            context: .init(path: path))
    }
}
