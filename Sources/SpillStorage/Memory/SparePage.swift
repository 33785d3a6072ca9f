import Synchronization

/// A huge page that one user leaves to the next: to touch new memory costs the system more than to fill it, and one table after
/// the other is written by such a buffer.
///
/// Memory: one ``LargeMemory/hugePage`` while one is left, until ``release()``.
package final class SparePage: Sendable {
    /// That of the process.
    package static let shared = SparePage()

    private let left = Mutex<UInt?>(nil)

    /// None is left.
    package init() {}

    deinit { release() }

    /// What was left, or new memory; not set to anything. Given back by ``leave(_:)``.
    package func take() -> UnsafeMutableRawPointer {
        takeLeft() ?? LargeMemory.allocate(byteCount: LargeMemory.hugePage)
    }

    /// What was left; nil where nothing was. Given back by ``leave(_:)``.
    package func takeLeft() -> UnsafeMutableRawPointer? {
        left.withLock { left in
            defer { left = nil }
            return left.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
        }
    }

    /// Leaves a page to who takes one next, or gives it to the system where one is left already.
    package func leave(_ page: UnsafeMutableRawPointer) {
        let isTaken = left.withLock { left in
            guard left == nil else { return false }
            left = UInt(bitPattern: page)
            return true
        }
        if !isTaken { page.deallocate() }
    }

    /// Gives what was left to the system: nobody is expected to take it.
    package func release() { takeLeft()?.deallocate() }
}
