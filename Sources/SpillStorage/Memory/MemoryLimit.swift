import Diagnostics

/// The limit of the process's resident memory: its default, and the sizes that people write.
package enum MemoryLimit {
    /// The default limit: 256 MiB, or three quarters of the cgroup's limit, or what the limit of addresses has room for, if
    /// that is lower.
    ///
    /// - Parameters:
    ///   - resident: the bytes that the process holds already. A program that holds much before it migrates gets 128 MiB on
    ///     top of them.
    ///   - addressRoom: the addresses that the process may still take; nil for any number.
    package static func standard(
        cgroupLimit: Int? = ProcessMemory.knownCgroupLimit, resident: Int = 0, addressRoom: Int? = AddressSpace.room
    ) -> Int {
        let usual = max(256 << 20, resident + 128 << 20)
        let byAddresses = addressRoom.map { resident + max(0, $0 - AddressSpace.beside) }
        return [usual, cgroupLimit.map { $0 / 4 * 3 }, byAddresses].compactMap(\.self).min() ?? usual
    }

    /// Three quarters of the limit that the cgroup or Slurm sets for the job, the lower one; nil if neither sets one.
    ///
    /// - Parameter environment: `SLURM_MEM_PER_NODE`, or `SLURM_MEM_PER_CPU` and `SLURM_CPUS_ON_NODE`, in MiB.
    package static func allowed(
        environment: [String: String], cgroupLimit: Int? = ProcessMemory.knownCgroupLimit
    ) -> Int? {
        func number(_ name: String) -> Int? { environment[name].flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil } }
        var mebibytes = number("SLURM_MEM_PER_NODE")
        if mebibytes == nil, let each = number("SLURM_MEM_PER_CPU") {
            let (product, overflow) = each.multipliedReportingOverflow(by: number("SLURM_CPUS_ON_NODE") ?? 1)
            mebibytes = overflow ? nil : product
        }
        let slurm = mebibytes.flatMap { $0 < Int.max >> 20 ? $0 << 20 : nil }
        return [slurm, cgroupLimit].compactMap { $0 }.min().map { $0 / 4 * 3 }
    }

    /// Returns a remedy for a limit that is too low: the least one, and the same number in MiB if no unit was written, as it seems.
    ///
    /// - Parameters:
    ///   - limit: the limit in bytes.
    ///   - least: the least workable limit in MiB.
    package static func remedy(for limit: Int, least: Int) -> String {
        let isWithoutUnit = limit < 10_000 && limit >= least
        return (isWithoutUnit ? "Did you mean \(limit)M? " : "") + "Give --memory-limit \(least)M or more"
    }

    /// Parses a size: `67108864`, `64M`, `64MiB` (steps of 1024), `64MB` (steps of 1000), with K, M, G or T in either case.
    ///
    /// - Throws: `usage.size` (64).
    package static func parse(_ text: String) throws(MigrationError) -> Int {
        let digits = text.utf8.prefix { $0 >= 0x30 && $0 <= 0x39 }
        let unit = String(text.utf8.dropFirst(digits.count)).map { $0.lowercased() } ?? "?"
        let steps = ["k", "m", "g", "t"]
        var factor: Int? = unit.isEmpty || unit == "b" ? 1 : nil
        for (index, letter) in steps.enumerated() {
            if unit == letter || unit == letter + "ib" { factor = 1 << (10 * (index + 1)) }
            if unit == letter + "b" { factor = (0...index).reduce(1) { product, _ in product * 1000 } }
        }
        guard let number = Int(String(decoding: digits, as: UTF8.self)), let factor else {
            throw MigrationError(
                "usage.size", .usage, "'\(text)' is not a size", remedy: "Write a size as 64M, 2G or 500000000")
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
        guard !overflow else {
            throw MigrationError(
                "usage.size", .usage, "the size '\(text)' is too large", remedy: "Write a size as 64M or 2G")
        }
        return bytes
    }
}
