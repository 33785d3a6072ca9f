import Foundation
import TestSupport
import Testing

@Suite(
    "Fetches: a process stays within its limit",
    .enabled(if: MemoryChild.program != nil, "the benchmark program is not built beside the tests"), .serialized)
struct FetchMemoryTests {
    /// `STAGECOACH_FETCH_PEOPLE` makes the store larger or smaller; 10,000 people are 40,000 objects.
    static let people =
        ProcessInfo.processInfo.environment["STAGECOACH_FETCH_PEOPLE"].flatMap(Int.init) ?? 10_000

    @Test("A policy that fetches in both contexts for each of 40,000 objects stays under 64 MiB")
    func eachObject() throws {
        let scene = try MemoryScene(people: Self.people)
        let output = scene.folder.file("out.sqlite")
        let child = try MemoryChild(
            ["--store", scene.storePath, "--from", scene.sourceModelPath, "--to", scene.destinationModelPath]
                + ["--output", output, "--memory-limit", "64M", "--policy", "fetch"])
        let outcome = try #require(child.outcome, "exit code \(child.code): \(child.errors)")
        print(
            "fetches: \(scene.objects) objects, base \(outcome.baseMemory >> 10) KiB, VmHWM "
                + "\(outcome.peakMemory >> 10) KiB, spilled \(outcome.spilledBytes >> 10) KiB")
        #expect(outcome.peakMemory < 64 << 20, "\(outcome.peakMemory >> 10) KiB")
        let expected = try scene.digest(path: scene.storePath, isSource: true)
        let actual = try scene.digest(path: output, isSource: false)
        for (name, value) in expected { #expect(actual[name] == value, "\(name)") }
    }
}
