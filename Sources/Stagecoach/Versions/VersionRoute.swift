import Diagnostics
import ManagedModel
import Mapping

/// The route from a store's version to another, by given mapping models and by inference.
public struct VersionRoute {
    /// The steps, in order; at least one.
    public let steps: [MigrationStep]
    /// The given mapping models that are for versions not on the route.
    public var unneeded: [String] { leftOut.map(\.path) }
    /// The same mapping models, with the versions that they are for.
    package let leftOut: [LeftOut]

    /// A mapping model for versions that are not on the route.
    package struct LeftOut: Sendable {
        let path: String
        let versions: MappingVersions

        /// The fact as a sentence.
        package var sentence: String {
            "\(path) is for \(versions.source) to \(versions.destination), which is not on the way: left out"
        }
    }

    /// Finds a route.
    ///
    /// - The route uses the versions between the two, in the bundle's order. Each given mapping model belongs to the
    ///   pair of versions that it is for. An argument `A..B=FILE` names the pair, and so does JSON with `from` and
    ///   `to`; Xcode's and compiled mapping models do so by names and by hashes; for others the names of entities and
    ///   properties decide. Several for one pair run in turn.
    /// - The route uses as many of the given mapping models as possible, then has as few steps as possible; a step
    ///   without a given mapping model is inferred.
    /// - With `via` the route goes through those versions in that order and through no others.
    /// - Mapping models that are for versions not on the route are left out: ``unneeded``.
    /// - If all mapping models fit the two ends, or none is given and one can be inferred between them, there is one
    ///   step, and the bundle is not read.
    ///
    /// - Parameters:
    ///   - source: the version that wrote the store.
    ///   - destination: the version to reach.
    ///   - bundle: the folder that has the versions in between; nil if there is none.
    ///   - via: versions to go through.
    ///   - mappings: files of mapping models, each alone or as `A..B=FILE`, in any order; those for one pair run in the
    ///     order given.
    ///   - unmappable: the handling of properties that cannot be mapped. A route that leaves none without a value is
    ///     preferred.
    /// - Throws: `chain.noWay`, `chain.ambiguousMapping`, `chain.unknownVersion`, the errors
    ///   of reading a mapping model and, if there is one pair only, of inference (78; 66 for missing files).
    /// - Complexity: O(v²) inferences if no direct one is possible, with v versions in between. If one step is not
    ///   enough, all of the bundle's versions are read, some of them several times; those on the route are held, and a
    ///   few more.
    public static func find(
        from source: ModelVersion, to destination: ModelVersion, bundle: String? = nil, via: [ModelVersion] = [],
        mappings: [String] = [], unmappable: UnmappableProperties = .refuse
    ) throws(MigrationError) -> VersionRoute {
        try find(
            from: source, to: destination, bundle: bundle, via: via,
            candidates: try mappings.map { mapping throws(MigrationError) in try MappingCandidate(mapping) },
            unmappable: unmappable)
    }

    /// Finds a route as above, with changes to the one given mapping model, or to the inferred one.
    ///
    /// - Throws: `chain.changes` (78) if there are several mapping models.
    package static func find(
        from source: ModelVersion, to destination: ModelVersion, bundle: String?, via: [ModelVersion],
        mappings: [String], changes: [MappingChange], unmappable: UnmappableProperties
    ) throws(MigrationError) -> VersionRoute {
        guard mappings.count < 2 || changes.isEmpty else {
            throw MigrationError(
                "chain.changes", .configuration, "With several mapping models it is not clear which one --set changes",
                remedy: "Write the change into its file")
        }
        var candidates = try mappings.map { mapping throws(MigrationError) in
            try MappingCandidate(mapping, changes: changes)
        }
        if mappings.isEmpty, !changes.isEmpty { candidates = [try MappingCandidate(changes)] }
        return try find(
            from: source, to: destination, bundle: bundle, via: via, candidates: candidates, unmappable: unmappable)
    }

    private static func find(
        from source: ModelVersion, to destination: ModelVersion, bundle: String?, via: [ModelVersion],
        candidates: [MappingCandidate], unmappable: UnmappableProperties
    ) throws(MigrationError) -> VersionRoute {
        do throws(MigrationError) {
            return try find(from: source, to: destination, bundle, via, candidates, .refuse)
        } catch {
            let isAboutProperties =
                error.code.rawValue.hasPrefix("inference.")
                || ["chain.noWay", "mapping.unlistedProperty"].contains(error.code.rawValue)
            guard unmappable != .refuse, isAboutProperties else { throw error }
        }
        return try find(from: source, to: destination, bundle, via, candidates, unmappable)
    }

