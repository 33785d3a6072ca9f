import Diagnostics
import Foundation
import SpillStorage
import TestSupport
import Testing

@Suite("Memory limit") struct MemoryLimitTests {
    @Test(
        "Sizes are read with their units",
        arguments: [
            ("0", 0), ("1000", 1000), ("12b", 12), ("64M", 64 << 20), ("64m", 64 << 20), ("64MiB", 64 << 20),
            ("64MB", 64_000_000),
            ("3K", 3072), ("3kib", 3072), ("3KB", 3000), ("2G", 2 << 30), ("1T", 1 << 40), ("1TB", 1_000_000_000_000),
        ])
    func sizes(text: String, bytes: Int) throws { #expect(try MemoryLimit.parse(text) == bytes) }

    @Test(
        "What is no size is a usage error",
        arguments: ["", "M", "-1", "64X", "1.5G", "64 M", "99999999999999999999", "9999999999G", "٣M", "64MM"])
    func badSizes(text: String) {
        let error = #expect(throws: MigrationError.self) { try MemoryLimit.parse(text) }
        #expect(error?.category == .usage)
    }

    @Test("The default is 256 MiB, or three quarters of a lower control group's limit")
    func defaults() {
        #expect(MemoryLimit.standard(cgroupLimit: nil) == 256 << 20)
        #expect(MemoryLimit.standard(cgroupLimit: 1 << 40) == 256 << 20)
        #expect(MemoryLimit.standard(cgroupLimit: 100 << 20) == 75 << 20)
        #expect(MemoryLimit.standard(cgroupLimit: nil, resident: 200 << 20) == 328 << 20)
        #expect(MemoryLimit.standard(cgroupLimit: 400 << 20, resident: 200 << 20) == 300 << 20)
    }

    @Test("The kernel's figures are read")
    func process() throws {
        // The peak is read last: other tests allocate meanwhile.
        let current = try #require(ProcessMemory.currentResident())
        let peak = try #require(ProcessMemory.peakResident())
        #expect(peak >= current && current > 1 << 20)
    }

    @Test("A control group's limit is read from its files; `max` is none")
    func cgroup() throws {
        let folder = try TemporaryFolder()
        #expect(ProcessMemory.cgroupLimit(root: folder.path) == nil)
        try Data("max\n".utf8).write(to: URL(fileURLWithPath: folder.file("memory.max")))
        #expect(ProcessMemory.cgroupLimit(root: folder.path) == nil)
        try Data("104857600\n".utf8).write(to: URL(fileURLWithPath: folder.file("memory.max")))
        #expect(ProcessMemory.cgroupLimit(root: folder.path) == 100 << 20)
        let old = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: old.file("memory"), withIntermediateDirectories: false)
        try Data("9223372036854771712\n".utf8).write(to: URL(fileURLWithPath: old.file("memory/memory.limit_in_bytes")))
        #expect(ProcessMemory.cgroupLimit(root: old.path) == nil)
    }
}
