import AtomicStores
import Diagnostics
import ManagedModel
import SpillStorage

/// A store of type XML or binary as a destination: the run makes a private SQLite store, which is then written as a file of the
/// other type and takes the destination's name in one step.
package enum AtomicDestination {
    /// Refuses a destination that cannot be made, before the work.
    ///
    /// - Throws: `store.unwritable`, `store.unprovenType`, `model.namesDifferByCase` (78); the errors of a fresh destination (73).
    package static func check(
        _ path: String, format: StoreFormat, model: ManagedObjectModel
    ) throws(MigrationError) {
        guard format != .sqlite else { return }
        try AtomicStoreExport.check(model, format)
        try DestinationPath(path: path).checkFresh()
    }

    /// Runs work that makes a store, of whatever type. A store of type SQLite is made by the work at its own path.
    ///
    /// - Parameters:
    ///   - path: the destination, where no file exists.
    ///   - source: the file whose permissions the destination gets at most.
    ///   - work: makes an SQLite store at the path that it gets.
    /// - Throws: the errors of ``check(_:format:model:)`` and of the work, which name the destination; those of writing.
    package static func during<Value>(
        _ path: String, format: StoreFormat, model: ManagedObjectModel, source: String,
        checkCancelled: () throws -> Void = {}, _ work: (_ path: String) throws -> Value
    ) throws -> Value {
        guard format != .sqlite else { return try work(path) }
        try check(path, format: format, model: model)
        let target = DestinationPath(path: path)
        let place = try CheckFolder(in: target.folder)
        defer { place.remove() }
        let permissions = FilePermissions(ofSource: source)
        let inner = "\(place.path)/store.sqlite"
        do {
            let value = try work(inner)
            let finished = "\(place.path)/finished"
            try AtomicStoreExport(of: inner, model: model, format: format).write(
                to: finished, permissions: permissions, checkCancelled: checkCancelled)
            try target.publish(finished, permissions: permissions)
            return value
        } catch var error as MigrationError {
            if error.context.path?.hasPrefix(place.path) ?? false { error.context.path = path }
            throw error
        }
    }
}
