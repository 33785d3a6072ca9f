import Diagnostics
import ManagedModel

extension MappingModel {
    /// Reads a mapping model: Stagecoach's JSON form, Xcode's `.xcmappingmodel` (the folder, or the XML file in it) or a
    /// compiled `.cdm`. The first bytes determine the form.
    ///
    /// - Parameters:
    ///   - path: the file or folder.
    ///   - sourceModel: the version from which the mapping model migrates.
    ///   - destinationModel: the version to which it migrates.
    ///   - previous: mapping models that run before, whose entity mappings expressions may look up.
    ///   - unmappable: the treatment of properties that JSON does not list and that cannot be mapped.
    /// - Throws: `mapping.notFound`, `mapping.notAFile` (66), `mapping.permission` (77), `mapping.unreadable` (74), `mapping.…`
    ///   and `expression.…` (78) with line and column if the form has them.
    /// - Complexity: O(file) time and memory.
    public static func read(
        path: String, sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel,
        after previous: [MappingModel] = [], unmappable: UnmappableProperties = .refuse
    ) throws(MigrationError) -> MappingModel {
        try read(
            MappingFile(path: path), sourceModel: sourceModel, destinationModel: destinationModel, after: previous,
            unmappable: unmappable)
    }

    /// Reads a mapping model from a file that is in memory: ``read(path:sourceModel:destinationModel:)``.
    ///
    /// - Parameters:
    ///   - misfits: the treatment of expressions that do not fit their properties.
    ///   - changes: changes to what the file says.
    package static func read(
        _ file: MappingFile, sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel,
        after models: [MappingModel] = [], unmappable: UnmappableProperties = .refuse,
        misfits: MisfittingExpressions = .refused, changes: [MappingChange] = []
    ) throws(MigrationError) -> MappingModel {
        let previous = models.flatMap { $0.entityMappings ?? [] }
        if !changes.isEmpty {
            let unchanged =
                file.form == .json
                ? file.bytes
                : Array(
                    try read(
                        file, sourceModel: sourceModel, destinationModel: destinationModel, after: models,
                        unmappable: unmappable, misfits: misfits
                    ).json().utf8)
            let document = try MappingDocument(unchanged, path: file.path)
                .changed(by: changes, source: sourceModel, destination: destinationModel)
            return try reading(
                document, source: sourceModel, destination: destinationModel, after: previous, unmappable: unmappable,
                misfits: misfits)
        }
        switch file.form {
        case .json:
            return try reading(
                json: file.bytes, path: file.path, source: sourceModel, destination: destinationModel, after: previous,
                unmappable: unmappable, misfits: misfits)
        case .xcode:
            return try XcodeMapping(file.bytes, path: file.path).mappingModel(
                source: sourceModel, destination: destinationModel, after: previous, misfits: misfits)
        case .compiled:
            let model = try reading(compiled: file.bytes, path: file.path)
            try model.complete(source: sourceModel, destination: destinationModel, after: previous, misfits: misfits)
            return model
        }
    }

    /// Infers the mapping model, with changes to it: ``inferred(from:to:unmappable:mergesDuplicates:)``.
    ///
    /// - Throws: `mapping.…`, `expression.…` and `inference.hierarchies` (78) too.
    package static func inferred(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, unmappable: UnmappableProperties,
        changes: [MappingChange]
    ) throws(MigrationError) -> MappingModel {
        guard !changes.isEmpty else { return try inferred(from: source, to: destination, unmappable: unmappable) }
        return try read(
            MappingFile(inferringBeside: changes), sourceModel: source, destinationModel: destination,
            unmappable: unmappable, changes: changes)
    }
}
