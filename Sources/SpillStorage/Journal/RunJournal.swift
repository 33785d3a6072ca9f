import Diagnostics
import Glibc

/// The journal of a run: a file of checkpoints, one record behind the other. Each record is complete in itself and is synced to
/// the disk when it is appended.
///
/// The file, numbers little-endian:
///
///     "SCJOURNL", the format's version (4 bytes), 4 bytes of zero
///     for each record: length of the body in bytes (4), kind (4), checksum of the body (8), body
///
/// The seed of the checksum is made of the record's offset and kind, so a record that was moved does not pass as sound. If the
/// last record is cut short (a kill during the write), it is cut off. A bad record with sound ones behind it, or a bad file
/// header, cannot come from a kill: the journal is damaged (``Contents/isDamaged``).
///
/// A journal longer than ``longest`` bytes should be rewritten: ``replace(keeping:appending:)`` writes the records that are
/// still needed to a second file, which then replaces the first.
///
/// Memory: one record.
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

    /// The content of a journal.
    package struct Contents {
        package var records: [Record] = []
        /// The offset of each record in the file.
        package var places: [Int] = []
        /// Bytes up to the end of the last sound record.
        package var size = 0
        /// True if bytes of a record that was cut short follow.
        package var isTorn = false
        /// True if more than the end is unsound: then no record can be relied on.
        package var isDamaged = false

        package init() {}

        /// Adds a record, and drops the oldest one of its kind if there would be too many.
        ///
        /// - Parameter most: the number of records of a kind to keep; nil: all.
        fileprivate mutating func add(_ record: Record, at place: Int, last most: Int?) {
            if let most, records.count(where: { $0.kind == record.kind }) >= most,
                let oldest = records.firstIndex(where: { $0.kind == record.kind })
            {
                records.remove(at: oldest)
                places.remove(at: oldest)
            }
            records.append(record)
            places.append(place)
        }
    }

    private static let magic = Array("SCJOURNL".utf8)
    /// The version of the format.
    package static let version: UInt32 = 10
    private static let headSize = 16
    private static let prefixSize = 16
    /// The longest body, in bytes, that is accepted when read.
    private static let longestBody = 256 << 20
    /// The length in bytes above which the journal should be rewritten.
    package static let longest = 16 << 20

    package let path: String
    private let calls: any FileCalls
    private var descriptor: Int32
    private var size: Int

    /// Creates an empty journal, which replaces an existing one.
    ///
    /// - Throws: `journal.full`, `journal.io` (74).
    package init(creating path: String, calls: any FileCalls = SystemFileCalls()) throws(MigrationError) {
        (self.path, self.calls, size) = (path, calls, 0)
        descriptor = try Self.open(path, O_CREAT | O_TRUNC, calls)
        try writeHead()
    }

    /// Opens an existing journal to append to it. Everything behind its sound records is cut off.
    ///
    /// - Throws: `journal.full`, `journal.io` (74).
    package init(
        continuing path: String, after contents: Contents, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) {
        (self.path, self.calls, size) = (path, calls, contents.size)
        descriptor = try Self.open(path, 0, calls)
        guard SystemCall.uninterrupted({ ftruncate(descriptor, off_t(size)) }) == 0 else { throw failure("cut", errno) }
        try synchronize()
    }

    deinit { _ = calls.close(descriptor) }

    /// Reads a journal; nil if there is no file.
    ///
    /// Memory: the records that are kept and one more; if the end is unsound, the rest of the file.
    ///
    /// - Parameters:
    ///   - most: the number of records of a kind to keep, the last ones; nil: all.
    ///   - skipsDamage: true to read sound records behind a damaged one too. This suits a caller that needs only the last ones,
    ///     because each record is complete in itself.
    /// - Throws: `journal.io` (74).
    /// - Complexity: O(bytes).
    package static func read(
        _ path: String, last most: Int? = nil, skipsDamage: Bool = false, calls: any FileCalls = SystemFileCalls()
    ) throws(MigrationError) -> Contents? {
        let opened = calls.openUninterrupted(path, flags: O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if opened == -Int(ENOENT) || opened == -Int(ENOTDIR) { return nil }
        guard opened >= 0 else { throw failure("open", path, Int32(truncatingIfNeeded: -opened)) }
        let descriptor = Int32(truncatingIfNeeded: opened)
        defer { _ = calls.close(descriptor) }
        func bytes(_ count: Int, at place: Int) throws(MigrationError) -> [UInt8] {
            try read(count, at: place, descriptor, path, calls)
        }
        var contents = Contents()
        let head = try bytes(headSize, at: 0)
        guard begin(head, &contents) else { return contents }
        var place = contents.size
        while true {
            let prefix = try bytes(prefixSize, at: place)
            if prefix.isEmpty { return contents }
            if prefix.count == prefixSize, let length = length(prefix),
                let record = record(prefix, try bytes(length, at: place + prefixSize), at: place)
            {
                contents.add(record, at: place, last: most)
                place += prefixSize + length
                contents.size = place
                contents.isTorn = false
                continue
            }
            let next = searchRest(try bytes(.max, at: place), at: place, &contents)
            guard skipsDamage, let next else { return contents }
            place = next
        }
    }

    /// Reads a journal from its bytes.
    package static func contents(of bytes: [UInt8]) -> Contents {
        var contents = Contents()
        guard begin(bytes, &contents) else { return contents }
        while contents.size < bytes.count, let record = record(bytes, at: contents.size, from: 0) {
            contents.add(record, at: contents.size, last: nil)
            contents.size += prefixSize + record.body.count
        }
        if contents.size < bytes.count { searchRest(Array(bytes[contents.size...]), at: contents.size, &contents) }
        return contents
    }

    /// Tells whether the header of a journal is sound, and records the result in `contents`.
    private static func begin(_ bytes: [UInt8], _ contents: inout Contents) -> Bool {
        guard bytes.count >= headSize, bytes.starts(with: magic), number(bytes, 8) == version, number(bytes, 12) == 0
        else {
            // A file shorter than the header was killed while it was created: it is empty, not damaged.
            contents.isTorn = bytes.count < headSize && magic.starts(with: bytes.prefix(8))
            contents.isDamaged = !contents.isTorn
            return false
        }
        contents.size = headSize
        return true
    }

    /// Tells a cut-off end from damage, by a search for a sound record behind an unsound one.
    ///
    /// A kill cuts off only the last record, so a sound record behind an unsound one means damage. A file in which the search
    /// takes too long counts as damaged too.
    ///
    /// - Parameters:
    ///   - bytes: the unsound record and all bytes behind it.
    ///   - place: their offset in the file.
    /// - Returns: the offset of the next sound record; nil if none was found.
    @discardableResult
    private static func searchRest(_ bytes: [UInt8], at place: Int, _ contents: inout Contents) -> Int? {
        contents.isTorn = true
        var work = 0
        for later in 1..<max(1, bytes.count) {
            guard bytes.count - later >= prefixSize, number(bytes, later + 4) <= 255 else { continue }
            if number(bytes, later) <= UInt32(bytes.count - later) { work += Int(number(bytes, later)) }
            let isSound = record(bytes, at: place + later, from: place) != nil
            guard isSound || work > longestSearch else { continue }
            contents.isDamaged = true
            return isSound ? place + later : nil
        }
        return nil
    }

    /// The most bytes that a search for sound records behind an unsound one sums up.
    private static let longestSearch = 64 << 20

    /// Reads up to `count` bytes; fewer at the file's end.
    private static func read(
        _ count: Int, at place: Int, _ descriptor: Int32, _ path: String, _ calls: any FileCalls
    ) throws(MigrationError) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: min(count, 256 << 10))
        while bytes.count < count {
            let wanted = min(part.count, count - bytes.count)
            let got = part.withUnsafeMutableBytes {
                calls.read(
                    descriptor, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<wanted]), at: place + bytes.count)
            }
            if got == -Int(EINTR) { continue }
            guard got >= 0 else { throw failure("read", path, Int32(truncatingIfNeeded: -got)) }
            if got == 0 { break }
            bytes.append(contentsOf: part[..<got])
        }
        return bytes
    }

    /// The length of the body, taken from a record's prefix; nil if it is too long to be accepted.
    private static func length(_ prefix: [UInt8]) -> Int? {
        let length = Int(number(prefix, 0))
        return length <= longestBody ? length : nil
    }

    /// Decodes the record at an offset of the file.
    ///
    /// - Parameter first: the offset in the file of the first of `bytes`.
    /// - Returns: nil if there is no sound record.
    private static func record(_ bytes: [UInt8], at place: Int, from first: Int) -> Record? {
        let start = place - first
        guard bytes.count - start >= prefixSize else { return nil }
        let prefix = Array(bytes[start..<start + prefixSize])
        guard let length = length(prefix), length <= bytes.count - start - prefixSize else { return nil }
        let body = Array(bytes[start + prefixSize..<start + prefixSize + length])
        return record(prefix, body, at: place)
    }

    /// Decodes a record from its prefix and body; nil if they are not sound.
    private static func record(_ prefix: [UInt8], _ body: [UInt8], at place: Int) -> Record? {
        let kind = number(prefix, 4)
        let stored = UInt64(number(prefix, 8)) | UInt64(number(prefix, 12)) << 32
        guard body.count == Int(number(prefix, 0)),
            body.withUnsafeBytes({ Checksum.of($0, seed: seed(place, kind)) }) == stored
        else { return nil }
        return Record(kind: kind, body: body)
    }

    private static func seed(_ place: Int, _ kind: UInt32) -> UInt64 { UInt64(place) << 8 ^ UInt64(kind) ^ 0x5343_4A }

    private static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2]) << 16
            | UInt32(bytes[place + 3]) << 24
    }

    /// True if the journal is so long that it should be rewritten.
    package var isLong: Bool { size > Self.longest }

    /// Appends a record.
    ///
    /// - Parameter synchronizes: true to sync it to the disk.
    /// - Returns: the offset of the record.
    /// - Throws: `journal.full`, `journal.io` (74).
    @discardableResult
    package func append(_ record: Record, synchronizes: Bool = true) throws(MigrationError) -> Int {
        let place = size
        try write(record)
        if synchronizes { try synchronize() }
        return place
    }

    /// Reads a record that was appended; nil if there is no sound record at the offset any more.
    ///
    /// - Throws: `journal.io` (74).
    package func record(at place: Int) throws(MigrationError) -> Record? {
        let prefix = try Self.read(Self.prefixSize, at: place, descriptor, path, calls)
        guard prefix.count == Self.prefixSize, let length = Self.length(prefix) else { return nil }
        let body = try Self.read(length, at: place + Self.prefixSize, descriptor, path, calls)
        return Self.record(prefix, body, at: place)
    }

    /// Rewrites the journal with some of its records and a new one. The change is atomic: until then the old file is valid.
    ///
    /// - Parameter kept: the offsets of the records to keep.
    /// - Returns: the new offsets of these records and of the new one.
    /// - Throws: `journal.full`, `journal.io` (74).
    package func replace(keeping kept: [Int], appending last: Record) throws(MigrationError) -> [Int] {
        let other = path + "-new"
        let next = try RunJournal(creating: other, calls: calls)
        var places: [Int] = []
        for place in kept {
            guard let record = try record(at: place) else { throw failure("read", EIO) }
            places.append(next.size)
            try next.write(record)
        }
        places.append(next.size)
        try next.write(last)
        try next.synchronize()
        guard rename(other, path) == 0 else { throw failure("replace", errno) }
        try synchronizeFolder()
        swap(&descriptor, &next.descriptor)
        size = next.size
        return places
    }

    /// Syncs the folder, so that the journal's name outlives a crash of the machine.
    package func synchronizeFolder() throws(MigrationError) {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let opened = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { return }
        defer { Glibc.close(opened) }
        // Some file systems cannot sync a folder (EINVAL); then there is nothing to wait for.
        guard SystemCall.uninterrupted({ fsync(opened) }) == 0 || errno == EINVAL else { throw failure("sync", errno) }
    }

    private func writeHead() throws(MigrationError) {
        var head = Self.magic
        for number in [Self.version, 0] { withUnsafeBytes(of: number.littleEndian) { head.append(contentsOf: $0) } }
        try write(bytes: head)
    }

    private func write(_ record: Record) throws(MigrationError) {
        guard record.body.count <= Self.longestBody else { throw failure("write", EFBIG) }
        let sum = record.body.withUnsafeBytes { Checksum.of($0, seed: Self.seed(size, record.kind)) }
        var prefix: [UInt8] = []
        for number in [
            UInt32(record.body.count), record.kind, UInt32(truncatingIfNeeded: sum),
            UInt32(truncatingIfNeeded: sum >> 32),
        ] {
            withUnsafeBytes(of: number.littleEndian) { prefix.append(contentsOf: $0) }
        }
        try write(bytes: prefix)
        try write(bytes: record.body)
    }

    private func write(bytes: [UInt8]) throws(MigrationError) {
        let result = bytes.withUnsafeBytes { calls.writeWhole(descriptor, from: $0, at: size) }
        guard result == 0 else { throw failure("write", Int32(truncatingIfNeeded: -result)) }
        size += bytes.count
    }

    private func synchronize() throws(MigrationError) {
        let result = calls.syncUninterrupted(descriptor)
        guard result == 0 else { throw failure("sync", Int32(truncatingIfNeeded: -result)) }
    }

    private static func open(_ path: String, _ flags: Int32, _ calls: any FileCalls) throws(MigrationError) -> Int32 {
        let result = calls.openUninterrupted(path, flags: flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
        guard result >= 0 else { throw failure("open", path, Int32(truncatingIfNeeded: -result)) }
        return Int32(truncatingIfNeeded: result)
    }

    private func failure(_ action: String, _ number: Int32) -> MigrationError { Self.failure(action, path, number) }

    static func failure(_ action: String, _ path: String, _ number: Int32) -> MigrationError {
        let isFull = number == ENOSPC || number == EDQUOT
        return MigrationError(
            isFull ? "journal.full" : "journal.io", .io,
            "cannot \(action) the journal: \(String(cString: strerror(number)))",
            remedy: isFull ? "Free space on the disk and run the command again" : "Check the disk and run again",
            context: .init(path: path))
    }
}
