/// The results of a verification; can be encoded.
///
/// ```swift
/// let report = try StoreVerification(migration).run()
/// print(report.isEqual ? "as the migration makes it" : "\(report.differenceCount) differences")
/// for line in report.notRecomputed { print(line.subject, "was not recomputed:", line.reason) }
/// ```
public struct VerificationReport: Sendable, Codable {
    /// The subject of a difference.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// An object that the mapping model makes is missing.
        case missingObject
        /// An object exists that the mapping model does not make.
        case extraObject
        /// An object has another entity than the mapping model gives it.
        case entity
        /// An attribute's value differs.
        case value
        /// A rule of the destination model is broken.
        case rule
        /// The objects of a relationship differ.
        case relationship
        /// A member of an ordered relationship is in another place.
        case order
        /// A reference leads to a missing object, or to an object of an entity that the relationship cannot hold.
        case dangling
        /// A uniqueness constraint is broken.
        case unique
        /// Z_MAX of Z_PRIMARYKEY differs.
        case maximumKey
        /// Z_OPT differs.
        case lock
        /// A table, index or trigger differs from the model's prediction.
        case schema
        /// The store's metadata differ.
        case metadata
        /// The cached model differs.
        case modelCache
        /// A file of an external value differs or is missing.
        case external
        /// The file's pages are damaged.
        case integrity

