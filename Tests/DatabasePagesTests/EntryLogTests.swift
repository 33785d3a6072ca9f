import Diagnostics
import Foundation
import Glibc
import Rows
import SpillStorage
import Synchronization
import TestSupport
import Testing

@testable import DatabasePages

/// Entries in memory that are in a file too: the same entries are read back, or nothing.
@Suite("Entries that outlive the process") struct EntryLogTests {
    private func save(_ log: EntryLog) -> [UInt8] {
        var state = StateWriter()
        log.save(to: &state)
        return state.bytes
    }

    private func restored(_ state: [UInt8], in directory: WorkDirectory) throws -> EntryLog? {
        var reader = StateReader(state)
        let log = try EntryLog(in: directory, restoring: &reader)
        try reader.finish()
        return log
    }

    /// Returns the contents that a log reads; nil if it reads something else than it should.
    private func contents(_ log: EntryLog, alignedBy offset: Int) -> [UInt8]? {
        let space = UnsafeMutableRawPointer.allocate(byteCount: log.byteCount + 4096, alignment: 4096)
        defer { space.deallocate() }
        let bytes = UnsafeMutableRawBufferPointer(start: space + offset, count: log.byteCount)
        return log.read(into: bytes) ? Array(bytes) : nil
    }

    @Test("Random appends against an array, at addresses of every alignment", arguments: 0..<12 as Range<UInt64>)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: 4100 + seed)
        let folder = try TemporaryFolder()
        let path = folder.file("work")
        let offset = [0, 8, 512, 4096 - 8][Int(seed % 4)]
        let most = 6 << 20
        let space = UnsafeMutableRawPointer.allocate(byteCount: most + 8192, alignment: 4096)
        defer { space.deallocate() }
        let entries = UnsafeMutableRawBufferPointer(start: space + offset, count: most)
        for place in 0..<most / 8 { entries.storeBytes(of: random.next(), toByteOffset: place * 8, as: UInt64.self) }
        var states: [(bytes: [UInt8], count: Int)] = []
        do {
            let directory = try WorkDirectory(path: path)
            let log = try #require(EntryLog(in: directory))
            var count = 0
            while count < most {
                count = min(most, count + 8 * (1 + random.below(random.chance(3) ? 200_000 : 20_000)))
                let before = log.byteCount
                #expect(log.append(from: UnsafeRawBufferPointer(rebasing: entries[..<count])))
                // A piece at least, or nothing; whole pages, as many as there are.
                let isWritten = count - before >= EntryLog.piece
                #expect(log.byteCount == (isWritten ? count / 4096 * 4096 : before))
                #expect(directory.bytesHeld == log.byteCount)
                if log.byteCount > 0 { states.append((save(log), log.byteCount)) }
            }
            // The process ends: files that states name stay.
            try directory.remove(keepsFiles: true)
        }
        #expect(states.count > 3)
        for state in states {
            let directory = try WorkDirectory(path: path, keepsFiles: true)
            let log = try #require(try restored(state.bytes, in: directory))
            #expect(log.byteCount == state.count)
            let found = contents(log, alignedBy: offset)
            #expect(found == Array(entries[..<state.count]), "seed \(seed)")
        }
    }

    @Test("A file that is damaged, short, gone or a link is none; a state that says nonsense is an error")
    func damage() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("work")
        let entries = [UInt64](0..<200_000).map { $0 &* 0x9E37_79B9_7F4A_7C15 }
        let state: [UInt8]
        let name: String
        do {
            let directory = try WorkDirectory(path: path)
            let log = try #require(EntryLog(in: directory))
            #expect(entries.withUnsafeBytes { log.append(from: $0) })
            state = save(log)
            name = try #require(FileManager.default.contentsOfDirectory(atPath: path).first { $0.hasSuffix(".spill") })
            try directory.remove(keepsFiles: true)
        }
        let file = URL(fileURLWithPath: "\(path)/\(name)")
        let whole = try Data(contentsOf: file)
        func found() throws -> [UInt8]? {
            let directory = try WorkDirectory(path: path, keepsFiles: true)
            return try restored(state, in: directory).flatMap { contents($0, alignedBy: 0) }
        }
        #expect(try found() == whole.map { $0 })
        for place in [0, 4095, 4096, whole.count / 2, whole.count - 1] {
            var bytes = whole
            bytes[place] ^= 0x40
            try bytes.write(to: file)
            #expect(try found() == nil)
        }
        // Pages that changed places.
        try (whole[4096..<8192] + whole[..<4096] + whole[8192...]).write(to: file)
        #expect(try found() == nil)
        try whole.dropLast(4096).write(to: file)
        #expect(try found() == nil)
        try (whole + Data([1, 2, 3])).write(to: file)
        #expect(try found() == whole.map { $0 })
        try FileManager.default.moveItem(atPath: file.path, toPath: folder.file("elsewhere"))
        #expect(try found() == nil)
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: folder.file("elsewhere"))
        #expect(try found() == nil)

        let directory = try WorkDirectory(path: path, keepsFiles: true)
        for (name, size) in [("../elsewhere.spill", 4096), ("entries-1.txt", 4096), (name, 100), (name, 0), (name, -1)]
        {
            var writer = StateWriter()
            writer.write(name)
            writer.write(size)
            writer.write(7 as UInt64)
            #expect(throws: MigrationError.self) { try self.restored(writer.bytes, in: directory) }
        }
    }

    @Test("A sort continues without a file that cannot be made or written", arguments: [ENOSPC, EIO, EACCES, EINVAL])
    func failure(number: Int32) throws {
        let folder = try TemporaryFolder()
        let calls = EntryLogCalls(number)
        let directory = try WorkDirectory(path: folder.file("work"), calls: calls)
        let sorter = IndexSorter(
            terms: [IndexTerm(slot: 0, affinity: .integer, isAscending: true)], isUnique: false, directory: directory,
            memory: 8 << 20, space: SortSpace(byteCount: 8 << 20))
        var batch = RowBatch(slots: 1, rowCapacity: 1000, byteTarget: 1 << 16)
        for start in stride(from: 0, to: 150_000, by: 1000) {
            batch.removeAll()
            for key in start..<start + 1000 {
                let row = batch.appendRow(key: Int64(key))
                batch[row, 0] = .integer(Int64(key % 777))
            }
            try sorter.append(batch, firstID: nil)
            // A write that the file system refuses in one way is made in the other.
            let kept = sorter.keep()
            if number == EINVAL, start >= 70_000 {
                #expect(kept.map { $0.rows > 60_000 && $0.id == $0.rows - 1 } ?? false)
            } else if number != EINVAL {
                #expect(kept == nil)
            }
        }
        #expect(calls.failures > 0 && (number == EINVAL || calls.failures == 1))
        #expect(sorter.spilledRows == 0)
    }
}

