import CoreDataStore
import Diagnostics
import ManagedModel

/// `stagecoach inspect --fidelity`.
enum FidelityCommand {
    /// Compares a store with the one that Core Data would make for its model, and prints each difference.
    ///
    /// - Throws: errors of the inputs; `model.noCache` (78) if no model is named and the store has none; `fidelity.differences`
    ///   (65) if there are differences.
    static func run(_ arguments: ParsedArguments, console: Console) throws {
        let path = arguments.operands[0]
        let store = try ModelArgument.open(path)
        let model: NamedModel
        if let argument = arguments[option: "model"] {
            model = try ModelArgument.load(argument)
        } else if let cached = try store.cachedModel() {
            model = NamedModel(model: cached, name: ModelArgument.label(store.metadata.versionIdentifiers))
        } else {
            throw MigrationError(
                "model.noCache", .configuration, "The store has no cached model",
                remedy: "Name the model version that wrote it with --model", context: .init(path: path))
        }
        let fitting = model.model.fitting(storeHashes: store.metadata.versionHashes) ?? model.model
        let outline = FidelityOutline(
            path: path, model: arguments[option: "model"] ?? "cached model",
            fidelity: try StoreFidelity(
                of: store, model: fitting,
                witness: try arguments[option: "source"].map { try witness($0, for: fitting) }))
        try store.checkUnchanged()
        console.output.write(
            arguments.has("json") ? try JSONText.text(outline) : FidelityWording.text(outline))
        guard !outline.fidelity.isEqual else { return }
        throw MigrationError(
            "fidelity.differences", .data, FidelityWording.verdict(outline.fidelity), context: .init(path: path))
    }

    /// The evidence that a source store gives, by its cached model.
    private static func witness(_ path: String, for model: ManagedObjectModel) throws -> StoreFidelity.Witness {
        let source = try ModelArgument.open(path)
        guard let cached = try source.cachedModel() else {
            throw MigrationError(
                "model.noCache", .configuration, "The source has no cached model",
                remedy: "Leave --source out: the store is then compared with its model alone",
                context: .init(path: path))
        }
        let own = cached.fitting(storeHashes: source.metadata.versionHashes) ?? cached
        return try StoreFidelity.Witness(
            for: StoreSchema(model: model), source: source, layout: try source.layout(for: own))
    }
}

/// The encodable result of a comparison, with the path and the model compared.
struct FidelityOutline: Encodable {
    let path: String
    /// The argument, or the words for the store's own model.
    let model: String
    let fidelity: StoreFidelity

    private enum Key: String, CodingKey {
        case kind
        case path
        case model
        case isEqual
    }

    func encode(to encoder: any Encoder) throws {
        try fidelity.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode("fidelity", forKey: .kind)
        try container.encode(path, forKey: .path)
        try container.encode(model, forKey: .model)
        try container.encode(fidelity.isEqual, forKey: .isEqual)
    }
}
