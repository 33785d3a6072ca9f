import Diagnostics
import Mapping

/// The search for a route: first the pair of versions that each mapping model is for, then the steps.
final class RouteSearch {
    /// Two versions of the line, the previous first.
    struct Pair: Hashable {
        let from: Int
        let to: Int
    }

    /// The versions that a mapping model is for.
    private enum Place {
        case onTheWay(Pair)
        /// Two versions of the bundle that are not both on the way.
        case elsewhere(MappingVersions)
    }

    private let line: VersionHistory
    private let all: [VersionInHistory]
    private let candidates: [MappingCandidate]
    private let unmappable: UnmappableProperties
    /// True if the caller searches all versions of the bundle when this search fails. An expression that does not fit is then an
    /// error at once, because its mapping model may fit other versions better.
    private let isTrial: Bool
    /// The reasons why no step can be inferred for a pair.
    private var obstacles: [Pair: Obstacle] = [:]

    /// The reasons why no step can be inferred between two versions.
    private enum Obstacle {
        case none
        /// A version cannot be read.
        case unreadable(MigrationError)
        case problems(InferenceProblems, MigrationError)

        var error: MigrationError? {
            switch self {
            case .none: nil
            case .unreadable(let error), .problems(_, let error): error
            }
        }

        /// True if links would be lost. A way through other versions, which leave the relationship out, is no way around that.
        var losesLinks: Bool {
            if case .problems(let problems, _) = self { problems.loseLinks } else { false }
        }
    }

    init(
        line: VersionHistory, all: [VersionInHistory], candidates: [MappingCandidate], unmappable: UnmappableProperties,
        isTrial: Bool = false
    ) {
        self.isTrial = isTrial
        self.unmappable = unmappable
        self.line = line
        self.all = all
        self.candidates = candidates
    }

    /// Finds the route. Throws as ``VersionRoute/find(from:to:bundle:via:mappings:)``.
    func route() throws(MigrationError) -> VersionRoute {
        for candidate in candidates where candidate.isStated && !all.isEmpty { try checkNames(of: candidate) }
        if let step = try wholeStep() { return VersionRoute(steps: [step], leftOut: []) }
        let places = try candidates.map { candidate throws(MigrationError) in try place(of: candidate) }
        var byPair: [Pair: [Int]] = [:]
        for (index, place) in places.enumerated() {
            if case .onTheWay(let pair) = place { byPair[pair, default: []].append(index) }
        }
        let way = try line.isOrdered ? (0..<line.last).map { Pair(from: $0, to: $0 + 1) } : shortestWay(byPair)
        let used = Set(way.flatMap { byPair[$0] ?? [] })
        guard !line.isOrdered || used.count == byPair.values.joined().count else {
            throw MigrationError("chain.noWay", .configuration, "A mapping model fits none of the versions of --via")
        }
        let steps = try way.map { pair throws(MigrationError) in try step(pair, byPair[pair] ?? []) }
        return VersionRoute(
            steps: steps,
            leftOut: candidates.indices.filter { !used.contains($0) }.map { index in
                VersionRoute.LeftOut(path: candidates[index].path, versions: versions(at: places[index]))
            })
    }

    // MARK: Where mapping models belong

    /// Returns the single step from end to end, if there is no other, or if all mapping models fit it.
    private func wholeStep() throws(MigrationError) -> MigrationStep? {
        let whole = Pair(from: 0, to: line.last)
        if line.versions.count == 2, candidates.isEmpty || all.isEmpty {
            return try step(whole, Array(candidates.indices), isStrict: isTrial)
        }
        guard !candidates.isEmpty, !line.isOrdered else { return nil }
        for candidate in candidates {
            if let said = self.said(by: candidate), said != whole { return nil }
            if candidates.count > 1 || candidate.isStated, isBeside(candidate) { return nil }
        }
        // A mapping model that is said to be for these two versions has to fit.
        let isCertain = candidates.allSatisfy { self.said(by: $0) == whole }
        do throws(MigrationError) {
            return try step(whole, Array(candidates.indices), isStrict: !isCertain)
        } catch {
            if isCertain { throw error }
            guard line.versions.count == 2, !candidates.contains(where: { otherVersions(for: $0) != nil }) else {
                return nil
            }
            // An expression that does not fit may be evaluated for no row.
            return try step(whole, Array(candidates.indices))
        }
    }

