import DatabasePages
import Diagnostics
import Glibc
import Rows
import SpillStorage
import Synchronization
import TestSupport
import Testing

/// Pages that go past the page cache arrive, whatever the file system makes of it.
@Suite struct DirectFileTests {
    /// Makes a store with an empty table `t`, and returns its root page.
    private func makeTable(at path: String, columns: String = "") throws -> UInt32 {
        let database = try TestDatabase(path)
        try database.execute(
            "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(Z_PK INTEGER PRIMARY KEY\(columns))")
        return try database.root(of: "t")
    }

    @Test(
        "A file is whole where direct writes are taken, refused, cut short or interrupted",
        arguments: DirectFault.allCases,
        [(0, FirstBuffer.own), (0, .left), (StreamWriter.largeFile, .own), (StreamWriter.largeFile, .left)])
    func faults(_ fault: DirectFault, _ kind: (streamsFrom: Int, buffer: FirstBuffer)) throws {
        let (streamsFrom, buffer) = kind
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let root = try makeTable(at: path, columns: ", c VARCHAR")
        let calls = DirectFileCalls(fault)
        let sparePage = SpareMemory(byteCount: LargeMemory.hugePage)
        if buffer == .left { sparePage.leave(sparePage.take()) }
        let writer = try DatabaseFileWriter(
            path: path, calls: calls, streamsFrom: streamsFrom, sparePage: sparePage)
        let table = writer.table(root: root, affinities: [.text], isKeyed: true)
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 900)
        var batch = RowBatch(slots: 1, rowCapacity: 100, byteTarget: 1 << 17)
        // About 5 MB: the first buffer full where it is its own, four of those that follow it, and a rest.
        for start in stride(from: 0, to: 5000, by: 100) {
            for key in start..<start + 100 {
                let row = batch.appendRow(key: Int64(key))
                text.withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: 0) }
            }
            try table.append(batch)
            batch.removeAll()
        }
        try table.finish()
        try writer.finish()
        let database = try TestDatabase(path)
        #expect(try database.column("PRAGMA integrity_check") == ["ok"])
        #expect(try database.rows("SELECT count(*), sum(length(c)) FROM t") == [["5000", "4500000"]])
        #expect(calls.directOpens == 1)
        switch fault {
        case .refusedByOpen: #expect(calls.directWrites == 0)
        case .refusedByWrite: #expect(calls.directWrites == 1)
        case .none, .short, .unaligned, .interrupted: #expect(calls.directWrites >= (buffer == .own ? 5 : 4))
        }
    }

    @Test("A small file is not written past the page cache")
    func smallFile() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let root = try makeTable(at: path)
        let calls = DirectFileCalls(.none)
        let writer = try DatabaseFileWriter(path: path, calls: calls)
        let table = writer.table(root: root, affinities: [], isKeyed: true)
        var batch = RowBatch(slots: 0, rowCapacity: 1000, byteTarget: 1 << 10)
        for key in 0..<1000 { batch.appendRow(key: Int64(key)) }
        try table.append(batch)
        try table.finish()
        try writer.finish()
        #expect(calls.directOpens == 0)
        #expect(try TestDatabase(path).column("SELECT count(*) FROM t") == ["1000"])
    }
}

/// The buffer that gathers a writer's first pages: its own small one, or the large one of the writer before it.
enum FirstBuffer { case own, left }

/// The failure of writes past the page cache.
enum DirectFault: CaseIterable {
    case none, refusedByOpen, refusedByWrite, short, unaligned, interrupted
}

/// System calls whose direct writes go wrong on order. The writes themselves go to the file in the usual way, so that the test
/// needs no file system that takes direct ones.
private final class DirectFileCalls: ForwardingFileCalls {
    private let fault: DirectFault
    private let descriptor = Atomic<Int>(-1)
    private let opens = Atomic<Int>(0)
    private let writes = Atomic<Int>(0)

    init(_ fault: DirectFault) { self.fault = fault }

    var directOpens: Int { opens.load(ordering: .relaxed) }
    var directWrites: Int { writes.load(ordering: .relaxed) }

    func open(_ path: String, flags: Int32, mode: UInt32) -> Int {
        guard flags & FileFlags.direct != 0 else { return system.open(path, flags: flags, mode: mode) }
        opens.add(1, ordering: .relaxed)
        if fault == .refusedByOpen { return -Int(EINVAL) }
        let opened = system.open(path, flags: flags & ~FileFlags.direct, mode: mode)
        descriptor.store(opened, ordering: .relaxed)
        return opened
    }

    func write(_ descriptor: Int32, from bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        guard Int(descriptor) == self.descriptor.load(ordering: .relaxed) else {
            return system.write(descriptor, from: bytes, at: offset)
        }
        let number = writes.add(1, ordering: .relaxed).newValue
        #expect(offset % 4096 == 0 && bytes.count % 4096 == 0)
        #expect(UInt(bitPattern: bytes.baseAddress) % 4096 == 0)
        var count = bytes.count
        switch fault {
        case .refusedByWrite: return -Int(EINVAL)
        case .interrupted: if number % 2 == 0 { return -Int(EINTR) }
        case .short: if number % 2 == 0 { count = min(count, 8192) }
        case .unaligned: if number % 2 == 0 { count = min(count, 5000) }
        case .none, .refusedByOpen: break
        }
        return system.write(descriptor, from: UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
    }
}
