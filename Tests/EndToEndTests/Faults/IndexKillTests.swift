import Foundation
import TestSupport
import Testing

/// Kills of the built command while it fills and indexes tables that are large for its limit: 200,000 objects under 64 MiB,
/// three indexes on the largest table. A state that named an index as built once named its entries too; no run could resume it.
///
/// `STAGECOACH_KILLS=all` kills at every record.
@Suite("Killed while the indexes of large tables are built", .serialized)
struct IndexKillTests {
    @Test("At records of the journal, all along the run")
    func kills() throws {
        let folder = try TemporaryFolder()
        func arguments(_ name: String) throws -> [String] {
            [
                "migrate", try CommandBinary.librarySource(), name, "--to", CommandBinary.models, "--memory-limit",
                Instrumentation.limit("64M"), "--progress", "none",
            ]
        }
        let whole = try CommandBinary.run(arguments("whole.sqlite"), in: folder.path)
        try #require(whole.code == 0, "\(whole.messages)")
        let expected = try StoreImage(of: folder.file("whole.sqlite"))
        let isEvery = ProcessInfo.processInfo.environment["STAGECOACH_KILLS"] == "all"
        var (number, kills, resumed) = (1, 0, 0)
        // The time from the record to the kill is how far the run got since. On a busy machine it is any.
        let waits = isEvery ? [0, 2, 5, 10, 20, 50] : [0, 5]
        while number < 20_000 {
            let killed = try CommandBinary.run(
                arguments("new.sqlite"), in: folder.path,
                environment: FaultInjection.kill(atRecord: number, after: waits[kills % waits.count], in: folder.path))
            guard killed.code == -SIGKILL else {
                #expect(killed.code == 0, "\(killed.messages)")
                break
            }
            kills += 1
            let outcome = try CommandBinary.run(arguments("new.sqlite"), in: folder.path)
            #expect(outcome.code == 0, "\(number): \(outcome.messages)")
            if outcome.output.contains("resumed one") { resumed += 1 }
            let notes = outcome.output.split(separator: "\n").filter { $0.contains("could not be used") }
            #expect(notes == [], "kill \(number)")
            let image = try StoreImage(of: folder.file("new.sqlite"))
            #expect(image == expected, "\(number): \(expected.differences(image))")
            try FileManager.default.removeItem(atPath: folder.file("new.sqlite"))
            number += isEvery ? 1 : max(1, number / 2)
        }
        #expect(kills > 5 && resumed > kills / 2, "\(kills) kills, \(resumed) runs resumed")
    }
}
