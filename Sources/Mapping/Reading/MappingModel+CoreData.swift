import Foundation
import ManagedModel

// Core Data's initialisers of mapping models.

extension MappingModel {
    /// Reads a compiled mapping model (`.cdm`) or Xcode's (`.xcmappingmodel`); nil if it cannot be read. JSON needs its
    /// models: ``read(path:sourceModel:destinationModel:after:unmappable:)``.
    ///
    /// Xcode's compiler fills in the expressions that an `.xcmappingmodel` leaves out. Here they are nil until a migration
    /// has the two models; it fills them in, in this object.
    public convenience init?(contentsOf url: URL?) {
        guard let url, let file = try? MappingFile(path: url.path) else { return nil }
        let read: MappingModel?
        switch file.form {
        case .compiled: read = try? MappingModel.reading(compiled: file.bytes, path: file.path)
        case .xcode: read = try? MappingModel.reading(xcode: file.bytes, path: file.path)
        case .json: read = nil
        }
        guard let read else { return nil }
        self.init()
        take(read, with: read.entityMappings)
    }

    /// Finds the mapping model in some bundles that leads from one version to another; nil if there is none.
    ///
    /// Compiled mapping models are identified by the version hashes in them, Xcode's by their names of entities and properties.
    /// - Parameter bundles: the bundles; nil for the program's own.
    /// - Complexity: reads every mapping model of the bundles until one fits.
    public convenience init?(
        from bundles: [Bundle]?, forSourceModel sourceModel: ManagedObjectModel?,
        destinationModel: ManagedObjectModel?
    ) {
        guard let sourceModel, let destinationModel else { return nil }
        for path in ManagedObjectModel.files(in: bundles, withExtensions: ["cdm", "xcmappingmodel"]) {
            let read = try? MappingModel.read(
                path: path, sourceModel: sourceModel, destinationModel: destinationModel)
            guard let read, read.fits(sourceModel, destinationModel) else { continue }
            self.init()
            take(read, with: read.entityMappings)
            return
        }
        return nil
    }

    /// Tells whether the version hashes that the mapping states, and the names in it, are those of the models.
    private func fits(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) -> Bool {
        let (before, after) = (source.entityVersionHashesByName, destination.entityVersionHashesByName)
        func agrees(_ hash: Data?, _ name: String?, _ known: [String: Data]) -> Bool {
            guard let hash, let name, let own = known[name] else { return true }
            return hash == own
        }
        let areHashesEqual = entityMappings.allSatisfy {
            !$0.statesVersionHashes
                || agrees($0.sourceEntityVersionHash, $0.sourceEntityName, before)
                    && agrees($0.destinationEntityVersionHash, $0.destinationEntityName, after)
        }
        return areHashesEqual && (try? validate(source: source, destination: destination)) != nil
    }
}
