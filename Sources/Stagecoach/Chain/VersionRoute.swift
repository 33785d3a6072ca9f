import Diagnostics
import ManagedModel
import Mapping

/// The way from a store's version to another over given mapping models and inference.
public struct VersionRoute {
    /// In order; at least one.
    public let steps: [MigrationStep]
    /// Given mapping models that are for versions beside the way.
    public let unneeded: [String]

    /// Finds a way.
    ///
    /// - The versions between the two count, in the bundle's order. Each given mapping model belongs to the pair of versions
    ///   that it is for: Xcode's and compiled ones say so, by names and by hashes; of others the names of entities and
    ///   properties decide. Several for one pair run in turn.
    /// - As many of the given mapping models as can be are used, then as few steps as can be are made; where none is
    ///   given, a step is inferred.
    /// - With `via` the way goes through those versions in that order and through no others.
    /// - Where all mapping models fit the two ends, or none is given and one can be inferred between them, there is one
    ///   step, and the bundle is not looked at.
    ///
    /// - Parameters:
    ///   - source: the version that wrote the store.
    ///   - destination: the version to get to.
    ///   - bundle: the folder that has the versions between; nil where there is none.
    ///   - via: versions to go through.
    ///   - mappings: files of mapping models, in any order; of those for one pair the order is that of their turns.
    /// - Throws: `chain.noWay`, `chain.ambiguousMapping`, `chain.mappingElsewhere`, what reading a mapping model throws
    ///   and, where there is one pair only, what inference throws (78; 66 for missing files).
    /// - Complexity: O(v²) inferences where no direct one is possible, v versions between; all of the bundle's versions
    ///   are held meanwhile, where one step is not enough.
    public static func find(
        from source: ModelVersion, to destination: ModelVersion, bundle: String? = nil, via: [ModelVersion] = [],
        mappings: [String] = []
    ) throws(MigrationError) -> VersionRoute {
        var candidates: [MappingCandidate] = []
        for path in mappings { candidates.append(try MappingCandidate(path: path)) }
        if via.isEmpty {
            let only = RouteSearch(line: .init(source, names: [], destination), all: [], candidates: candidates)
            var isOne = true
            for candidate in candidates {
                isOne = isOne && Self.mayLead(candidate, from: source, to: destination, in: bundle)
            }
            do throws(MigrationError) {
                if isOne { return try only.route() }
            } catch {
                guard bundle != nil else { throw error }
            }
        }
        let versions = try bundle.map { path throws(MigrationError) in try ModelVersion.all(in: path).versions } ?? []
        let hashes = source.model.comparableHashes
        let names = versions.filter { StoreVersion.wrote($0.model, hashes) }.compactMap(\.name)
        var source = source
        source.name = names.contains { $0 == source.name } ? source.name : names.last ?? source.name
        return try RouteSearch(
            line: VersionLine(source, names: names, destination, versions: versions, via: via), all: versions,
            candidates: candidates
        ).route()
    }

    /// Whether a mapping model may be for two versions: it names none, or these.
    private static func mayLead(
        _ candidate: MappingCandidate, from source: ModelVersion, to destination: ModelVersion, in bundle: String?
    ) -> Bool {
        guard let said = candidate.said, let bundle else { return true }
        guard let version = try? ModelLocator.load("\(bundle):\(said.source)") else { return true }
        return StoreVersion.wrote(version.model, source.model.comparableHashes)
            && (said.destination == destination.name
                || (try? ModelLocator.load("\(bundle):\(said.destination)")) == nil)
    }

}

extension ManagedObjectModel {
    /// The version hashes as a store of the model would have them; those that only Core Data knows are empty.
    fileprivate var comparableHashes: [String: [UInt8]] {
        let known = entityVersionHashesByName
        return Dictionary(
            entities.map { ($0.definition.name, known[$0.definition.name].map(Array.init) ?? []) },
            uniquingKeysWith: { first, _ in first })
    }
}
