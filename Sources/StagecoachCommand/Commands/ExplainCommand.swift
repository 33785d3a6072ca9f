import Diagnostics
import ManagedModel
import Stagecoach

/// `stagecoach explain`.
struct ExplainCommand {
    private let request: MigrationRequest
    private let object: String
    private let printsJSON: Bool
    private let console: Console

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        request = try MigrationRequest(arguments, BatchEntry(source: arguments.operands[0], destination: ""))
        object = arguments.operands[1]
        printsJSON = arguments.has("json")
        self.console = console
    }

    /// Explains the object and prints the explanation, then refuses what a run would certainly refuse. Nothing is written.
    func run() throws { try AtomicArgument.during(request) { try explain() } }

    private func explain() throws {
        let inputs = try MigrationInputs(request)
        let migration = inputs.migration()
        let plan = try plan(of: migration)
        let entities = inputs.sourceModel.model.entities.map(\.definition.name)
        var explanation = try ShowCommand.suggesting(object, among: entities) {
            try ObjectExplainer(migration).explain(object, plan: plan)
        }
        explanation.notes += inputs.notes
        console.output.write(printsJSON ? try JSONText.text(explanation) : ExplainWording.text(explanation))
        try plan?.checkObjects(request.options)
    }

    /// Returns the plan; nil if a policy is not registered. The object is explained all the same.
    private func plan(of migration: ChainedMigration) throws -> ChainPlan? {
        do {
            return try migration.plan()
        } catch let error as MigrationError where error.code == "policy.unknown" {
            return nil
        }
    }
}
