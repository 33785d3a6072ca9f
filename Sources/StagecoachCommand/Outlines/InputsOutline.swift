import Stagecoach

/// The inputs of a migration: `migrate`, `plan`, `check` and `verify` show the same outline of them, on screen and under
/// `outline` in their JSON, whose form `Fixtures/Schemas/outline.schema.json` describes.
struct InputsOutline: Encodable {
    /// The store that is read.
    struct Source: Encodable {
        let path: String
        /// The name of the model version that wrote the store; nil if the version has no name.
        let version: String?
        /// The source of the knowledge of the version.
        let knownBy: KnownBy
    }

    /// The store that is made or appended to.
    struct Destination: Encodable {
        /// The path; nil for a check without one.
        let path: String?
        let version: String?
        /// True if an existing store is added to.
        let appends: Bool
    }

    /// A step from one version to the next.
    struct Step: Encodable {
        let source: String?
        let destination: String?
        /// The files of the mapping models, in turn; none if the mapping model is inferred.
        let mapping: [String]
    }

    /// The evidence for the version that wrote the source.
    enum KnownBy: String, Encodable, CaseIterable {
        case option, hashes, cachedModel, schema

        var words: String {
            switch self {
            case .option: "--from"
            case .hashes: "its version hashes"
            case .cachedModel: "its cached model"
            case .schema: "its tables"
            }
        }
    }

    let source: Source
    let destination: Destination
    let steps: [Step]
    /// The shared libraries of policies.
    let policies: [String]
    /// True if the source is of the destination's version already.
    let isAtTarget: Bool

    init(_ inputs: MigrationInputs) {
        let request = inputs.request
        source = Source(
            path: request.source, version: inputs.sourceModel.name,
            knownBy: inputs.evidence.flatMap { KnownBy(rawValue: $0.rawValue) } ?? .option)
        destination = Destination(
            path: request.destination.isEmpty ? nil : request.destination, version: inputs.destinationModel.name,
            appends: request.options.appendsToExisting)
        steps = inputs.route.steps.map {
            Step(source: $0.source.name, destination: $0.destination.name, mapping: $0.files)
        }
        policies = request.policies
        isAtTarget = inputs.isAtTarget
    }

    /// The rows of a table of facts that only the outline has.
    var facts: [[String]] {
        [[String]](facts: [
            "version known by": source.knownBy.words, "libraries": policies.joined(separator: ", "),
            "destination": destination.appends ? "an existing store is added to" : nil,
        ])
    }
}