    /// Returns the pair that a mapping model itself names, if both versions are on the route.
    private func said(by candidate: MappingCandidate) -> Pair? {
        guard let said = candidate.said, let from = line.index(named: said.source),
            let to = line.index(named: said.destination), from < to
        else { return nil }
        return Pair(from: from, to: to)
    }

    /// Checks the versions that a mapping model is said to be for.
    ///
    /// - Throws: `chain.unknownVersion` (78) if there is no version with one of these names.
    private func checkNames(of candidate: MappingCandidate) throws(MigrationError) {
        let known = all.compactMap(\.name)
        for name in [candidate.said?.source, candidate.said?.destination] {
            guard let name, !known.contains(name), line.index(named: name) == nil else { continue }
            throw MigrationError(
                "chain.unknownVersion", .configuration,
                "The mapping model is said to be for the versions \(candidate.said?.source ?? "") and "
                    + "\(candidate.said?.destination ?? ""), and there is no version \(name)",
                remedy: EditDistance.question(name, among: known)
                    ?? "Name two of \(known.joined(separator: ", ")): stagecoach inspect lists a bundle's versions",
                context: .init(path: candidate.path))
        }
    }

    /// Tells whether a mapping model names two versions of the bundle that are not both on the route.
    private func isBeside(_ candidate: MappingCandidate) -> Bool {
        guard let said = candidate.said, self.said(by: candidate) == nil else { return false }
        return all.contains { $0.name == said.source } && all.contains { $0.name == said.destination }
    }

    /// Returns the versions that a mapping model is for.
    ///
    /// - Throws: the error of the two ends if it fits no two versions of the bundle.
    private func place(of candidate: MappingCandidate) throws(MigrationError) -> Place {
        if let said = self.said(by: candidate), !line.isOrdered || said.to == said.from + 1 {
            _ = try read(candidate, said, after: [])
            return .onTheWay(said)
        }
        if candidate.isStated, let said = candidate.said, self.said(by: candidate) != nil {
            throw MigrationError(
                "chain.noWay", .configuration,
                "The mapping model leads from \(said.source) to \(said.destination), and the way that --via names goes through "
                    + "versions between",
                remedy: "Leave these versions out of --via", context: .init(path: candidate.path))
        }
        if let said = candidate.said, isBeside(candidate),
            candidates.count > 1 || line.isOrdered || candidate.isStated || fits(candidate, said)
        {
            return .elsewhere(said)
        }
        let fitting = fittingPairs(candidate, isStrict: true)
        if !fitting.isEmpty { return .onTheWay(try only(fitting, candidate)) }
        if let versions = otherVersions(for: candidate) { return .elsewhere(versions) }
        // An expression that does not fit may be evaluated for no row.
        let loosely = fittingPairs(candidate, isStrict: false)
        if loosely.isEmpty { throw misfit(candidate) }
        return .onTheWay(try only(loosely, candidate))
    }

    /// Returns the error of a mapping model that fits no two versions: what does not fit the two ends.
    private func misfit(_ candidate: MappingCandidate) -> MigrationError {
        let ends = "\(line.versions[0].label) → \(line.versions[line.last].label)"
        do throws(MigrationError) {
            _ = try read(candidate, Pair(from: 0, to: line.last), after: [], isStrict: true)
            return MigrationError(
                "chain.noWay", .configuration, "The mapping model fits \(ends), and --via names versions between",
                remedy: "Leave out --via", context: .init(path: candidate.path))
        } catch {
            guard all.count > 2 else { return error }
            var error = error
            error.message = "\(ends): " + error.message
            return error
        }
    }

    /// Returns the pairs of versions on the way that a mapping model fits.
    private func fittingPairs(_ candidate: MappingCandidate, isStrict: Bool) -> [Pair] {
        var fitting: [Pair] = []
        for from in 0..<line.last {
            for to in (from + 1)...line.last where !line.isOrdered || to == from + 1 {
                let pair = Pair(from: from, to: to)
                guard candidate.namesEntities(of: line.versions[from], line.versions[to]),
                    (try? read(candidate, pair, after: [], isStrict: isStrict)) != nil
                else { continue }
                fitting.append(pair)
            }
        }
        return fitting
    }

    /// Returns two versions of the bundle that a mapping model fits, neighbours before others; nil if there are none.
    private func otherVersions(for candidate: MappingCandidate) -> MappingVersions? {
        for distance in 1..<max(all.count, 1) {
            for first in 0..<(all.count - distance) {
                let (one, other) = (all[first], all[first + distance])
                for (from, to) in [(one, other), (other, one)] where fits(candidate, from, to) {
                    return MappingVersions(source: from.label, destination: to.label)
                }
            }
        }
        return nil
    }

