import CoreDataStore
import DatabasePages
import Diagnostics
import Foundation
import Rows

@testable import SpillStorage
@testable import Stagecoach

/// Journals that somebody else changed: what is read is what was written, or the journal is torn or damaged.
enum FuzzJournals {
    private static let folder = FuzzTarget.scratch + "-journal"
    private static var path: String {
        mkdir(folder, 0o700)
        return folder + "/run.journal"
    }

    /// Reads a journal in both ways, and continues it if it is sound.
    static func readFile(_ bytes: [UInt8]) throws {
        guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
            preconditionFailure("no file can be made in /dev/shm")
        }
        let expected = try RunJournal.contents { Array(bytes.dropFirst($1).prefix($0)) }
        guard let found = try RunJournal.read(path) else { preconditionFailure("there is a journal") }
        precondition(found.records == expected.records && found.places == expected.places, "two readings differ")
        precondition(found.size == expected.size && found.size <= bytes.count, "two sizes")
        precondition(found.isTorn == expected.isTorn && found.isDamaged == expected.isDamaged, "two judgements")
        _ = try InterruptedRun.read(path)
        guard !found.isDamaged, found.size > 0 else { return }
        let added = RunJournal.Record(kind: 2, body: [1, 2, 3])
        try RunJournal(continuing: path, after: found).append(added)
        let later = try RunJournal.read(path)
        precondition(later?.records == found.records + [added], "what was appended is not read")
        precondition(later?.isTorn == false && later?.isDamaged == false, "a continued journal is unsound")
    }

    /// Reads the body of a record: the checksum would stop most mutations of a whole journal.
    static func readRecord(_ bytes: [UInt8]) throws {
        guard let kind = bytes.first else { return }
        let body = Array(bytes.dropFirst())
        let record = RunJournal.Record(kind: UInt32(kind & 7), body: body)
        if let header = JournalRecord.header(record) {
            _ = header.differences(from: header)
            let written = JournalRecord.record(header)
            precondition(
                JournalRecord.header(written).map(JournalRecord.record) == written, "a header reads as another")
        }
        if let state = JournalRecord.state(record) {
            let written = JournalRecord.record(state)
            precondition(JournalRecord.state(written).map(JournalRecord.record) == written, "a state reads as another")
        }
        _ = JournalRecord.publication(record)
        if kind & 7 == 0 { _ = try UserInfoArchive.info(body) }
    }

    /// A body of each kind behind its kind.
    static func records() throws -> [(String, [UInt8])] {
        let inputs = MigrationPlan.Inputs(
            source: MigrationPlan.Store(
                uuid: "A", size: 4096, changeCounter: 3, schemaCookie: 4, logSize: nil, logFrame: 0, logHash: "0"),
            destination: nil, sourceModel: ["Author": "00"], destinationModel: ["Author": "AA=="],
            mappingModels: [[MigrationPlan.MappingDigest(name: "AuthorToAuthor", digest: "1f")]],
            options: ["keys": "kept"])
        let header = JournalRecord.Header(
            inputs: inputs, options: ["strict": "yes"], policies: ["AuthorToAuthor": "P"], models: ["a", "b"],
            work: "w", sourceRows: [[0: 3], [1: 4, 2: 5]], strays: 1, started: 7.5, uuid: "B")
        let progress = JournalRecord.Progress(
            counts: MigrationCounts(), rowsWritten: [1, 2], linksWritten: [3], highest: [4, 5], missing: [:], work: 3)
        var knowledge = DestinationStore.Knowledge()
        knowledge.indexed = [0]
        var state = JournalRecord.State(
            stamp: 5, unit: 1, pages: 7, progress: progress, knowledge: knowledge)
        state.stages = Array(repeating: 9, count: 40)
        let info: [AnyHashable: Any] = [
            "a": 1, "b": [2.5, "c", true] as [Any],
            "d": ["e": Date(timeIntervalSinceReferenceDate: 1), "f": Data([1])],
        ]
        return [
            ("header", [2] + JournalRecord.record(header).body), ("state", [4] + JournalRecord.record(state).body),
            ("info", [0] + (UserInfoArchive.bytes(of: info) ?? [])),
        ]
    }
}

/// Structures that are taken up again from a state that somebody else changed: an error, or one that can be asked.
enum FuzzStates {
    /// The structure that an input is fed to.
    private enum Form: UInt8, CaseIterable {
        case keys, pairs, log, rows
    }

