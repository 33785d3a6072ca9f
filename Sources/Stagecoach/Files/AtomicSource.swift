import AtomicStores
import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// A store of type XML or binary as a source: it is read through a private SQLite store of the same model, in a folder for work
/// files that is gone when the work is done.
package enum AtomicSource {
    /// The memory for the import where no limit is given.
    private static let standardMemory = 64 << 20

    /// Runs work that opens a store, of whatever type. A store of type SQLite is opened as it is.
    ///
    /// - Parameters:
    ///   - path: the store.
    ///   - folder: the folder for work files; nil for that of temporary files.
    ///   - memoryLimit: the peak resident memory in bytes; nil: the standard one.
    ///   - countsByTable: true if the numbers of the store may be keys to which those of the tables before were added, as
    ///     a destination has them whose tables had the same keys: then the keys are read.
    ///   - chooseModel: finds the model that wrote the store, by its metadata.
    /// - Throws: the errors of ``PrivateStoreImport/run(to:chooseModel:)``, and those of the work.
    package static func during<Value>(
        _ path: String, folder: String? = nil, memoryLimit: Int? = nil, countsByTable: Bool = false,
        checkCancelled: () throws -> Void = {},
        chooseModel: (AtomicStoreHeader) throws(MigrationError) -> ManagedObjectModel, _ work: () throws -> Value
    ) throws -> Value {
        // A file whose beginning cannot be read once is no store of type SQLite for that.
        guard let format = StoreFormat.of(path) ?? StoreFormat.of(path), format != .sqlite, StandInStore.of(path) == nil
        else {
            return try work()
        }
        let place = try CheckFolder(in: folder, as: .source)
        defer { place.remove() }
        do {
            return try withoutActuallyEscaping(checkCancelled) { checkCancelled in
                func importing(_ bounds: [Int64] = []) throws -> PrivateStoreImport.Result {
                    try self.importing(path, format, bounds, place, memoryLimit, checkCancelled, chooseModel)
                }
                var result = try importing()
                if countsByTable, let bounds = result.bounds, !bounds.isEmpty { result = try importing(bounds) }
                return try result.standIn.during(work)
            }
        } catch var error as MigrationError {
            let name = "/\(DestinationPath(path: place.path).name)/"
            if error.context.path?.contains(name) ?? false { error.context.path = path }
            throw error
        }
    }

    private static func importing(
        _ path: String, _ format: StoreFormat, _ bounds: [Int64], _ place: CheckFolder, _ memoryLimit: Int?,
        _ checkCancelled: @escaping () throws -> Void,
        _ chooseModel: (AtomicStoreHeader) throws(MigrationError) -> ManagedObjectModel
    ) throws -> PrivateStoreImport.Result {
        let directory = try WorkDirectory(path: "\(place.path)/import")
        defer { try? directory.remove() }
        let room = memoryLimit.map { max(0, $0 - (ProcessMemory.currentResident() ?? 0)) } ?? standardMemory * 4
        // The error of the cancellation is thrown as it is, whatever its type.
        var reason: (any Error)?
        do {
            let result = try PrivateStoreImport(
                path, format: format, directory: directory, memory: min(standardMemory, room / 4), bounds: bounds
            ) { () throws(MigrationError) in
                do { try checkCancelled() } catch {
                    reason = error
                    throw MigrationError("run.cancelled", .temporary, "The run was cancelled")
                }
            }.run(to: "\(place.path)/source\(bounds.count).sqlite", chooseModel: chooseModel)
            ProcessMemory.returnFreedBlocks()
            return result
        } catch { throw reason ?? error }
    }

    /// Returns the format of a type in Core Data's words.
    ///
    /// - Parameter path: the store of that type; nil if it is to be made.
    /// - Throws: `manager.storeType` (78) for a store in memory, an unknown type, and a type that is not that of the file.
    package static func format(_ type: String, of path: String? = nil) throws(MigrationError) -> StoreFormat {
        guard let format = StoreFormat(rawValue: type) else {
            throw MigrationError(
                "manager.storeType", .configuration,
                type == "InMemory"
                    ? "A store in memory has no file, so there is nothing to migrate"
                    : "There is no store type \(type)",
                remedy: "Use a file, of type SQLite, XML or Binary")
        }
        if let path, let found = StoreFormat.of(path), found != format {
            throw MigrationError(
                "manager.storeType", .configuration, "The store is of type \(found.rawValue), not \(type)",
                remedy: "Give the type \(found.rawValue)", context: .init(path: path))
        }
        return format
    }

    /// Returns a given model for a store, or the version of a bundle that wrote it.
    ///
    /// - Parameters:
    ///   - header: the store's header.
    ///   - model: the model that is said to have written the store; nil if none is named.
    ///   - bundle: the versions to search otherwise.
    /// - Throws: `store.otherModel`, `model.unknownVersion` (78).
    package static func model(
        for header: AtomicStoreHeader, of path: String, named model: ManagedObjectModel?, bundle: String?
    ) throws(MigrationError) -> ManagedObjectModel {
        let hashes = header.metadata.versionHashes
        if let model {
            // The metadata of 2005 are empty. An XML store has the names of all properties, which show a wrong model.
            if hashes.isEmpty, header.format == .xml { return model }
            if let fitting = model.fitting(storeHashes: hashes) { return fitting }
            throw misfit("store.otherModel", "The model did not write the store", [model], hashes, path)
        }
        var tried: [ManagedObjectModel] = []
        for name in try bundle.map({ path throws(MigrationError) in try ModelLocator.candidates(of: path) }) ?? [] {
            guard let bundle, let candidate = try? ModelLocator.candidate(name, of: bundle) else { continue }
            if !hashes.isEmpty, let fitting = candidate.fitting(storeHashes: hashes) { return fitting }
            tried.append(candidate)
        }
        if hashes.isEmpty, header.format == .xml, tried.count == 1 { return tried[0] }
        let said = header.metadata.versionIdentifiers.filter { !$0.isEmpty }.joined(separator: ", ")
        let label = said.isEmpty ? "" : ", which calls its version \(said)"
        let search = bundle.map { "no version in \($0)" } ?? "no model is named that"
        throw misfit(
            "model.unknownVersion", "Nothing says which model wrote the store\(label): \(search) fits it", tried,
            hashes, path)
    }

    private static func misfit(
        _ code: MigrationError.Code, _ message: String, _ models: [ManagedObjectModel], _ hashes: [String: [UInt8]],
        _ path: String
    ) -> MigrationError {
        let differences = models.map { ModelDifference.describe(store: hashes, model: $0) }
        let nearest = differences.min { $0.count < $1.count } ?? []
        var text = message
        if hashes.isEmpty {
            text += "; it has no version hashes"
        } else if !nearest.isEmpty {
            text += "; " + nearest.prefix(4).joined(separator: "; ")
            if nearest.count > 4 { text += "; and \((nearest.count - 4).counted("more difference"))" }
        }
        return MigrationError(
            code, .configuration, text,
            remedy: "Name the model version that wrote the store: stores of this type have none in them",
            context: .init(path: path))
    }
}
