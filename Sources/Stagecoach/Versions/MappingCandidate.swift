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
    private let changes: [MappingChange]
    /// False if the changes alone are the mapping model: then there are no lines and columns.
    private let isFile: Bool
    private let sourceEntities: Set<String>
    private let destinationEntities: Set<String>

    /// Reads the outline of a mapping model.
    ///
    /// - Parameters:
    ///   - argument: a path, optionally after versions: ``MappingArgument``.
    ///   - changes: changes to what the file says.
    /// - Throws: the errors of reading the file and its outline.
    init(_ argument: String, changes: [MappingChange] = []) throws(MigrationError) {
        let argument = MappingArgument(argument)
        try self.init(MappingFile(path: argument.path), argument, changes)
    }

    /// Makes a mapping model of changes to the inferred one.
    init(_ changes: [MappingChange]) throws(MigrationError) {
        try self.init(MappingFile(inferringBeside: changes), nil, changes)
    }

    private init(
        _ file: MappingFile, _ argument: MappingArgument?, _ changes: [MappingChange]
    ) throws(MigrationError) {
        (self.file, self.changes, isFile) = (file, changes, argument != nil)
        path = argument?.path ?? file.path
        let outline = try MappingOutline.reading(file)
        let renamed = changes.filter { $0.property == nil }.compactMap(\.value)
        sourceEntities = Set(outline.entityMappings.compactMap(\.sourceEntity) + renamed)
        destinationEntities = Set(
            outline.entityMappings.compactMap(\.destinationEntity)
                + changes.filter { $0.value != nil }.map(\.entity))
        if let versions = argument?.versions {
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
        _ source: ManagedObjectModel, _ destination: ManagedObjectModel, after previous: [MappingModel],
        unmappable: UnmappableProperties, isStrict: Bool = false
    ) throws(MigrationError) -> MappingModel {
        do throws(MigrationError) {
            let model = try MappingModel.read(
                file, sourceModel: source.whole, destinationModel: destination.whole, after: previous,
                unmappable: unmappable, misfits: isStrict ? .refusedWhereUnlisted : .noted, changes: changes)
            if !isFile { model.forgetPlaces() }
            return model.restricted(from: source, to: destination)
        } catch {
            guard !isFile else { throw error }
            throw error.withoutPlace
        }
    }

    /// Returns the version's name in the path of an `.xcdatamodel`.
    private static func version(_ path: String) -> String? {
        guard let name = path.split(separator: "/").last, name.hasSuffix(".xcdatamodel") else { return nil }
        return String(name.dropLast(".xcdatamodel".count))
    }
}
