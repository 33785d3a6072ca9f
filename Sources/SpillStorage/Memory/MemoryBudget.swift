import Diagnostics

/// How the bytes of a memory limit are dealt out: a value, made once a run, from which parts take named shares.
///
/// It allocates nothing and watches nothing: whoever takes a share keeps to it, and ``ProcessMemory`` tells the truth.
package struct MemoryBudget: Sendable {
    /// A part of the limit that somebody took.
    package struct Share: Sendable, Equatable {
        package let name: String
        package let bytes: Int
    }

    /// The limit of the process's resident memory, in bytes.
    package let limit: Int
    /// What the process needs before it holds any data, in bytes.
    package let residentBase: Int
    /// The shares taken, in order.
    package private(set) var shares: [Share] = []

    /// A budget of which nothing is taken yet.
    package init(limit: Int, residentBase: Int) {
        precondition(limit >= 0 && residentBase >= 0)
        self.limit = limit
        self.residentBase = residentBase
    }

    /// Bytes that nobody has taken.
    package var available: Int {
        max(0, shares.reduce(limit - residentBase) { $0 - $1.bytes })
    }

    /// A value above an eighth of the limit is *huge*.
    package var hugeValueBytes: Int { limit / 8 }

    /// Takes a share.
    ///
    /// - Parameters:
    ///   - desired: bytes wanted; less is given where less is left.
    ///   - minimum: bytes without which the part does not work.
    /// - Returns: the bytes granted.
    /// - Throws: `memory.limit` (78) when the minimum is not left, with the least workable limit.
    package mutating func take(_ name: String, desired: Int, minimum: Int) throws(MigrationError) -> Int {
        let left = available
        guard left >= minimum else {
            let taken = shares.reduce(residentBase) { $0 + $1.bytes }
            throw MigrationError(
                "memory.limit", .configuration,
                "the memory limit of \(Self.describe(limit)) leaves too little for \(name)",
                remedy: "Use --memory-limit \(Self.describe(Self.roundedUp(taken + minimum))) or more")
        }
        let granted = max(minimum, min(desired, left))
        shares.append(Share(name: name, bytes: granted))
        return granted
    }

    /// 256 MiB, or three quarters of the cgroup's limit where that is lower.
    package static func defaultLimit(cgroupLimit: Int? = ProcessMemory.cgroupLimit()) -> Int {
        let usual = 256 << 20
        guard let cgroupLimit else { return usual }
        return min(usual, cgroupLimit / 4 * 3)
    }

    /// Reads a size: `67108864`, `64M`, `64MiB` (1024 each step), `64MB` (1000 each step), with K, M, G or T in either
    /// case.
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

    /// A size as ``parse(_:)`` reads it, in the largest unit that divides it.
    package static func describe(_ bytes: Int) -> String {
        for (letter, shift) in [("G", 30), ("M", 20), ("K", 10)] where bytes > 0 && bytes % (1 << shift) == 0 {
            return "\(bytes >> shift)\(letter)"
        }
        return "\(bytes)"
    }

    private static func roundedUp(_ bytes: Int) -> Int {
        let unit = 1 << 20
        return bytes > Int.max - unit ? bytes : (bytes + unit - 1) / unit * unit
    }
}
