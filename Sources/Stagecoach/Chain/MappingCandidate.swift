import Diagnostics
import ManagedModel
import Mapping

/// A given mapping model before it is known which versions it is for.
struct MappingCandidate {
    /// As the user gave it.
    let path: String
    /// The versions that the file itself names.
    let said: (source: String, destination: String)?
    private let file: MappingFile
    private let sourceEntities: Set<String>
    private let destinationEntities: Set<String>

    /// - Throws: what reading the file and its outline throws.
    init(path: String) throws(MigrationError) {
        self.path = path
        file = try MappingFile(path: path)
        let outline = try MappingOutline.reading(file)
        sourceEntities = Set(outline.entityMappings.compactMap(\.sourceEntity))
        destinationEntities = Set(outline.entityMappings.compactMap(\.destinationEntity))
        if let source = outline.sourceModelPath.flatMap(Self.version),
            let destination = outline.destinationModelPath.flatMap(Self.version)
        {
            said = (source, destination)
        } else {
            said = nil
        }
    }

    /// Whether two models have the entities that the file names: what is quick to know.
    func namesEntities(of source: ManagedObjectModel, _ destination: ManagedObjectModel) -> Bool {
        sourceEntities.allSatisfy { source.entity(named: $0) != nil }
            && destinationEntities.allSatisfy { destination.entity(named: $0) != nil }
    }

    /// The mapping model for two versions.
    ///
    /// - Throws: what ``MappingModel/read(path:sourceModel:destinationModel:after:)`` throws.
    func read(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, after earlier: [MappingModel]
    ) throws(MigrationError) -> MappingModel {
        try MappingModel.read(file, sourceModel: source, destinationModel: destination, after: earlier)
    }

    /// The version's name in the path of an `.xcdatamodel`.
    private static func version(_ path: String) -> String? {
        guard let name = path.split(separator: "/").last, name.hasSuffix(".xcdatamodel") else { return nil }
        return String(name.dropLast(".xcdatamodel".count))
    }
}
