import Diagnostics
import Stagecoach

/// `stagecoach plan`.
struct PlanCommand {
    private let request: MigrationRequest
    private let printsJSON: Bool
    private let console: Console

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        request = try MigrationRequest(arguments)
        printsJSON = arguments[option: "format"] == "json"
        self.console = console
    }

    /// Plans and prints. Nothing is written to disk.
    ///
    /// - Throws: errors of the inputs and of planning.
    func run() throws {
        let inputs = try MigrationInputs(request)
        let plan = try inputs.migration().plan()
        let outline = PlanOutline(plan, inputs: inputs)
        console.output.write(printsJSON ? try JSONText.text(outline) : PlanWording.text(outline))
    }
}

/// A plan with what the command knows beyond it: a value that can be encoded.
struct PlanOutline: Encodable {
    /// A destination table.
    struct Table: Encodable {
        let rootEntity: String
        let entityMappings: [String]
        let keys: String
        let reason: String?
        let sourceRows: Int
    }
    /// A pass.
    struct Pass: Encodable {
        let tables: [Table]
        let joinTables: [String]
    }

    let source: String
    let destination: String
    let sourceVersion: String?
    let destinationVersion: String?
    /// The mapping model's file; nil where it was inferred.
    let mapping: String?
    let isStaged: Bool
    let passes: [Pass]

    init(_ plan: MigrationPlan, inputs: MigrationInputs) {
        self.init(
            plan, source: inputs.request.source, destination: inputs.request.destination,
            sourceVersion: inputs.sourceModel.name, destinationVersion: inputs.destinationModel.name,
            mapping: inputs.request.mapping)
    }

    init(
        _ plan: MigrationPlan, source: String, destination: String, sourceVersion: String?,
        destinationVersion: String?, mapping: String?
    ) {
        self.source = source
        self.destination = destination
        self.sourceVersion = sourceVersion
        self.destinationVersion = destinationVersion
        self.mapping = mapping
        isStaged = plan.isStaged
        passes = plan.passes.map { pass in
            Pass(
                tables: pass.tables.map {
                    Table(
                        rootEntity: $0.rootEntity, entityMappings: $0.entityMappings, keys: $0.keys.rawValue,
                        reason: $0.reason, sourceRows: $0.sourceRows)
                }, joinTables: pass.joinTables)
        }
    }
}
