import CLinux
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage
import Stagecoach
import Synchronization

/// `stagecoach batch`.
struct BatchCommand {
    /// The share of the memory limit for the batch itself while workers migrate.
    private static let ownMemory = 32 << 20
    /// The least memory for any migration: the resident memory of a process before it starts, measured on this one, and the
    /// minimum of the engine's parts.
    private static var leastMemory: Int { (ProcessMemory.currentResident() ?? (32 << 20)) + (19 << 20) }

    private let arguments: ParsedArguments
    private let commandLine: [String]
    private let console: Console
    private let shard: BatchShard

    init(_ arguments: ParsedArguments, commandLine: [String], console: Console) throws(UsageError) {
        self.arguments = arguments
        self.commandLine = commandLine
        self.console = console
        if let text = arguments[option: "shard"] {
            guard let shard = BatchShard(text) else { throw .notAShard(text) }
            self.shard = shard
        } else {
            shard = try BatchShard.ofScheduler(console.environment) ?? .whole
        }
        let isPattern = StoreGlob.isPattern(arguments.operands[0])
        // An unreadable file is treated as a manifest, so that reading it gives the error.
        let isStore = (try? InputFile.isDatabase(arguments.operands[0])) == true
        let namesStores = isPattern || arguments.operands.count > 1 || isStore
        if namesStores, arguments[option: "into"] == nil { throw .missingOption("--into") }
        if namesStores, arguments[option: "to"] == nil { throw .missingOption("--to") }
    }

    /// Migrates the stores and prints the outcome.
    func run() throws {
        let (entries, results) = try stores()
        let jobs = arguments.number("jobs") ?? 1
        let cancellation = CancellationFlag()
        let work = BatchRun.Work(
            entries: entries, places: shard.places(of: entries.count), arguments: arguments, commandLine: commandLine,
            shard: shard, jobs: jobs, memory: try memory(jobs: jobs), isolates: !arguments.all("policies").isEmpty)
        // The batch that started a worker has already checked the entries.
        if console.workerMemory != nil {
            return try console.interruption.during(cancellation) { try serve(work, cancellation) }
        }
        try BatchEntry.refuseClashes(entries)
        for entry in entries { _ = try work.request(entry) }
        try checkOptions(entries)
        if let folder = arguments[option: "into"], arguments[option: "results"] == nil {
            try OutputFile.makeFolder(folder)
        }
        let reports = arguments.all("report")
        try BatchPage.check(reports)
        let told = Mutex<[BatchResult]>([])
        let permissions = FilePermissions(ofSources: entries.map(\.source))
        try FolderWay.check(results, elsewhere: "name another file with --results")
        let log = try BatchLog(path: results, permissions: permissions, sisters: { Self.sisters(of: results) })
        let showsProgress =
            console.isTerminal && console.environment["TERM"] != "dumb" && arguments[option: "progress"] != "none"
        let (printsJSON, console) = (arguments.has("json"), console)
        let run = BatchRun(
            work, log: log, configuration: BatchConfiguration(options: options), cancellation: cancellation
        ) { result, summary in
            if !reports.isEmpty { told.withLock { $0.append(result) } }
            if showsProgress { console.messages.redraw("") }
            console.output.write(printsJSON ? (try? result.line()) ?? "" : BatchWording.line(result))
            guard showsProgress else { return }
            console.messages.redraw(BatchWording.progress(summary, of: work.places.count))
        }
        let clock = RunClock()
        let count = work.places.count
        let figures = { @Sendable (text: inout OpenMetricsText) in
            text.batch(run.summary, of: count, seconds: clock.seconds)
        }
        let labels = [(name: "command", value: "batch"), (name: "batch", value: PathIdentity.canonical(results))]
        try MetricsFile.during(arguments[option: "metrics"], of: labels, figures) {
            let summary = try console.interruption.during(cancellation) { try run.run() }
            if showsProgress { console.messages.redraw("") }
            console.output.write(
                printsJSON ? try JSONText.line(summary) : "\n" + BatchWording.summary(summary, results: [results]))
            try BatchPage(summary: summary, results: told.withLock { $0 }, command: ["stagecoach"] + commandLine)
                .write(reports, permissions: permissions)
            if let error = cancellation.error, summary.stores < count {
                let left = Figures.count(count - summary.stores, "store")
                throw MigrationError(
                    "interrupted", .temporary, "Interrupted with \(left) not begun",
                    remedy: "Run the same command again", cause: error is MigrationError ? nil : error)
            }
            try ToldFailure.check(summary.exitCode)
        }
    }

