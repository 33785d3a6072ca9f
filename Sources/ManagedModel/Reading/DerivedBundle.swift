import Diagnostics
import Synchronization

/// Versions of a model that were derived from other files than models, such as Swift sources. Once registered, they are named
/// as those of a folder of versions are: by the path of what they were derived from, alone or with `:Version`.
package struct DerivedBundle: Sendable {
    /// A version with its model, or with the reason why there is none.
    package struct Version: Sendable {
        package let name: String
        /// Other names by which it can be named, such as its identifier.
        package let aliases: [String]
        package let model: Result<ManagedObjectModel, MigrationError>

        package init(name: String, aliases: [String] = [], model: Result<ManagedObjectModel, MigrationError>) {
            (self.name, self.aliases, self.model) = (name, aliases, model)
        }
    }

    /// The path that names them, without a slash at its end.
    package let path: String
    /// The versions, the oldest first; the last is the current one.
    package let versions: [Version]
    /// The versions that can be named, but are on no way from version to version.
    package let others: [Version]

    package init(path: String, versions: [Version], others: [Version] = []) {
        self.path = path.withoutTrailingSlashes
        (self.versions, self.others) = (versions, others)
    }

    private static let known = Mutex<[String: DerivedBundle]>([:])

    /// Makes the versions known to ``ModelLocator``, in place of those of the same path.
    package static func register(_ bundle: DerivedBundle) { known.withLock { $0[bundle.path] = bundle } }

    /// Returns the registered versions that an argument names, and the version in it; nil if it names none.
    static func named(_ argument: String) -> (DerivedBundle, version: String?)? {
        known.withLock { known in
            if known.isEmpty { return nil }
            let whole = argument.withoutTrailingSlashes
            if let bundle = known[whole] { return (bundle, nil) }
            guard let colon = whole.lastIndex(of: ":"),
                let bundle = known[String(whole[..<colon]).withoutTrailingSlashes]
            else { return nil }
            return (bundle, String(whole[whole.index(after: colon)...]))
        }
    }

    /// Returns a version; the current one if none is named.
    ///
    /// - Throws: `model.noVersion` (78), `model.unknownVersion` (66), the reason why a version has no model.
    func load(_ name: String?) throws(MigrationError) -> LoadedModel {
        let all = versions + others
        func version(named name: String) -> Version? {
            all.first { $0.name == name } ?? all.first { $0.aliases.contains(name) }
        }
        guard let version = name.map(version(named:)) ?? versions.last else {
            let list = all.map { "\"\($0.name)\"" }.joined(separator: ", ")
            throw MigrationError(
                "model.unknownVersion", .noInput, "There is no version \(name ?? "")",
                remedy: "Write \(path):VERSION; it has \(list)", context: .init(path: path))
        }
        return LoadedModel(model: try version.model.get(), path: path, versionName: version.name)
    }
}