/// Direct writes fail; with another error than EINVAL, the files of entries cannot be made or written at all.
private final class EntryLogCalls: ForwardingFileCalls {
    private let number: Int32
    private let opened = Mutex<(direct: Set<Int32>, entries: Set<Int32>)>(([], []))
    private let failed = Mutex(0)
    var failures: Int { failed.withLock { $0 } }

    init(_ number: Int32) { self.number = number }

    private func fail() -> Int {
        failed.withLock { $0 += 1 }
        return -Int(number)
    }

    func open(_ path: String, flags: Int32, mode: UInt32) -> Int {
        if number == EACCES, path.contains("/entries-") { return fail() }
        let result = system.open(path, flags: flags, mode: mode)
        if result >= 0, path.contains("/entries-") {
            opened.withLock { opened in
                if flags & FileFlags.direct != 0 {
                    _ = opened.direct.insert(Int32(result))
                } else {
                    _ = opened.entries.insert(Int32(result))
                }
            }
        }
        return result
    }

    func write(_ descriptor: Int32, from bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        let (isDirect, isEntries) = opened.withLock {
            ($0.direct.contains(descriptor), $0.entries.contains(descriptor))
        }
        if isDirect || isEntries && number != EINVAL { return fail() }
        return system.write(descriptor, from: bytes, at: offset)
    }

    func close(_ descriptor: Int32) -> Int {
        opened.withLock {
            $0.direct.remove(descriptor)
            $0.entries.remove(descriptor)
        }
        return system.close(descriptor)
    }

    func identity(atPath path: String) throws(FileBytes.Failure) -> FileIdentity? { try system.identity(atPath: path) }
}
