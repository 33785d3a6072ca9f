import CoreDataStore
import Diagnostics
import ManagedModel

/// `stagecoach inspect --fidelity`.
enum FidelityCommand {
    /// Compares a store with the one that Core Data would make for its model, and prints each difference.
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let path = arguments.operands[0]
        let store = try ModelArgument.open(path)
        let model =
            try arguments[option: "model"].map { try ModelArgument.load($0).model }
            ?? ModelArgument.cachedModel(of: store, path, remedy: "Name the model version that wrote it with --model")
        let fitting = model.fitting(storeHashes: store.metadata.versionHashes) ?? model
        let outline = FidelityOutline(
            path: path, model: arguments[option: "model"] ?? "cached model",
            fidelity: try StoreFidelity(
                of: store, model: fitting,
                witness: try arguments[option: "source"].map { try witness($0, for: fitting) }))
        try store.checkUnchanged()
        console.output.write(arguments.has("json") ? try JSONText.text(outline) : FidelityWording.text(outline))
        guard !outline.fidelity.isEqual else { return }
        throw MigrationError("fidelity.differences", .data, FidelityWording.verdict(outline.fidelity), at: path)
    }

    /// The evidence that a source store gives, by its cached model.
    private static func witness(_ path: String, for model: ManagedObjectModel) throws -> StoreFidelity.Witness {
        let source = try ModelArgument.open(path)
        let cached = try ModelArgument.cachedModel(
            of: source, path, as: "source",
            remedy: "Leave --source out: the store is then compared with its model alone")
        let own = cached.fitting(storeHashes: source.metadata.versionHashes) ?? cached
        return try StoreFidelity.Witness(
            for: StoreSchema(model: model), source: source, layout: try source.layout(for: own))
    }
}
