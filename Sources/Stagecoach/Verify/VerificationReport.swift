/// What a verification found: a value that can be encoded.
public struct VerificationReport: Sendable, Codable {
    /// What a difference is of.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// An object that the mapping model makes is not there.
        case missingObject
        /// An object that nothing of the mapping model makes.
        case extraObject
        /// An object of another entity than the mapping model says.
        case entity
        /// An attribute's value.
        case value
        /// A rule of the destination model is broken.
        case rule
        /// The objects of a relationship.
        case relationship
        /// A place in an ordered relationship.
        case order
        /// A reference to an object that is not there, or is of an entity that the relationship cannot have.
        case dangling
        /// A uniqueness constraint.
        case unique
        /// Z_MAX of Z_PRIMARYKEY.
        case maximumKey
        /// Z_OPT.
        case lock
        /// A table, index or trigger is not as the model predicts.
        case schema
        /// The store's metadata.
        case metadata
        /// The cached model.
        case modelCache
        /// A file of an external value.
        case external
        /// The file's pages.
        case integrity

        /// In a few words.
        public var label: String {
            switch self {
            case .missingObject: "missing object"
            case .extraObject: "object that nothing makes"
            case .entity: "wrong entity (Z_ENT)"
            case .value: "wrong value"
            case .rule: "broken rule"
            case .relationship: "wrong relationship"
            case .order: "wrong ordering key"
            case .dangling: "dangling reference"
            case .unique: "not unique"
            case .maximumKey: "wrong Z_MAX"
            case .lock: "wrong Z_OPT"
            case .schema: "other schema"
            case .metadata: "other metadata"
            case .modelCache: "other model cache"
            case .external: "external data"
            case .integrity: "damaged file"
            }
        }
    }

    /// One difference.
    public struct Difference: Sendable, Codable, Equatable {
        /// What differs.
        public var kind: Kind
        /// Destination entity, where the difference is one object's or one entity's.
        public var entity: String?
        /// `Entity/p<key>` of the destination object.
        public var objectID: String?
        /// Attribute, relationship, or what of the schema or the metadata.
        public var property: String?
        /// What source, models and mapping model say, shortened; nil: nothing.
        public var expected: String?
        /// What the destination has, shortened; nil: nothing.
        public var found: String?
        /// The source object; nil where there is none or it is not known.
        public var sourceID: String?
        /// The entity mapping that made the object; nil where that says nothing.
        public var mapping: String?
    }

    /// How an attribute's values came to be compared.
    public enum Origin: String, Sendable, Codable {
        /// Copied from the source as it stands there.
        case copied
        /// Computed again by the mapping's expression.
        case computed
        /// The model's default, or nothing.
        case initial
        /// Not computed again: checked against the model's rules only.
        case notRecomputed
    }

    /// An attribute of an entity mapping.
    public struct Property: Sendable, Codable, Equatable {
        /// The attribute's name.
        public var name: String
        /// Where its values come from.
        public var origin: Origin
        /// Sums over all objects' keys and values, whatever their order, as 16 hexadecimal digits.
        public var expectedChecksum: String
        /// The checksum of what was found.
        public var foundChecksum: String
        /// Objects whose values differ.
        public var differing: Int
    }

    /// An entity mapping.
    public struct Mapping: Sendable, Codable, Equatable {
        /// The entity mapping's name.
        public var name: String
        /// The source entity; nil where it has none.
        public var sourceEntity: String?
        /// The destination entity; nil where it has none.
        public var destinationEntity: String?
        /// Source objects of the mapping's entity.
        public var sourceObjects: Int
        /// Source objects that its filter leaves out.
        public var filtered: Int
        /// As the reject file says.
        public var rejected: Int
        /// Destination objects that the mapping makes; nil where that cannot be told without its policy.
        public var expected: Int?
        /// Those of them that are there.
        public var found: Int
        /// Its attributes, in order of their names.
        public var properties: [Property]
    }

    /// A relationship of the destination, with its inverse one set of links.
    public struct Relationship: Sendable, Codable, Equatable {
        /// The entity that declares it.
        public var entity: String
        /// The relationship's name.
        public var name: String
        /// `Entity.name` of the inverse.
        public var inverse: String?
        /// Whether its links were computed again.
        public var isRecomputed: Bool
        /// Links that there should be.
        public var expectedLinks: Int
        /// Links that there are.
        public var foundLinks: Int
        /// Sums over all links and ordering keys, whatever their order.
        public var expectedChecksum: String
        /// The checksum of the links that were found.
        public var foundChecksum: String
        /// Objects whose links differ.
        public var differing: Int
    }

    /// What was not computed again, and why.
    public struct NotRecomputed: Sendable, Codable, Equatable, Hashable {
        /// `Entity mapping.property`, an entity mapping, or `Entity.relationship`.
        public var subject: String
        /// Why it cannot be worked out again.
        public var reason: String
        /// Whether it was compared with what the policies made when they ran again.
        public var isRerun = false
    }

    /// The source store.
    public var source: String
    /// The store that was verified.
    public var destination: String
    /// What was compared, by entity mapping.
    public var mappings: [Mapping] = []
    /// What was compared, by relationship.
    public var relationships: [Relationship] = []
    /// The first differences of each kind, entity and property.
    public var differences: [Difference] = []
    /// All of them.
    public var differenceCount = 0
    /// Differences by what differs.
    public var countByKind: [String: Int] = [:]
    /// Which objects were compared, and how.
    public var compared = Compared()
    /// Whether the policies ran again, and what they made was compared: that trusts them.
    public var ranPolicies = false
    /// What was not worked out again from the source, and why.
    public var notRecomputed: [NotRecomputed] = []
    /// What is no difference but worth knowing.
    public var notes: [String] = []

    /// Whether nothing differs of what was compared, which ``compared`` and ``notRecomputed`` say.
    public var isEqual: Bool { differenceCount == 0 }

    /// Whether all objects that the run made, and all of their values and links, were worked out again from the source.
    public var isComplete: Bool {
        compared.rerun + compared.checked + compared.takenForRejected == 0 && notRecomputed.isEmpty
    }

    init(source: String, destination: String) {
        self.source = source
        self.destination = destination
    }
}

/// Collects differences: the first ones of each kind, entity and property are kept, all are counted.
///
/// Memory: `limit` differences for each property of the model and each kind.
final class VerificationFindings {
    private struct Group: Hashable {
        let kind: VerificationReport.Kind
        let entity: String?
        let property: String?
    }

    var report: VerificationReport
    private let limit: Int
    private var counts: [Group: Int] = [:]
    private var reasons: Set<VerificationReport.NotRecomputed> = []

    init(_ report: VerificationReport, limit: Int) {
        self.report = report
        self.limit = limit
    }

    func add(_ difference: VerificationReport.Difference) {
        report.differenceCount += 1
        report.countByKind[difference.kind.rawValue, default: 0] += 1
        let group = Group(kind: difference.kind, entity: difference.entity, property: difference.property)
        let count = counts[group, default: 0]
        counts[group] = count + 1
        if count < limit { report.differences.append(difference) }
    }

    /// Says that something was not computed again; once for each subject and reason.
    func skip(_ subject: String, _ reason: String, isRerun: Bool = false) {
        let line = VerificationReport.NotRecomputed(subject: subject, reason: reason, isRerun: isRerun)
        if reasons.insert(line).inserted { report.notRecomputed.append(line) }
    }

    func note(_ sentence: String) {
        if !report.notes.contains(sentence) { report.notes.append(sentence) }
    }
}
