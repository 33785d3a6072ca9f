import Mapping

/// `stagecoach infer`.
enum InferCommand {
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let source = try ModelArgument.load(arguments[option: "from"] ?? "")
        let destination = try ModelArgument.load(arguments[option: "to"] ?? "")
        let model = try MappingModel.inferred(
            from: source.model, to: destination.model, unmappable: arguments.choice("unmappable") ?? .refuse)
        model.nameVersions(source, destination)
        try OutputFile.deliver(try model.json(), to: arguments[option: "output"], console)
    }
}