    /// Tells whether a mapping model fits two versions of the bundle, by their names.
    private func fits(_ candidate: MappingCandidate, _ versions: MappingVersions) -> Bool {
        guard let from = all.first(where: { $0.name == versions.source }),
            let to = all.first(where: { $0.name == versions.destination })
        else { return false }
        return fits(candidate, from, to)
    }

    private func fits(_ candidate: MappingCandidate, _ from: VersionInHistory, _ to: VersionInHistory) -> Bool {
        guard candidate.namesEntities(of: from, to), let source = try? from.model(), let destination = try? to.model()
        else { return false }
        return (try? candidate.read(source, destination, after: [], unmappable: unmappable, isStrict: true)) != nil
    }

    private func versions(at place: Place) -> MappingVersions {
        switch place {
        case .onTheWay(let pair):
            MappingVersions(source: line.versions[pair.from].label, destination: line.versions[pair.to].label)
        case .elsewhere(let versions): versions
        }
    }

    /// Returns one pair of those that fit, if a store cannot tell them apart, or if only one of them consists of
    /// neighbours.
    private func only(_ fitting: [Pair], _ candidate: MappingCandidate) throws(MigrationError) -> Pair {
        func isSame(_ one: Pair, _ other: Pair) -> Bool {
            (one.from == other.from || line.versions[one.from].hasSameHashes(as: line.versions[other.from]))
                && (one.to == other.to || line.versions[one.to].hasSameHashes(as: line.versions[other.to]))
        }
        for choice in [fitting, fitting.filter { $0.to == $0.from + 1 }] {
            if let first = choice.first, choice.allSatisfy({ isSame(first, $0) }) { return first }
        }
        let shown = fitting.prefix(4).map { "\(line.versions[$0.from].label) → \(line.versions[$0.to].label)" }
        throw MigrationError(
            "chain.ambiguousMapping", .configuration,
            "The mapping model fits several pairs of versions: \(shown.joined(separator: ", "))"
                + (fitting.count > 4 ? ", and \(fitting.count - 4) more" : ""),
            remedy: ambiguityRemedy(fitting, candidate), context: .init(path: candidate.path))
    }

    /// Returns advice on how to choose one of several pairs for a mapping model.
    private func ambiguityRemedy(_ fitting: [Pair], _ candidate: MappingCandidate) -> String {
        let known = fitting.first { line.versions[$0.from].name != nil && line.versions[$0.to].name != nil }
        var ways: [String] = []
        if let known {
            let (from, to) = (line.versions[known.from].label, line.versions[known.to].label)
            ways.append("Say which it is for, as in --mapping \"\(from)..\(to)=\(candidate.path)\"")
            if candidate.isJSON {
                ways.append("write it beside \"formatVersion\", as in \"from\": \"\(from)\", \"to\": \"\(to)\"")
            }
        }
        if candidate.isJSON {
            ways.append(
                (ways.isEmpty ? "Write" : "write")
                    + " sourceEntityVersionHash and destinationEntityVersionHash into its "
                    + "entity mappings, as stagecoach inspect MODEL prints them")
        }
        // If --via names the route already, other versions would not help.
        if !line.isOrdered { ways.append("name the versions of the way with --via, where it fits only two of them") }
        return ways.joined(separator: ", or ")
    }

    private func read(
        _ candidate: MappingCandidate, _ pair: Pair, after previous: [MappingModel], isStrict: Bool = false
    ) throws(MigrationError) -> MappingModel {
        try candidate.read(
            line.versions[pair.from].model(), line.versions[pair.to].model(), after: previous, unmappable: unmappable,
            isStrict: isStrict)
    }

    // MARK: The way

    /// Returns the route with the most mapping models, then the fewest steps.
    private func shortestWay(_ byPair: [Pair: [Int]]) throws(MigrationError) -> [Pair] {
        struct Best {
            var used = 0
            var way: [Pair] = []
            func isBetter(than other: Best?) -> Bool {
                guard let other else { return true }
                return (used, -way.count) > (other.used, -other.way.count)
            }
        }
        let stops = Set(byPair.keys.flatMap { [$0.from, $0.to] }).union([0, line.last]).sorted()
        var best: [Int: Best] = [0: Best()]
        for from in stops {
            guard let here = best[from] else { continue }
            for to in stops where to > from {
                let pair = Pair(from: from, to: to)
                let given = byPair[pair]?.count ?? 0
                let bridge = given > 0 ? [pair] : inferredWay(from, to)
                guard let bridge else { continue }
                let next = Best(used: here.used + given, way: here.way + bridge)
                if next.isBetter(than: best[to]) { best[to] = next }
            }
        }
        guard let found = best[line.last] else { throw noWay(byPair) }
        return found.way
    }

