/// The versions that a route may go through, from the store's to the last.
struct VersionHistory {
    let versions: [VersionInHistory]
    /// All names of each version.
    private let names: [Set<String>]
    /// True if the route has to stop at every version.
    let isOrdered: Bool
    /// True if the order of names leads back. Then those in between are older, and cannot hold all data of newer ones.
    let isBackward: Bool

    var last: Int { versions.count - 1 }

    init(
        _ source: VersionInHistory, names: [String], _ destination: VersionInHistory,
        versions all: [VersionInHistory] = [], via: [VersionInHistory] = []
    ) {
        // The store's name for its version may be the name of another version in the bundle.
        let isTaken = all.contains { $0.name == source.name }
        let own = Set(names.isEmpty && !isTaken ? [source.name].compactMap { $0 } : names)
        let between: [VersionInHistory]
        var isBackward = false
        if !via.isEmpty {
            var stops = via
            if let first = stops.first?.name, own.contains(first) { stops.removeFirst() }
            if let last = stops.last?.name, last == destination.name { stops.removeLast() }
            between = stops
        } else if let to = all.firstIndex(where: { $0.name == destination.name && $0.name != nil }) {
            let starts = all.indices.filter { all[$0].name.map(own.contains) ?? false }
            switch starts.min(by: { abs($0 - to) < abs($1 - to) }) {
            case nil: between = Array(all[..<to])
            case let from? where from < to: between = Array(all[(from + 1)..<to])
            case let from?:
                between = from == to ? [] : all[(to + 1)..<from].reversed()
                isBackward = true
            }
        } else {
            between = []
        }
        versions = [source] + between + [destination]
        self.names =
            [own] + between.map { Set([$0.name].compactMap { $0 }) } + [Set([destination.name].compactMap { $0 })]
        isOrdered = !via.isEmpty
        self.isBackward = isBackward
    }

    /// Returns the position of a version by name.
    func index(named name: String) -> Int? { names.firstIndex { $0.contains(name) } }
}
