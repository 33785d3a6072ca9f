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

        /// Returns the content up to a record, without what lies behind it.
        ///
        /// - Parameter place: the offset of the record.
        package func through(_ place: Int) -> Contents {
            guard let next = places.firstIndex(where: { $0 > place }) else { return self }
            var shorter = self
            shorter.records = Array(records.prefix(next))
            (shorter.places, shorter.size) = (Array(places.prefix(next)), places[next])
            return shorter
        }

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
    package static let version: UInt32 = 18
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
        try write(bytes: Self.magic + Self.bytes([Self.version, 0]))
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
        return try contents(last: most, skipsDamage: skipsDamage) { count, place throws(MigrationError) in
            try read(count, at: place, descriptor, path, calls)
        }
    }

    /// Reads a journal by a function that returns a number of bytes at an offset; fewer at the end.
    ///
    /// - Parameters:
    ///   - most: as for ``read(_:last:skipsDamage:calls:)``.
    package static func contents(
        last most: Int? = nil, skipsDamage: Bool = false, _ bytes: (Int, Int) throws(MigrationError) -> [UInt8]
    ) throws(MigrationError) -> Contents {
        var contents = Contents()
        guard begin(try bytes(headSize, 0), &contents) else { return contents }
        var place = contents.size
        while true {
            if let record = try record(at: place, bytes) {
                contents.add(record, at: place, last: most)
                place += prefixSize + record.body.count
                contents.size = place
                contents.isTorn = false
                continue
            }
            let rest = try bytes(.max, place)
            if rest.isEmpty { return contents }
            let next = try searchRest(rest, at: place, &contents)
            guard skipsDamage, let next else { return contents }
            place = next
        }
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
    private static func searchRest(
        _ bytes: [UInt8], at place: Int, _ contents: inout Contents
    ) throws(MigrationError) -> Int? {
        contents.isTorn = true
        var work = 0
        for later in 1..<max(1, bytes.count) {
            guard bytes.count - later >= prefixSize, number(bytes, later + 4) <= 255 else { continue }
            // A length beyond the end is no record's; copying what there is, again and again, would take seconds.
            guard number(bytes, later) <= UInt32(bytes.count - later) else { continue }
            work += Int(number(bytes, later))
            let isSound = try record(at: place + later) { Array(bytes[($1 - place)...].prefix($0)) } != nil
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
        while bytes.count < count {
            var part = [UInt8](repeating: 0, count: min(count - bytes.count, 256 << 10))
            let got = part.withUnsafeMutableBytes { calls.readWhole(descriptor, into: $0, at: place + bytes.count) }
            guard got >= 0 else { throw failure("read", path, Int32(truncatingIfNeeded: -got)) }
            bytes += part[..<got]
            if got < part.count { break }
        }
        return bytes
    }

    /// Reads the record at an offset of the file; nil if there is no sound one.
    private static func record(
        at place: Int, _ bytes: (Int, Int) throws(MigrationError) -> [UInt8]
    ) throws(MigrationError) -> Record? {
        let prefix = try bytes(prefixSize, place)
        guard prefix.count == prefixSize, number(prefix, 0) <= longestBody else { return nil }
        let (length, kind) = (Int(number(prefix, 0)), number(prefix, 4))
        let stored = UInt64(number(prefix, 8)) | UInt64(number(prefix, 12)) << 32
        let body = try bytes(length, place + prefixSize)
        guard body.count == length, body.withUnsafeBytes({ Checksum.of($0, seed: seed(place, kind)) }) == stored
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
        try Self.record(at: place) { count, place throws(MigrationError) in
            try Self.read(count, at: place, descriptor, path, calls)
        }
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

    private func write(_ record: Record) throws(MigrationError) {
        guard record.body.count <= Self.longestBody else { throw failure("write", EOVERFLOW) }
        let sum = record.body.withUnsafeBytes { Checksum.of($0, seed: Self.seed(size, record.kind)) }
        let sums = [UInt32(truncatingIfNeeded: sum), UInt32(truncatingIfNeeded: sum >> 32)]
        try write(bytes: Self.bytes([UInt32(record.body.count), record.kind] + sums))
        try write(bytes: record.body)
    }

    private static func bytes(_ numbers: [UInt32]) -> [UInt8] {
        numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
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
        let full = NoRoom(number)
        return MigrationError(
            full == nil ? "journal.io" : "journal.full", .io,
            "cannot \(action) the journal: \(full?.reason ?? String(cString: strerror(number)))",
            remedy: full?.remedy ?? "Check the disk and run again", context: .init(path: path))
    }
}
