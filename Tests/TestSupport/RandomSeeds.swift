import Foundation

/// The seeds of random tests: each is an argument, and so named where its test fails.
package enum RandomSeeds {
    /// `STAGECOACH_SEED` repeats a run.
    package static let first: UInt64 =
        ProcessInfo.processInfo.environment["STAGECOACH_SEED"].flatMap(UInt64.init)
        ?? UInt64.random(in: 0..<1_000_000_000)

    /// Seeds in a row; `STAGECOACH_RUNS` sets how many.
    package static func seeds(_ count: Int) -> [UInt64] {
        let count = ProcessInfo.processInfo.environment["STAGECOACH_RUNS"].flatMap(Int.init) ?? count
        return (0..<count).map { first &+ UInt64($0) }
    }
}
