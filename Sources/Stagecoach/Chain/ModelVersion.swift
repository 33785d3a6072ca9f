import Diagnostics
import ManagedModel

/// A version of a model and what people call it.
public struct ModelVersion: Sendable {
    /// The version's name in its bundle, or what the model itself says; nil where nobody says.
    public var name: String?
    /// The version's model.
    public var model: ManagedObjectModel

    /// A version by name; nil where it has none.
    public init(name: String?, model: ManagedObjectModel) {
        self.name = name
        self.model = model
    }

    /// The name for messages.
    package var label: String { name ?? "an unnamed version" }

    /// The versions of an `.xcdatamodeld` or `.momd`, in the order of their names, numbers in them compared as numbers.
    ///
    /// - Parameter bundle: the folder.
    /// - Returns: the versions that can be read, and why the others cannot.
    /// - Throws: what ``ModelLocator/versions(in:)`` throws.
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

    /// Whether two versions are one and the same to a store: every entity has the same hash.
    func hasSameHashes(as other: ModelVersion) -> Bool {
        let (own, others) = (model.entityVersionHashesByName, other.model.entityVersionHashesByName)
        return own == others && own.count == model.entities.count && others.count == other.model.entities.count
    }
}
