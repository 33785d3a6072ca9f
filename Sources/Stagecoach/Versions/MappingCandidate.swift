import Diagnostics
import ManagedModel
import Mapping

/// A given mapping model whose versions are not yet known.
struct MappingCandidate {
    /// The path of the file.
    let path: String
    /// The versions that the argument or the file itself names.
    let said: MappingVersions?
    /// True if a person wrote the versions down as binding. Xcode only notes the models of the time; its names are
    /// ignored if there are no versions with these names.
    let isStated: Bool
    /// True if the file's format has keys for the versions.
    var isJSON: Bool { file.form == .json }
    private let file: MappingFile
    private let sourceEntities: Set<String>
    private let destinationEntities: Set<String>

    /// Reads the outline of a mapping model.
    ///
    /// - Parameter argument: a path, optionally after versions: ``MappingArgument``.
    /// - Throws: the errors of reading the file and its outline.
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

    /// Tells whether two versions have the entities that the file names; a quick test.
    func namesEntities(of source: VersionInHistory, _ destination: VersionInHistory) -> Bool {
        guard let old = source.entityNames, let new = destination.entityNames else { return false }
        return sourceEntities.isSubset(of: old) && destinationEntities.isSubset(of: new)
    }

    /// Returns the mapping model for two versions. It is read for whole models, because a file knows nothing of a store
    /// made for one configuration.
    ///
    /// - Parameter isStrict: true to refuse an expression that does not fit, whoever evaluates it. Else the plan, which
    ///   knows the rows, may refuse it.
    /// - Throws: the errors of ``MappingModel/read(path:sourceModel:destinationModel:after:unmappable:)``.
    func read(
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, after earlier: [MappingModel],
        unmappable: UnmappableProperties, isStrict: Bool = false
    ) throws(MigrationError) -> MappingModel {
        let model = try MappingModel.read(
            file, sourceModel: source.whole, destinationModel: destination.whole, after: earlier,
            unmappable: unmappable, misfits: isStrict ? .refusedWhereUnlisted : .noted)
        return model.restricted(from: source, to: destination)
    }

    /// Returns the version's name in the path of an `.xcdatamodel`.
    private static func version(_ path: String) -> String? {
        guard let name = path.split(separator: "/").last, name.hasSuffix(".xcdatamodel") else { return nil }
        return String(name.dropLast(".xcdatamodel".count))
    }
}
