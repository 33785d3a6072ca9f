import Diagnostics
import ManagedModel
import Mapping

/// A given mapping model before it is known which versions it is for.
struct MappingCandidate {
    /// The file.
    let path: String
    /// The versions that the mapping model is for: of the argument, or of the file itself.
    let said: MappingVersions?
    /// Whether somebody wrote the versions down to be kept to. Xcode's are a note of where the models were then, and count
    /// for nothing where there are none of these names.
    let isStated: Bool
    /// Whether the file has keys for the versions.
    var isJSON: Bool { file.form == .json }
    private let file: MappingFile
    private let sourceEntities: Set<String>
    private let destinationEntities: Set<String>

    /// - Parameter argument: a path, after the versions where they are said: ``MappingArgument``.
    /// - Throws: what reading the file and its outline throws.
    init(_ argument: String) throws(MigrationError) {
        let argument = MappingArgument(argument)
        path = argument.path
        file = try MappingFile(path: path)
        let outline = try MappingOutline.reading(file)
        sourceEntities = Set(outline.entityMappings.compactMap(\.sourceEntity))
        destinationEntities = Set(outline.entityMappings.compactMap(\.destinationEntity))
        if let versions = argument.versions {
            (said, isStated) = (versions, true)
        } else if let from = outline.from, let to = outline.to {
            (said, isStated) = (MappingVersions(source: from, destination: to), true)
        } else if let source = outline.sourceModelPath.flatMap(Self.version),
            let destination = outline.destinationModelPath.flatMap(Self.version)
        {
            (said, isStated) = (MappingVersions(source: source, destination: destination), false)
        } else {
            (said, isStated) = (nil, false)
        }
    }

    /// Whether two versions have the entities that the file names: what is quick to know.
    func namesEntities(of source: LineVersion, _ destination: LineVersion) -> Bool {
        guard let old = source.entityNames, let new = destination.entityNames else { return false }
        return sourceEntities.isSubset(of: old) && destinationEntities.isSubset(of: new)
    }

    /// The mapping model for two versions. It is read for whole models: a file knows nothing of a store that was made for
    /// one configuration.
    ///
    /// - Parameter isStrict: whether an expression that does not fit is refused, whoever evaluates it; else the plan
    /// refuses it, which knows the rows.
    /// - Throws: what ``MappingModel/read(path:sourceModel:destinationModel:after:unmappable:)`` throws.
    func read(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, after earlier: [MappingModel],
        unmappable: UnmappableProperties, isStrict: Bool = false
    ) throws(MigrationError) -> MappingModel {
        let model = try MappingModel.read(
            file, sourceModel: source.whole, destinationModel: destination.whole, after: earlier,
            unmappable: unmappable, misfits: isStrict ? .refusedWhereUnlisted : .noted)
        return model.restricted(from: source, to: destination)
    }

    /// The version's name in the path of an `.xcdatamodel`.
    private static func version(_ path: String) -> String? {
        guard let name = path.split(separator: "/").last, name.hasSuffix(".xcdatamodel") else { return nil }
        return String(name.dropLast(".xcdatamodel".count))
    }
}
