import CSQLite
import Diagnostics
import Foundation
import PersistentStore
import Stagecoach
import TestSupport
import Testing

@Suite("Huge values: what no batch can hold goes from store to store in parts", .serialized)
struct HugeValueTests {
    /// With `STAGECOACH_THOROUGH` a blob of 990 MB and a text of 500 MB; else 40 MB and 20 MB.
    static let isThorough = ProcessInfo.processInfo.environment["STAGECOACH_THOROUGH"] != nil

    @Test(
        "A blob and a text larger than the memory go under 64 MiB, byte for byte",
        .enabled(if: MemoryChild.program != nil, "the benchmark program is not built beside the tests"),
        arguments: [[], ["--keys", "sequential"]])
    func memory(way: [String]) throws {
        let scene = try HugeValueScene(
            blobBytes: Self.isThorough ? 990_000_000 : 40_000_000, textBytes: Self.isThorough ? 500_000_000 : 20_000_000
        )
        let child = try MemoryChild(
            ["--store", scene.sourcePath, "--from", scene.folder.file("one.xcdatamodel")]
                + ["--to", scene.folder.file("two.xcdatamodel"), "--output", scene.destinationPath]
                + ["--memory-limit", "64M"] + way)
        let outcome = try #require(child.outcome, "exit code \(child.code): \(child.errors)")
        print("\(scene.blobBytes) and \(scene.textBytes) bytes: VmHWM \(outcome.peakMemory >> 10) KiB")
        #expect(outcome.peakMemory < 64 << 20, "\(outcome.peakMemory >> 10) KiB")
        #expect(try scene.digest(of: scene.destinationPath) == scene.digest(of: scene.sourcePath))
        let check = try Connection(path: scene.destinationPath, flags: SQLITE_OPEN_READONLY)
            .prepare("PRAGMA integrity_check")
        #expect(try check.step() && check.text(0) == "ok")
    }

    @Test("What needs the bytes at once is refused with the least workable limit, and nothing is left")
    func refusals() throws {
        let ways: [(String, note: String, index: String, change: (inout MigrationOptions) -> Void)] = [
            ("stages with barriers", "", "", { $0.usesStoreSpecificMigrationManager = false }),
            ("SQLite's writer", "", "", { $0.writer = .sqlite }),
            (
                "an index", "",
                "<fetchIndex name=\"byNote\"><fetchIndexElement property=\"note\" type=\"Binary\" order=\"ascending\"/></fetchIndex>",
                { _ in }
            ),
            ("a pattern", "regularExpressionString=\".*\"", "", { _ in }),
        ]
        for way in ways {
            let scene = try HugeValueScene(
                blobBytes: 20_000_000, textBytes: 20_000_000, note: way.note, index: way.index)
            do {
                try scene.migration(room: 40, way.change).run()
                Issue.record("\(way.0): not refused")
            } catch let error as MigrationError {
                #expect(error.code == "store.valueTooLarge", "\(way.0): \(error)")
                #expect(error.description.contains("--memory-limit"), "\(way.0): \(error)")
            }
            #expect(!FileManager.default.fileExists(atPath: scene.destinationPath))
            // With the room they want, all of them are kept as they are.
            try scene.migration(room: 600, way.change).run()
            #expect(try scene.digest(of: scene.destinationPath) == scene.digest(of: scene.sourcePath), "\(way.0)")
        }
    }

    @Test("The length of a huge text is counted in characters, that of a blob is known")
    func lengths() throws {
        // One character in a MiB takes two bytes.
        let count = 12_000_000 - 12
        let fitting = try HugeValueScene(
            blobBytes: 8_000_000, textBytes: 12_000_000, note: "maxValueString=\"\(count)\"")
        try fitting.migration(room: 40).run()
        #expect(try fitting.digest(of: fitting.destinationPath) == fitting.digest(of: fitting.sourcePath))
        let long = try HugeValueScene(
            blobBytes: 8_000_000, textBytes: 12_000_000, note: "maxValueString=\"\(count - 1)\"")
        do {
            try long.migration(room: 40).run()
            Issue.record("a text that is too long was taken")
        } catch let error as MigrationError {
            #expect(error.category == .data, "\(error)")
            #expect(error.context.objectID == "Document/p200", "\(error)")
        }
        // As a reject it is left out, and what refers to it loses the reference.
        try long.migration(room: 40) { $0.onInvalid = .reject }.run()
        let rows = try long.digest(of: long.destinationPath)
        #expect(rows == (try long.digest(of: long.sourcePath)).filter { !$0.hasPrefix("200 ") })
    }
}
