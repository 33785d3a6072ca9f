import Diagnostics
import Foundation
import SpillStorage
import TestSupport
import Testing

@Suite("The journal of a run")
struct RunJournalTests {
    private func records(_ generator: inout SeededGenerator, count: Int) -> [RunJournal.Record] {
        (0..<count).map { _ in
            RunJournal.Record(
                kind: UInt32(generator.next() % 3 + 1),
                body: (0..<Int(generator.next() % 300)).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
        }
    }

    private func written(_ records: [RunJournal.Record], to path: String) throws -> [UInt8] {
        let journal = try RunJournal(creating: path)
        for record in records { try journal.append(record) }
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Reads a journal from its bytes.
    private func contents(_ bytes: [UInt8]) throws -> RunJournal.Contents {
        try RunJournal.contents { Array(bytes.dropFirst($1).prefix($0)) }
    }

    @Test("Appended records are read again, and more can be appended")
    func appended() throws {
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 1)
        let all = records(&generator, count: 20)
        let path = folder.file("journal")
        #expect(try RunJournal.read(path) == nil)
        _ = try written(Array(all.prefix(12)), to: path)
        let contents = try #require(try RunJournal.read(path))
        #expect(contents.records == Array(all.prefix(12)) && !contents.isTorn && !contents.isDamaged)
        let journal = try RunJournal(continuing: path, after: contents)
        for record in all.dropFirst(12) { try journal.append(record) }
        #expect(try RunJournal.read(path)?.records == all)
    }

    @Test("A journal cut off anywhere has the records before the cut, and is continued from there")
    func torn() throws {
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 2)
        let all = records(&generator, count: 6)
        let path = folder.file("journal")
        let bytes = try written(all, to: path)
        var ends: [Int] = []
        var end = 16
        for record in all {
            end += 16 + record.body.count
            ends.append(end)
        }
        for length in 0..<bytes.count {
            let contents = try contents(Array(bytes[..<length]))
            let whole = ends.filter { $0 <= length }.count
            #expect(contents.records == Array(all.prefix(whole)) && !contents.isDamaged, "\(length)")
            #expect(contents.isTorn == (length < 16 || !(length == 16 || ends.contains(length))), "\(length)")
        }
        try Data(bytes[..<(ends[2] + 5)]).write(to: URL(fileURLWithPath: path))
        let contents = try #require(try RunJournal.read(path))
        let journal = try RunJournal(continuing: path, after: contents)
        try journal.append(all[5])
        #expect(try RunJournal.read(path)?.records == Array(all.prefix(3)) + [all[5]])
    }

    @Test("A changed byte is seen: the record it is in does not count, and damage before the last one is told")
    func damaged() throws {
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 3)
        let all = records(&generator, count: 8)
        let bytes = try written(all, to: folder.file("journal"))
        let lastStart = bytes.count - 16 - all[7].body.count
        for place in 0..<bytes.count {
            var changed = bytes
            changed[place] ^= UInt8(1 << (generator.next() % 8))
            let contents = try contents(changed)
            #expect(contents.records == Array(all.prefix(contents.records.count)), "\(place)")
            #expect(contents.records.count < all.count, "\(place)")
            #expect(contents.isDamaged == (place < lastStart), "\(place)")
        }
    }

    @Test("Whoever needs the last records alone reads them past a damaged one")
    func skipped() throws {
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 3)
        let all = records(&generator, count: 8)
        let path = folder.file("journal")
        let bytes = try written(all, to: path)
        let places = try #require(try RunJournal.read(path)).places
        for place in 16..<bytes.count {
            var changed = bytes
            changed[place] ^= UInt8(1 << (generator.next() % 8))
            try Data(changed).write(to: URL(fileURLWithPath: path))
            let contents = try #require(try RunJournal.read(path, skipsDamage: true))
            let hit = try #require(places.lastIndex { $0 <= place })
            #expect(contents.records == Array(all[..<hit] + all[(hit + 1)...]), "\(place)")
            #expect(contents.isDamaged == (hit < 7) && contents.isTorn == (hit == 7), "\(place)")
            #expect(contents.size == (hit < 7 ? bytes.count : places[7]), "\(place)")
        }
    }

    @Test("Of each kind the last records are read, in order")
    func latest() throws {
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 6)
        let all = records(&generator, count: 30)
        let path = folder.file("journal")
        _ = try written(all, to: path)
        let whole = try #require(try RunJournal.read(path))
        let some = try #require(try RunJournal.read(path, last: 2))
        let expected = all.indices.filter { index in
            all[(index + 1)...].count(where: { $0.kind == all[index].kind }) < 2
        }
        #expect(some.records == expected.map { all[$0] } && some.records.count < all.count)
        #expect(some.places == expected.map { whole.places[$0] } && some.size == whole.size)
    }

    @Test("Any bytes are read without harm")
    func hostile() throws {
        var generator = SeededGenerator(seed: 4)
        for _ in 0..<500 {
            var bytes = Array("SCJOURNL".utf8) + [UInt8(RunJournal.version), 0, 0, 0, 0, 0, 0, 0]
            bytes += (0..<Int(generator.next() % 400)).map { _ in UInt8(truncatingIfNeeded: generator.next() % 4) }
            let contents = try contents(bytes)
            // Nobody made a checksum that fits.
            #expect(contents.size == 16 && contents.records.isEmpty && contents.isTorn == (bytes.count > 16))
        }
    }

    @Test("A journal is rewritten with some of its records, and continued")
    func replaced() throws {
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 5)
        let all = records(&generator, count: 9)
        let path = folder.file("journal")
        let journal = try RunJournal(creating: path)
        for record in all.prefix(6) { try journal.append(record) }
        let places = try #require(try RunJournal.read(path)).places
        let kept = try journal.replace(keeping: [places[0], places[5]], appending: all[7])
        let last = try journal.append(all[8])
        let contents = try #require(try RunJournal.read(path))
        #expect(contents.records == [all[0], all[5], all[7], all[8]])
        #expect(contents.places == kept + [last])
        for (place, record) in zip(contents.places, contents.records) {
            #expect(try journal.record(at: place) == record)
        }
        #expect(try journal.record(at: places[0] + 1) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["journal"])
    }

    @Test("A state is read as it was written; a shorter one, or one of other counts, is damage")
    func state() throws {
        var count = 7
        var (none, some): (Int64?, Int64?) = (nil, .min)
        var bytes: [UInt8] = [1, 2, 3]
        var page = UInt32.max
        func code(_ coder: inout StateCoder, upTo limit: Int = 7) throws {
            try coder.code(&count, upTo: limit)
            try coder.code(&none)
            try coder.code(&some)
            try coder.code(bytes: &bytes)
            try coder.code(&page)
        }
        var writer = StateCoder()
        try code(&writer)
        (count, none, some, bytes, page) = (0, 1, nil, [], 0)
        var reader = StateCoder(reading: writer.bytes)
        try code(&reader)
        #expect(count == 7)
        #expect(none == nil)
        #expect(some == .min)
        #expect(bytes == [1, 2, 3])
        #expect(page == .max)
        try reader.finish()
        for length in 0..<writer.bytes.count {
            var reader = StateCoder(reading: Array(writer.bytes[..<length]))
            #expect(throws: MigrationError.self) { try code(&reader) }
        }
        var small = StateCoder(reading: writer.bytes)
        #expect(throws: MigrationError.self) { try code(&small, upTo: 6) }
    }
}
