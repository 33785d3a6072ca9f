import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

@testable import CoreDataStore

/// Tables whose rows are in and whose indexes were being built when the process was killed.
@Suite("Indexes that are half built")
struct BuiltIndexTests {
    /// The state of the entries that the resumed process finds.
    enum Left: CaseIterable {
        case kept, missing
        /// The resumed process has too little memory for the entries.
        case otherMemory
        /// No state told of them.
        case untold
    }

    @Test(
        "The building of an index is resumed",
        arguments: [(false, false), (true, false), (true, true)], Left.allCases)
    func goesOn(_ form: (isJoin: Bool, isPacked: Bool), left: Left) throws {
        let fixture = try SortedTableFixture(isJoin: form.isJoin, isPacked: form.isPacked)
        let folder = try TemporaryFolder()
        let memory = 16 << 20
        let work = try WorkDirectory(path: folder.file("work"))
        let store = try fixture.create(folder.file("store.sqlite"), IndexSorts(directory: work, memory: memory))
        let whole = try fixture.writer(store, nil)
        for number in 0..<SortedTableFixture.batches {
            try whole.append(fixture.batch(number))
            if number == 150, left != .untold { #expect(try whole.checkpoint(sorts: .all) != nil && whole.namesFiles) }
        }
        var killed: [(left: SortedTableFixture.Killed, place: Int, entries: Int)] = []
        var calls = 0
        whole.passed = { writer throws(MigrationError) in
            guard let building = writer.building, let progress = building.progress else { return }
            calls += 1
            guard calls % 13 == 1 else { return }
            let fill = try writer.checkpoint(sorts: left == .untold ? .none : killed.count % 2 == 0 ? .all : .standing)
            let (name, knowledge) = ("killed-\(killed.count)", store.knowledge)
            let (copied, directory) = (folder.file("\(name).sqlite"), folder.file("\(name)-work"))
            do {
                try FileManager.default.copyItem(atPath: folder.file("store.sqlite"), toPath: copied)
                try FileManager.default.copyItem(atPath: folder.file("work"), toPath: directory)
                if left == .missing {
                    for file in try FileManager.default.contentsOfDirectory(atPath: directory)
                    where file.hasSuffix(".spill") {
                        try FileManager.default.removeItem(atPath: "\(directory)/\(file)")
                    }
                }
            } catch { throw MigrationError("test.copy", .internal, "\(error)") }
            killed.append(
                (
                    .init(store: copied, work: directory, fill: fill ?? [], knowledge: knowledge), building.place,
                    progress.entries
                ))
        }
        try fixture.finish(whole, store)
        let expected = try fixture.contents(folder.file("store.sqlite"))
        #expect(expected.count == SortedTableFixture.batches * SortedTableFixture.batchRows)
        #expect(killed.count >= 3 && Set(killed.map(\.place)).count == (form.isJoin ? 1 : 2), "\(killed.map(\.place))")
        for (one, place, entries) in killed {
            let directory = try WorkDirectory(path: one.work, keepsFiles: true)
            let again = try fixture.resume(
                one,
                IndexSorts(directory: directory, memory: left == .otherMemory ? memory / 16 : memory))
            let rest = try fixture.writer(again, one.fill)
            #expect(rest.isComplete && rest.building?.place == place)
            #expect(rest.building?.progress?.entries == entries)
            try directory.removeUnclaimed()
            var most = entries
            rest.passed = { writer throws(MigrationError) in
                guard let building = writer.building, building.place == place else { return }
                let now = building.progress?.entries ?? 0
                #expect(now > most)
                most = now
                // As in a second process that is killed too.
                _ = try writer.checkpoint(sorts: .all)
            }
            try fixture.finish(rest, again)
            #expect(try fixture.contents(one.store) == expected)
            #expect(left == .otherMemory || most > entries || entries > expected.count - 5000)
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
            guard writer.building != nil else { return }
            calls += 1
            guard calls == 50 else { return }
            left = try writer.checkpoint(sorts: .all).map {
                .init(store: path, work: folder.file("work"), fill: $0, knowledge: first.knowledge)
            }
            throw MigrationError("test.stop", .internal, "stopped")
        }
        let error = #expect(throws: MigrationError.self) { try writer.finish() }
        #expect(error?.code == "test.stop" && calls == 50)
        let stopped = try #require(left)
        let again = try fixture.resume(stopped, try sorts("work-2"))
        let rest = try fixture.writer(again, stopped.fill)
        // Fifty times 4,096 entries are in the second index.
        #expect(rest.building?.place == 1 && rest.building?.progress?.entries ?? 0 < 154_000)
        try fixture.finish(rest, again)
        #expect(try fixture.contents(path).count == SortedTableFixture.batches * SortedTableFixture.batchRows)
    }

    @Test("A state of other entries, of none, and of an index that is not there is damaged")
    func damaged() throws {
        let fixture = try SortedTableFixture(isJoin: true, isPacked: true)
        let folder = try TemporaryFolder()
        let work = try WorkDirectory(path: folder.file("work"))
        let store = try fixture.create(folder.file("store.sqlite"), IndexSorts(directory: work, memory: 16 << 20))
        let whole = try fixture.writer(store, nil)
        for number in 0..<30 { try whole.append(fixture.batch(number)) }
        var state: (bytes: [UInt8], knowledge: DestinationStore.Knowledge)?
        whole.passed = { writer throws(MigrationError) in
            guard state == nil, writer.building != nil, let bytes = try writer.checkpoint(sorts: .none) else { return }
            state = (bytes, store.knowledge)
            do {
                try FileManager.default.copyItem(
                    atPath: folder.file("store.sqlite"), toPath: folder.file("killed.sqlite"))
            } catch { throw MigrationError("test.copy", .internal, "\(error)") }
        }
        try fixture.finish(whole, store)
        let (bytes, knowledge) = try #require(state)
        // The place of the number of entries: 4,096, in two bytes.
        let places = bytes.indices.dropLast(2).filter {
            bytes[$0] == 1 && bytes[$0 + 1] == 0x80 && bytes[$0 + 2] == 0x20
        }
        let place = try #require(places.first)
        for (changed, message) in [
            (bytes[..<place] + [1, 0x80, 0x21] + bytes[(place + 3)...], "an index of other entries"),
            (bytes[..<place] + [1, 0] + bytes[(place + 3)...], "an index that was not begun"),
        ] {
            let path = folder.file("again.sqlite")
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: folder.file("killed.sqlite"), toPath: path)
            let directory = try WorkDirectory(path: folder.file("work-\(message.count)"))
            let again = try fixture.resume(
                .init(store: path, work: directory.path, fill: Array(changed), knowledge: knowledge),
                IndexSorts(directory: directory, memory: 16 << 20))
            let error = #expect(throws: MigrationError.self) {
                try fixture.writer(again, Array(changed)).finish()
            }
            #expect(error?.code == "journal.damaged" && error?.message.contains(message) ?? false)
        }
    }
}
