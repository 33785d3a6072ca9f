/// The account of what a migration leaves behind: data of the source that no entity mapping takes along.
///
/// Of every stored attribute and relationship the values and links that are read, and those in the account, together are those
/// of the source.
public struct LeftBehind: Sendable, Codable, Equatable {
    /// Why data stays behind.
    public enum Reason: String, Sendable, Codable {
        /// No entity mapping reads the property.
        case unread
        /// Source filters read the property and nothing else does: its values decide and stay behind.
        case filterOnly
        /// No expression reads the property, and a policy or a registered function is handed its objects: it may read the
        /// values, which nobody can know. Not part of the sums.
        case policy
        /// No entity mapping has the entity as its source.
        case withoutMapping
        /// Only remove mappings have the entity as their source.
        case removed
    }

    /// A property, or an entity as a whole.
    public struct Line: Sendable, Codable, Equatable {
        /// The source entity; of a property the one that declares it.
        public var entity: String
        /// The property; nil for the objects of the entity, with all of their values and links that nothing reads.
        public var property: String?
        /// Why it stays behind.
        public var reason: Reason
        /// Objects without a destination; nil for a property, and where they are not counted.
        public var objects: Int?
        /// Values that are not nil; nil for a relationship, and where they are not counted.
        public var values: Int?
        /// Links, a pair of inverses counted once; nil for an attribute, and where they are not counted.
        public var links: Int?
        /// The step of a chain of versions that leaves it behind, `A → B`; nil where there is one step.
        public var step: String?
        /// Ways to keep it, the best first; nil where none is known.
        public var suggestions: [Suggestion]?

        /// `Entity` or `Entity.property`.
        public var name: String { property.map { "\(entity).\($0)" } ?? entity }
        /// False for what a policy may read.
        public var isLost: Bool { reason != .policy }
    }

    /// A way to keep what would stay behind.
    public struct Suggestion: Sendable, Codable, Equatable {
        /// A sentence without a full stop.
        public var text: String
        /// The line of a JSON mapping model that does it; nil where something else has to be done.
        public var json: String?
        /// The entity mapping that the line belongs to; nil for an entity mapping of its own.
        public var entityMapping: String?
        /// Versions to give to `--via`, in order; nil where it is no other way through versions.
        public var via: [String]?
    }

    /// By entity and property.
    public var lines: [Line]
    /// Objects without a destination; nil where they are not counted.
    public var objects: Int?
    /// Values that are not nil, of properties and of such objects; nil where they are not counted.
    public var values: Int?
    /// Links; nil where they are not counted.
    public var links: Int?

    /// Whether the run was told that data may stay behind: then it is no reason to warn.
    public var isAllowed = false

    /// - Parameter lines: in any order.
    public init(lines: [Line]) {
        self.lines = lines.sorted {
            ($0.entity, $0.property ?? "", $0.reason.rawValue) < ($1.entity, $1.property ?? "", $1.reason.rawValue)
        }
        let lost = lines.filter(\.isLost)
        let isCounted = lost.allSatisfy { $0.objects ?? $0.values ?? $0.links != nil }
        objects = isCounted ? lost.reduce(0) { $0 + ($1.objects ?? 0) } : nil
        values = isCounted ? lost.reduce(0) { $0 + ($1.values ?? 0) } : nil
        links = isCounted ? lost.reduce(0) { $0 + ($1.links ?? 0) } : nil
    }

    /// `3 objects, 5,000 values, 1 link`: what is lost for certain, without what there is none of.
    public var amounts: String {
        let parts = [(objects, "object"), (values, "value"), (links, "link")].compactMap { count, noun in
            count.flatMap { $0 == 0 ? nil : "\($0.grouped) \(noun)\($0 == 1 ? "" : "s")" }
        }
        return parts.isEmpty ? "what is not counted yet" : parts.joined(separator: ", ")
    }

    /// The lines of what is lost for certain.
    public var lost: [Line] { lines.filter(\.isLost) }
    /// True where nothing is lost for certain: policies may read the rest.
    public var isEmpty: Bool { !lines.contains(where: \.isLost) }

    /// The account of several runs, one after the other.
    ///
    /// - Parameter runs: each with its name, `A → B`.
    static func joined(_ runs: [(label: String, left: LeftBehind?)]) -> LeftBehind? {
        let lines = runs.flatMap { label, left in
            (left?.lines ?? []).map { line in
                var line = line
                if runs.count > 1 { line.step = line.step ?? label }
                return line
            }
        }
        guard !lines.isEmpty else { return nil }
        var whole = LeftBehind(lines: [])
        whole.lines = lines
        let sums = LeftBehind(lines: lines)
        (whole.objects, whole.values, whole.links) = (sums.objects, sums.values, sums.links)
        whole.isAllowed = runs.contains { $0.left?.isAllowed ?? false }
        return whole
    }
}

/// What becomes of a migration that leaves data behind: see ``LeftBehind``.
public enum LossHandling: String, Sendable, CaseIterable {
    /// The report names it. A migration that would give no object at all of a store that has objects is refused.
    case warn
    /// It is refused before anything is written.
    case refuse
    /// The report names it.
    case allow
}
