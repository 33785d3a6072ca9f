import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Huge values: what no batch can hold goes from store to store in parts", .serialized)
struct HugeValueTests {
    /// True for a blob of 990 MB and a text of 500 MB (`STAGECOACH_THOROUGH`), false for 40 MB and 20 MB.
    static let isThorough = ProcessInfo.processInfo.environment["STAGECOACH_THOROUGH"] != nil

    @Test(
        "A blob and a text larger than the memory go under 64 MiB, byte for byte",
        .enabled(if: MemoryChild.program != nil, "the benchmark program is not built beside the tests"),
        .enabled(if: !Instrumentation.isSanitized, "a sanitizer's memory would count"),
        arguments: [[], ["--keys", "sequential"], ["--policy", "super"]])
    func memory(way: [String]) throws {
        let fixture = try HugeValueFixture(
            blobBytes: Self.isThorough ? 990_000_000 : 40_000_000, textBytes: Self.isThorough ? 500_000_000 : 20_000_000
        )
        let child = try MemoryChild(
            ["--store", fixture.sourcePath, "--from", fixture.folder.file("one.xcdatamodel")]
                + ["--to", fixture.folder.file("two.xcdatamodel"), "--output", fixture.destinationPath]
                + ["--memory-limit", "64M"] + way)
        let outcome = try #require(child.outcome, "exit code \(child.code): \(child.errors)")
        print("\(fixture.blobBytes) and \(fixture.textBytes) bytes: VmHWM \(outcome.peakMemory >> 10) KiB")
        #expect(outcome.peakMemory < 64 << 20, "\(outcome.peakMemory >> 10) KiB")
        #expect(try fixture.digest(of: fixture.destinationPath) == fixture.digest(of: fixture.sourcePath))
        let check = try Connection(path: fixture.destinationPath, flags: SQLITE_OPEN_READONLY)
            .prepare("PRAGMA integrity_check")
        #expect(try check.step() && check.text(0) == "ok")
    }

    @Test("A policy carries huge values: default copies, second objects, later changes of other attributes")
    func policies() throws {
        let fixture = try HugeValueFixture(blobBytes: 20_000_000, textBytes: 20_000_000)
        var steps = ClosurePolicy.Steps()
        steps.create = { source, mapping, manager, standard in
            try standard()
            let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
            made.first?.setValue("added", forKey: "added")
            #expect(made.first?.value(forKey: "added") as? String == "added")
            // A second object of the same cells.
            if source.objectID.key == 200 || source.objectID.key == 3 { try standard() }
        }
        steps.relate = { object, _, _, standard in
            try standard()
            object.setValue("again", forKey: "added")
        }
        steps.end = { _, manager in
            let context = manager.destinationContext
            let request = FetchRequest<ManagedObject>(entityName: "Document")
            request.predicate = FormatPredicate(format: "number == 600")
            let found = try context.fetch(request)
            #expect(found.count == 2)
            found.first?.setValue(nil, forKey: "note")
            found.last?.setValue(601, forKey: "number")
        }
        for batchSize in [1, 100] {
            try? FileManager.default.removeItem(atPath: fixture.destinationPath)
            let report = try fixture.migration(room: 60, steps: steps) { $0.batchSize = batchSize }.run()
            #expect(report.counts.created == ["Document": 402])
            func bytes(_ line: String) -> String { line.split(separator: " ").dropFirst(3).joined(separator: " ") }
            let before = try fixture.digest(of: fixture.sourcePath)
            let after = try fixture.digest(of: fixture.destinationPath)
            // Objects 4 and 202 are the second ones of 3 and 200.
            func source(of key: Int) -> Int { key <= 3 ? key : key <= 201 ? key - 1 : key - 2 }
            for (index, line) in after.enumerated() {
                let key = index + 1
                let expected = bytes(before[source(of: key) - 1])
                if key == 201 {
                    #expect(bytes(line).hasSuffix("null none"), "\(line)")
                } else {
                    #expect(bytes(line) == expected, "\(key)")
                }
            }
            #expect(after[201].hasPrefix("202 601 "), "\(after[201].prefix(40))")
        }
    }

