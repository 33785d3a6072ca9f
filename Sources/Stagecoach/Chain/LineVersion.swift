import Diagnostics
import ManagedModel

/// A version that a way may go through. Its model is read when it is asked for, as the versions of a bundle together may
/// take more memory than the migration.
final class LineVersion {
    let name: String?
    private let shelf: VersionShelf
    /// Of a version that the caller has read.
    private let given: ManagedObjectModel?
    private weak var known: ManagedObjectModel?
    private var knownNames: Set<String>?

    /// A version that has been read.
    init(_ version: ModelVersion, on shelf: VersionShelf) {
        name = version.name
        given = version.model
        self.shelf = shelf
    }

    /// A version of the shelf's bundle, not read yet.
    init(named name: String, on shelf: VersionShelf) {
        self.name = name
        given = nil
        self.shelf = shelf
    }

    /// The name for messages.
    var label: String { name ?? "an unnamed version" }

    /// The model.
    ///
    /// - Throws: what reading it throws.
    func model() throws(MigrationError) -> ManagedObjectModel {
        if let given { return given }
        if let known { return known }
        let model = try shelf.read(name ?? "")
        known = model
        knownNames = Set(model.whole.entities.map(\.definition.name))
        return model
    }

    /// The version with its model, which lives as long as this value.
    func version() throws(MigrationError) -> ModelVersion { ModelVersion(name: name, model: try model()) }

    /// Names of all entities, whatever the store's configuration; nil where the version cannot be read.
    var entityNames: Set<String>? {
        if let knownNames { return knownNames }
        guard let model = try? model() else { return nil }
        knownNames = Set(model.whole.entities.map(\.definition.name))
        return knownNames
    }

    /// Whether two versions are one and the same to a store.
    func hasSameHashes(as other: LineVersion) -> Bool {
        guard let own = try? version(), let others = try? other.version() else { return false }
        return own.hasSameHashes(as: others)
    }
}

/// Reads the versions of a bundle, each as what a store of the source's configuration is read by.
///
/// Memory: the few that were read last.
final class VersionShelf {
    private static let held = 3

    private let bundle: String?
    private let source: ManagedObjectModel
    private var recent: [ManagedObjectModel] = []

    /// - Parameter source: of the store.
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
