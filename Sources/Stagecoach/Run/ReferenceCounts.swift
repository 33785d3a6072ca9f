import Diagnostics
import ManagedModel
import SpillStorage

/// The counts of references that find no object and of further objects of to-one relationships, by relationship and cause.
///
/// Memory: one line for each relationship and cause.
struct ReferenceCounts: Equatable, StateCodable {
    /// The lines, in the order in which they were found.
    private(set) var missing: [NilReferences] = []
    private(set) var further: [FurtherObjects] = []

    var isEmpty: Bool { missing.isEmpty && further.isEmpty }

    init() {}

    init(missing: [NilReferences], further: [FurtherObjects] = []) {
        self.missing = missing
        self.further = further
    }

    /// Counts a reference that finds no object.
    ///
    /// - Parameter owner: the key of the destination object that has the reference; nil if it is unknown.
    mutating func add(_ relationship: CountedRelationship, _ fate: ReferenceFate, owner: Int64?) {
        let same = missing.lastIndex {
            $0.cause == fate.cause && $0.relationship == relationship.label && $0.name == fate.name
        }
        if let same {
            missing[same].count += 1
            guard missing[same].samples.count < NilReferences.mostSamples, let owner else { return }
            missing[same].note(relationship.objectID(owner))
            return
        }
        missing.append(
            NilReferences(
                relationship: relationship.label, cause: fate.cause, name: fate.name,
                destinationEntity: relationship.description.destination.definition.name, count: 1,
                samples: owner.map { [relationship.objectID($0)] } ?? []))
    }

    /// Counts objects that were found for a to-one relationship in addition to the one it got.
    mutating func add(further count: Int = 1, of relationship: CountedRelationship) {
        guard count > 0 else { return }
        if let same = further.lastIndex(where: { $0.relationship == relationship.label }) {
            further[same].count += count
            return
        }
        further.append(
            FurtherObjects(
                relationship: relationship.label, inverse: relationship.decidingInverse, kept: relationship.kept,
                count: count))
    }

    mutating func add(_ other: ReferenceCounts) {
        for line in other.missing { NilReferences.add(line, to: &missing) }
        for line in other.further { FurtherObjects.add(line, to: &further) }
    }

    /// Returns the number of references without an object whose cause is accepted.
    func missing(where isCounted: (NilReferences.Cause) -> Bool) -> Int {
        missing.reduce(0) { isCounted($1.cause) ? $0 + $1.count : $0 }
    }

    mutating func code(with coder: inout StateCoder) throws(MigrationError) {
        let reference = NilReferences(
            relationship: "", cause: .dangling, name: nil, destinationEntity: "", count: 0, samples: [])
        try coder.code(list: &missing, empty: reference) { coder, line throws(MigrationError) in
            try coder.code(&line.relationship)
            try coder.code(word: &line.cause)
            try coder.code(&line, \.destinationEntity, \.name, \.count, \.samples)
        }
        let object = FurtherObjects(relationship: "", inverse: nil, kept: .first, count: 0)
        try coder.code(list: &further, empty: object) { coder, line throws(MigrationError) in
            try coder.code(&line.relationship)
            try coder.code(word: &line.kept)
            try coder.code(&line, \.inverse, \.count)
        }
    }
}

/// The reason that a reference to a source object finds no destination object.
struct ReferenceFate: Hashable {
    let cause: NilReferences.Cause
    /// The entity or entity mapping to which the cause refers.
    var name: String?

    static let dangling = ReferenceFate(cause: .dangling)
    static let rejected = ReferenceFate(cause: .rejected)
}

/// A destination relationship whose references are counted. Its label is made once for many references.
struct CountedRelationship {
    let description: RelationshipDescription
    /// The label `Entity.relationship`, with the entity that declares the relationship.
    let label: String
    /// The rule for the object that a to-one relationship gets if there are several.
    let kept: FurtherObjects.Kept
    /// The label of the other side of a one-to-one pair, if a mapping of that side takes part in the decision.
    let decidingInverse: String?

    init(_ relationship: RelationshipDescription, among mappings: [PlannedMapping]) {
        description = relationship
        label = Self.label(relationship)
        guard !relationship.isToMany, let inverse = LinkPlanner.mutualInverse(of: relationship), !inverse.isToMany,
            CopiedPair(relationship, among: mappings)?.isKept != true
        else {
            (kept, decidingInverse) = (.first, nil)
            return
        }
        let isDecided =
            inverse == relationship
            || mappings.contains { mapping in
                guard let planned = mapping.relationship(named: inverse.name) else { return false }
                return planned.relationship == inverse && planned.findsMembers
            }
        kept = isDecided ? .lastLinked : .first
        decidingInverse = isDecided && inverse != relationship ? Self.label(inverse) : nil
    }

    /// Creates a relationship whose further objects are not counted.
    init(_ relationship: RelationshipDescription) {
        description = relationship
        label = Self.label(relationship)
        (kept, decidingInverse) = (.first, nil)
    }

    /// Returns the id of an object, with the entity that declares the relationship.
    func objectID(_ key: Int64) -> String { "\(description.entity.definition.name)/p\(key)" }

    private static func label(_ relationship: RelationshipDescription) -> String {
        "\(relationship.entity.definition.name).\(relationship.name)"
    }
}

/// The objects that a lookup found for one to-one relationship of one object in addition to the one it got.
///
/// Several source objects may share a destination object, which counts once. Memory: at most 65,536 keys. Beyond that, objects
/// are not remembered and each counts.
struct FurtherKeys {
    private var seen: Set<Int64> = []
    private static let most = 1 << 16

    /// - Returns: true if the object differs from the first and was not seen before.
    mutating func insert(_ key: Int64, beside first: Int64) -> Bool {
        guard key != first else { return false }
        if seen.count >= Self.most { return !seen.contains(key) }
        return seen.insert(key).inserted
    }

    mutating func removeAll() {
        if !seen.isEmpty { seen.removeAll(keepingCapacity: true) }
    }
}
