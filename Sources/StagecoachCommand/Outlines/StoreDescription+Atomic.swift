import AtomicStores
import CoreDataStore
import Diagnostics
import Glibc
import ManagedModel
import Stagecoach

extension StoreDescription {
    /// Reads the facts of a store of type XML or binary and counts its objects. No model is needed for that.
    ///
    /// - Parameter bundle: the versions of a model, to find those that wrote the store by its version hashes.
    /// - Complexity: O(bytes) time; memory does not depend on the size.
    init(_ path: String, format: StoreFormat, bundle argument: String?) throws(MigrationError) {
        let (header, counts) = try AtomicStoreCensus.count(path, format: format)
        let metadata = header.metadata
        type = format.rawValue
        self.path = path
        uuid = metadata.uuid
        frameworkVersion = metadata.frameworkVersion.map(Int.init)
        modelVersionIdentifiers = metadata.versionIdentifiers.filter { !$0.isEmpty }
        versionChecksum = metadata.versionChecksum
        hasCachedModel = false
        (journalMode, pageSize, walBytes) = (nil, nil, nil)
        var status = stat()
        fileBytes = stat(path, &status) == 0 ? Int(status.st_size) : 0
        applicationKeys = metadata.applicationValues.map(\.key)
        features = []
        var left = counts
        // An XML store has the names of entities in upper case; the metadata have them as they are.
        let known = metadata.versionHashes.keys.sorted().map { name in
            let own = format == .xml ? name.uppercased() : name
            return Entity(
                name: name, number: nil, parent: nil, objects: left.removeValue(forKey: own) ?? 0, maximumKey: nil)
        }
        entities =
            known
            + left.sorted { $0.key < $1.key }.map {
                Entity(name: $0.key, number: nil, parent: nil, objects: $0.value, maximumKey: nil)
            }
        if let argument { version = try Version.find(header, argument: argument) }
    }
}

extension StoreDescription.Version {
    /// Finds the versions of a bundle that have the version hashes of a store.
    fileprivate static func find(_ header: AtomicStoreHeader, argument: String) throws(MigrationError) -> Self {
        let bundle = ModelLocator.bundle(of: argument) ?? argument
        let hashes = header.metadata.versionHashes
        var names: [String] = []
        var nearest: [String]?
        for name in try ModelLocator.candidates(of: bundle) {
            let model = try ModelLocator.candidate(name, of: bundle)
            if !hashes.isEmpty, model.fitting(storeHashes: hashes) != nil { names.append(name) }
            let differences = ModelDifference.describe(store: hashes, model: model)
            if nearest.map({ differences.count < $0.count }) ?? true { nearest = differences }
        }
        let differs = nearest?.first.map { ": \($0)" } ?? ""
        return Self(
            bundle: bundle, versions: names, evidence: names.isEmpty ? nil : .hashes,
            problem: names.isEmpty ? "no version there has the store's version hashes\(differs)" : nil)
    }
}
