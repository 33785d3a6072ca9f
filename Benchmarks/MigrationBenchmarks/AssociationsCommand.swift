import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// `associations [--pairs N] [--memory SIZE] [--kind NAME]`: builds association tables of each kind, looks pairs up, and
/// prints a table of what that took.
///
/// Every answer is checked. Each kind runs in a process of its own, so that its peak memory is its own.
enum AssociationsCommand {
    /// The relation between the order of sources and that of destinations.
    private enum Kind: String, CaseIterable {
        /// Keys are kept, every third source has no pair.
        case identity
        /// Destinations are numbered along with sources, every third of which has none.
        case ranked
        /// Two destinations of each source, numbered along.
        case two
        /// Sources in any order, destinations numbered along: what a policy does that sorts or groups.
        case shuffled
        /// Both in any order.
        case random

        /// The pair with a number, of so many.
        @inline(__always)
        func pair(_ number: Int, of count: Int, multiplier: Int) -> (source: Int64, destination: Int64) {
            switch self {
            case .identity:
                let key = Int64(number + number / 2)
                return (key, key)
            case .ranked: return (Int64(number + number / 2), Int64(7 + number))
            case .two: return (Int64(number / 2), Int64(7 + number))
            case .shuffled: return (Int64(number * multiplier % count), Int64(7 + number))
            case .random: return (Int64(number * multiplier % count), Int64((number * 31 + 5) * multiplier % count))
            }
        }

        /// The source that is asked for to get the pair with a number, and the number of its first pair.
        @inline(__always)
        func first(_ number: Int) -> Int { self == .two ? number & ~1 : number }
    }

    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["pairs", "memory", "kind", "folder"])
        let pairs = try arguments.number("pairs") ?? 1_000_000
        let memory = try arguments.bytes("memory") ?? 16 << 20
        if let name = arguments.text("kind") {
            guard let kind = Kind(rawValue: name) else {
                throw Arguments.usage("--kind \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            let folder = arguments.text("folder") ?? "associations-\(getpid()).bench"
            return try measure(kind, pairs: pairs, memory: memory, folder: folder)
        }
        print("\(pairs) pairs, \(memory >> 20) MiB for the table")
        print("kind       bytes a pair   M pairs/s   M ordered/s   M random/s   VmHWM MiB")
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        for kind in Kind.allCases {
            let child = try ChildProcess(
                own, ["associations", "--pairs", "\(pairs)", "--memory", "\(memory >> 10)K", "--kind", kind.rawValue])
            guard child.code == 0 else {
                throw MigrationError("benchmark.failed", .internal, "\(kind.rawValue) ended with \(child.code)")
            }
            print(child.output, terminator: "")
        }
    }

    private static func measure(_ kind: Kind, pairs: Int, memory: Int, folder: String) throws {
        let directory = try WorkDirectory(path: folder)
        defer { try? directory.remove() }
        let table = AssociationTable(
            directory: directory, name: "pairs", memory: memory / 2, logs: RecordMemory(bytes: memory / 4 * 3))
        // A factor without divisors in common with the count runs through all numbers.
        var multiplier = 0x9E37_79B1 % pairs | 1
        while divisor(multiplier, pairs) != 1 { multiplier += 2 }
        var clock = Clock()
        for number in 0..<pairs {
            let pair = kind.pair(number, of: pairs, multiplier: multiplier)
            try table.add(
                source: ObjectReference(entity: 1, key: pair.source),
                destination: ObjectReference(entity: 2, key: pair.destination))
        }
        try table.prepareForLookups()
        let building = clock.lap()
        let bytes = directory.bytesHeld + table.bytesInMemory
        let looks = min(pairs, 20_000_000)
        let ordered = try look(table, kind, pairs, multiplier, count: looks, isOrdered: true, &clock)
        let random = try look(table, kind, pairs, multiplier, count: looks / 2, isOrdered: false, &clock)
        func millions(_ count: Int, _ seconds: Double) -> Double { Double(count) / max(seconds, 1e-9) / 1e6 }
        let peak = Double(ProcessMemory.peakResident() ?? 0) / Double(1 << 20)
        let figures: [(Int, Double, Int)] = [
            (15, Double(bytes) / Double(pairs), 2), (12, millions(pairs, building), 1),
            (14, millions(looks, ordered), 1),
            (13, millions(looks / 2, random), 2), (13, peak, 1),
        ]
        let columns = figures.map { width, figure, digits in
            let text = String(format: "%.\(digits)f", figure)
            return String(repeating: " ", count: max(1, width - text.count)) + text
        }
        print(kind.rawValue.padding(toLength: 9, withPad: " ", startingAt: 0) + columns.joined())
    }

    /// Looks pairs up by sorted sources, a batch at a time, and returns the seconds of the lookups, sorting included.
    private static func look(
        _ table: AssociationTable, _ kind: Kind, _ pairs: Int, _ multiplier: Int, count: Int, isOrdered: Bool,
        _ clock: inout Clock
    ) throws -> Double {
        let batch = min(count, isOrdered ? 65_536 : 500_000)
        var keys = [Int64](repeating: 0, count: batch)
        var found: [ObjectReference] = []
        var seconds = 0.0
        var asked = 0
        var state: UInt64 = 1
        while asked < count {
            let here = min(batch, count - asked)
            for index in 0..<here {
                if isOrdered {
                    // Every source there is, ascending.
                    let number = asked + index
                    switch kind {
                    case .identity, .ranked: keys[index] = Int64(number + number / 2)
                    case .two: keys[index] = Int64(number / 2)
                    case .shuffled, .random: keys[index] = Int64(number)
                    }
                } else {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let number = Int(state >> 33) % pairs
                    keys[index] = kind.pair(kind.first(number), of: pairs, multiplier: multiplier).source
                }
            }
            _ = clock.lap()
            if !isOrdered { keys[..<here].sort() }
            for key in keys[..<here] {
                found.removeAll(keepingCapacity: true)
                try table.destinations(of: ObjectReference(entity: 1, key: key), into: &found)
                guard !found.isEmpty else {
                    throw MigrationError("benchmark.failed", .internal, "The source \(key) has no destination")
                }
            }
            seconds += clock.lap()
            asked += here
        }
        return seconds
    }

    private static func divisor(_ left: Int, _ right: Int) -> Int { right == 0 ? left : divisor(right, left % right) }

    /// Processor time of the process.
    private struct Clock {
        private var last = Clock.now()

        static func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }

        mutating func lap() -> Double {
            let now = Clock.now()
            defer { last = now }
            return now - last
        }
    }
}
