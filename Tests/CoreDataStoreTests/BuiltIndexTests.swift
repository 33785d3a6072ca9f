import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

@testable import CoreDataStore

/// Tables that are resumed from a checkpoint, while their rows are written and between their indexes.
@Suite("Tables with indexes that outlive the process")
struct BuiltIndexTests {
    /// - Parameters:
    ///   - form: whether links are loaded, else objects; and whether a link's entry is one word.
    ///   - memory: the memory of all sorts. With little of it entries lie in files.
    @Test(
        "A resumed table is the same as one that was filled at once",
        arguments: [(false, false), (true, false), (true, true)], [16 << 20, 1 << 20])
    func goesOn(_ form: (isJoin: Bool, isPacked: Bool), memory: Int) throws {
        var random = SeededGenerator(seed: 311 + UInt64(memory >> 20))
        let fixture = try SortedTableFixture(isJoin: form.isJoin, isPacked: form.isPacked)
        let (batchRows, batches) = (SortedTableFixture.batchRows, SortedTableFixture.batches)
        let folder = try TemporaryFolder()
        let work = try WorkDirectory(path: folder.file("work"))
        let store = try fixture.create(folder.file("store.sqlite"), IndexSorts(directory: work, memory: memory))
        let whole = try fixture.writer(store, nil)
        var killed: [(left: SortedTableFixture.Killed, batches: Int)] = []
        func kill(after number: Int) throws(MigrationError) {
            guard let fill = try whole.checkpoint() else { return }
            let copied = folder.file("killed-\(killed.count).sqlite")
            do {
                try FileManager.default.copyItem(atPath: folder.file("store.sqlite"), toPath: copied)
            } catch { throw MigrationError("test.copy", .internal, "\(error)") }
            killed.append((.init(store: copied, work: "", fill: fill, knowledge: store.knowledge), number))
        }
        let times = Set((0..<3).map { 20 + $0 * 60 + random.below(55) })
        for number in 0..<batches {
            try whole.append(fixture.batch(number))
            if times.contains(number) { try kill(after: number + 1) }
        }
        whole.passed = { writer throws(MigrationError) in
            #expect(writer.isComplete)
            try kill(after: batches)
        }
        try fixture.finish(whole, store)
        whole.passed = nil
        let expected = try fixture.contents(folder.file("store.sqlite"))
        #expect(expected.count == batches * batchRows)
        // Before the first index and after each of them; none while one is built.
        #expect(killed.count == 3 + (form.isJoin ? 2 : 3))
        for (number, one) in killed.enumerated() {
            let directory = try WorkDirectory(path: folder.file("work-\(number)"))
            let again = try fixture.resume(one.left, IndexSorts(directory: directory, memory: memory))
            let rest = try fixture.writer(again, one.left.fill)
            for batch in one.batches..<batches { try rest.append(fixture.batch(batch)) }
            try fixture.finish(rest, again)
            #expect(try fixture.contents(one.left.store) == expected)
        }
    }

    @Test("Building ends with the error that stopped it, and is resumed in the same file")
    func stopped() throws {
        let fixture = try SortedTableFixture(isJoin: false, isPacked: false)
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        func sorts(_ name: String) throws -> IndexSorts {
            IndexSorts(directory: try WorkDirectory(path: folder.file(name), keepsFiles: true), memory: 16 << 20)
        }
        let first = try fixture.create(path, try sorts("work"))
        let writer = try fixture.writer(first, nil)
        for number in 0..<SortedTableFixture.batches { try writer.append(fixture.batch(number)) }
        var left: SortedTableFixture.Killed?
        var calls = 0
        writer.passed = { writer throws(MigrationError) in
            if let fill = try writer.checkpoint() {
                left = .init(store: path, work: folder.file("work"), fill: fill, knowledge: first.knowledge)
            }
            calls += 1
            guard calls == 50 else { return }
            throw MigrationError("test.stop", .internal, "stopped")
        }
        let error = #expect(throws: MigrationError.self) { try writer.finish() }
        #expect(error?.code == "test.stop" && calls == 50)
        let stopped = try #require(left)
        let again = try fixture.resume(stopped, try sorts("work-2"))
        let rest = try fixture.writer(again, stopped.fill)
        // The first index is built, and a part of the second one was.
        #expect(rest.built.count == 1 && !rest.isBuilding)
        try fixture.finish(rest, again)
        #expect(try fixture.contents(path).count == SortedTableFixture.batches * SortedTableFixture.batchRows)
    }
}
