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
    ///   that it is for: an argument `A..B=FILE` says so, and so does JSON with `from` and `to`; Xcode's and compiled ones do,
    ///   by names and by hashes; of others the names of entities and properties decide. Several for one pair run in turn.
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
    ///   - mappings: files of mapping models, each alone or as `A..B=FILE`, in any order; of those for one pair the order is that of their turns.
    ///   - unmappable: whether properties that cannot be mapped may be left without a value. A way that leaves none is
    ///     taken where there is one.
    /// - Throws: `chain.noWay`, `chain.ambiguousMapping`, `chain.mappingElsewhere`, `chain.unknownVersion`, what reading a mapping model throws
    ///   and, where there is one pair only, what inference throws (78; 66 for missing files).
    /// - Complexity: O(v²) inferences where no direct one is possible, v versions between. Where one step is not enough,
    ///   all of the bundle's versions are read, some of them several times; those on the way are held, and a few more.
    public static func find(
        from source: ModelVersion, to destination: ModelVersion, bundle: String? = nil, via: [ModelVersion] = [],
        mappings: [String] = [], unmappable: UnmappableProperties = .refuse
    ) throws(MigrationError) -> VersionRoute {
        do throws(MigrationError) {
            return try find(from: source, to: destination, bundle, via, mappings, .refuse)
        } catch {
            let isAboutProperties =
                error.code.rawValue.hasPrefix("inference.")
                || ["chain.noWay", "mapping.unlistedProperty"].contains(error.code.rawValue)
            guard unmappable == .leave, isAboutProperties else { throw error }
        }
        return try find(from: source, to: destination, bundle, via, mappings, .leave)
    }

    private static func find(
        from source: ModelVersion, to destination: ModelVersion, _ bundle: String?, _ via: [ModelVersion],
        _ mappings: [String], _ unmappable: UnmappableProperties
    ) throws(MigrationError) -> VersionRoute {
        // A store of one configuration goes through that configuration of every version.
        let shelf = VersionShelf(bundle: bundle, source: source.model)
        func placed(_ version: ModelVersion) -> LineVersion {
            LineVersion(
                ModelVersion(name: version.name, model: version.model.counterpart(of: source.model)), on: shelf)
        }
        let end = placed(destination)
        var candidates: [MappingCandidate] = []
        for mapping in mappings { candidates.append(try MappingCandidate(mapping)) }
        if via.isEmpty {
            let only = RouteSearch(
                line: .init(LineVersion(source, on: shelf), names: [], end), all: [], candidates: candidates,
                unmappable: unmappable)
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
        let (versions, source) = try versions(of: bundle, on: shelf, source)
        return try RouteSearch(
            line: VersionLine(
                LineVersion(source.version, on: shelf), names: source.names, end, versions: versions,
                via: via.map(placed)),
            all: versions, candidates: candidates, unmappable: unmappable
        ).route()
    }

    /// The versions between two, as the bundle orders them; none where they lead back.
    ///
    /// - Throws: what listing the bundle's versions throws.
    static func between(
        _ source: ModelVersion, _ destination: ModelVersion, bundle: String?
    ) throws(MigrationError) -> [LineVersion] {
        let shelf = VersionShelf(bundle: bundle, source: source.model)
        let end = LineVersion(
            ModelVersion(name: destination.name, model: destination.model.counterpart(of: source.model)), on: shelf)
        let (versions, found) = try versions(of: bundle, on: shelf, source)
        let line = VersionLine(
            LineVersion(found.version, on: shelf), names: found.names, end, versions: versions)
        return line.isBackward ? [] : Array(line.versions.dropFirst().dropLast())
    }

    /// The versions of a bundle that can be read, and what the source is called there.
    private static func versions(
        of bundle: String?, on shelf: VersionShelf, _ source: ModelVersion
    ) throws(MigrationError) -> (versions: [LineVersion], source: (version: ModelVersion, names: [String])) {
        let hashes = source.model.comparableHashes
        var versions: [LineVersion] = []
        var names: [String] = []
        for name in try bundle.map({ path throws(MigrationError) in try ModelLocator.versions(in: path) }) ?? [] {
            let version = LineVersion(named: name, on: shelf)
            // A version that cannot be read is none that a way may go through.
            guard let model = try? version.model() else { continue }
            versions.append(version)
            if StoreVersion.wrote(model, hashes) { names.append(name) }
        }
        var source = source
        source.name = names.contains { $0 == source.name } ? source.name : names.last ?? source.name
        return (versions, (source, names))
    }

    /// Whether a mapping model may be for two versions: it names none, or these.
    private static func mayLead(
        _ candidate: MappingCandidate, from source: ModelVersion, to destination: ModelVersion, in bundle: String?
    ) -> Bool {
        guard let said = candidate.said, let bundle else { return true }
        guard let version = try? ModelLocator.load("\(bundle):\(said.source)") else {
            return !candidate.isStated || said.source == source.name
        }
        return version.model.fitting(storeHashes: source.model.comparableHashes) != nil
            && (said.destination == destination.name
                || !candidate.isStated && (try? ModelLocator.load("\(bundle):\(said.destination)")) == nil)
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
