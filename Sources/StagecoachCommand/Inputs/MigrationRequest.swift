import AtomicStores
import Foundation
import Mapping
import Stagecoach

/// The request of a `migrate`, `plan` or `check` command.
struct MigrationRequest {
    let source: String
    /// The path of the destination; empty for a `check` without one.
    let destination: String
    let to: String
    let from: String?
    /// The files of mapping models; several for one pair of versions run in turn. If empty, the mapping model is inferred.
    let mappings: [String]
    /// Changes to the mapping model, inferred or given.
    let changes: [MappingChange]
    /// The rules by which source objects become rows of the destination.
    let matches: [MatchArgument]
    /// The versions of the way between source and destination, in order.
    let via: [String]
    /// The stores and lists of hashes that confirm entities derived from Swift sources.
    let like: [String]
    let unchecked: UncheckedEntities
    let unmappedStages: UnmappedStages
    /// The new files for the report, each in the format of its ending.
    let reports: [String]
    /// The file of metrics; nil for none, and for a store of a batch, which has one for all.
    let metrics: String?
    /// True if the time of each stage is kept, for a page, metrics or a line of a batch's results.
    private let keepsTrace: Bool
    /// The shared libraries of policies, in the given order.
    let policies: [String]
    var options: MigrationOptions
    /// The file of a saved plan to run; nil for none.
    let plan: String?
    /// The type that the source must have; nil for any.
    let sourceType: StoreFormat?
    /// The type of store to make.
    let destinationType: StoreFormat

