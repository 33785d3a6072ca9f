import Diagnostics
import ManagedModel

/// A version that a route may go through. Its model is read on demand, because all versions of a bundle together may
/// take more memory than the migration.
final class VersionInHistory {
    let name: String?
    private let shelf: VersionShelf
    /// The model, if the caller has read it.
    private let given: ManagedObjectModel?
    private weak var known: ManagedObjectModel?
    private var knownNames: Set<String>?

    /// Creates a version that has been read.
    convenience init(_ version: ModelVersion, on shelf: VersionShelf) {
        self.init(named: version.name, on: shelf, version.model)
    }

    /// Creates a version of the shelf's bundle, which is not read yet if its model is nil.
    init(named name: String?, on shelf: VersionShelf, _ given: ManagedObjectModel? = nil) {
        (self.name, self.shelf, self.given) = (name, shelf, given)
    }

    /// The version's name in messages.
    var label: String { name ?? "an unnamed version" }

    /// Returns the model. Throws the errors of reading it.
    func model() throws(MigrationError) -> ManagedObjectModel {
        if let given { return given }
        if let known { return known }
        let model = try shelf.read(name ?? "")
        known = model
        knownNames = Set(model.whole.entities.map(\.definition.name))
        return model
    }

    /// Returns the version with its model, which is held by the result.
    func version() throws(MigrationError) -> ModelVersion { ModelVersion(name: name, model: try model()) }

    /// The names of all entities, in every configuration; nil if the version cannot be read.
    var entityNames: Set<String>? {
        if knownNames == nil { knownNames = (try? model()).map { Set($0.whole.entities.map(\.definition.name)) } }
        return knownNames
    }

    /// Tells whether two versions are the same to a store: every entity has the same hash.
    func hasSameHashes(as other: VersionInHistory) -> Bool {
        guard let own = try? version(), let others = try? other.version() else { return false }
        return own.hasSameHashes(as: others)
    }
}

/// Reads the versions of a bundle, each in the form in which a store of the source's configuration is read.
///
/// Memory: the few models that were read last.
final class VersionShelf {
    private static let held = 3

    private let bundle: String?
    private let source: ManagedObjectModel
    private var recent: [ManagedObjectModel] = []

    /// Creates the shelf of a bundle.
    ///
    /// - Parameter source: the model of the store.
    init(bundle: String?, source: ManagedObjectModel) {
        self.bundle = bundle
        self.source = source
    }

    fileprivate func read(_ name: String) throws(MigrationError) -> ManagedObjectModel {
        let model = try ModelLocator.load(bundle.map { "\($0):\(name)" } ?? name).model.counterpart(of: source)
        recent.append(model)
        if recent.count > Self.held { recent.removeFirst() }
        return model
    }
}
