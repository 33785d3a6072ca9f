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

    /// Explains the object and prints the explanation. Nothing is written.
    func run() throws {
        let inputs = try MigrationInputs(request)
        let entities = inputs.sourceModel.model.entities.map(\.definition.name)
        var explanation = try ShowCommand.suggesting(object, among: entities) {
            try ObjectExplainer(inputs.migration()).explain(object)
        }
        explanation.notes += inputs.notes
        console.output.write(printsJSON ? try JSONText.text(explanation) : ExplainWording.text(explanation))
    }
}