    private static let folder = FuzzTarget.scratch + "-state"

    /// The first byte says which structure, the others where its state is changed, and to what.
    static func read(_ bytes: [UInt8]) throws {
        guard let first = bytes.first else { return }
        guard let form = Form(rawValue: first % UInt8(Form.allCases.count)) else { return }
        try? FileManager.default.removeItem(atPath: folder)
        mkdir(folder, 0o700)
        let directory = try WorkDirectory(path: folder + "/work", calls: SystemFileCalls(), keepsFiles: true)
        var state = StateCoder()
        try save(form, in: directory, size: Int(first / 4) * 60 + 1, &state)
        try ask(form, in: directory, changed(state.bytes, bytes.dropFirst()))
    }

    /// Words of the state, changed: place, kind of change, value.
    private static func changed(_ state: [UInt8], _ changes: ArraySlice<UInt8>) -> [UInt8] {
        var state = state
        var rest = Array(changes)
        while rest.count >= 4, !state.isEmpty {
            let place = (Int(rest[0]) << 8 | Int(rest[1])) % state.count
            switch rest[2] & 3 {
            case 0: state[place] = rest[3]
            case 1: state.insert(rest[3], at: place)
            case 2: state.remove(at: place)
            // The largest number that a state holds.
            default: state.replaceSubrange(place...place, with: Array(repeating: 0xFF, count: 9) + [rest[3] & 1])
            }
            rest.removeFirst(4)
        }
        return state
    }

    private static func save(
        _ form: Form, in directory: WorkDirectory, size: Int, _ state: inout StateCoder
    ) throws(MigrationError) {
        switch form {
        case .keys:
            let keys = KeyIndex(directory: directory, name: "keys", memory: 0)
            for number in 0..<Int64(size) { try keys.append(number * number % 97 + number * 100) }
            try keys.code(with: &state)
        case .pairs:
            let table = AssociationTable(
                directory: directory, name: "pairs", memory: 0, logs: RecordMemory(bytes: 1 << 16))
            for number in 0..<Int64(size) {
                try table.add(
                    source: ObjectReference(entity: 1, key: number * 7 % 101),
                    destination: ObjectReference(entity: 2, key: number))
            }
            try table.code(with: &state)
        case .log:
            let log = newLog(directory)
            for number in 0..<UInt64(size) { try log.append(number &* 0x9E37_79B9 % 1009, number, 3) }
            try log.code(with: &state)
        case .rows:
            let spill = RowSpill(directory: directory, name: "rows", slots: 2, memory: 1 << 19)
            var batch = newBatch()
            for key in 1...Int64(size) {
                batch.removeAll()
                let row = batch.appendRow(key: key)
                batch[row, 0] = .integer(key)
                batch[row, 1] = .null
                try spill.append(row: row, of: batch)
                if key % 5 == 0 { try spill.patch(key: key, row: row, of: batch) }
            }
            try spill.code(with: &state)
        }
    }

    private static func ask(_ form: Form, in directory: WorkDirectory, _ bytes: [UInt8]) throws(MigrationError) {
        var state = StateCoder(reading: bytes)
        switch form {
        case .keys:
            let keys = KeyIndex(directory: directory, name: "keys", memory: 0)
            try keys.code(with: &state)
            for key in stride(from: Int64(0), to: 4000, by: 100) {
                _ = try keys.contains(key)
                if let rank = try keys.rank(of: key) { _ = try keys.key(atRank: rank) }
            }
        case .pairs:
            let table = AssociationTable(
                directory: directory, name: "pairs", memory: 0, logs: RecordMemory(bytes: 1 << 16))
            try table.code(with: &state)
            for key in stride(from: Int64(0), to: 101, by: 10) {
                var found: [ObjectReference] = []
                try table.destinations(of: ObjectReference(entity: 1, key: key), into: &found)
                try table.sources(of: ObjectReference(entity: 2, key: key), into: &found)
            }
            let pairs = try table.pairs()
            var seen = 0
            while seen < 5000, try pairs.next() != nil { seen += 1 }
        case .log:
            let log = newLog(directory)
            try log.code(with: &state)
            let records = try log.scan()
            var record: [UInt64] = [0, 0, 0]
            var seen = 0
            while seen < 5000 {
                var more = false
                do {
                    more = try record.withUnsafeMutableBufferPointer { space in
                        guard let start = space.baseAddress else { return false }
                        return try records.next(into: start)
                    }
                } catch let error as MigrationError { throw error } catch { preconditionFailure("\(error)") }
                if !more { break }
                seen += 1
            }
        case .rows:
            let spill = RowSpill(directory: directory, name: "rows", slots: 2, memory: 1 << 19)
            try spill.code(with: &state)
            var batch = newBatch()
            for key in stride(from: Int64(1), to: 4000, by: 400) {
                batch.removeAll()
                _ = try spill.read(key: key, into: &batch)
            }
            let reader = spill.makeReader()
            var rounds = 0
            batch.removeAll()
            while rounds < 200, try reader.next(into: &batch) {
                rounds += 1
                batch.removeAll()
            }
        }
    }

