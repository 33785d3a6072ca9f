import Mapping

/// `stagecoach infer`.
enum InferCommand {
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let known = try arguments.all("like").map(LikeArgument.load)
        let sources = try [arguments[option: "from"], arguments[option: "to"]].map {
            try SwiftModelArgument.admit($0, known: known)
        }
        let from = arguments[option: "from"] ?? ""
        let source =
            try AtomicArgument.model(ofStore: from, bundle: arguments[option: "to"]) ?? ModelArgument.load(from)
        let destination = try ModelArgument.load(arguments[option: "to"] ?? "")
        let changes = try MigrationRequest.changes(arguments)
        if arguments.has("template"), arguments[option: "unmappable"] != nil {
            throw UsageError.contradiction("--template", "--unmappable")
        }
        let model =
            arguments.has("template")
            ? try MappingModel.template(from: source.model, to: destination.model, changes: changes)
            : try MappingModel.inferred(
                from: source.model, to: destination.model, unmappable: arguments.choice("unmappable") ?? .refuse,
                changes: changes)
        model.nameVersions(source, destination)
        StageMarks.mark(model, from: sources[0], to: sources[1])
        try OutputFile.deliver(try model.json(), to: arguments[option: "output"], console)
    }
}
