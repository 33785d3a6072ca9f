import ManagedModel
import SwiftSources

/// The encodable account of Swift sources for `inspect`: versions, stages, and the evidence for the entities that are shown.
struct SwiftSourcesOutline: Encodable {
    /// A version that the sources declare.
    struct Version: Encodable {
        let name: String
        let identifier: String?
        /// The file and line of its declaration.
        let place: String
        /// The reason why the sources do not give its model; nil if they do.
        let problem: String?
        /// True if the migration plan lists it, or if there is no plan.
        let isListed: Bool
    }

    /// A stage of the migration plan.
    struct Stage: Encodable {
        let from: String
        let to: String
        let isCustom: Bool
        let place: String
    }

    let versions: [Version]
    let stages: [Stage]
    /// The origin of the hash that confirms an entity, by entity.
    let confirmed: [String: String]
    let unchecked: [String]
    /// The parts for which no known store shows what SwiftData makes of them, a sentence each.
    let doubts: [String]
    /// The initial values that are expressions, by `Entity.property`.
    let expressions: [String: String]
    let warnings: [String]

    init(_ argument: SwiftModelArgument) {
        let all = argument.versions
        func version(_ version: SourceModelVersion, isListed: Bool) -> Version {
            var problem: String?
            if case .failure(let error) = version.model { problem = error.description }
            return Version(
                name: version.name, identifier: version.identifier, place: version.place.description, problem: problem,
                isListed: isListed)
        }
        versions = all.versions.map { version($0, isListed: true) } + all.others.map { version($0, isListed: false) }
        stages = all.stages.map {
            Stage(from: $0.from, to: $0.to, isCustom: $0.isCustom, place: $0.place.description)
        }
        let chosen = argument.chosen
        confirmed = (chosen?.standings ?? [:]).compactMapValues { standing in
            if case .equal(let origin) = standing { origin } else { nil }
        }
        unchecked = chosen?.unchecked ?? []
        doubts = chosen?.doubts.map(\.sentence) ?? []
        expressions = chosen?.expressions ?? [:]
        warnings = all.warnings
    }

    /// The lines behind those of the model.
    var lines: [String] {
        var lines = versions.filter { $0.problem != nil || !$0.isListed }.map { version in
            "\(version.name) (\(version.place)): \(version.problem ?? "the migration plan does not list it")"
        }.titled("Versions", indent: 2)
        lines += stages.map { stage in
            "\(stage.from) → \(stage.to): \(stage.isCustom ? "custom" : "lightweight") (\(stage.place))"
        }.titled("Stages", indent: 2)
        lines += confirmed.sorted { $0.key < $1.key }.map { "\($0.key): equal to \($0.value)" }
            .titled("Confirmed by a hash", indent: 2)
        lines += unchecked.titled("Unchecked", indent: 2)
        lines += doubts.titled("No known store shows", indent: 2)
        lines += expressions.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
            .titled("Initial values without a default in the model", indent: 2)
        return lines + warnings.titled("Warnings", indent: 2)
    }
}
