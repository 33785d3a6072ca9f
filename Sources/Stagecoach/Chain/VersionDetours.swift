import Diagnostics
import ManagedModel
import Mapping

/// Ways through versions in between, for what one inferred step leaves behind: renaming identifiers that lead from version to
/// version keep it.
public final class VersionDetours {
    /// Versions in between up to which every single one is tried.
    private static let most = 24

    private let source: ModelVersion
    private let destination: ModelVersion
    private let bundle: String?
    private var ways: [(via: [String], trace: PropertyTrace)]?

    /// - Parameters:
    ///   - source: the version of the store.
    ///   - destination: the version to migrate to.
    ///   - bundle: the folder that has the versions in between; nil: there are no ways.
    public init(from source: ModelVersion, to destination: ModelVersion, bundle: String?) {
        self.source = source
        self.destination = destination
        self.bundle = bundle
    }

    /// The shortest way that keeps what a line names; nil where none does.
    ///
    /// - Complexity: O(versions in between) inferences, once.
    func way(keeping line: LeftBehind.Line) -> [String]? {
        let ways = self.ways ?? find()
        self.ways = ways
        return ways.first { line.end(in: $0.trace, source.model) == nil }?.via
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

    private func trace(_ stops: [LineVersion]) throws(MigrationError) -> PropertyTrace {
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
