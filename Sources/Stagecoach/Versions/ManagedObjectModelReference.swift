import Diagnostics
import Foundation
import ManagedModel

/// A reference to a model version: the model itself or the place where it is found, and the checksum that it must have.
public final class ManagedObjectModelReference: NSObject {
    private enum Place {
        case model(ManagedObjectModel)
        case file(URL)
        case named(String, Bundle?)
        case hashes([String: Data], Bundle?)
    }

    /// The version checksum that the model must have.
    public let versionChecksum: String
    private let place: Place

    /// Creates a reference to a model in memory.
    public init(model: ManagedObjectModel, versionChecksum: String) {
        place = .model(model)
        self.versionChecksum = versionChecksum
    }

    /// Creates a reference to a model on disk, which ``ModelLocator`` reads.
    public init(fileURL: URL, versionChecksum: String) {
        place = .file(fileURL)
        self.versionChecksum = versionChecksum
    }

    /// Creates a reference to a model in a bundle by its name: `Library` for `Library.momd` or `Library.mom`.
    ///
    /// - Parameters:
    ///   - name: the model's name, without an extension.
    ///   - bundle: the bundle; nil for the program's own.
    ///   - versionChecksum: the version checksum that the model must have.
    public init(name: String, in bundle: Bundle?, versionChecksum: String) {
        place = .named(name, bundle)
        self.versionChecksum = versionChecksum
    }

    /// Creates a reference to a model in a bundle by the version hashes of its entities.
    ///
    /// - Parameters:
    ///   - entityVersionHashes: the version hashes, by entity name.
    ///   - bundle: the bundle; nil for the program's own.
    ///   - versionChecksum: the version checksum that the model must have.
    public init(entityVersionHashes: [String: Data], in bundle: Bundle?, versionChecksum: String) {
        place = .hashes(entityVersionHashes, bundle)
        self.versionChecksum = versionChecksum
    }

    /// Returns the model.
    ///
    /// - Throws: `staged.modelNotFound` (78) if there is no model, or if it has another checksum; `model.unreadable` (74).
    public func resolved() throws(MigrationError) -> ManagedObjectModel {
        guard let model = try candidate() else {
            throw error("There is no model version of the checksum \(versionChecksum)", nil)
        }
        // If only Core Data can compute the model's checksum, it cannot be compared, and the model is accepted.
        guard let own = model.versionChecksum, own != versionChecksum else { return model }
        throw error("The model has the version checksum \(own), not \(versionChecksum)", path)
    }

    /// The model; nil if there is none, or if it has another checksum. ``resolved()`` says which.
    public var resolvedModel: ManagedObjectModel! { try? resolved() }

    /// The model, whatever its checksum; nil if there is none.
    var found: ManagedObjectModel? { try? candidate() }

    private var path: String? { if case .file(let url) = place { url.path } else { nil } }

    private func candidate() throws(MigrationError) -> ManagedObjectModel? {
        switch place {
        case .model(let model): return model
        case .file(let url):
            do throws(MigrationError) { return try ModelLocator.load(url.path).model } catch {
                // A folder of versions may have the model under another name than that of the current version.
                guard ModelLocator.bundle(of: url.path) != nil else { throw error }
                return nil
            }
        case .named(let name, let bundle):
            let folder = (bundle ?? .main).resourcePath ?? (bundle ?? .main).bundlePath
            for ending in ["momd", "mom", "xcdatamodeld", "xcdatamodel"] {
                let path = "\(folder)/\(name).\(ending)"
                guard try Self.exists(path) else { continue }
                return try ModelLocator.load(path).model
            }
            return nil
        case .hashes(let hashes, let bundle):
            return ManagedObjectModel.mergedModel(
                from: bundle.map { [$0] }, forStoreMetadata: ["NSStoreModelVersionHashes": hashes])
        }
    }

    private static func exists(_ path: String) throws(MigrationError) -> Bool {
        do throws(FileBytes.Failure) { return try FileBytes.status(path) != nil } catch {
            throw MigrationError(
                "model.unreadable", .io, "Looking for the model failed: \(error)", remedy: "Check the disk it is on",
                context: .init(path: path))
        }
    }

    private func error(_ message: String, _ path: String?) -> MigrationError {
        MigrationError(
            "staged.modelNotFound", .configuration, message,
            remedy: "Name the model that the checksum is of", context: .init(path: path))
    }
}
