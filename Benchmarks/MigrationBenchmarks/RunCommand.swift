import CoreDataStore
import Diagnostics
import Foundation
import Glibc

/// `run --store FILE [--rounds N] [--memory-limit 64M] [--json FILE] [--ways a,b,d] [--rivals-up-to 200M]`: all ways in turn,
/// round by round, each in a process of its own; medians and ratios to the sqlite3 shell. Python, sqlite-utils and
/// SQLAlchemy take part where they are installed.
///
/// From the second round on, the ways come in an order that a fixed seed gives: one that always came after the shell would
/// find the memory that it has just left, and those after it what the machine has meanwhile given back to its host.
///
/// Ends with 1 where the row path's peak memory exceeds the limit, where any way's does, or where contents differ.
enum RunCommand {
    static func run(_ list: [String]) throws -> Int32 {
        let arguments = try Arguments(
            list, options: ["store", "rounds", "memory-limit", "json", "folder", "rivals-up-to", "ways"],
            flags: ["no-rivals", "no-contents"])
        let store = try arguments.required("store")
        guard access(store, R_OK) == 0 else {
            // The shell's ATTACH would make an empty file of that name.
            throw MigrationError(
                "store.notFound", .noInput, "There is no such store", remedy: "Make one with the subcommand store",
                context: .init(path: store))
        }
        let rounds = try arguments.number("rounds") ?? defaultRounds(size(store))
        let limit = try arguments.bytes("memory-limit") ?? 64 << 20
        let schema = StoreSchema(model: try Catalogue().destination)
        let folder = try BenchmarkFolder.make(arguments.text("folder") ?? "\(store).bench")
        defer { rmdir(folder) }
        var notes: [String] = []
        let ways = try ways(arguments, store, schema, &notes)
        let comparesContents = !arguments.has("no-contents")
        let before = StoreSchema(model: try Catalogue().source)
        let copied = comparesContents ? try ContentChecksum(path: store, schema: before).lines : []
        var results = ways.map { WayResult(name: $0.name) }
        var failures: [String] = []
        var generator = BenchmarkGenerator(seed: 1)
        var order = Array(ways.indices)
        for round in 0..<rounds {
            for index in order {
                let way = ways[index]
                let output = "\(folder)/out.sqlite"
                defer { unlink(output) }
                // Earlier dirty pages are written first, so that one program does not pay for another's.
                sync()
                results[index].runs.append(
                    try way.run(store: store, output: output, limit: limit, watchesMemory: round == 0))
                // A way does the same each time; once is enough to compare.
                guard round == 0, comparesContents else { continue }
                if way.copies {
                    if try ContentChecksum(path: output, schema: before).lines != copied {
                        failures.append("\(way.name): other contents than the source")
                    }
                } else {
                    results[index].contents = try ContentChecksum(path: output, schema: schema).lines
                }
            }
            for place in order.indices.dropLast() {
                order.swapAt(place, place + generator.below(order.count - place))
            }
        }
        failures += self.failures(results, limit: limit)
        let summary = BenchmarkSummary(
            store: store, storeBytes: Int(size(store)), memoryLimit: limit, rounds: rounds, results: results,
            notes: notes, failures: failures)
        print(summary.table())
        if let path = arguments.text("json") { try summary.json().write(to: URL(fileURLWithPath: path)) }
        return failures.isEmpty ? 0 : 1
    }

    /// The ways to take: all that are installed, less those that the arguments leave out.
    private static func ways(
        _ arguments: Arguments, _ store: String, _ schema: StoreSchema, _ notes: inout [String]
    ) throws -> [Way] {
        var ways = [Way.sqlite(HandWrittenSQL.script(source: store, schema: schema))] + Way.stagecoach
        if !isInstalled("sqlite3") {
            ways.removeFirst()
            notes.append("The sqlite3 shell is not installed: no ratios, and contents are compared among our own ways.")
        }
        if isInstalled("python3"), !arguments.has("no-rivals") {
            let largest = try arguments.bytes("rivals-up-to") ?? .max
            for rival in PythonRival.allCases where Int(size(store)) <= largest {
                if let module = rival.module, try !isInstalled(module: module) {
                    notes.append("\(rival.rawValue): \(module) is not installed.")
                    continue
                }
                ways.append(.python(rival, schema))
            }
        }
        if let wanted = arguments.text("ways") {
            let letters = wanted.split(separator: ",")
            ways.removeAll { way in !letters.contains { way.name.hasPrefix("(\($0))") } }
        }
        return ways
    }

    /// The ways whose contents differ from those of the first, or whose memory is above the limit.
    private static func failures(_ results: [WayResult], limit: Int) -> [String] {
        let first = results.first { !$0.contents.isEmpty }
        var failures: [String] = []
        for result in results {
            if let first, !result.contents.isEmpty, result.contents != first.contents {
                failures.append("\(result.name): other contents than \(first.name)")
            }
            if result.isBounded, result.peakMemory > limit {
                failures.append("\(result.name): peak memory above the limit of \(limit >> 20) MiB")
            }
        }
        return failures
    }

    /// A run of a tenth of a second is measured more often than one of seconds: 15 times up to 200 MB, else three times.
    private static func defaultRounds(_ bytes: off_t) -> Int { bytes < 200_000_000 ? 15 : 3 }

    private static func isInstalled(_ program: String) -> Bool {
        let folders = getenv("PATH").map { String(cString: $0) } ?? ""
        return folders.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    private static func isInstalled(module: String) throws(MigrationError) -> Bool {
        let question = "import importlib.util, sys; sys.exit(importlib.util.find_spec('\(module)') is None)"
        return try ChildProcess("python3", ["-c", question]).code == 0
    }

    private static func size(_ path: String) -> off_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_size : 0
    }
}
