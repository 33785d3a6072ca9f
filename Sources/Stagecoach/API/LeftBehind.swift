import Diagnostics

/// The account of the source data that a migration leaves behind because no entity mapping carries it over.
///
/// For every stored attribute and relationship, the values and links that are read and those in the account add up to
/// all that the source has.
///
/// ```swift
/// for line in try migration.run().leftBehind?.lost ?? [] {
///     print(line.sentence)
///     for suggestion in line.suggestions ?? [] { print("   ", suggestion.text) }
/// }
/// ```
public struct LeftBehind: Sendable, Codable, Equatable {
    /// A reason why data stays behind.
    public enum Reason: String, Sendable, Codable {
        /// No entity mapping reads the property.
        case unread
        /// Only source filters read the property: its values decide, but stay behind.
        case filterOnly
        /// No expression reads the property, but a policy or a registered function receives its objects. Such code may
        /// read the values; nobody can know. Not part of the sums.
        case policy
        /// No entity mapping has the entity as its source.
        case withoutMapping
        /// Only remove mappings have the entity as their source.
        case removed
        /// The values are in rows of another entity of the same table, which does not have the property. Core Data never shows
        /// them; only SQL sees them.
        case otherEntity
    }

    /// A property, or an entity as a whole.
    public struct Line: Sendable, Codable, Equatable {
        /// The source entity. For a property: the entity that declares it.
        public var entity: String
        /// The property. Nil for the objects of the entity, with all their values and links that nothing reads.
        public var property: String?
        /// The reason why it stays behind.
        public var reason: Reason
        /// The number of objects without a destination; nil for a property, and if they are not counted.
        public var objects: Int?
        /// The number of values that are not nil; nil for a relationship, and if they are not counted.
        public var values: Int?
        /// The number of links, with a pair of inverses counted once; nil for an attribute, or if not counted.
        public var links: Int?
        /// True if it is meant to stay behind: a mapping model of the user's own says so, or ``MigrationOptions/allowedLosses``.
        /// Nil for all other data.
        public var isMeant: Bool?
        /// The step of a chain of versions that leaves it behind, `A → B`; nil if there is one step.
        public var step: String?
        /// Ways to keep it, the best first; nil if none is known.
        public var suggestions: [Suggestion]?

        /// `Entity` or `Entity.property`.
        public var name: String { property.map { "\(entity).\($0)" } ?? entity }
        /// False for data that a policy may read, and for data that is meant to stay behind.
        public var isLost: Bool { reason != .policy && isMeant != true }
    }

    /// A way to keep data that would stay behind.
    public struct Suggestion: Sendable, Codable, Equatable {
        /// The advice, as a sentence without a full stop.
        public var text: String
        /// The line of a JSON mapping model that keeps the data; nil if something else has to be done.
        public var json: String?
        /// The entity mapping that the line belongs to; nil if the line is an entity mapping of its own.
        public var entityMapping: String?
        /// Versions to give to `--via`, in order; nil if the advice is not another route through versions.
        public var via: [String]?
    }

    /// The lines, sorted by entity and property.
    public var lines: [Line]
    /// The number of objects without a destination; nil if they are not counted.
    public var objects: Int?
    /// The number of values that are not nil, in properties and in such objects; nil if they are not counted.
    public var values: Int?
    /// The number of links; nil if they are not counted.
    public var links: Int?

    /// True if the run was told that data may stay behind. Then there is no warning.
    public var isAllowed = false

    /// Creates an account with its sums.
    ///
    /// - Parameter lines: the lines, in any order.
    public init(lines: [Line]) {
        self.lines = lines.sorted {
            ($0.entity, $0.property ?? "", $0.reason.rawValue, $0.isMeant == true ? 1 : 0)
                < ($1.entity, $1.property ?? "", $1.reason.rawValue, $1.isMeant == true ? 1 : 0)
        }
        let lost = lines.filter(\.isLost)
        let isCounted = lost.allSatisfy { $0.objects ?? $0.values ?? $0.links != nil }
        objects = isCounted ? lost.reduce(0) { $0 + ($1.objects ?? 0) } : nil
        values = isCounted ? lost.reduce(0) { $0 + ($1.values ?? 0) } : nil
        links = isCounted ? lost.reduce(0) { $0 + ($1.links ?? 0) } : nil
    }

    /// The amounts that are certainly lost, such as `3 objects, 5,000 values, 1 link`; amounts of zero are left out.
    public var amounts: String {
        Self.amounts(objects, values, links) ?? "what is not counted yet"
    }

    /// Returns amounts with their nouns; nil if all are unknown or zero.
    package static func amounts(_ objects: Int?, _ values: Int?, _ links: Int?) -> String? {
        let parts = [(objects, "object"), (values, "value"), (links, "link")].compactMap { count, noun in
            count.flatMap { $0 == 0 ? nil : $0.counted(noun) }
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// The lines of data that is certainly lost.
    public var lost: [Line] { lines.filter(\.isLost) }
    /// The lines of data that is meant to stay behind.
    public var meant: [Line] { lines.filter { $0.isMeant == true } }
    /// The lines of data that a policy may read, which is not known.
    public var uncertain: [Line] { lines.filter { $0.reason == .policy && $0.isMeant != true } }
    /// True if no data is certainly lost. There may still be lines: of data that a policy may read, and of data that is meant to
    /// stay behind.
    public var isEmpty: Bool { !lines.contains(where: \.isLost) }

    /// Joins the accounts of several runs, one after the other.
    ///
    /// - Parameter runs: the accounts, each with the name of its run, `A → B`.
    static func joined(_ runs: [(label: String, left: LeftBehind?)]) -> LeftBehind? {
        let lines = runs.flatMap { label, left in
            (left?.lines ?? []).map { line in
                var line = line
                if runs.count > 1 { line.step = line.step ?? label }
                return line
            }
        }
        guard !lines.isEmpty else { return nil }
        var whole = LeftBehind(lines: lines)
        whole.lines = lines
        whole.isAllowed = runs.contains { $0.left?.isAllowed ?? false }
        return whole
    }
}

/// The handling of a migration that leaves data behind: see ``LeftBehind``.
public enum LossHandling: String, Sendable, CaseIterable {
    /// The report names the data. The migration is refused only if it would give no object at all from a store that has
    /// objects.
    case warn
    /// The migration is refused before anything is written.
    case refuse
    /// The report names the data.
    case allow
}