    /// Reads the request and compares its paths. No file is opened.
    ///
    /// - Throws: `samePath` if an output file is also an input file; `needsOption`.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let destination = arguments.operands.count > 1 ? arguments.operands[1] : ""
        try self.init(
            arguments, BatchEntry(source: arguments.operands[0], destination: destination),
            reports: arguments.all("report"), metrics: arguments[option: "metrics"])
    }

    /// Reads the request for one store of a batch. The values of its entry replace options.
    init(_ arguments: ParsedArguments, _ entry: BatchEntry) throws(UsageError) {
        // The batch's own `--report` option is for the report of all stores.
        try self.init(arguments, entry, reports: entry.report.map { [$0] } ?? [], isOfBatch: true)
    }

    private init(
        _ arguments: ParsedArguments, _ entry: BatchEntry, reports: [String], metrics: String? = nil,
        isOfBatch: Bool = false
    ) throws(UsageError) {
        source = entry.source
        destination = entry.destination
        guard let model = entry.model ?? arguments[option: "to"] else { throw .missingOption("--to") }
        to = model
        from = entry.from ?? arguments[option: "from"]
        mappings = entry.mappings ?? arguments.all("mapping")
        changes = try Self.changes(arguments)
        matches = try Self.matches(arguments)
        via = arguments.all("via")
        like = arguments.all("like")
        sourceType = arguments[option: "source-type"].flatMap(StoreFormat.init(argument:))
        destinationType = arguments[option: "destination-type"].flatMap(StoreFormat.init(argument:)) ?? .sqlite
        unchecked = arguments.choice("unchecked") ?? .refuse
        unmappedStages = arguments.choice("unmapped-stages") ?? .refuse
        (self.reports, self.metrics) = (reports, metrics)
        keepsTrace = isOfBatch || metrics != nil || reports.contains { ReportFormat(path: $0) == .html }
        for path in reports where ReportFormat(path: path) == nil {
            throw .wrongEnding(option: "--report", value: path, endings: ReportFormat.endings)
        }
        policies = arguments.all("policies")
        var options = MigrationOptions()
        options.memoryLimit = arguments.number("memory-limit")
        options.batchSize = arguments.number("batch-size")
        options.workDirectory = arguments[option: "work-dir"]
        options.keys = arguments.choice("keys") ?? .auto
        if let passes = arguments[option: "passes"] { try Self.readPasses(passes, into: &options) }
        options.idMap = entry.idMap ?? arguments[option: "id-map"]
        if let path = options.idMap, !path.hasSuffix(".csv"), !path.hasSuffix(".sqlite") {
            throw .wrongEnding(option: "--id-map", value: path, endings: [".csv", ".sqlite"])
        }
        plan = arguments[option: "plan"]
        for name in ["passes", "keys"] where plan != nil && arguments[option: name] != nil {
            throw .contradiction("--plan", "--" + name)
        }
        options.appendsToExisting = arguments.has("append")
        options.isDryRun = arguments.has("dry-run")
        options.restarts = arguments.has("restart")
        options.unmappable = arguments.choice("unmappable") ?? .refuse
        options.unknownHashes = arguments.choice("unknown-hashes") ?? .refuse
        options.repairs = arguments.has("repair")
        options.strictValidation = arguments.has("strict-validation")
        options.transformsValues = !arguments.has("transformable-bytes")
        options.onInvalid = arguments.choice("on-invalid") ?? .fail
        options.rejectFile = entry.rejectFile ?? arguments[option: "reject-file"]
        options.maximumRejects = arguments.number("max-rejects")
        options.onLoss = arguments.choice("on-loss") ?? .warn
        options.allowedLosses = Set(entry.allowedLosses ?? arguments.all("allow-loss"))
        if options.onInvalid != .reject {
            for name in ["reject-file", "max-rejects"] where arguments[option: name] != nil {
                throw .needsOption("--" + name, other: "--on-invalid reject")
            }
        }
        if let threshold = arguments.number("external-threshold") { options.externalThreshold = threshold }
        options.history = arguments.choice("history") ?? .auto
        options.cloudKit = arguments.choice("cloudkit") ?? .refuse
        options.newUUID = arguments.has("new-uuid")
        options.writer = arguments.choice("writer") ?? .pages
        options.reader = arguments.choice("reader") ?? .pages
        options.fullCheck = arguments[option: "check"] == "full"
        options.profiles = arguments.has("profile")
        self.options = options
        if options.newUUID, options.appendsToExisting { throw .contradiction("--append", "--new-uuid") }
        if options.appendsToExisting, destinationType != .sqlite {
            throw .contradiction("--append", "--destination-type")
        }
        try refuseSamePaths()
    }

    /// A new counter of a run.
    var counter: ProgressCounter { ProgressCounter(trace: keepsTrace ? RunTrace() : nil) }

    /// The mapping models in messages; nil if one is inferred.
    var mapping: String? { mappings.isEmpty ? nil : mappings.joined(separator: ", ") }

    /// Reads the lines of `--set`.
    ///
    /// - Throws: `notAChange`.
    static func changes(_ arguments: ParsedArguments) throws(UsageError) -> [MappingChange] {
        try arguments.all("set").map { line throws(UsageError) in
            guard let change = MappingChange(line) else { throw .notAChange(option: "--set", value: line) }
            return change
        }
    }

    /// Reads the values of `--match`.
    ///
    /// - Throws: `needsOption`, `notAMatch`.
    private static func matches(_ arguments: ParsedArguments) throws(UsageError) -> [MatchArgument] {
        let values = arguments.all("match")
        if !values.isEmpty, !arguments.has("append") { throw .needsOption("--match", other: "--append") }
        if arguments[option: "on-match"] != nil, values.isEmpty { throw .needsOption("--on-match", other: "--match") }
        return try values.map { value throws(UsageError) in
            guard let match = MatchArgument(value) else { throw .notAMatch(option: "--match", value: value) }
            return match
        }
    }

    /// Parses `3`, or `A,B;C`: names of entity mappings, with passes separated by semicolons.
    private static func readPasses(_ text: String, into options: inout MigrationOptions) throws(UsageError) {
        if text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            guard let number = Int(text), number > 0 else {
                throw .notACount(option: "--passes", value: text, least: 1)
            }
            options.passes = number
            return
        }
        let passes = text.split(separator: ";", omittingEmptySubsequences: false).map { pass in
            pass.split(separator: ",", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .init(charactersIn: " "))
            }
        }
        guard passes.allSatisfy({ !$0.contains("") }) else { throw .notACut(option: "--passes", value: text) }
        options.passNames = passes
    }

    private func refuseSamePaths() throws(UsageError) {
        if !destination.isEmpty { try refuseSameStores() }
        let others: [(String, String?)] = [
            ("--metrics", metrics), ("--reject-file", options.rejectFile), ("--id-map", options.idMap),
            ("DESTINATION", destination.isEmpty ? nil : destination), ("SOURCE", source),
        ]
        var results = reports.map { ("--report", $0) }
        for case (let name, let path?) in others { results.append((name, path)) }
        for (index, (name, path)) in results.enumerated() where name.hasPrefix("-") {
            for (other, otherPath) in results.dropFirst(index + 1) where PathIdentity.isSame(path, otherPath) {
                throw .samePath(path, otherPath, what: "\(name) and \(other)")
            }
        }
    }

    private func refuseSameStores() throws(UsageError) {
        if PathIdentity.isSame(source, destination) {
            throw .samePath(source, destination, what: "SOURCE and DESTINATION")
        }
        // A destination with such a name would be read as a part of the source.
        let real = PathIdentity.canonical(source)
        for suffix in ["-wal", "-shm", "-journal"] where PathIdentity.isSame(real + suffix, destination) {
            throw .samePath(real + suffix, destination, what: "SOURCE's \(suffix) and DESTINATION")
        }
    }
}
