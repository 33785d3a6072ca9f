import Synchronization

/// A piece of memory that one user leaves to the next: to touch new memory costs the system more than to fill it, and one table
/// after the other is written by such a buffer.
///
/// Memory: one piece while one is left, until ``release()``.
package final class SpareMemory: Sendable {
    /// A ``LargeMemory/hugePage`` of the process.
    package static let hugePage = SpareMemory(byteCount: LargeMemory.hugePage)

    private let byteCount: Int
    private let left = Mutex<UInt?>(nil)

    /// None is left.
    ///
    /// - Parameter byteCount: a piece's size.
    package init(byteCount: Int) {
        precondition(byteCount > 0)
        self.byteCount = byteCount
    }

    deinit { release() }

    /// What was left, or new memory; not set to anything. It begins on a page and is given back by ``leave(_:)``.
    package func take() -> UnsafeMutableRawPointer {
        if let left = takeLeft() { return left }
        return byteCount < LargeMemory.hugePage
            ? .allocate(byteCount: byteCount, alignment: 4096) : LargeMemory.allocate(byteCount: byteCount)
    }

    /// What was left; nil where nothing was. Given back by ``leave(_:)``.
    package func takeLeft() -> UnsafeMutableRawPointer? {
        left.withLock { left in
            defer { left = nil }
            return left.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
        }
    }

    /// Leaves a piece to who takes one next, or gives it to the system where one is left already.
    package func leave(_ piece: UnsafeMutableRawPointer) {
        let isTaken = left.withLock { left in
            guard left == nil else { return false }
            left = UInt(bitPattern: piece)
            return true
        }
        if !isTaken { piece.deallocate() }
    }

    /// Gives what was left to the system: nobody is expected to take it.
    package func release() { takeLeft()?.deallocate() }
}
