import AtomicStores
import CoreDataStore
import Diagnostics
import Glibc
import ManagedModel
import SpillStorage
import Stagecoach

extension StoreFormat {
    /// The type that a word on the command line means.
    init?(argument: String) {
        guard let format = Self.allCases.first(where: { $0.rawValue.lowercased() == argument }) else { return nil }
        self = format
    }
}

/// A store of type XML or binary as an argument: a command that reads it gets a private SQLite store in its place.
enum AtomicArgument {
    /// Runs work that opens the source of a request, and the destination where that is one to compare.
    ///
    /// - Parameter makes: true if the work makes a destination, so that files may lie beside it.
    static func during<Value>(
        _ request: MigrationRequest, makes: Bool = false, cancellation: CancellationFlag? = nil,
        _ work: () throws -> Value
    ) throws -> Value {
        if let type = request.sourceType { _ = try AtomicSource.format(type.rawValue, of: request.source) }
        var beside: String?
        if makes, !request.destination.isEmpty {
            // A folder that cannot be written is refused later, after the errors of the inputs.
            let folder = PathIdentity.folder(of: request.destination)
            beside = access(folder, W_OK | X_OK) == 0 ? folder : nil
        }
        return try AtomicSource.during(
            request.source, folder: request.options.workDirectory ?? beside, memoryLimit: request.options.memoryLimit,
            checkCancelled: { if let error = cancellation?.error { throw error } },
            chooseModel: { header throws(MigrationError) in
                try model(for: header, of: request.source, named: request.from, bundle: request.to)
            }, work)
    }

    /// Runs work that makes the destination of a request, of whatever type.
    ///
    /// - Parameters:
    ///   - traces: takes the last files, until the result is told.
    ///   - work: gets the path of the SQLite store to make.
    /// - Returns: the value of the work, and a sentence about numbers that are not keys, if there are any.
    static func making<Value>(
        _ request: MigrationRequest, _ inputs: MigrationInputs, leavingTo traces: LastTraces,
        cancellation: CancellationFlag, _ work: (_ path: String) throws -> Value
    ) throws -> (value: Value, note: String?) {
        let format = request.destinationType
        let model = inputs.madeModel
        if request.options.isDryRun {
            try AtomicDestination.check(request.destination, format: format, model: model)
            return (try work(request.destination), nil)
        }
        return try AtomicDestination.during(
            request.destination, format: format, model: model, source: request.source,
            results: [request.options.rejectFile, request.options.idMap].compactMap(\.self), leavingTo: traces,
            checkCancelled: { if let error = cancellation.error { throw error } }, work)
    }

    /// Runs work that opens a store with the model of an option.
    ///
    /// - Parameter countsByTable: as in ``AtomicSource``.
    static func during<Value>(
        _ store: String, model argument: String?, memoryLimit: Int? = nil, countsByTable: Bool = false,
        _ work: () throws -> Value
    ) throws -> Value {
        try AtomicSource.during(
            store, memoryLimit: memoryLimit, countsByTable: countsByTable,
            chooseModel: { header throws(MigrationError) in
                try model(for: header, of: store, named: nil, bundle: argument)
            }, work)
    }

    /// Returns the model that wrote a store, by its version hashes; nil for a file that is no store of type XML or binary.
    static func model(ofStore path: String, bundle: String?) throws(MigrationError) -> NamedModel? {
        guard let format = StoreFormat.of(path), format != .sqlite else { return nil }
        let header = try AtomicStoreHeader.read(path, format: format)
        return NamedModel(
            model: try model(for: header, of: path, named: nil, bundle: bundle),
            name: ModelArgument.label(header.metadata.versionIdentifiers))
    }

    private static func model(
        for header: AtomicStoreHeader, of path: String, named: String?, bundle: String?
    ) throws(MigrationError) -> ManagedObjectModel {
        let bundle = bundle.flatMap { ModelLocator.bundle(of: $0) ?? (ModelLocator.isModel(name: $0) ? $0 : nil) }
        let model = try named.map { argument throws(MigrationError) in try ModelArgument.load(argument).model }
        return try AtomicSource.model(for: header, of: path, named: model, bundle: bundle)
    }

    /// The error for a store of another type where a model is asked for.
    static func refuseAsModel(_ path: String) throws(MigrationError) {
        guard let format = StoreFormat.of(path), format != .sqlite else { return }
        throw MigrationError(
            "model.noCache", .configuration,
            "The file is a store of type \(format.rawValue), and such stores have no model in them",
            remedy: "Name an .xcdatamodel, .xcdatamodeld, .momd or .mom", at: path)
    }
}
