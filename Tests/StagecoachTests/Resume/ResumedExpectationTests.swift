import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// What a run that goes on says of the work that is left.
@Suite struct ResumedExpectationTests {
    @Test("A run that goes on expects the file that the first one expected, though it looks at no rows itself")
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
        // How many records a run writes depends on how fast the disk is: only the first one's first state is certain.
        func expected(failure: Int?) throws -> Int {
            var options = MigrationOptions()
            options.checkpointInterval = .zero
            options.journalFailure = failure
            let trace = RunTrace()
            let progress = ProgressCounter(trace: trace)
            let migration = Migration(
                from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new, options: options,
                progress: progress)
            if failure == nil {
                try migration.run()
            } else {
                let error = #expect(throws: MigrationError.self) { try migration.run() }
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