    private static func find(
        from source: ModelVersion, to destination: ModelVersion, _ bundle: String?, _ via: [ModelVersion],
        _ candidates: [MappingCandidate], _ unmappable: UnmappableProperties
    ) throws(MigrationError) -> VersionRoute {
        // A store of one configuration goes through that configuration of every version.
        let shelf = VersionShelf(bundle: bundle, source: source.model)
        func placed(_ version: ModelVersion) -> VersionInHistory {
            VersionInHistory(named: version.name, on: shelf, version.model.counterpart(of: source.model))
        }
        let end = placed(destination)
        if via.isEmpty {
            let only = RouteSearch(
                line: .init(VersionInHistory(source, on: shelf), names: [], end), all: [], candidates: candidates,
                unmappable: unmappable, isTrial: bundle != nil)
            var isOne = true
            for candidate in candidates where isOne {
                isOne = try Self.mayLead(candidate, from: source, to: destination, in: bundle)
            }
            do throws(MigrationError) {
                if isOne { return try only.route() }
            } catch {
                guard bundle != nil else { throw error }
            }
        }
        let (versions, source) = try versions(of: bundle, on: shelf, source)
        return try RouteSearch(
            line: VersionHistory(
                VersionInHistory(source.version, on: shelf), names: source.names, end, versions: versions,
                via: via.map(placed)),
            all: versions, candidates: candidates, unmappable: unmappable
        ).route()
    }

    /// Returns the versions between two, in the bundle's order; none if the order leads back.
    ///
    /// - Throws: the errors of listing the bundle's versions.
    static func between(
        _ source: ModelVersion, _ destination: ModelVersion, bundle: String?
    ) throws(MigrationError) -> [VersionInHistory] {
        let shelf = VersionShelf(bundle: bundle, source: source.model)
        let end = VersionInHistory(named: destination.name, on: shelf, destination.model.counterpart(of: source.model))
        let (versions, found) = try versions(of: bundle, on: shelf, source)
        let line = VersionHistory(
            VersionInHistory(found.version, on: shelf), names: found.names, end, versions: versions)
        return line.isBackward ? [] : Array(line.versions.dropFirst().dropLast())
    }

    /// Returns the versions of a bundle that can be read, and the source with its names there.
    private static func versions(
        of bundle: String?, on shelf: VersionShelf, _ source: ModelVersion
    ) throws(MigrationError) -> (versions: [VersionInHistory], source: (version: ModelVersion, names: [String])) {
        let hashes = source.model.comparableHashes
        var versions: [VersionInHistory] = []
        var names: [String] = []
        for name in try bundle.map({ path throws(MigrationError) in try ModelLocator.versions(in: path) }) ?? [] {
            let version = VersionInHistory(named: name, on: shelf)
            guard let model = try readable(version.model) else { continue }
            versions.append(version)
            if StoreVersion.wrote(model, hashes) { names.append(name) }
        }
        var source = source
        source.name = names.contains { $0 == source.name } ? source.name : names.last ?? source.name
        return (versions, (source, names))
    }

    /// Returns a version's model; nil if it cannot be read: no route goes through it then. A failing disk is an error.
    private static func readable(
        _ model: () throws(MigrationError) -> ManagedObjectModel
    ) throws(MigrationError) -> ManagedObjectModel? {
        do throws(MigrationError) { return try model() } catch {
            if error.category == .io { throw error }
            return nil
        }
    }

    /// Tells whether a mapping model may be for two versions: it names none, or these.
    private static func mayLead(
        _ candidate: MappingCandidate, from source: ModelVersion, to destination: ModelVersion, in bundle: String?
    ) throws(MigrationError) -> Bool {
        guard let said = candidate.said, let bundle else { return true }
        func version(_ name: String) throws(MigrationError) -> ManagedObjectModel? {
            try readable { () throws(MigrationError) in try ModelLocator.load("\(bundle):\(name)").model }
        }
        guard let old = try version(said.source) else { return !candidate.isStated || said.source == source.name }
        guard old.fitting(storeHashes: source.model.comparableHashes) != nil else { return false }
        if said.destination == destination.name { return true }
        return try candidate.isStated ? false : version(said.destination) == nil
    }
}

extension ManagedObjectModel {
    /// The version hashes in the form in which a store of the model has them; hashes that only Core Data can compute
    /// are empty.
    fileprivate var comparableHashes: [String: [UInt8]] {
        let known = entityVersionHashesByName
        return Dictionary(
            entities.map { ($0.definition.name, known[$0.definition.name].map(Array.init) ?? []) },
            uniquingKeysWith: { first, _ in first })
    }
}
