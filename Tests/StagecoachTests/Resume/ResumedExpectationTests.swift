import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// The work that a resumed run says is left.
@Suite struct ResumedExpectationTests {
    @Test("A resumed run expects the file that the first one expected, though it reads no rows itself")
    func destinationBytes() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        // Texts of another length than a text has as a rule.
        let old = try model(entity("Item", [attribute("x", .integer64), attribute("name", .string)], []))
        let new = try model(
            entity(
                "Item", [attribute("x", .integer64), attribute("name", .string), attribute("y", .integer64)], []))
        try ReferenceStore.make(old) { store in
            for key in 1...20_000 as ClosedRange<Int64> {
                store.insert(
                    "Item", key, ["x": .integer(key), "name": .text(String(repeating: "name \(key) ", count: 20))])
            }
        }.write(path: path)
        let mapping = try MappingModel.inferred(from: old, to: new)
        // The number of records depends on how fast the disk is: only the first run's first state is certain.
        func expected(failure: Int?) throws -> Int {
            let trace = RunTrace()
            let progress = ProgressCounter(trace: trace)
            let migration = Migration(
                from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new,
                progress: progress)
            let conditions = RunConditions.savingOften(failingAfter: failure)
            let run = { _ = try RunConditions.$current.withValue(conditions) { try migration.run() } }
            if failure == nil {
                try run()
            } else {
                let error = #expect(throws: MigrationError.self) { try run() }
                #expect(error?.code == "journal.io")
            }
            #expect((progress.resumedAt > 0) == (failure == nil))
            let planned = try #require(trace.plans.last).disk.destination
            // It may have grown beyond that.
            #expect(progress.snapshot.expectedBytes == max(planned, progress.snapshot.destinationBytes))
            return planned
        }
        let first = try expected(failure: 3)
        let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        #expect(first > size / 2 && first < size * 2)
        #expect(try expected(failure: nil) == first)
    }
}