    /// Refuses what is wrong with the options for all stores, before any of them is begun: a model or a mapping model that
    /// cannot be read fits none.
    ///
    /// - Throws: the errors of models and mapping models (66, 78), `policies.notFound` (66).
    private func checkOptions(_ entries: [BatchEntry]) throws(MigrationError) {
        let to = arguments[option: "to"]
        if let to, entries.contains(where: { $0.model == nil }) { _ = try ModelArgument.load(to) }
        if let from = arguments[option: "from"], entries.contains(where: { $0.from == nil }) {
            _ = try ModelArgument.load(from)
        }
        for name in arguments.all("via") { _ = try ModelArgument.stop(name, bundle: to.flatMap(ModelLocator.bundle)) }
        if entries.contains(where: { $0.mappings == nil }) {
            for argument in arguments.all("mapping") {
                _ = try MappingOutline.reading(try MappingFile(path: MappingArgument(argument).path))
            }
        }
        for library in arguments.all("policies") { try PolicyLibrary.requireReadable(library) }
    }

    /// Serves as a worker: reads an entry's index a line from standard input, and prints its result a line.
    private func serve(_ work: BatchRun.Work, _ cancellation: CancellationFlag) throws {
        // End with a killed batch. Otherwise the next run would find the destination held.
        _ = signal_at_end_of_parent(SIGTERM)
        while let line = readLine(), let place = Int(line.prefix { $0 != " " }), work.entries.indices.contains(place) {
            let entry = work.entries[place]
            var result = BatchResult(status: .postponed, source: entry.source, destination: entry.destination)
            if cancellation.error != nil {
                result.postpone("The batch was interrupted before it")
            } else {
                result = StoreMigration(
                    entry: entry, request: try work.request(entry), cancellation: cancellation,
                    commandLine: commandLine, wasBegun: line.hasSuffix(BatchWorker.begunMark)
                ).run()
            }
            console.output.write((try? result.line()) ?? "\n")
        }
    }

    /// Returns the entries of the whole batch, and the path of the results file.
    private func stores() throws(MigrationError) -> ([BatchEntry], results: String) {
        let asked = arguments[option: "results"]
        let ending = shard.count > 1 ? ".results-\(shard.index)-of-\(shard.count).jsonl" : ".results.jsonl"
        guard let folder = arguments[option: "into"] else {
            return (
                try BatchManifest.read(arguments.operands[0]).map(\.absolute), asked ?? arguments.operands[0] + ending
            )
        }
        let (found, folders) = try StoreGlob.entries(arguments.operands, into: folder)
        let entries = found.map(\.absolute)
        if console.workerMemory == nil {
            for other in folders {
                console.messages.write("stagecoach: \(other.printable): A folder is no store: left out\n")
            }
        }
        return (entries, asked ?? "\(folder)/batch" + ending)
    }

    /// Returns the results files of other shares of the same batch.
    private static func sisters(of path: String) -> [String] {
        guard let cut = path.range(of: ".results", options: .backwards) else { return [] }
        let folder = PathIdentity.folder(of: path)
        let stem = PathIdentity.name(of: String(path[..<cut.upperBound]))
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // Another user's file may say of a store that it is done.
        return names.filter { $0.hasPrefix(stem) && $0.hasSuffix(".jsonl") }.sorted().map { "\(folder)/\($0)" }
            .filter { (try? FolderWay.check($0, elsewhere: "")) != nil }
    }

    /// The options that change a result, as one text.
    private var options: String {
        let texts = [
            "keys", "unmappable", "on-invalid", "max-rejects", "external-threshold", "history", "cloudkit",
            "unknown-hashes",
        ].map { "\($0)=\(arguments[option: $0] ?? "")" }
        let flags = ["strict-validation", "transformable-bytes", "new-uuid", "repair"]
        let changes = arguments.all("set").map { "set=\($0)" }
        return (texts + changes + flags.map { "\($0)=\(arguments.has($0))" }).joined(separator: " ")
    }

    /// Returns the memory for each job in bytes.
    ///
    /// - Throws: `batch.memory` (78) if it is too little, naming a number of jobs that works.
    private func memory(jobs: Int) throws(MigrationError) -> Int {
        if let memory = console.workerMemory { return memory }
        let allowed = MemoryLimit.allowed(environment: console.environment)
        let all = arguments.number("memory-limit") ?? min(jobs * MemoryLimit.standard(), allowed ?? .max)
        guard jobs > 1 else {
            // A process of its own for each store leaves the batch its part, if the limit has room for both.
            return arguments.all("policies").isEmpty ? all : max(min(all, Self.leastMemory), all - Self.ownMemory)
        }
        let each = (all - Self.ownMemory) / jobs
        let least = Self.leastMemory
        guard each >= least else {
            throw MigrationError(
                "batch.memory", .configuration,
                "\(jobs) jobs within \(all.sizeInWords) leave \(max(0, each).sizeInWords) for each",
                remedy: all < 10_000
                    ? MemoryLimit.remedy(for: all, least: (Self.ownMemory + jobs * least) >> 20 + 1)
                    : "Give --jobs \(max(1, (all - Self.ownMemory) / least)), or more memory")
        }
        return each
    }
}
