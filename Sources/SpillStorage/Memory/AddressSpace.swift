import Diagnostics
import Glibc

/// The addresses of the process, which batch systems limit (`ulimit -v`) where they mean memory.
///
/// An allocation that finds no addresses ends a Swift program without a sentence. So what cannot work is refused before.
package enum AddressSpace {
    /// The addresses in bytes that a process takes beside its memory: stacks of threads, parts of malloc's heap that are not
    /// used, blocks between their allocation and their use.
    package static let beside = 24 << 20

    /// The bytes by which a limit that is advised exceeds what is needed.
    private static let spare = 8 << 20

    /// The limit in bytes; nil if there is none.
    package static var limit: Int? { ResourceLimit.current(RLIMIT_AS) }

    /// The bytes that the process may still take; nil if there is no limit.
    package static var room: Int? {
        guard let limit, let used = ProcessMemory.currentAddresses() else { return nil }
        return max(0, limit - used)
    }

    /// Refuses a limit of addresses below what is needed.
    ///
    /// - Parameters:
    ///   - growth: the bytes of memory that the process will take beyond what it holds.
    ///   - memory: the memory limit that has room, in bytes; nil if no such limit would help.
    /// - Throws: `memory.addresses` (78) with the least workable limit.
    package static func check(growth: Int, limit: Int? = limit, room: Int? = room, memory: Int? = nil)
        throws(MigrationError)
    {
        guard let limit, let room, room < growth + beside else { return }
        // A little more, because what the process holds before it begins differs from run to run.
        let least = ((limit - room + growth + beside + spare) >> 20) << 10
        let lower = memory.map { " or give --memory-limit \($0 >> 20)M" } ?? ""
        throw MigrationError(
            "memory.addresses", .configuration,
            "The limit of addresses of \(limit.sizeInWords) (ulimit -v) leaves \(room.sizeInWords), and \((growth + beside).sizeInWords) are needed",
            remedy: "Raise it: ulimit -v \(least)\(lower)")
    }

    /// Refuses a limit of addresses that leaves too little for a memory limit.
    ///
    /// - Parameters:
    ///   - memoryLimit: the resident memory that the process may reach, in bytes.
    ///   - resident: the resident memory that it has.
    ///   - least: the least bytes that the work needs beside that.
    /// - Throws: `memory.addresses` (78).
    package static func check(
        memoryLimit: Int, resident: Int, least: Int, limit: Int? = limit, room: Int? = room
    ) throws(MigrationError) {
        let lower = (room ?? 0) - beside
        try check(
            growth: max(memoryLimit - resident, least), limit: limit, room: room,
            memory: lower >= least ? resident + lower : nil)
    }
}
