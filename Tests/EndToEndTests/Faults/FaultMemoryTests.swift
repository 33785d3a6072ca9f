import Foundation
import TestSupport
import Testing

/// The built command with an end to what it can allocate: every kind of migration keeps its limit, and none is killed.
@Suite(
    "Faults: memory has an end",
    .enabled(if: !Instrumentation.isSanitized, "a sanitizer's memory would count"))
struct FaultMemoryTests {
    /// The policies' library takes minutes to build where no other test has: it is among the long run's.
    private static let names = FaultFixture.makers.map(\.name).filter {
        $0 != "policy" || ProcessInfo.processInfo.environment["STAGECOACH_POLICIES"] != nil
    }

    @Test("Within 64 MiB of resident memory and 2 GiB of addresses", .timeLimit(.minutes(60)), arguments: names)
    func limit(name: String) throws {
        let fixture = try #require(try FaultFixture.makers.first { $0.name == name }?.make())
        let folder = try FaultFolder(
            copyOf: fixture.template,
            arguments: fixture.arguments.filter { $0 != "--memory-limit" && $0 != Instrumentation.limit("64M") }
                + ["--memory-limit", "64M"])
        // Addresses, not pages: the shared libraries and the threads' stacks take most of them.
        let run = try folder.run(
            plan: FaultPlan(deed: "EIO", kinds: "all", at: [0]),
            through: ["/bin/sh", "-c", "ulimit -v 2097152; exec \"$0\" \"$@\""])
        #expect(run.code == 0, "\(name): \(run.code) \(run.messages)")
        #expect(run.report.peak > 0 && run.report.peak < 64 << 10, "\(name): \(run.report.peak) KiB")
        print("memory, \(name): \(run.report.peak) KiB resident at the most, of 65536")
        #expect(try FaultResult(out: folder.path("out")) == fixture.after, "\(name)")
    }
}
