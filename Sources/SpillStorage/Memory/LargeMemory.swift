import Glibc

/// Memory that is filled from its beginning to its end.
///
/// A kernel that has huge pages for who asks (`madvise` in /sys/kernel/mm/transparent_hugepage/enabled) brings it in by pieces
/// of 2 MiB as it is touched, at a fifth of the cost; others as ever.
package enum LargeMemory {
    /// What the processors and kernels at hand call a huge page.
    package static let hugePage = 2 << 20

    /// Bytes from which words to sort are asked for in huge pages. Of the last one a part is resident that is not used.
    private static let least = 4 << 20

    /// Room that begins at a huge page, not set to anything; given back by `deallocate()`.
    package static func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: hugePage)
        _ = madvise(memory, byteCount / hugePage * hugePage, MADV_HUGEPAGE)
        return memory
    }

    /// Room for words, which are not set to anything; given back by `deallocate()`.
    static func allocate(words: Int) -> UnsafeMutablePointer<UInt64> {
        let bytes = words * MemoryLayout<UInt64>.stride
        guard bytes >= least else { return .allocate(capacity: words) }
        return allocate(byteCount: bytes).bindMemory(to: UInt64.self, capacity: words)
    }
}
