import Foundation

/// The seeds of random tests: each is an argument, and so named where its test fails.
package enum RandomSeeds {
    /// The first seed of a run: the same in every run, so that a failure is one of the change under test;
    /// `STAGECOACH_SEED` sets another, and its value `random` hunts with a new one each time.
    package static let first: UInt64 =
        switch ProcessInfo.processInfo.environment["STAGECOACH_SEED"] {
        case "random": UInt64.random(in: 0..<1_000_000_000)
        case let text: text.flatMap(UInt64.init) ?? 20_261_122
        }

    /// Seeds in a row; `STAGECOACH_RUNS` sets how many.
    package static func seeds(_ count: Int) -> [UInt64] {
        let count = ProcessInfo.processInfo.environment["STAGECOACH_RUNS"].flatMap(Int.init) ?? count
        return (0..<count).map { first &+ UInt64($0) }
    }
}
