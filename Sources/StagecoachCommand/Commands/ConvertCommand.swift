import Diagnostics
import Mapping

/// `stagecoach convert`.
enum ConvertCommand {
    /// Reads a mapping model in any form and writes it as JSON.
    ///
    /// Xcode's compiler fills in defaults from the two models, and JSON may leave defaults out. Without the models they stay
    /// open: the JSON records the form that it was converted from, and is completed like that form when it is read with the
    /// models.
    ///
    /// - Throws: `mapping.modelsNeeded` (78) if models are needed and missing; errors of the mapping model and of the models
    ///   (66, 77, 78), of the output file (73, 74, 77).
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let file = try MappingFile(path: arguments.operands[0])
        try OutputFile.deliver(try mappingModel(file, arguments).json(), to: arguments[option: "output"], console)
    }

    private static func mappingModel(
        _ file: MappingFile, _ arguments: ParsedArguments
    ) throws(MigrationError) -> MappingModel {
        guard let from = arguments[option: "from"], let to = arguments[option: "to"] else {
            guard arguments[option: "from"] == nil, arguments[option: "to"] == nil else { throw modelsNeeded(file) }
            return switch file.form {
            case .compiled: try MappingModel.reading(compiled: file.bytes, path: file.path)
            case .xcode: try MappingModel.reading(xcode: file.bytes, path: file.path)
            case .json: try MappingModel.reading(json: file.bytes, path: file.path)
            }
        }
        let (source, destination) = (try ModelArgument.load(from), try ModelArgument.load(to))
        let model = try MappingModel.read(file, sourceModel: source.model, destinationModel: destination.model)
        if model.sourceVersionName == nil { model.nameVersions(source, destination) }
        return model
    }

    private static func modelsNeeded(_ file: MappingFile) -> MigrationError {
        var remedy = "Name the model versions with --from and --to"
        // Xcode records the models' paths in its project, which give at least the names of the versions.
        if let outline = try? MappingOutline.reading(file), let source = outline.sourceModelPath,
            let destination = outline.destinationModelPath
        {
            remedy += "; Xcode made the mapping model from \(source) to \(destination)"
        }
        return MigrationError(
            "mapping.modelsNeeded", .configuration, "A mapping model is between two models, and only one is named",
            remedy: remedy, at: file.path)
    }
}
