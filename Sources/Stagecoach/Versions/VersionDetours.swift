import Diagnostics
import Mapping

/// Routes through versions in between, for data that one inferred step leaves behind. Renaming identifiers that lead
/// from version to version may keep it.
public final class VersionDetours {
    /// The largest number of versions in between for which each one is tried.
    private static let most = 24

    private let source: ModelVersion
    private let destination: ModelVersion
    private let bundle: String?
    private var ways: [(via: [String], trace: PropertyTrace)]?

    /// Creates a search for routes.
    ///
    /// - Parameters:
    ///   - source: the version of the store.
    ///   - destination: the version to migrate to.
    ///   - bundle: the folder that has the versions in between; nil: there are no routes.
    public init(from source: ModelVersion, to destination: ModelVersion, bundle: String?) {
        self.source = source
        self.destination = destination
        self.bundle = bundle
    }

    /// Returns the shortest route that keeps the data of a line; nil if none does.
    ///
    /// - Complexity: O(versions in between) inferences, once.
    func way(keeping line: LeftBehind.Line) -> [String]? {
        let ways = self.ways ?? find()
        self.ways = ways
        return ways.first { $0.trace.end(of: line, source.model) == nil }?.via
    }

    private func find() -> [(via: [String], trace: PropertyTrace)] {
        let between = (try? VersionRoute.between(source, destination, bundle: bundle)) ?? []
        guard !between.isEmpty, between.count <= Self.most else { return [] }
        let stops = between.map { [$0] } + (between.count > 1 ? [between] : [])
        return stops.compactMap { stops in
            let names = stops.compactMap(\.name)
            guard names.count == stops.count, let trace = try? trace(stops) else { return nil }
            return (names, trace)
        }
    }

    private func trace(_ stops: [VersionInHistory]) throws(MigrationError) -> PropertyTrace {
        var steps: [[MappingModel]] = []
        var last = source.model
        for stop in stops {
            let next = try stop.model()
            steps.append([try MappingModel.inferred(from: last, to: next)])
            last = next
        }
        steps.append([try MappingModel.inferred(from: last, to: destination.model)])
        return PropertyTrace(steps: steps)
    }
}
