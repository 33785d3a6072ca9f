import ManagedModel
import SwiftSources

/// The sentences about models that were derived from Swift sources.
enum SwiftModelWording {
    /// The evidence for the entities of a version, and what no known store shows.
    static func standing(of version: SourceModelVersion) -> [String] {
        guard !version.standings.isEmpty else { return [] }
        var equal: [String: [String]] = [:]
        for case (let name, .equal(let origin)) in version.standings { equal[origin, default: []].append(name) }
        var parts = equal.sorted { $0.key < $1.key }.map { origin, names in
            "\(names.count == version.standings.count ? "all entities" : names.sorted().joined(separator: ", ")) equal to \(origin)"
        }
        if !version.unchecked.isEmpty { parts.append("\(version.unchecked.joined(separator: ", ")) unchecked") }
        let doubts = version.doubts.filter { version.standings[$0.entity] == .unchecked }
        return ["\(version.name) is derived from Swift sources: \(parts.joined(separator: "; "))"]
            + doubts.map(\.sentence)
    }

    /// The version to which a store of no version is nearest, and what differs.
    static func nearest(
        _ argument: SwiftModelArgument, to hashes: [String: [UInt8]], model: ManagedObjectModel?
    ) -> [String] {
        let found = argument.versions.nearest(to: hashes) { derived in
            model.map { ModelDifference.describe(storeModel: $0.whole, model: derived).count } ?? 0
        }
        guard let (version, differing) = found, !hashes.isEmpty else {
            return ["The store is of no version of \(argument.path), and has no entity of any"]
        }
        var lines = [
            "The store is of no version of \(argument.path): the nearest is \(version.name), which differs in \(differing.joined(separator: ", ")): the sources are older or newer than the store"
        ]
        guard let model, case .success(let derived) = version.model else { return lines }
        lines += ModelDifference.describe(storeModel: model.whole, model: derived).prefix(12)
        return lines
    }
}