    /// Returns the fewest inferred steps between two versions; nil if there is no route.
    private func inferredWay(_ from: Int, _ to: Int) -> [Pair]? {
        let direct = obstacle(Pair(from: from, to: to))
        if direct.error == nil { return [Pair(from: from, to: to)] }
        // A route through older versions might exist, but data that they cannot hold would be lost.
        if line.isBackward || direct.losesLinks { return nil }
        // In a long family, try only steps to the next version or to the end: trying all pairs would take long.
        let isLong = to - from > 24
        var previous: [Int: Int] = [from: from]
        var pending = [from]
        while !pending.isEmpty, previous[to] == nil {
            var reached: [Int] = []
            for version in pending {
                for next in (version + 1)..<(to + 1)
                where previous[next] == nil && (!isLong || next == version + 1 || next == to) {
                    guard obstacle(Pair(from: version, to: next)).error == nil else { continue }
                    previous[next] = version
                    reached.append(next)
                }
            }
            pending = reached.filter { $0 != to }.sorted()
        }
        guard previous[to] != nil else { return nil }
        var way: [Pair] = []
        var version = to
        while version != from, let before = previous[version] {
            way.append(Pair(from: before, to: version))
            version = before
        }
        return way.reversed()
    }

    /// Returns the reasons why no step can be inferred.
    private func obstacle(_ pair: Pair) -> Obstacle {
        if let known = obstacles[pair] { return known }
        var found = Obstacle.none
        do throws(MigrationError) {
            // The mapping model is not kept: those of all pairs of a long family would take much memory.
            let problems = MappingModel.inference(
                from: try line.versions[pair.from].model(), to: try line.versions[pair.to].model(),
                unmappable: unmappable
            ).problems
            if let error = problems.error { found = .problems(problems, error) }
        } catch {
            found = .unreadable(error)
        }
        obstacles[pair] = found
        return found
    }

    private func noWay(_ byPair: [Pair: [Int]]) -> MigrationError {
        let obstacle = obstacle(Pair(from: 0, to: line.last))
        guard var error = obstacle.error else {
            return MigrationError("chain.noWay", .configuration, "There is no way between the two versions")
        }
        if byPair.isEmpty, line.versions.count == 2 || obstacle.losesLinks { return error }
        let between = line.versions.count - 2
        error.message =
            "There is no way from \(line.versions[0].label) to \(line.versions[line.last].label)"
            + (between > 0 ? ", neither over the \(between.counted("version")) between them nor directly" : "")
            + ": " + error.message
        var leaves = ""
        var change = "Give "
        if case .problems(let problems, _) = obstacle {
            // A remedy that keeps the data stays the first.
            if problems.seemRenamed { return error }
            if let options = problems.options { change = "Give \(options), or " }
            if problems.mayBeLeft { leaves = ", or leave such properties without a value with --unmappable leave" }
        }
        error.remedy =
            change + "a mapping model for a step with --mapping, or name the versions of the way with --via" + leaves
        return error
    }

    private func inference(_ pair: Pair) throws(MigrationError) -> MappingModel {
        try MappingModel.inferred(
            from: line.versions[pair.from].model(), to: line.versions[pair.to].model(), unmappable: unmappable)
    }

    private func step(_ pair: Pair, _ given: [Int], isStrict: Bool = false) throws(MigrationError) -> MigrationStep {
        let (from, to) = (try line.versions[pair.from].version(), try line.versions[pair.to].version())
        guard !given.isEmpty else {
            do throws(MigrationError) {
                return MigrationStep(from: from, to: to, mappingModels: [try inference(pair)])
            } catch {
                guard line.versions.count > 2 else { throw error }
                var error = error
                error.message = "\(from.label) → \(to.label): " + error.message
                throw error
            }
        }
        var models: [MappingModel] = []
        for index in given {
            models.append(try read(candidates[index], pair, after: models, isStrict: isStrict))
        }
        return MigrationStep(from: from, to: to, mappingModels: models, files: given.map { candidates[$0].path })
    }
}
