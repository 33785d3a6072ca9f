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
    /// Mapping models' files, in turn; none: inferred.
    let mappings: [String]
    let report: String?
    /// Shared libraries of policies, in the order given.
    let policies: [String]
    let options: MigrationOptions

    /// Reads the request and compares its paths; no file is opened.
    ///
    /// - Throws: `samePath` where a file that is to be made is one that is to be read; `needsOption`.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        source = arguments.operands[0]
        destination = arguments.operands.count > 1 ? arguments.operands[1] : ""
        to = arguments[option: "to"] ?? ""
        from = arguments[option: "from"]
        mappings = arguments.all("mapping")
        report = arguments[option: "report"]
        policies = arguments.all("policies")
        var options = MigrationOptions()
        options.memoryLimit = arguments.number("memory-limit")
        options.batchSize = arguments.number("batch-size")
        options.workDirectory = arguments[option: "work-dir"]
        options.keys = arguments[option: "keys"].flatMap(KeyChoice.init(rawValue:)) ?? .auto
        options.passes = arguments.number("passes")
        options.appendsToExisting = arguments.has("append")
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
        options.writer = arguments[option: "writer"].flatMap(StoreWriter.init(rawValue:)) ?? .pages
        options.fullCheck = arguments[option: "check"] == "full"
        self.options = options
        if options.newUUID, options.appendsToExisting { throw .contradiction("--append", "--new-uuid") }
        try refuseSamePaths()
    }

    /// What people are told of the mapping models; nil where one is inferred.
    var mapping: String? { mappings.isEmpty ? nil : mappings.joined(separator: ", ") }

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
    /// In turn.
    let mappings: [MappingModel]

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
        for library in request.policies { try PolicyLibrary.load(library) }
        guard !request.mappings.isEmpty else {
            mappings = [try MappingModel.inferred(from: sourceModel.model, to: destinationModel.model)]
            return
        }
        var mappings: [MappingModel] = []
        for path in request.mappings {
            mappings.append(
                try MappingModel.read(
                    path: path, sourceModel: sourceModel.model, destinationModel: destinationModel.model,
                    after: mappings))
        }
        self.mappings = mappings
    }

    /// The migration, ready to plan or run.
    func migration(progress: ProgressCounter = .init(), cancellation: CancellationFlag = .init()) -> Migration {
        Migration(
            from: request.source, model: sourceModel.model, mappings: mappings, to: request.destination,
            model: destinationModel.model, options: request.options, progress: progress, cancellation: cancellation)
    }
}
