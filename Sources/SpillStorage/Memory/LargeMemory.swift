import Glibc

/// Large blocks of memory that are filled from their beginning to their end.
///
/// If the kernel grants huge pages on request (`madvise` in /sys/kernel/mm/transparent_hugepage/enabled), touching it costs a
/// fifth, because it comes in pieces of 2 MiB. Other kernels treat it like any memory.
package enum LargeMemory {
    /// The size of a huge page in bytes.
    package static let hugePage = 2 << 20

    /// The size in bytes from which words to sort get huge pages. Part of the last huge page is resident but not used.
    private static let least = 4 << 20

    /// Allocates uninitialized memory that begins at a huge page. Free it with `deallocate()`.
    package static func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: hugePage)
        _ = madvise(memory, byteCount / hugePage * hugePage, MADV_HUGEPAGE)
        return memory
    }

    /// Allocates uninitialized words. Free them with `deallocate()`.
    static func allocate(words: Int) -> UnsafeMutablePointer<UInt64> {
        let bytes = words * MemoryLayout<UInt64>.stride
        guard bytes >= least else { return .allocate(capacity: words) }
        return allocate(byteCount: bytes).bindMemory(to: UInt64.self, capacity: words)
    }
}
