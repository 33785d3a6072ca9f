import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage
import TestSupport
import Testing

@testable import Stagecoach

/// States that were written before a transaction of the store, which a kill then undid.
@Suite("States whose transaction was never committed")
struct UncommittedStateTests {
    @Test("The state from which two runs resumed stays the last but one, whatever they wrote behind it")
    func twice() throws {
        let folder = try TemporaryFolder()
        let source = folder.file("old.sqlite")
        // A table each, whose end is a state.
        let names = (1...9).map { "Item\($0)" }
        func version(_ attributes: [String]) throws -> ManagedObjectModel {
            var definition = ModelDefinition()
            definition.entities = names.map { name in entity(name, attributes.map { attribute($0, .integer64) }) }
            return try ManagedObjectModel(definition)
        }
        let (old, new) = (try version(["x"]), try version(["x", "y"]))
        try ReferenceStore.make(old) { store in
            for name in names {
                for key in 1...30 as ClosedRange<Int64> { store.insert(name, key, ["x": .integer(key)]) }
            }
        }.write(path: source)
        let mapping = try MappingModel.inferred(from: old, to: new)
        var options = MigrationOptions()
        options.writer = .sqlite
        let migration = Migration(
            from: source, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new, options: options)
        let error = failure {
            _ = try RunConditions.$current.withValue(.savingOften(failingAfter: 7)) { try migration.run() }
        }
        #expect(error?.code == "journal.io")
        let work = folder.file(".new.sqlite.stagecoach")
        let path = work + "/run.journal"
        let first = try #require(try InterruptedRun.read(path)?.states.last)
        // What two runs write that are killed before the transaction ends.
        for number in 1...2 {
            let run = try #require(try InterruptedRun.read(path))
            let found = try #require(run.states.last { $0.stamp == first.stamp })
            let directory = try WorkDirectory(path: work, keepsFiles: true)
            let writer = try JournalWriter(
                path, header: run.header, continuing: run.through(found), storePath: work + "/store.sqlite",
                spills: directory)
            var next = found
            (next.ordinal, next.stamp) = (first.ordinal + number, first.stamp + 1)
            try writer.appendNow(JournalRecord.record(next), synchronizes: false)
            let states = try #require(try InterruptedRun.read(path)).states
            #expect(states.map(\.ordinal) == [first.ordinal, next.ordinal])
        }
        let report = try migration.run()
        #expect(report.notes.contains { $0.contains("resumed one") }, "\(report.notes)")
        #expect(report.counts.mappings.map(\.created) == names.map { _ in 30 })
    }
}
