import Diagnostics
import Mapping

/// `stagecoach convert`.
enum ConvertCommand {
    /// Reads a mapping model of any form and writes it as JSON.
    ///
    /// What Xcode's compiler fills in follows from the two models, and so does what JSON may leave out; a compiled mapping
    /// model has everything filled in and can be written without them.
    ///
    /// - Throws: `mapping.modelsNeeded` (78) where models are needed and not given; errors of the mapping model and of the
    ///   models (66, 77, 78), of the output file (73, 74, 77).
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let file = try MappingFile(path: arguments.operands[0])
        let json = try mappingModel(file, arguments).json()
        if let path = arguments[option: "output"] {
            try OutputFile.create(path, json)
        } else {
            console.output.write(json)
        }
    }

    private static func mappingModel(
        _ file: MappingFile, _ arguments: ParsedArguments
    ) throws(MigrationError) -> MappingModel {
        guard let from = arguments[option: "from"], let to = arguments[option: "to"] else {
            if file.form == .compiled, arguments[option: "from"] == nil, arguments[option: "to"] == nil {
                return try MappingModel.reading(compiled: file.bytes, path: file.path)
            }
            throw modelsNeeded(file)
        }
        return try MappingModel.read(
            file, sourceModel: try ModelArgument.load(from).model, destinationModel: try ModelArgument.load(to).model)
    }

    private static func modelsNeeded(_ file: MappingFile) -> MigrationError {
        var remedy = "Name the model versions with --from and --to"
        // Xcode notes the models' places in its project, which tells at least the versions' names.
        if let outline = try? MappingOutline.reading(file), let source = outline.sourceModelPath,
            let destination = outline.destinationModelPath
        {
            remedy += "; Xcode made the mapping model from \(source) to \(destination)"
        }
        return MigrationError(
            "mapping.modelsNeeded", .configuration,
            file.form == .compiled
                ? "A mapping model is between two models, and only one is named"
                : "The mapping model leaves out what follows from its two models",
            remedy: remedy, context: .init(path: file.path))
    }
}
