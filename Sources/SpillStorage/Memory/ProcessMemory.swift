import CLinux
import Diagnostics
import Glibc

/// The kernel's figures on the process's memory, in bytes.
package enum ProcessMemory {
    /// The highest resident memory so far (`VmHWM`); nil if /proc does not tell.
    ///
    /// Not from `getrusage`: for a program started by a large parent that reports the parent's peak.
    package static func peakResident() -> Int? { statusField("VmHWM:").map { $0 * 1024 } }

    /// The resident memory now (`VmRSS`); nil if /proc does not tell.
    ///
    /// From `statm`, its second number in pages: `status` takes the kernel ten times as long.
    package static func currentResident() -> Int? { pages(1) }

    /// The addresses of the process now (`VmSize`), of which most have no memory; nil if /proc does not tell.
    package static func currentAddresses() -> Int? { pages(0) }

    /// Returns a number of `statm` in bytes.
    private static func pages(_ index: Int) -> Int? {
        let numbers = contents("/proc/self/statm")?.split(separator: " ") ?? []
        return numbers.count > index ? Int(numbers[index]).map { $0 * sysconf(Int32(_SC_PAGESIZE)) } : nil
    }

    /// Makes malloc give large blocks back when they are freed.
    ///
    /// glibc raises its threshold for mapped blocks with every large block that is freed. Then blocks of up to 32 MiB come from
    /// the heap, and small blocks above them keep the heap from shrinking: 480 sorted runs of 600 KiB left 31 MiB behind. A
    /// fixed threshold keeps resident memory to what is in use. Under a limit of addresses all threads share one heap: a second
    /// one takes 64 MiB of them at once.
    package static func returnFreedBlocks() {
        _ = mallopt(M_MMAP_THRESHOLD, 128 << 10)
        _ = mallopt(M_TRIM_THRESHOLD, 1 << 20)
        _ = mallopt(M_ARENA_MAX, AddressSpace.limit == nil ? 2 : 1)
    }

    /// Gives freed small blocks back, which malloc keeps resident between those in use.
    ///
    /// - Complexity: O(heap), below a millisecond for 20 MiB. Call it between stages, not between rows.
    package static func trim() { _ = malloc_trim(0) }

    /// The memory limit of the process's control group, as it was when first asked for: a process that migrates many small
    /// stores would read five files for each.
    package static let knownCgroupLimit = cgroupLimit()

    /// Returns the memory limit of the process's control group, the tightest of the group and its parents; nil if there is none.
    ///
    /// - Parameter root: the mount point of the control groups.
    package static func cgroupLimit(root: String = "/sys/fs/cgroup") -> Int? {
        var limit: Int?
        func consider(_ path: String) {
            guard let text = contents(path), let bytes = Int(text.filter { $0.isNumber }), bytes > 0 else { return }
            // Version 1 says "no limit" with a number just under 2^63.
            guard bytes < 1 << 60 else { return }
            limit = min(limit ?? Int.max, bytes)
        }
        for line in (contents("/proc/self/cgroup") ?? "").split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let isUnified = fields[1].isEmpty
            guard isUnified || fields[1].split(separator: ",").contains("memory") else { continue }
            var group = String(fields[2])
            while true {
                let folder = group == "/" ? "" : group
                consider(
                    isUnified ? root + folder + "/memory.max" : root + "/memory" + folder + "/memory.limit_in_bytes")
                guard let slash = group.lastIndex(of: "/"), group != "/" else { break }
                group = slash == group.startIndex ? "/" : String(group[..<slash])
            }
        }
        // In a container the group's own folder is often mounted as the root.
        consider(root + "/memory.max")
        consider(root + "/memory/memory.limit_in_bytes")
        return limit
    }

    /// A number of /proc/self/status, in the unit used there.
    static func statusField(_ name: String) -> Int? {
        guard let text = contents("/proc/self/status") else { return nil }
        // Bytes, not characters, for speed: the start of a run reads several fields.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) where line.starts(with: name.utf8) {
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            return Int(
                String(decoding: line.drop { !digits.contains($0) }.prefix { digits.contains($0) }, as: UTF8.self))
        }
        return nil
    }

    /// Reads a small file of the kernel as a whole.
    private static func contents(_ path: String) -> String? {
        (try? FileBytes.read(path, most: 16 * 1024)).map { String(decoding: $0, as: UTF8.self) }
    }
}
