import Synchronization

/// Counts the bytes written through a VFS of Stagecoach. SQLite's thread counts, and any thread may read.
package final class WriteCounter: Sendable {
    private let total = Atomic<Int64>(0)

    package init() {}

    /// The number of bytes so far.
    package var bytes: Int64 { total.load(ordering: .relaxed) }

    func add(_ count: Int) { total.add(Int64(count), ordering: .relaxed) }
}
