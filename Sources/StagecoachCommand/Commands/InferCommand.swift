import Mapping

/// `stagecoach infer`.
enum InferCommand {
    /// Infers a mapping model and writes it as JSON.
    ///
    /// - Throws: errors of the models and of inference (66, 78), of the output file (73, 74, 77).
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let source = try ModelArgument.load(arguments[option: "from"] ?? "")
        let destination = try ModelArgument.load(arguments[option: "to"] ?? "")
        let unmappable = arguments[option: "unmappable"].flatMap(UnmappableProperties.init(rawValue:)) ?? .refuse
        let model = try MappingModel.inferred(from: source.model, to: destination.model, unmappable: unmappable)
        model.nameVersions(source, destination)
        let json = try model.json()
        if let path = arguments[option: "output"] {
            try OutputFile.create(path, json)
        } else {
            console.output.write(json)
        }
    }
}
