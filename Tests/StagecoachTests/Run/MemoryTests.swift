import CSQLite
import CoreDataStore
import Foundation
import TestSupport
import Testing

@Suite(
    "Memory: a process stays within its limit",
    .enabled(if: MemoryChild.program != nil, "the benchmark program is not built beside the tests"),
    .enabled(if: !Instrumentation.isSanitized, "a sanitizer's memory would count"))
struct MemoryTests {
    static let limit = 64 << 20
    /// `STAGECOACH_MEMORY_PEOPLE` makes the store larger or smaller; 100,000 people are 400,000 objects.
    static let people =
        ProcessInfo.processInfo.environment["STAGECOACH_MEMORY_PEOPLE"].flatMap(Int.init) ?? 100_000

    @Test("400,000 objects in every shape go under 64 MiB by each path, with every row and link right")
    func everyPath() throws {
        let fixture = try MemoryFixture(people: Self.people)
        let expected = try fixture.digest(path: fixture.storePath, isSource: true)
        #expect(expected.count == 45)
        let ways: [(name: String, arguments: [String])] = [
            ("row path, keys kept", []),
            ("row path, new keys in three passes", ["--keys", "sequential", "--passes", "3"]),
            ("policy path", ["--staged"]),
        ]
        for way in ways {
            let output = fixture.folder.file("out.sqlite")
            let child = try MemoryChild(
                ["--store", fixture.storePath, "--from", fixture.sourceModelPath, "--to", fixture.destinationModelPath]
                    + ["--output", output, "--memory-limit", "64M"] + way.arguments)
            let outcome = try #require(child.outcome, "\(way.name): exit code \(child.code): \(child.errors)")
            #expect(outcome.peakMemory < Self.limit, "\(way.name): \(outcome.peakMemory >> 10) KiB")
            print(
                "\(way.name): \(fixture.objects) objects, base \(outcome.baseMemory >> 10) KiB, VmHWM "
                    + "\(outcome.peakMemory >> 10) KiB, spilled \(outcome.spilledBytes >> 10) KiB")
            let actual = try fixture.digest(path: output, isSource: false)
            for (name, value) in expected { #expect(actual[name] == value, "\(way.name): \(name)") }
            #expect(try fixture.petsOutOfPlace(path: output) == 0, "\(way.name)")
            let check = try Connection(path: output, flags: SQLITE_OPEN_READONLY).prepare("PRAGMA integrity_check")
            #expect(try check.step() && check.text(0) == "ok", "\(way.name)")
            try FileManager.default.removeItem(atPath: output)
        }
    }

    @Test(
        "A limit that cannot be kept is refused with the least workable one, and that one works",
        arguments: [false, true])
    func leastLimit(isStaged: Bool) throws {
        let fixture = try MemoryFixture(people: min(Self.people, 20_000))
        let output = fixture.folder.file("out.sqlite")
        let arguments =
            ["--store", fixture.storePath, "--from", fixture.sourceModelPath, "--to", fixture.destinationModelPath]
            + ["--output", output] + (isStaged ? ["--staged"] : [])
        let refused = try MemoryChild(arguments + ["--memory-limit", "8M"])
        #expect(refused.code == 78, "\(refused.errors)")
        #expect(refused.errors.contains("cannot be kept"), "\(refused.errors)")
        #expect(try FailureFixture.contents(of: fixture.folder.path).keys.filter { $0.contains("out.sqlite") } == [])
        let match = try #require(refused.errors.firstMatch(of: /--memory-limit ([0-9]+)M/), "\(refused.errors)")
        let least = try #require(Int(match.1))
        #expect(least < 64)
        let accepted = try MemoryChild(arguments + ["--memory-limit", "\(least)M"])
        let outcome = try #require(accepted.outcome, "exit code \(accepted.code): \(accepted.errors)")
        print("least limit \(least) MiB, VmHWM \(outcome.peakMemory >> 10) KiB, \(isStaged ? "staged" : "row path")")
        #expect(outcome.peakMemory <= least << 20, "\(outcome.peakMemory >> 10) KiB with \(least) MiB")
        let expected = try fixture.digest(path: fixture.storePath, isSource: true)
        let actual = try fixture.digest(path: output, isSource: false)
        for (name, value) in expected { #expect(actual[name] == value, "\(name)") }
    }

    @Test(
        "Whatever the model's shape, the least workable limit that a refusal names works",
        arguments: MemoryShape.chosen, [[], ["--policy", "super"], ["--passes", "7"]])
    func leastLimitOfShapes(shape: MemoryShape, way: [String]) throws {
        let (source, folder) = (try shape.source(), try TemporaryFolder())
        let output = folder.file("out.sqlite")
        let arguments =
            ["--store", source.folder.file("source.sqlite"), "--from", source.folder.file("one.xcdatamodel")]
            + ["--to", source.folder.file("two.xcdatamodel"), "--output", output] + way
        let refused = try MemoryChild(arguments + ["--memory-limit", "1M"])
        #expect(refused.code == 78, "\(refused.errors)")
        #expect(!FileManager.default.fileExists(atPath: output))
        let match = try #require(refused.errors.firstMatch(of: /--memory-limit ([0-9]+)M/), "\(refused.errors)")
        let least = try #require(Int(match.1))
        let accepted = try MemoryChild(arguments + ["--memory-limit", "\(least)M"])
        let outcome = try #require(accepted.outcome, "exit code \(accepted.code): \(accepted.errors)")
        print("\(shape) \(way): least limit \(least) MiB, VmHWM \(outcome.peakMemory >> 10) KiB")
        #expect(outcome.peakMemory <= least << 20, "\(outcome.peakMemory >> 10) KiB with \(least) MiB")
        #expect(try shape.digest(of: output) == source.digest)
    }

    @Test(
        "Sixty pairs, 300 mappings into a root, 300 tables, 2,000 columns, a deep chain, one set with all objects: under 64 MiB with and without policies",
        arguments: MemoryShape.chosen, [[], ["--policy", "super"]])
    func shapes(shape: MemoryShape, way: [String]) throws {
        let (source, folder) = (try shape.source(), try TemporaryFolder())
        let output = folder.file("out.sqlite")
        let child = try MemoryChild(
            ["--store", source.folder.file("source.sqlite"), "--from", source.folder.file("one.xcdatamodel")]
                + ["--to", source.folder.file("two.xcdatamodel"), "--output", output, "--memory-limit", "64M"] + way)
        let outcome = try #require(child.outcome, "exit code \(child.code): \(child.errors)")
        print(
            "\(shape) \(way), \(shape.rows) rows: base \(outcome.baseMemory >> 10) KiB, VmHWM "
                + "\(outcome.peakMemory >> 10) KiB, spilled \(outcome.spilledBytes >> 10) KiB")
        #expect(outcome.peakMemory < Self.limit, "\(outcome.peakMemory >> 10) KiB")
        #expect(try shape.digest(of: output) == source.digest)
    }

    @Test(
        "Long texts that expressions make go under 64 MiB, row by row, with and without policies",
        arguments: [[], ["--policy", "create"]])
    func madeTexts(way: [String]) throws {
        let fixture = try MemoryFixture(people: 300)
        let text = String(repeating: "x", count: 400_000)
        let mapping = """
            {"formatVersion": 2, "entityMappings": [{"name": "P", "sourceEntity": "Person", "destinationEntity": "Person",
            "attributes": {"title": "FUNCTION($source.label, 'stringByAppendingString:', '\(text)')"}}]}
            """
        try mapping.write(toFile: fixture.folder.file("long.json"), atomically: false, encoding: .utf8)
        let output = fixture.folder.file("out.sqlite")
        let child = try MemoryChild(
            ["--store", fixture.storePath, "--from", fixture.sourceModelPath, "--to", fixture.destinationModelPath]
                + ["--mapping", fixture.folder.file("long.json"), "--output", output, "--memory-limit", "64M"] + way)
        let outcome = try #require(child.outcome, "exit code \(child.code): \(child.errors)")
        #expect(outcome.peakMemory < Self.limit, "\(outcome.peakMemory >> 10) KiB")
        let made = try Connection(path: output, flags: SQLITE_OPEN_READONLY).prepare(
            "SELECT count(*), min(length(ZTITLE)) FROM ZPERSON")
        #expect(try made.step() && made.integer(0) == 300 && made.integer(1) > 400_000)
    }
}
