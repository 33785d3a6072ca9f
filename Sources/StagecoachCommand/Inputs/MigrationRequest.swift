import Diagnostics
import ManagedModel
import Mapping
import Stagecoach

/// What `migrate`, `plan` and `check` are asked for.
struct MigrationRequest {
    let source: String
    /// Empty where `check` is asked without one.
    let destination: String
    let to: String
    let from: String?
    let mapping: String?
    let report: String?
    let options: MigrationOptions

    /// Reads the request and compares its paths; no file is opened.
    ///
    /// - Throws: `samePath` where a file that is to be made is one that is to be read; `needsOption`.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        source = arguments.operands[0]
        destination = arguments.operands.count > 1 ? arguments.operands[1] : ""
        to = arguments[option: "to"] ?? ""
        from = arguments[option: "from"]
        mapping = arguments[option: "mapping"]
        report = arguments[option: "report"]
        var options = MigrationOptions()
        options.memoryLimit = arguments.number("memory-limit")
        options.batchSize = arguments.number("batch-size")
        options.workDirectory = arguments[option: "work-dir"]
        options.keys = arguments[option: "keys"].flatMap(KeyChoice.init(rawValue:)) ?? .auto
        options.passes = arguments.number("passes")
        options.isDryRun = arguments.has("dry-run")
        options.strictValidation = arguments.has("strict-validation")
        options.onInvalid = arguments[option: "on-invalid"].flatMap(InvalidObjects.init(rawValue:)) ?? .fail
        options.rejectFile = arguments[option: "reject-file"]
        options.maximumRejects = arguments.number("max-rejects")
        if options.onInvalid != .reject {
            for name in ["reject-file", "max-rejects"] where arguments[option: name] != nil {
                throw .needsOption("--" + name, other: "--on-invalid reject")
            }
        }
        options.newUUID = arguments.has("new-uuid")
        options.fullCheck = arguments[option: "check"] == "full"
        self.options = options
        try refuseSamePaths()
    }

    private func refuseSamePaths() throws(UsageError) {
        if !destination.isEmpty { try refuseSameStores() }
        for (option, path) in [("--report", report), ("--reject-file", options.rejectFile)] {
            guard let path else { continue }
            if !destination.isEmpty, PathIdentity.isSame(path, destination) {
                throw .samePath(path, destination, what: "\(option) and DESTINATION")
            }
            if PathIdentity.isSame(path, source) { throw .samePath(path, source, what: "\(option) and SOURCE") }
        }
        if let report, let rejects = options.rejectFile, PathIdentity.isSame(report, rejects) {
            throw .samePath(report, rejects, what: "--report and --reject-file")
        }
    }

    private func refuseSameStores() throws(UsageError) {
        if PathIdentity.isSame(source, destination) {
            throw .samePath(source, destination, what: "SOURCE and DESTINATION")
        }
        // A destination of this name would be taken for a part of the source.
        let real = PathIdentity.canonical(source)
        for suffix in ["-wal", "-shm", "-journal"] where PathIdentity.isSame(real + suffix, destination) {
            throw .samePath(real + suffix, destination, what: "SOURCE's \(suffix) and DESTINATION")
        }
    }
}

/// The inputs of a migration, read: models and mapping model.
struct MigrationInputs {
    let request: MigrationRequest
    let sourceModel: NamedModel
    let destinationModel: NamedModel
    let mapping: MappingModel

    /// Reads store, models and mapping model, in this order.
    ///
    /// - Throws: errors of 65, 66, 74, 75, 77 and 78 naming the input.
    init(_ request: MigrationRequest) throws(MigrationError) {
        self.request = request
        // The store comes first: a model that fits no store at all would only distract.
        let store = try ModelArgument.open(request.source)
        try store.close()
        if let from = request.from {
            sourceModel = try ModelArgument.load(from)
            destinationModel = try ModelArgument.load(request.to)
        } else {
            // Without --from the --to bundle may have to say which version wrote the store: it must be there.
            destinationModel = try ModelArgument.load(request.to)
            sourceModel = try ModelArgument.ofStore(request.source, bundle: request.to)
        }
        if let path = request.mapping {
            let bytes = try InputFile.read(path, what: "mapping model")
            guard path.hasSuffix(".json") || InputFile.beginsWithBrace(bytes) else {
                throw MigrationError(
                    "mapping.unknownKind", .configuration, "The file is no mapping model in JSON",
                    remedy: "Write one with stagecoach infer", context: .init(path: path))
            }
            mapping = try MappingModel.reading(
                json: bytes, path: path, source: sourceModel.model, destination: destinationModel.model)
        } else {
            mapping = try MappingModel.inferred(from: sourceModel.model, to: destinationModel.model)
        }
    }

    /// The migration, ready to plan or run.
    func migration(progress: ProgressCounter = .init(), cancellation: CancellationFlag = .init()) -> Migration {
        Migration(
            from: request.source, model: sourceModel.model, mapping: mapping, to: request.destination,
            model: destinationModel.model, options: request.options, progress: progress, cancellation: cancellation)
    }
}
