import Synchronization

/// A piece of memory that one user leaves to the next. Touching new memory costs more than filling it, and one table after the
/// other is written through such a buffer.
///
/// Memory: at most one spare piece, until ``release()``.
package final class SpareMemory: Sendable {
    /// The process's spare piece of ``LargeMemory/hugePage`` bytes.
    package static let hugePage = SpareMemory(byteCount: LargeMemory.hugePage)

    private let byteCount: Int
    private let left = Mutex<UInt?>(nil)

    /// Makes an empty store.
    package init(byteCount: Int) {
        precondition(byteCount > 0)
        self.byteCount = byteCount
    }

    deinit { release() }

    /// Returns the spare piece, or new memory; uninitialized. It begins on a page. Give it back with ``leave(_:)``.
    package func take() -> UnsafeMutableRawPointer {
        if let left = takeLeft() { return left }
        return byteCount < LargeMemory.hugePage
            ? .allocate(byteCount: byteCount, alignment: 4096) : LargeMemory.allocate(byteCount: byteCount)
    }

    /// Returns the spare piece; nil if there is none. Give it back with ``leave(_:)``.
    package func takeLeft() -> UnsafeMutableRawPointer? {
        left.withLock { left in
            defer { left = nil }
            return left.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
        }
    }

    /// Leaves a piece to the next user, or frees it if there is a spare one already.
    package func leave(_ piece: UnsafeMutableRawPointer) {
        let isTaken = left.withLock { left in
            guard left == nil else { return false }
            left = UInt(bitPattern: piece)
            return true
        }
        if !isTaken { piece.deallocate() }
    }

    /// Frees the spare piece, if nobody is expected to take it.
    package func release() { takeLeft()?.deallocate() }
}
