import Stagecoach

/// `stagecoach plan`.
struct PlanCommand {
    private let request: MigrationRequest
    private let format: String?
    /// The new file for the plan, to be run with `migrate --plan`; nil if none was requested.
    private let saved: String?
    private let console: Console

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        request = try MigrationRequest(arguments)
        format = arguments[option: "format"] ?? (arguments.has("json") ? "json" : nil)
        saved = arguments[option: "save"]
        self.console = console
        guard let saved else { return }
        for path in [request.source, request.destination] where PathIdentity.isSame(saved, path) {
            throw .samePath(saved, path, what: "--save and \(path == request.source ? "SOURCE" : "DESTINATION")")
        }
    }

    /// Makes and prints the plan. Nothing is written to disk except the requested file.
    func run() throws { try AtomicArgument.during(request) { try plan() } }

    private func plan() throws {
        let inputs = try MigrationInputs(request)
        try AtomicDestination.check(request.destinationType, model: inputs.madeModel)
        let chain = try inputs.migration().plan()
        let plan = chain.runs[0].plan
        let outline = PlanOutline(
            plan: plan, source: request.source, destination: request.destination, names: inputs.names,
            chain: inputs.route.steps.count > 1 ? chain : nil, notes: inputs.notes)
        if let saved { try OutputFile.create(saved, try chain.runs.count > 1 ? chain.json() : plan.json()) }
        switch format {
        case "json": console.output.write(try JSONText.text(outline))
        case "dot": console.output.write(PlanGraph.text(outline))
        default: console.output.write(PlanWording.text(outline))
        }
        try chain.checkObjects(request.options)
    }
}
