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

    @Test("The default has room below a limit of addresses; too little is refused with the least that works")
    func addresses() throws {
        let (resident, room) = (30 << 20, AddressSpace.beside + 50 << 20)
        #expect(MemoryLimit.standard(cgroupLimit: nil, resident: resident, addressRoom: room) == 80 << 20)
        func check(_ memory: Int, room: Int) throws(MigrationError) {
            try AddressSpace.check(
                memoryLimit: memory << 20, resident: resident, least: 14 << 20, limit: 200 << 20, room: room)
        }
        try check(80, room: room)
        let high = #expect(throws: MigrationError.self) { try check(81, room: room) }
        #expect(high?.code == "memory.addresses" && high?.category == .configuration)
        #expect(high?.remedy == "Raise it: ulimit -v \(209 << 10) or give --memory-limit 80M", "\(high?.remedy ?? "")")
        // Nor would a lower memory limit do: 14 MiB are the least.
        let low = #expect(throws: MigrationError.self) { try check(20, room: AddressSpace.beside + 13 << 20) }
        #expect(low?.remedy == "Raise it: ulimit -v \(209 << 10)", "\(low?.remedy ?? "")")
        try check(20, room: AddressSpace.beside + 14 << 20)
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
