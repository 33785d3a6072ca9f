import Diagnostics
import Stagecoach

/// `stagecoach plan`.
struct PlanCommand {
    private enum Format: String {
        case text
        case json
        case dot
    }

    private let request: MigrationRequest
    private let format: Format
    /// The new file for the plan, to be run with `migrate --plan`; nil if none was requested.
    private let saved: String?
    private let console: Console

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        request = try MigrationRequest(arguments)
        format = arguments[option: "format"].flatMap(Format.init(rawValue:)) ?? .text
        saved = arguments[option: "save"]
        self.console = console
        guard let saved else { return }
        for path in [request.source, request.destination] where PathIdentity.isSame(saved, path) {
            throw .samePath(saved, path, what: "--save and \(path == request.source ? "SOURCE" : "DESTINATION")")
        }
    }

    /// Makes and prints the plan. Nothing is written to disk except the requested file.
    ///
    /// - Throws: errors of the inputs, of planning, and of the file.
    func run() throws {
        let inputs = try MigrationInputs(request)
        let chain = try inputs.migration().plan()
        let plan = chain.runs[0].plan
        let outline = PlanOutline(plan, chain: chain, inputs: inputs)
        if let saved { try OutputFile.create(saved, try chain.runs.count > 1 ? chain.json() : plan.json()) }
        switch format {
        case .text: console.output.write(PlanWording.text(outline))
        case .json: console.output.write(try JSONText.text(outline))
        case .dot: console.output.write(PlanGraph.text(outline))
        }
        for run in chain.runs { try run.plan.checkLosses(request.options) }
    }
}

/// The encodable plan, with facts that only the command knows. Its JSON may be run as a plan.
struct PlanOutline: Encodable {
    let plan: MigrationPlan
    let source: String
    let destination: String
    let sourceVersion: String?
    let destinationVersion: String?
    /// The files of the mapping models; nil if the mapping model was inferred.
    let mapping: String?
    /// The way over several versions; nil for a single step.
    let chain: ChainPlan?
    var notes: [String] = []

    init(_ plan: MigrationPlan, chain: ChainPlan, inputs: MigrationInputs) {
        self.init(
            plan, source: inputs.request.source, destination: inputs.request.destination,
            sourceVersion: inputs.sourceModel.name, destinationVersion: inputs.destinationModel.name,
            mapping: inputs.mapping, chain: inputs.route.steps.count > 1 ? chain : nil)
        notes = inputs.notes
    }

    init(
        _ plan: MigrationPlan, source: String, destination: String, sourceVersion: String?,
        destinationVersion: String?, mapping: String?, chain: ChainPlan? = nil
    ) {
        self.plan = plan
        self.chain = chain
        self.source = source
        self.destination = destination
        self.sourceVersion = sourceVersion
        self.destinationVersion = destinationVersion
        self.mapping = mapping
    }

    private enum Key: String, CodingKey {
        case source
        case destination
        case sourceVersion
        case destinationVersion
        case mapping
        case chain
        case notes
    }

    func encode(to encoder: any Encoder) throws {
        try plan.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(source, forKey: .source)
        try container.encode(destination, forKey: .destination)
        try container.encodeIfPresent(sourceVersion, forKey: .sourceVersion)
        try container.encodeIfPresent(destinationVersion, forKey: .destinationVersion)
        try container.encodeIfPresent(mapping, forKey: .mapping)
        try container.encodeIfPresent(chain, forKey: .chain)
        if !notes.isEmpty { try container.encode(notes, forKey: .notes) }
    }
}