        /// A few words for people.
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
        /// The subject of the difference.
        public var kind: Kind
        /// The destination entity, if the difference concerns one object or one entity.
        public var entity: String?
        /// `Entity/p<key>` of the destination object.
        public var objectID: String?
        /// The attribute, the relationship, or the part of the schema or the metadata.
        public var property: String?
        /// The value that follows from source, models and mapping model, shortened; nil: nothing.
        public var expected: String?
        /// The value in the destination, shortened; nil: nothing.
        public var found: String?
        /// The source object; nil if there is none or it is not known.
        public var sourceID: String?
        /// The entity mapping that made the object; nil if it does not matter.
        public var mapping: String?
    }

    /// The way in which an attribute's values were compared.
    public enum Origin: String, Sendable, Codable {
        /// Copied unchanged from the source.
        case copied
        /// Computed again by the mapping's expression.
        case computed
        /// The model's default, or nothing.
        case initial
        /// Not computed again: only checked against the model's rules.
        case notRecomputed
    }

    /// An attribute of an entity mapping.
    public struct Property: Sendable, Codable, Equatable {
        /// The attribute's name.
        public var name: String
        /// The origin of its values.
        public var origin: Origin
        /// A sum over all objects' keys and values, independent of their order, as 16 hexadecimal digits.
        public var expectedChecksum: String
        /// The checksum of the values that were found.
        public var foundChecksum: String
        /// The number of objects whose values differ.
        public var differing: Int
    }

    /// An entity mapping.
    public struct Mapping: Sendable, Codable, Equatable {
        /// The entity mapping's name.
        public var name: String
        /// The source entity; nil if it has none.
        public var sourceEntity: String?
        /// The destination entity; nil if it has none.
        public var destinationEntity: String?
        /// Source objects of the mapping's entity.
        public var sourceObjects: Int
        /// Source objects that its filter leaves out.
        public var filtered: Int
        /// Source objects that share the object of another one, or are merged into it; nil if there are none.
        public var shared: Int?
        /// Source objects that the reject file lists.
        public var rejected: Int
        /// Destination objects that the mapping makes; nil if they cannot be worked out without its policy.
        public var expected: Int?
        /// Expected objects that were found.
        public var found: Int
        /// Its attributes, in order of their names.
        public var properties: [Property]
    }

    /// A relationship of the destination, together with its inverse: one set of links.
    public struct Relationship: Sendable, Codable, Equatable {
        /// The entity that declares it.
        public var entity: String
        /// The relationship's name.
        public var name: String
        /// `Entity.name` of the inverse; nil if there is none.
        public var inverse: String?
        /// True if its links were computed again.
        public var isRecomputed: Bool
        /// The number of links that there should be.
        public var expectedLinks: Int
        /// The number of links that were found.
        public var foundLinks: Int
        /// A sum over all links and ordering keys, independent of their order.
        public var expectedChecksum: String
        /// The checksum of the links that were found.
        public var foundChecksum: String
        /// The number of objects whose links differ.
        public var differing: Int
    }

    /// The links of one relationship of the source and its inverse, and what became of them: `links` is the sum of the others.
    public struct SourceLinks: Sendable, Codable, Equatable {
        /// The relationship, as `Entity.name`.
        public var relationship: String
        /// The number of links in the source.
        public var links = 0
        /// Links that are in the destination.
        public var made = 0
        /// Links for which no lookup asks, because an end has no object, or none that the lookup finds.
        public var withoutObject = 0
        /// Links that give way to another one, because an object has room for one.
        public var givingWay = 0
        /// Links that are not there for none of these reasons. Each is a difference.
        public var lost = 0
        /// The first objects whose links give way, as `Entity/p<key>` of the source.
        public var objects: [String] = []

        /// - Parameter relationship: the relationship, as `Entity.name`.
        init(relationship: String) { self.relationship = relationship }
    }

    /// A part that was not computed again, and the reason.
    public struct NotRecomputed: Sendable, Codable, Equatable, Hashable {
        /// `Entity mapping.property`, an entity mapping, or `Entity.relationship`.
        public var subject: String
        /// The reason why it cannot be worked out again.
        public var reason: String
        /// True if it was compared with the results of a second run of the policies.
        public var isRerun = false
    }

    /// The source store.
    public var source: String
    /// The store that was verified.
    public var destination: String
    /// The results by entity mapping.
    public var mappings: [Mapping] = []
    /// The results by relationship.
    public var relationships: [Relationship] = []
    /// The links of the source, for relationships whose links had to be worked out one by one.
    public var sourceLinks: [SourceLinks] = []
    /// The first differences of each kind, entity and property.
    public var differences: [Difference] = []
    /// The number of all differences.
    public var differenceCount = 0
    /// The number of differences by kind.
    public var countByKind: [String: Int] = [:]
    /// The counts of objects by the way in which they were compared.
    public var compared = Compared()
    /// True if the policies ran again and the objects that they make were compared. This trusts the policies.
    public var ranPolicies = false
    /// Everything that was not worked out again from the source, with reasons.
    public var notRecomputed: [NotRecomputed] = []
    /// Notes that are no differences but worth knowing.
    public var notes: [String] = []

    /// True if no difference was found in what was compared, as listed in ``compared`` and ``notRecomputed``.
    public var isEqual: Bool { differenceCount == 0 }

    /// True if all objects that the run made, with all values and links, were worked out again from the source.
    public var isComplete: Bool {
        compared.rerun + compared.checked + compared.takenForRejected == 0 && notRecomputed.isEmpty
    }
}

/// Collects differences. The first ones of each kind, entity and property are kept, and all are counted.
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

    /// Adds a difference.
    func add(
        _ kind: VerificationReport.Kind, _ entity: String? = nil, _ objectID: String? = nil, property: String? = nil,
        expected: String? = nil, found: String? = nil, sourceID: String? = nil, mapping: String? = nil
    ) {
        report.differenceCount += 1
        report.countByKind[kind.rawValue, default: 0] += 1
        let group = Group(kind: kind, entity: entity, property: property)
        let count = counts[group, default: 0]
        counts[group] = count + 1
        guard count < limit else { return }
        report.differences.append(
            .init(
                kind: kind, entity: entity, objectID: objectID, property: property, expected: expected, found: found,
                sourceID: sourceID, mapping: mapping))
    }

    /// Notes a part that was not computed again; once for each subject and reason.
    func skip(_ subject: String, _ reason: String, isRerun: Bool = false) {
        let line = VerificationReport.NotRecomputed(subject: subject, reason: reason, isRerun: isRerun)
        if reasons.insert(line).inserted { report.notRecomputed.append(line) }
    }

    func note(_ sentence: String) {
        if !report.notes.contains(sentence) { report.notes.append(sentence) }
    }
}
