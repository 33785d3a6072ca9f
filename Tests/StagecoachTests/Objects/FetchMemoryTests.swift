import CSQLite
import CoreDataStore
import Foundation
import TestSupport
import Testing

@Suite(
    "Fetches: a process stays within its limit",
    .enabled(if: MemoryChild.program != nil, "the benchmark program is not built beside the tests"), .serialized,
    .enabled(if: !Instrumentation.isSanitized, "a sanitizer's memory would count"))
struct FetchMemoryTests {
    /// `STAGECOACH_FETCH_PEOPLE` makes the store larger or smaller; 10,000 people are 40,000 objects.
    static let people =
        ProcessInfo.processInfo.environment["STAGECOACH_FETCH_PEOPLE"].flatMap(Int.init) ?? 10_000

    @Test("A policy that fetches in both contexts for each of 40,000 objects stays under 64 MiB")
    func eachObject() throws {
        let fixture = try MemoryFixture(people: Self.people)
        let output = fixture.folder.file("out.sqlite")
        let child = try MemoryChild(
            ["--store", fixture.storePath, "--from", fixture.sourceModelPath, "--to", fixture.destinationModelPath]
                + ["--output", output, "--memory-limit", "64M", "--policy", "fetch"])
        let outcome = try #require(child.outcome, "exit code \(child.code): \(child.errors)")
        print(
            "fetches: \(fixture.objects) objects, base \(outcome.baseMemory >> 10) KiB, VmHWM "
                + "\(outcome.peakMemory >> 10) KiB, spilled \(outcome.spilledBytes >> 10) KiB")
        #expect(outcome.peakMemory < 64 << 20, "\(outcome.peakMemory >> 10) KiB")
        let expected = try fixture.digest(path: fixture.storePath, isSource: true)
        let actual = try fixture.digest(path: output, isSource: false)
        for (name, value) in expected { #expect(actual[name] == value, "\(name)") }
    }

    @Test("A policy that finds each of 40,000 stored objects, and sets what it has, stays under 64 MiB and makes none")
    func stored() throws {
        let fixture = try MemoryFixture(people: Self.people)
        let output = fixture.folder.file("out.sqlite")
        let arguments =
            ["--store", fixture.storePath, "--from", fixture.sourceModelPath, "--to", fixture.destinationModelPath]
            + ["--output", output, "--memory-limit", "64M"]
        let first = try MemoryChild(arguments)
        #expect(first.outcome != nil, "exit code \(first.code): \(first.errors)")
        let before = try fixture.digest(path: output, isSource: false)
        let second = try MemoryChild(arguments + ["--append", "--policy", "find"])
        let outcome = try #require(second.outcome, "exit code \(second.code): \(second.errors)")
        print(
            "stored objects: \(fixture.objects), base \(outcome.baseMemory >> 10) KiB, VmHWM "
                + "\(outcome.peakMemory >> 10) KiB, spilled \(outcome.spilledBytes >> 10) KiB")
        #expect(outcome.peakMemory < 64 << 20, "\(outcome.peakMemory >> 10) KiB")
        #expect(try fixture.digest(path: output, isSource: false) == before)
    }

    @Test("100,000 members that are added one at a time to an ordered relationship stay under 64 MiB")
    func members() throws {
        let folder = try TemporaryFolder()
        let shape = MemoryShape.orderedMembers
        let source = try shape.source()
        let output = folder.file("out.sqlite")
        let child = try MemoryChild(
            ["--store", source.folder.file("source.sqlite"), "--from", source.folder.file("one.xcdatamodel")]
                + ["--to", source.folder.file("two.xcdatamodel"), "--output", output, "--memory-limit", "64M"]
                + ["--policy", "gather"])
        let outcome = try #require(child.outcome, "exit code \(child.code): \(child.errors)")
        print("members: \(shape.rows), VmHWM \(outcome.peakMemory >> 10) KiB")
        #expect(outcome.peakMemory < 64 << 20, "\(outcome.peakMemory >> 10) KiB")
        let connection = try Connection(path: output, flags: SQLITE_OPEN_READONLY)
        let placed = "SELECT count(*) FROM ZMEMBER WHERE ZGROUP = 1 AND Z_FOK_GROUP = 1024 + 1024 * Z_PK"
        #expect(try connection.integer(placed) == Int64(shape.rows))
    }
}
