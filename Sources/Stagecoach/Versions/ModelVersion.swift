import Diagnostics
import ManagedModel

/// A version of a model, with its name.
public struct ModelVersion: Sendable {
    /// The version's name in its bundle, or the one in the model itself; nil if there is none.
    public var name: String?
    /// The version's model.
    public var model: ManagedObjectModel

    /// Creates a version; the name is nil if it has none.
    public init(name: String?, model: ManagedObjectModel) {
        self.name = name
        self.model = model
    }

    /// The version's name in messages.
    package var label: String { name ?? "an unnamed version" }

    /// Returns the versions of an `.xcdatamodeld` or `.momd`, sorted by name, with numbers in names compared as
    /// numbers.
    ///
    /// - Parameter bundle: the folder.
    /// - Returns: the versions that can be read, and the errors of the others.
    /// - Throws: the errors of ``ModelLocator/versions(in:)``.
    /// - Complexity: O(bytes of all versions); all of them are held.
    public static func all(
        in bundle: String
    ) throws(MigrationError) -> (versions: [ModelVersion], unreadable: [String: MigrationError]) {
        var versions: [ModelVersion] = []
        var unreadable: [String: MigrationError] = [:]
        for name in try ModelLocator.versions(in: bundle) {
            do throws(MigrationError) {
                versions.append(ModelVersion(name: name, model: try ModelLocator.load("\(bundle):\(name)").model))
            } catch {
                unreadable[name] = error
            }
        }
        return (versions, unreadable)
    }

    /// Tells whether two versions are the same to a store: every entity has the same hash.
    func hasSameHashes(as other: ModelVersion) -> Bool {
        let (own, others) = (model.entityVersionHashesByName, other.model.entityVersionHashesByName)
        return own == others && own.count == model.entities.count && others.count == other.model.entities.count
    }
}
