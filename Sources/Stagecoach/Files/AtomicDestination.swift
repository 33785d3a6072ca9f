import AtomicStores
import Diagnostics
import Glibc
import ManagedModel
import SpillStorage

/// A store of type XML or binary as a destination: the run makes a private SQLite store, which is then written as a file of the
/// other type and takes the destination's name in one step.
///
/// All files are in a folder beside the destination, which a killed run leaves. The same run started again resumes the making of
/// the private store, as it does for a destination of type SQLite; a finished private store is written as the file again.
package struct AtomicDestination {
    private let target: DestinationPath
    private let directory: WorkDirectory

    // These paths lead to the folder even if another one takes its name.

    /// The private store.
    private var store: String { "\(directory.inside)/\(target.name).sqlite" }
    /// The finished file.
    private var finished: String { "\(directory.inside)/\(target.name).finished" }
    /// A second name of the finished file, by which a destination is known as its own.
    private var published: String { "\(directory.inside)/\(target.name).published" }

    /// Refuses a model whose objects a store of a type cannot keep.
    ///
    /// - Throws: `store.unwritable`, `store.unprovenType`, `model.namesDifferByCase` (78).
    package static func check(_ format: StoreFormat, model: ManagedObjectModel) throws(MigrationError) {
        if format != .sqlite { try AtomicStoreExport.check(model, format) }
    }

    /// Refuses a destination that cannot be made, before the work.
    ///
    /// - Throws: the errors of ``check(_:model:)``, and those of a fresh destination (73).
    package static func check(
        _ path: String, format: StoreFormat, model: ManagedObjectModel
    ) throws(MigrationError) {
        guard format != .sqlite else { return }
        try check(format, model: model)
        try DestinationPath(path: path).checkFresh()
    }

    /// Runs work that makes a store, of whatever type. A store of type SQLite is made by the work at its own path.
    ///
    /// - Parameters:
    ///   - path: the destination, where no file exists.
    ///   - source: the file whose permissions the destination gets at most.
    ///   - results: the paths of files that the work gives their names when it has made its store.
    ///   - traces: takes the last files, where the caller has the result to tell first; nil: they are removed at once, and no
    ///     later run resumes this one.
    ///   - work: makes an SQLite store at the path that it gets.
    /// - Returns: the value of the work, and a sentence about numbers that are not keys, if there are any.
    /// - Throws: the errors of ``check(_:format:model:)`` and of the work, which name the destination; those of writing;
    ///   `destination.busy` (75) if another run makes the destination.
    package static func during<Value>(
        _ path: String, format: StoreFormat, model: ManagedObjectModel, source: String, results: [String] = [],
        leavingTo traces: LastTraces?, checkCancelled: () throws -> Void, _ work: (_ path: String) throws -> Value
    ) throws -> (value: Value, note: String?) {
        guard format != .sqlite else { return (try work(path), nil) }
        try check(format, model: model)
        let target = DestinationPath(path: path)
        let folder = "\(target.workDirectory)-\(format.rawValue.lowercased())"
        do {
            if try DestinationPath.status(folder) == nil { try target.checkFresh() }
            let place = Self(
                target: target,
                directory: try WorkDirectory(path: folder, keepsFiles: true, elsewhere: DestinationPath.elsewhere))
            let permissions = FilePermissions(ofSource: source)
            return try place.making(leavingTo: traces, results, work) { store in
                let note = try AtomicStoreExport(of: store, model: model, format: format).write(
                    to: place.finished, permissions: permissions, checkCancelled: checkCancelled)
                try place.publish(permissions)
                return note
            }
        } catch var error as MigrationError {
            if error.context.path?.hasPrefix(folder) ?? false { error.context.path = path }
            throw error
        }
    }

    /// Runs the work and the writing of the file, and decides what of them a later run may use.
    private func making<Value>(
        leavingTo traces: LastTraces?, _ results: [String], _ work: (String) throws -> Value,
        _ write: (String) throws -> String?
    ) throws -> (value: Value, note: String?) {
        let isPublished =
            try target.exists() && DestinationPath.status(published) != nil
            && DestinationPath.isSameFile(published, target.path)
        var isMade = false
        do {
            if traces == nil { clear() }
            if !isPublished {
                try target.checkFresh()
                for name in [finished, published] { unlink(name) }
                try DestinationPath.synchronize(folder: target.folder)
            }
            let value: Value
            do { value = try work(store) } catch let error as MigrationError
                where error.code == "destination.exists" && !isPublished
            {
                // The finished private store of a killed run that is not to be resumed.
                clear()
                value = try work(store)
            }
            isMade = true
            let note = isPublished ? nil : try write(store)
            LastTraces.remove(leavingTo: traces) {
                clear()
                try? directory.remove()
                rmdir(directory.path)
            }
            return (value, note)
        } catch {
            // Result files that have their names would be those of no destination.
            let isKept =
                traces != nil && (!isMade || results.isEmpty) && (error as? MigrationError).map(Self.isLater) ?? false
            if isKept {
                traces?.leave()
            } else {
                clear()
                if isMade { for path in results { unlink(path) } }
            }
            try? directory.remove(keepsFiles: true)
            // An existing folder of this name is ours, even if a killed run had not locked it yet. One with files stays.
            rmdir(directory.path)
            throw error
        }
    }

    /// Tells whether an error leaves work that the same run may resume.
    private static func isLater(_ error: MigrationError) -> Bool {
        error.category == .io || error.code == "resume.changed"
            || error.category == .temporary && error.code != "store.moved"
    }

    /// Gives the finished file the destination's name.
    private func publish(_ permissions: FilePermissions) throws(MigrationError) {
        if link(finished, published) == 0 { try DestinationPath.synchronize(folder: directory.inside) }
        try target.publish(finished, permissions: permissions)
    }

    /// Removes all files but the lock.
    private func clear() {
        for name in SystemFileCalls().names(in: directory.inside) ?? [] where name != "lock" {
            FileSystem.removeTree("\(directory.inside)/\(name)")
        }
    }
}
