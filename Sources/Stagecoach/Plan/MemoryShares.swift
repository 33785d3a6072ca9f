import Diagnostics
import SpillStorage

/// The memory limit, cut into shares. Each part of the engine is told its share in bytes; nothing is kept by count.
struct MemoryShares: Sendable {
    /// The limit for the whole process.
    let limit: Int
    /// SQLite's page cache for the destination; building an index takes the same again for its sorter.
    let destinationCache: Int
    /// SQLite's page cache for the source, each reader's statement included.
    let sourceCache: Int
    /// One batch of rows.
    let batch: Int
    /// All association tables together.
    let keys: Int
    /// One external sort; a few run at a time.
    let sort: Int
    /// Spilled rows and patches of the staged path: blocks and buffers at hand.
    let spill: Int
    /// The largest value that is read; larger ones are refused.
    let value: Int

    /// Room that the parts need at least, beyond what the process holds before it begins.
    static let least = 12 << 20

    /// Cuts a limit.
    ///
    /// - Parameters:
    ///   - limit: bytes for the whole process.
    ///   - resident: bytes that the process holds already: runtime, libraries, models.
    /// - Throws: `memory.limitTooLow` (78) with the least workable figure.
    init(limit: Int, resident: Int) throws(MigrationError) {
        let room = limit - resident
        guard room >= MemoryShares.least else {
            // A little is added because the base moves by some pages from run to run.
            let workable = (resident + MemoryShares.least + (2 << 20) + (1 << 20) - 1) >> 20
            throw MigrationError(
                "memory.limitTooLow", .configuration,
                "The memory limit of \(limit >> 20) MiB cannot be kept: the process holds \(resident >> 20) MiB before it begins",
                remedy: "Give --memory-limit \(workable)M or more")
        }
        self.limit = limit
        // What malloc and SQLite hold beside the parts' own figures: measured, about a quarter of the room.
        let usable = room / 4 * 3
        destinationCache = min(8 << 20, max(1 << 20, usable / 6))
        sourceCache = min(2 << 20, max(512 << 10, usable / 16))
        batch = min(1 << 20, max(128 << 10, usable / 32))
        keys = min(64 << 20, max(1 << 20, usable / 6))
        sort = min(32 << 20, max(512 << 10, usable / 20))
        spill = min(32 << 20, max(1 << 20, usable / 8))
        value = max(1 << 20, limit / 8)
    }

    /// The limit where none is given: 256 MiB, or three quarters of the cgroup's limit where that is lower.
    static func defaultLimit() -> Int {
        let usual = 256 << 20
        guard let cgroup = ProcessMemory.cgroupLimit() else { return usual }
        return min(usual, cgroup / 4 * 3)
    }
}