    private static func newLog(_ directory: WorkDirectory) -> RecordLog {
        RecordLog(directory: directory, name: "log", width: 3, indexWords: 1, memory: RecordMemory(bytes: 1 << 16))
    }

    private static func newBatch() -> RowBatch { RowBatch(slots: 2, rowCapacity: 64, byteTarget: 1 << 16) }
}

/// Blocks behind right checksums: their reader gives an error, or records and rows within their bounds.
enum FuzzBlocks {
    /// A block of records, and one of rows.
    static func seeds() throws -> [(String, [UInt8])] {
        let records: [UInt64] = (0..<60).flatMap { [$0 * 3, $0 * $0, 7] }
        let packed = RawBuffer()
        records.withUnsafeBufferPointer { space in
            if let start = space.baseAddress { ColumnCodec.encode(start, count: 60, width: 3, into: packed) }
        }
        var batch = RowBatch(slots: 5, rowCapacity: 4, byteTarget: 1 << 12)
        let rows = RawBuffer()
        let huge = HugeReferences()
        for key in 1...4 as ClosedRange<Int64> {
            let row = batch.appendRow(key: key)
            batch[row, 0] = .integer(-key)
            batch[row, 1] = .real(0.5)
            batch[row, 2] = [UInt8]("text".utf8).withUnsafeBytes { batch.store($0, kind: .text) }
            batch[row, 3] = .reference(key: key, entity: 2)
            batch[row, 4] = .null
            try RowCodec.append(key: key, row: row, of: batch, slots: 5, to: rows, huge)
        }
        RowCodec.appendDeletion(key: 9, to: rows)
        return [("records", [0, 2] + Array(packed.bytes)), ("rows", [1, 4] + Array(rows.bytes))]
    }

    /// The first byte says which codec, the second how wide.
    static func read(_ bytes: [UInt8]) throws {
        guard bytes.count >= 2 else { return }
        let width = Int(bytes[1] % 8) + 1
        // In memory of their own, so that the sanitizer sees a byte too far.
        let content = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count - 2, alignment: 8)
        defer { content.deallocate() }
        content.copyBytes(from: bytes.dropFirst(2))
        let all = UnsafeRawBufferPointer(content)
        if bytes[0] & 1 == 0 {
            let capacity = 512
            let target = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity * width)
            defer { target.deallocate() }
            guard let count = ColumnCodec.decode(all, width: width, into: target, capacity: capacity) else { return }
            let again = RawBuffer()
            ColumnCodec.encode(target, count: count, width: width, into: again)
            let second = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity * width)
            defer { second.deallocate() }
            precondition(
                ColumnCodec.decode(again.bytes, width: width, into: second, capacity: capacity) == count
                    && (0..<count * width).allSatisfy { target[$0] == second[$0] },
                "records that were written read as others")
        } else {
            let huge = HugeReferences()
            var batch = RowBatch(slots: width, rowCapacity: 4, byteTarget: 1 << 16)
            var offset = 0
            while offset < all.count, let (key, slice, next) = RowCodec.row(in: all, at: offset) {
                precondition(next > offset && next <= all.count, "a row without an end")
                offset = next
                batch.removeAll()
                let row = batch.appendRow(key: key)
                for slot in 0..<width { batch[row, slot] = .absent }
                guard RowCodec.fill(slice, slots: width, into: &batch, row: row, huge) else { continue }
                let again = RawBuffer()
                try RowCodec.append(key: key, row: row, of: batch, slots: width, to: again, huge)
                precondition(
                    RowCodec.row(in: again.bytes, at: 0)?.key == key, "a row that was written reads as another")
            }
        }
    }
}
