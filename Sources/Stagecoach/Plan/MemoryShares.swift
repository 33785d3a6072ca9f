import Diagnostics
import SpillStorage

/// The memory limit, divided into shares in bytes, one for each part of the engine. None keeps a fixed number of rows.
struct MemoryShares: Sendable {
    /// The limit for the whole process.
    let limit: Int
    /// SQLite's page cache for the destination. Building an index takes the same again for SQLite's sorter.
    let destinationCache: Int
    /// SQLite's page cache for the source, including the statement of each reader.
    let sourceCache: Int
    /// One batch of rows.
    let batch: Int
    /// All association tables together.
    let keys: Int
    /// All external sorts that run at the same time, together.
    let sorts: Int
    /// Blocks and buffers of spilled rows and patches on the policy path.
    let spill: Int
    /// The links of all relationships together, while user code may run. Few sorts run then.
    let links: Int
    /// The largest value that can be read; larger ones are refused.
    let value: Int

    /// The least memory that the parts need, beyond the memory that the process holds before the run.
    static let least = 14 << 20

    /// Divides a limit into shares.
    ///
    /// - Parameters:
    ///   - limit: bytes for the whole process.
    ///   - resident: bytes that the process holds already: runtime, libraries, models.
    ///   - needs: bytes that models and mapping models need beside the shares (``MemoryNeeds``).
    /// - Throws: `memory.limitTooLow` (78) with the least workable limit.
    init(limit: Int, resident: Int, needs: Int = 0) throws(MigrationError) {
        let room = limit - resident - needs
        guard room >= MemoryShares.least else {
            // Add 2 MiB and round up, because the resident base differs by some pages from run to run.
            let workable = (resident + needs + MemoryShares.least + (2 << 20) + (1 << 20) - 1) >> 20
            throw MigrationError(
                "memory.limitTooLow", .configuration,
                "The memory limit of \(limit.sizeInWords) cannot be kept: the process holds \(resident.sizeInWords) before it begins"
                    + (needs >> 20 > 0 ? ", and the models need \(needs.sizeInWords) beside the rows" : ""),
                remedy: MemoryLimit.remedy(for: limit, least: workable))
        }
        self.limit = limit
        // malloc and SQLite hold more than the parts' own figures: 2 MiB and about a quarter of the room, measured.
        let usable = (room - (2 << 20)) / 4 * 3
        destinationCache = min(8 << 20, max(1 << 20, usable / 6))
        sourceCache = min(2 << 20, max(512 << 10, usable / 16))
        batch = min(1 << 20, max(128 << 10, usable / 32))
        // 50 million rows with gaps have 3 MiB of keys. With half of that a policy on all of them took 7 % longer.
        keys = min(64 << 20, max(1 << 20, usable / 8))
        sorts = min(128 << 20, max(2 << 20, usable / 4))
        links = min(64 << 20, max(1 << 20, usable / 4))
        spill = min(32 << 20, max(1 << 20, usable / 8))
        // While a value passes through, SQLite's source row, both batches, the record being written and a spare copy of
        // malloc's hold it: five copies in all, beside the caches.
        let beside = destinationCache + sourceCache + 2 * batch + keys + (4 << 20)
        value = max(256 << 10, min(limit / 8, (room - beside) / 5))
    }

    /// Returns the lowest limit, in MiB, under which a value of the given size in bytes can be read.
    static func limit(forValueOf bytes: Int, resident: Int, needs: Int = 0) -> Int {
        var mebibytes = (resident + needs + least + (1 << 20)) >> 20
        while mebibytes < 1 << 20 {
            let shares = try? MemoryShares(limit: mebibytes << 20, resident: resident, needs: needs)
            if let shares, shares.value >= bytes { break }
            mebibytes += 1 + mebibytes / 64
        }
        return mebibytes
    }
}