    @Test("A policy that reads a huge value, an expression and a fetch that look into it are refused")
    func policyReads() throws {
        let fixture = try HugeValueFixture(blobBytes: 20_000_000, textBytes: 20_000_000)
        func refused(_ steps: ClosurePolicy.Steps, _ name: String) throws {
            do {
                try fixture.migration(room: 40, steps: steps).run()
                Issue.record("\(name): not refused")
            } catch let error as MigrationError {
                #expect(error.description.contains("--memory-limit"), "\(name): \(error)")
                var codes: [String] = [error.code.rawValue]
                var cause = error.cause as? MigrationError
                while let known = cause {
                    codes.append(known.code.rawValue)
                    cause = known.cause as? MigrationError
                }
                #expect(codes.contains("store.valueTooLarge"), "\(name): \(error)")
            }
            #expect(!FileManager.default.fileExists(atPath: fixture.destinationPath))
        }
        var steps = ClosurePolicy.Steps()
        steps.create = { source, _, _, standard in
            try standard()
            if source.objectID.key == 200 { _ = source.value(forKey: "note") }
        }
        try refused(steps, "source")
        steps.create = nil
        steps.relate = { object, _, _, standard in
            try standard()
            if object.objectID.key == 200 { _ = object.value(forKey: "note") }
        }
        try refused(steps, "destination")
        steps.relate = nil
        steps.end = { _, manager in
            let request = FetchRequest<ManagedObject>(entityName: "Document")
            request.predicate = FormatPredicate(format: "note BEGINSWITH 'x'")
            _ = try manager.destinationContext.fetch(request)
        }
        try refused(steps, "fetch")
        // Objects that the row at hand refers to are read with their huge values left where they are.
        steps.end = nil
        steps.create = { source, _, _, standard in
            try standard()
            let next = source.value(forKey: "next") as? ManagedObject
            #expect((next?.value(forKey: "number") as? NSNumber)?.int64Value == next.map { $0.objectID.key * 3 })
        }
        try fixture.migration(room: 40, steps: steps).run()
        #expect(try fixture.digest(of: fixture.destinationPath) == fixture.digest(of: fixture.sourcePath))
    }

    @Test(
        "What needs the bytes at once is refused with the least workable limit, and nothing is left",
        arguments: [false, true])
    func refusals(isStaged: Bool) throws {
        let ways: [(String, note: String, index: String, change: (inout MigrationOptions) -> Void)] = [
            ("SQLite's writer", "", "", { $0.writer = .sqlite }),
            (
                "an index", "",
                "<fetchIndex name=\"byNote\"><fetchIndexElement property=\"note\" type=\"Binary\" order=\"ascending\"/></fetchIndex>",
                { _ in }
            ),
            ("a pattern", "regularExpressionString=\".*\"", "", { _ in }),
        ]
        for way in ways {
            let fixture = try HugeValueFixture(
                blobBytes: 20_000_000, textBytes: 20_000_000, note: way.note, index: way.index)
            do {
                try fixture.migration(room: 40) {
                    $0.usesStoreSpecificMigrationManager = !isStaged
                    way.change(&$0)
                }.run()
                Issue.record("\(way.0): not refused")
            } catch let error as MigrationError {
                #expect(error.code == "store.valueTooLarge", "\(way.0): \(error)")
                #expect(error.description.contains("--memory-limit"), "\(way.0): \(error)")
            }
            #expect(!FileManager.default.fileExists(atPath: fixture.destinationPath))
            // With the room they want, all of them are kept as they are.
            try fixture.migration(room: 600) {
                $0.usesStoreSpecificMigrationManager = !isStaged
                way.change(&$0)
            }.run()
            #expect(
                try fixture.digest(of: fixture.destinationPath) == fixture.digest(of: fixture.sourcePath), "\(way.0)")
        }
    }

    @Test("The length of a huge text is counted in characters, that of a blob is known", arguments: [false, true])
    func lengths(isStaged: Bool) throws {
        func options(_ options: inout MigrationOptions) { options.usesStoreSpecificMigrationManager = !isStaged }
        // One character in a MiB takes two bytes.
        let count = 12_000_000 - 12
        let fitting = try HugeValueFixture(
            blobBytes: 8_000_000, textBytes: 12_000_000, note: "maxValueString=\"\(count)\"")
        try fitting.migration(room: 40, options).run()
        #expect(try fitting.digest(of: fitting.destinationPath) == fitting.digest(of: fitting.sourcePath))
        let long = try HugeValueFixture(
            blobBytes: 8_000_000, textBytes: 12_000_000, note: "maxValueString=\"\(count - 1)\"")
        do {
            try long.migration(room: 40, options).run()
            Issue.record("a text that is too long was taken")
        } catch let error as MigrationError {
            #expect(error.category == .data, "\(error)")
            #expect(error.context.objectID == "Document/p200", "\(error)")
        }
        // As a reject it is left out, and what refers to it loses the reference.
        try long.migration(room: 40) {
            options(&$0)
            $0.onInvalid = .reject
        }.run()
        let rows = try long.digest(of: long.destinationPath)
        #expect(rows == (try long.digest(of: long.sourcePath)).filter { !$0.hasPrefix("200 ") })
    }
}
